"""What commands print when something is wrong is on the page of it, word by word."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from build_tools.errors import HipwrightError
from build_tools.options.machine import ROLES
from build_tools.pipeline.compare_profiles import compare_profiles
from build_tools.pipeline.doctor import doctor
from build_tools.pipeline.hip_check import hip_check
from build_tools.receipts.profile import ExampleProfile, ExampleRun, ProfileReport
from build_tools.receipts.record import to_json
from build_tools.testing.request import Limits, TestRequest
from build_tools.testing.run import run_tests
from tests.support.given_environments import bare_environment
from tests.support.machines import FACTS
from tests.support.workplaces import workplace

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "troubleshooting.md"


def on_page(text: str) -> bool:
    """Say whether a text is on the page, as a cell of a table has it."""
    return text.replace("|", "\\|") in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("platform", ["linux", "windows"])
def test_every_fix_of_doctor_is_on_the_page(tmp_path: Path, platform: str, role: str) -> None:
    facts = FACTS[platform]
    nothing = {"driver": "", "visual_studio": "", "rocm": "", "python_venv": False, "memory_bytes": 1, "disk_bytes": 1}
    lists: dict[str, Any] = {"tools": {}, "packages": {}, "groups": (), "gpus": (), "labels": (), "reached": {"HOST": False}}
    poor = msgspec.structs.replace(facts, os_version="1.0", python="3.1", **nothing, **lists)
    path = tmp_path / "machine.json"
    path.write_bytes(to_json(poor))
    with pytest.raises(HipwrightError) as caught:
        doctor(workplace(tmp_path, role=role, machine=path))
    document: Any = caught.value.document
    points = document["fitness"]["points"]
    assert {point["status"] for point in points} == {"failed"}
    for point in points:
        assert on_page(point["fix"]), point
        assert on_page(point["wanted"]), point


@pytest.mark.skipif(sys.platform == "win32", reason="environments by links")
def test_what_hip_check_says_is_on_the_page(tmp_path: Path) -> None:
    place = replace(workplace(tmp_path, paths=(bare_environment(tmp_path / "venv"),)), machine={})
    with pytest.raises(HipwrightError) as caught:
        hip_check(place)
    reason = caught.value.message.partition(": ")[2]
    assert on_page(reason)
    assert on_page(caught.value.hint or "nothing")


def test_what_compare_profiles_says_is_on_the_page(tmp_path: Path) -> None:
    known: dict[str, Any] = {"platform": "linux", "python": "3.12", "environment": "/e", "started": "2026-01-01T00:00:00Z"}
    gone = ExampleProfile(
        name="example.py", status="passed", duration_s=1.0, runs=(ExampleRun(duration_s=1.0, peak_memory_mb=None),)
    )
    for name, examples in (("base.json", (gone,)), ("new.json", ())):
        report = ProfileReport(examples=examples, warm_up=True, repeat=1, time_limit_s=60.0, **known)
        (tmp_path / name).write_bytes(to_json(report))
    with pytest.raises(HipwrightError) as caught:
        compare_profiles(workplace(tmp_path, paths=(tmp_path / "base.json", tmp_path / "new.json")))
    assert on_page(caught.value.message.replace("1 of 1", "1 of 3"))
    assert on_page(caught.value.hint or "nothing")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_what_is_said_of_tests_that_crash_is_on_the_page(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(
        "import os, signal\n\n\ndef test_one():\n    os.kill(os.getpid(), signal.SIGSEGV)\n", encoding="utf-8"
    )
    request = TestRequest(
        python=Path(sys.executable), environment=Path(sys.prefix), cwd=tmp_path, tests=("tests",), limits=Limits(), what="tests"
    )
    place = workplace(tmp_path)
    outcome = run_tests(request, runner=place.runner, folder=tmp_path / "out", log=tmp_path / "log", say=print)
    assert outcome.problem is not None
    assert on_page(outcome.problem.message)
    assert on_page(outcome.problem.hint or "nothing")
