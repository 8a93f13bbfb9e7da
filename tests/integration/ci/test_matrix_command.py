"""``nox -s matrix`` in a real clone: what changed files, labels and options leave."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.matrix_command import matrix
from build_tools.errors import HipwrightError
from build_tools.pipeline.order import built_before
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from build_tools.workplace import Workplace


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    shutil.copytree(CLONE / "external-builds", folder / "external-builds", ignore=shutil.ignore_patterns("patches", "sources"))
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change", "--allow-empty")


def change(folder: Path, path: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("changed\n")
    commit(folder)


def asked(clone: Path, output: Path | None = None, **settings: object) -> tuple[dict[str, Any], Workplace]:
    machine = {} if output is None else {"GITHUB_OUTPUT": str(output)}
    place = replace(workplace(clone.parent, **settings), clone=clone, machine=machine)
    return matrix(place, built_before=built_before)["matrix"], place


def test_only_what_changed_is_built_and_what_is_built_on_it(clone: Path) -> None:
    change(clone, "external-builds/apex/hooks.py")
    found, place = asked(clone, changed_since="HEAD~1")
    assert {job["projects"] for part in found["parts"] for job in part["include"]} == {"apex"}
    assert {one["what"]: one["reason"] for one in found["left_out"]}["pytorch"] == "no changed file is about it"
    assert "apex: external-builds/apex/hooks.py changed" in memory_of(place).said


def test_a_change_that_is_about_no_wheel_starts_no_job(clone: Path) -> None:
    change(clone, "docs/page.md")
    found, _ = asked(clone, changed_since="HEAD~1")
    assert (found["enabled"], found["parts"]) == (False, [])
    assert "pages only" in found["left_out"][0]["reason"]


def test_a_label_says_that_nothing_is_built(clone: Path) -> None:
    found, _ = asked(clone, labels=("other", "ci:skip-pytorch"))
    assert not found["enabled"]
    assert asked(clone, labels=("other",))[0]["enabled"]


def test_a_step_hands_on_what_a_workflow_reads(clone: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text("before=1\n")
    found, _ = asked(clone, output, matrix_for="nightly")
    lines = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert set(lines) == {
        "before",
        "enabled",
        "parts",
        "matrix_1",
        "test_enabled",
        "test_parts",
        "test_matrix_1",
        "test_matrix_2",
        "packages_enabled",
        "rocm_test_enabled",
        "rocm_test_parts",
    }
    # Packages of two platforms are two sets.
    assert (lines["packages_enabled"], found["packages"]) == ("false", None)
    assert (lines["enabled"], json.loads(lines["parts"])) == ("true", [1])
    assert json.loads(lines["matrix_1"]) == found["parts"][0]
    with pytest.raises(HipwrightError) as caught:
        asked(clone, matrix_for="nightly", max_parts=1)
    assert caught.value.code.name == "bad-option-value"
    assert asked(clone, matrix_for="nightly", platform="linux", max_parts=1)[0]["test_parts"]
    assert (lines["test_enabled"], json.loads(lines["test_matrix_1"])) == ("true", found["test_parts"][0])


def test_packages_of_rocm_are_wanted_without_wheels_too_and_not_for_a_change_of_pages(clone: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    asked(clone, output, platform="linux", labels=("ci:skip-pytorch",))
    lines = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert (lines["enabled"], lines["test_enabled"]) == ("false", "false")
    assert (lines["packages_enabled"], lines["rocm_test_enabled"]) == ("true", "true")
    assert lines["amdgpu_families"].startswith("gfx94X-dcgpu,")
    assert (lines["artifact_group"], lines["packages_runs_on"]) == ("multi-arch-ci", "aws-linux-scale-rocm-prod")
    assert json.loads(lines["rocm_test_matrix_1"])["include"][0]["amdgpu_family"] == "gfx94X-dcgpu"
    change(clone, "docs/page.md")
    found, _ = asked(clone, platform="linux", changed_since="HEAD~1")
    assert found["packages"] is None


def test_options_choose(clone: Path) -> None:
    found, _ = asked(
        clone,
        matrix_for="nightly",
        platform="linux",
        python=("3.13",),
        ref={"pytorch": "release/2.14"},
        gpu_family="gfx94X-dcgpu",
    )
    ((job,),) = [part["include"] for part in found["parts"]]
    assert (job["id"], job["amdgpu_families"]) == ("linux-release-2.14-py3.13", "gfx94X-dcgpu")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"changed_since": "nowhere"}, "'nowhere'"),
        ({"changed_since": "--output=x"}, "'--output=x'"),
        ({"python": ("/usr/bin/python3",)}, "/usr/bin/python3"),
        ({"python": ("3.12", "3.12")}, "py3.12"),
        ({"projects": ("sample",)}, "sample"),
        ({"gpu_family": "gfx9999"}, "gfx9999"),
    ],
)
def test_what_cannot_be_meant_is_refused(clone: Path, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        asked(clone, **settings)
    assert words in caught.value.message


def test_options_that_leave_nothing_are_no_pass(clone: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        asked(clone, matrix_for="release", gpu_family="gfx90c", ref={"pytorch": "release/2.13"})
    assert caught.value.code.name == "empty-matrix"
    assert "do not compile" in caught.value.message
