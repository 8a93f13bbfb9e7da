"""Adding a project is adding a folder; wheels for two Pythons come out of one run."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.environments.interpreter import find_interpreter
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.types import Platform, Stage
from tests.support.commands import CASES, Desk, small_clone

if TYPE_CHECKING:
    from tests.support.commands import Ran

pytestmark = pytest.mark.end_to_end


def sessions(desk: Desk) -> set[str]:
    # With --json nox lists the sessions that it would run, so the others are read from what people see.
    listed = desk.run("-m", "nox", "-l").well()
    return set(re.findall(r"^[*-] (\w+)", listed.out, re.MULTILINE))


def test_a_folder_is_all_that_a_new_project_needs(cache: Path, tmp_path: Path) -> None:
    desk = Desk(clone=small_clone(tmp_path, "sample"), work=tmp_path / "work", cache=cache)
    before = sessions(desk)
    assert "build_sample" in before
    shutil.copytree(CASES / "tiny-project", desk.clone / "external-builds" / "tiny-project")
    # It has a suite of its own besides its smoke tests.
    new = {f"{verb}_tiny_project" for verb in ("checkout", "build", "check", "upload", "test")} | {"test_tiny_project_full"}
    assert sessions(desk) - before == new
    told = json.loads(desk.run("-m", "nox", "-l", "--json", "-s", *sorted(new)).well().out)
    assert {session["session"]: session["description"] for session in told}["build_tiny_project"].startswith("Build tiny-project")
    assert {session["session"] for session in told} == new
    ran = desk.nox("pipeline", "--projects", "tiny-project", "--json").well()
    assert ran.states == dict.fromkeys([stage.value for stage in Stage], "run")
    assert (desk.work / "store" / "channels" / "rehearsal" / "dist" / ran.wheel.name).read_bytes() == ran.wheel.read_bytes()


def other_python() -> str:
    """Return a version of Python that this machine has and these tests do not run in."""
    runner = Runner(environment=base_environment(os.environ))
    platform = Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX
    for minor in (14, 13, 12, 10):
        wanted = f"3.{minor}"
        if minor == sys.version_info.minor:
            continue
        try:
            find_interpreter(wanted, default=Path(sys.executable), runner=runner, platform=platform)
        except HipwrightError:
            continue
        return wanted
    pytest.skip("this machine has one version of Python only")


def of_python(ran: Ran, python: str, stage: str) -> dict[str, object]:
    (path,) = [Path(entry["receipt"]) for entry in ran.document["stages"] if (entry["python"], entry["stage"]) == (python, stage)]
    value = json.loads(path.read_text(encoding="utf-8"))["result"]["value"]
    assert isinstance(value, dict)
    return value


def test_one_run_builds_for_two_pythons(desk: Desk) -> None:
    own, other = f"3.{sys.version_info.minor}", other_python()
    words = ("pipeline", "--projects", "tiny-project", "--python", f"{own},{other}", "--json")
    ran = desk.nox(*words).well()
    assert [Path(wheel).name for wheel in ran.document["wheels"]] == [
        f"tiny_project-1.0.0-cp{version.replace('.', '')}-none-any.whl" for version in (own, other)
    ]
    for python in (own, other):
        assert str(of_python(ran, python, "test")["python_version"]).startswith(f"{python}.")
        assert of_python(ran, python, "build")["python_tag"] == f"cp{python.replace('.', '')}"
    for folder in ("local-linux/pytorch/generic", "channels/rehearsal"):
        published = {path.name for path in (desk.work / "store" / folder / "dist").glob("*.whl")}
        assert published == {Path(wheel).name for wheel in ran.document["wheels"]}
    again = desk.nox(*words).well()
    assert {stage["state"] for stage in again.document["stages"]} == {"skipped"}
