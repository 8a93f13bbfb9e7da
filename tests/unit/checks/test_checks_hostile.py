"""Wheels, folders and names that are made to be passed, or to stop who judges them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from packaging.markers import Marker

from build_tools.checks.baseline import choose_baseline
from build_tools.checks.rules.resolves import _told_apart
from build_tools.checks.run import check_wheels
from build_tools.checks.show import show_report
from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.receipts.record import plain
from build_tools.wheels.find import find_wheels
from tests.support.wheel_maker import WheelMaker
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.check import CheckReport

_LINUX = "cp311-cp311-manylinux_2_28_x86_64"
_WHEEL = f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {_LINUX}\n"


def _report(*wheels: Path) -> CheckReport:
    return check_wheels(list(wheels), expectations=None, say=lambda _line: None)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (f"demo/{'a' * 255}", None),
        (f"demo/{'a' * 256}", "a part of the name has 256 bytes"),
        (f"demo/{'ä' * 128}", "a part of the name has 256 bytes"),
        (f"{'a' * 256}/x", "a part of the name has 256 bytes"),
        ("/".join(["a" * 200] * 18), None),
        ("/".join(["a" * 200] * 20), "the name has 4019 bytes"),
        ("/".join(["a" * 200] * 250), "the name has 50249 bytes"),
    ],
)
def test_names_that_no_file_system_takes_are_told(tmp_path: Path, name: str, fault: str | None) -> None:
    wheel = WheelMaker(files={name: b""}, tag=_LINUX, wheel=_WHEEL).write(tmp_path)
    told = [finding for finding in _report(wheel).findings if finding.rule == "member-names"]
    assert [fault is not None and fault in finding.message for finding in told] == [True] * (fault is not None)
    assert all(len(finding.member or "") <= 401 for finding in told)


def test_a_folder_with_something_odd_in_it_names_that(tmp_path: Path) -> None:
    WheelMaker().write(tmp_path)
    (tmp_path / "odd.whl").mkdir()
    with pytest.raises(HipwrightError, match=r"odd\.whl is no file"):
        find_wheels([tmp_path])
    (tmp_path / "odd.whl").rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo.whl")
        with pytest.raises(HipwrightError, match=r"fifo\.whl is no file"):
            find_wheels([tmp_path])


def test_wheels_that_lie_further_down_are_told(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path / "build" / "demo" / "0a1b" / "dist")
    with pytest.raises(HipwrightError, match="holds no wheel") as caught:
        find_wheels([tmp_path])
    assert str(wheel.parent) in str(caught.value.hint)


def test_a_report_has_what_is_shown_in_part(tmp_path: Path) -> None:
    files = {f"demo/{number:03}.py": b"" for number in range(60)}
    wheels = [
        WheelMaker(version=version, files=files, edit_record=lambda rows: rows[-1:]).write(tmp_path) for version in ("1", "2")
    ]
    report = _report(*wheels)
    assert len(report.findings) == 2 * 62
    place = workplace(tmp_path / "desk")
    show_report(report, place.console)
    tables = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert [table.title for table in tables] == [wheel.name for wheel in wheels]
    assert [len(table.rows) for table in tables] == [21, 21]
    assert tables[0].rows[-1][3] == "the rule finds 42 more; --json has them"
    assert [bool(table.note) for table in tables] == [False, True]


def test_even_a_report_has_an_end(tmp_path: Path) -> None:
    files = {f"demo/{number}.py": b"" for number in range(1100)}
    wheel = WheelMaker(files=files, edit_record=lambda rows: rows[-1:], compress=False).write(tmp_path)
    findings = _report(wheel).findings
    assert (len(findings), findings[-1].message) == (1001, "the rule finds 102 more")
    assert json.dumps(plain(_report(wheel)))


@pytest.mark.parametrize(
    ("own", "others", "chosen"),
    [
        ("2.9.1+rocm7.10.0", ["2.9.0+rocm7.10.0", "2.9.0+bundled.rocm7.10.0"], "2.9.0+rocm7.10.0"),
        ("2.9.1+bundled.rocm7.10.0", ["2.9.0+rocm7.10.0"], None),
        ("2.9.1+bundled.rocm7.10.0", ["2.9.0+rocm7.10.0", "2.9.0+bundled.rocm7.10.0"], "2.9.0+bundled.rocm7.10.0"),
        ("2.9.0+rocm10.1.0", ["2.9.0+rocm7.15.0", "2.8.0+rocm7.15.0"], "2.9.0+rocm7.15.0"),
        ("2.9.0+rocm7.15.0", ["2.9.0+rocm10.1.0"], None),
    ],
)
def test_a_baseline_is_an_older_wheel_of_the_same_kind(own: str, others: list[str], chosen: str | None) -> None:
    def name(version: str) -> str:
        return f"torch-{version}-cp311-cp311-linux_x86_64.whl"

    assert choose_baseline(name(own), map(name, others), same_line=True) == (None if chosen is None else name(chosen))


@pytest.mark.parametrize(
    ("own", "other", "comparable"),
    [
        ("cp311-none-any", "cp312-none-any", False),
        ("cp311-cp311-linux_x86_64", "cp312-cp312-linux_x86_64", False),
        ("cp313-cp313t-linux_x86_64", "cp313-cp313-linux_x86_64", False),
        ("py3-none-any", "py2.py3-none-any", True),
        ("cp310-abi3-linux_x86_64", "cp39-abi3-linux_x86_64", True),
        ("cp311-cp311-manylinux_2_28_x86_64", "cp311-cp311-linux_x86_64", True),
        ("cp311-cp311-win_amd64", "cp311-cp311-linux_x86_64", False),
    ],
)
def test_a_baseline_is_for_the_same_python_and_system(own: str, other: str, comparable: bool) -> None:  # noqa: FBT001 - a parameter's value
    earlier = f"demo-1.0-{other}.whl"
    assert choose_baseline(f"demo-1.0-1-{own}.whl", [earlier], same_line=True) == (earlier if comparable else None)


def test_a_wheel_of_many_metadata_folders_is_judged_in_one_look_at_its_names(tmp_path: Path) -> None:
    # Each folder against each name would be 64 million comparisons, for each of three files.
    files = {f"a{number}-1.0.dist-info/x": b"" for number in range(8000)}
    wheel = WheelMaker(files=files, without=("METADATA", "WHEEL", "RECORD")).write(tmp_path)
    assert any(finding.rule == "identity" for finding in _report(wheel).findings)


def test_many_extras_do_not_multiply_with_many_requirements(tmp_path: Path) -> None:
    names = [f"e{number}" for number in range(600)]
    lines = [f"Provides-Extra: {name}" for name in names] + [f'Requires-Dist: p ; extra == "{name}"' for name in names]
    metadata = "\n".join(["Metadata-Version: 2.4", "Name: demo", "Version: 1.0", *lines]) + "\n"
    wheel = WheelMaker(metadata=metadata).write(tmp_path)
    report = _report(wheel, WheelMaker(name="p", metadata="Metadata-Version: 2.4\nName: p\nVersion: 1.0\n").write(tmp_path))
    assert [entry for entry in report.unjudged if entry.rule == "resolves"] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('extra == "a"', ["a", "b"]),
        ("extra == 'C-d'", ["c_d", "a"]),
        ('extra != "b"', ["b", "a"]),
        ('extra == "a" and extra == "b"', ["a", "b", "c_d"]),
        ('python_version < "3"', ["a"]),
    ],
)
def test_of_extras_that_a_marker_does_not_name_one_stands_for_all(text: str, kept: list[str]) -> None:
    assert _told_apart(Marker(text), ["a", "b", "c_d", "other"]) == kept
