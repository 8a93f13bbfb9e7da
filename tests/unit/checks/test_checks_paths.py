"""Rule ``leaked-paths`` and what looks for paths: places in texts and binaries, and texts that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.checks.demands import Demands
from build_tools.checks.path_probe import Hit, PathProbe
from build_tools.checks.run import check_wheels
from build_tools.config.wheel_demands import Check
from build_tools.types import Platform
from build_tools.wheels.archive import Member
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.check import Finding

_PLACES = ("/builds/work", "/builds/work/environments/x", r"D:\build\tree")


def _hits(data: bytes, *cuts: int) -> tuple[Hit, ...]:
    member = Member(name="x", size=len(data), packed=0, crc=0, method=0, flags=0, mode=0, offset=0, limit=0)
    watcher = PathProbe(_PLACES).begin(member)
    assert watcher is not None
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        watcher.feed(data[start:end])
    return watcher.end() or ()


@pytest.mark.parametrize(
    ("data", "place", "built"),
    [
        (b'set(X "/builds/work/src/x.h")', "/builds/work", True),
        (b"\0\0/builds/work\0", "/builds/work", True),
        (b"in /builds/work/environments/x/bin", "/builds/work/environments/x", True),
        (rb"D:\build\tree\x.cpp", r":\build\tree", True),
        (rb'"D:\\build\\tree\\x.cpp"', r":\\build\\tree", True),
        (b"d:/build/tree/x.cpp", ":/build/tree", True),
        (b"-I/home/someone/x", "/home/someone/", False),
        (b"/Users/someone/x", "/Users/someone/", False),
        (rb"C:\Users\someone\x", ":\\Users\\someone\\", False),
        (b'"/opt/rocm/lib/libamdhip64.so"', "/opt/rocm/lib", False),
        (b"/opt/rocm-7.1.0", "/opt/rocm-7.1.0", False),
        (b"/__w/pytorch/pytorch/x.cpp", "/__w/pytorch/", False),
        (b"/tmp/pip-build-env-x1_y/overlay", "/tmp/pip-build-env-x1_y", False),  # noqa: S108 - a path in a wheel
    ],
)
def test_places_are_found(data: bytes, place: str, built: bool) -> None:  # noqa: FBT001 - a case of the table
    found = _hits(data)
    assert [(hit.place, hit.built) for hit in found] == [(place, built)]


@pytest.mark.parametrize(
    "data",
    [
        b"/builds/workshop/x",
        b"src/builds/work/x",
        b"https://example.org/home/someone/x",
        b"../home/someone/",
        b"/home/",
        b"/homes/someone/",
        b"/opt/rocmx",
        b"${prefix}/opt/rocm/lib",
        rb"C:\Users\Public\x",
        b"/tmp/x",
        b"D:/build/trees",
    ],
)
def test_what_is_no_such_place(data: bytes) -> None:
    assert _hits(data) == ()


@given(st.binary(max_size=600), st.binary(max_size=600), st.lists(st.integers(0, 1300), max_size=4))
def test_a_place_is_found_wherever_the_pieces_end(before: bytes, after: bytes, cuts: list[int]) -> None:
    data = before + b"\0/builds/work/x.h\0" + after
    inside = sorted(cut for cut in cuts if cut <= len(data))
    assert "/builds/work" in {hit.place for hit in _hits(data, *inside)}


def test_places_are_counted_once_each_across_pieces() -> None:
    data = b"/builds/work/a " * 40
    for cut in range(5, 60):
        assert [hit.count for hit in _hits(data, cut, cut + 300)] == [40]


def test_the_text_around_is_told_without_what_cannot_be_printed() -> None:
    (hit,) = _hits(b"\x00\x01include /builds/work/x.h here\x00\xffmore")
    assert hit.text == "include /builds/work/x.h here"
    assert hit.binary


def _findings(folder: Path, **files: bytes) -> list[Finding]:
    named = {f"demo/{name.replace('__', '.')}": data for name, data in files.items()}
    wheel = WheelMaker(files=named).write(folder)
    demands = Demands(platform=Platform.LINUX, build_places=_PLACES)
    report = check_wheels([wheel], expectations=None, demands={wheel.name: demands}, say=lambda _line: None)
    return [finding for finding in report.findings if finding.rule == "leaked-paths"]


def test_what_a_build_left_in_a_text_is_an_error(tmp_path: Path) -> None:
    (found,) = _findings(tmp_path, x__py=b"PREFIX = '/builds/work/out'\n")
    assert (found.severity, found.member) == ("error", "demo/x.py")
    assert "PREFIX = '/builds/work/out'" in found.message


def test_what_a_compiler_left_in_a_binary_is_a_warning(tmp_path: Path) -> None:
    assert [finding.severity for finding in _findings(tmp_path, x__bin=b"\0/builds/work/a.cpp\0")] == ["warning"]


def test_a_rocm_of_the_system_in_what_cmake_reads_is_an_error(tmp_path: Path) -> None:
    target = b'set_target_properties(hip PROPERTIES IMPORTED_LOCATION "/opt/rocm/lib/libamdhip64.so")\n'
    assert [finding.severity for finding in _findings(tmp_path / "fixed", x__cmake=target)] == ["error"]
    looked = b"set(ROCM_PATH /opt/rocm)  # where people have it\n"
    assert [finding.severity for finding in _findings(tmp_path / "looked", x__cmake=looked)] == ["warning"]
    assert [finding.severity for finding in _findings(tmp_path / "text", x__py=target)] == ["warning"]


def test_a_relative_path_is_right(tmp_path: Path) -> None:
    assert _findings(tmp_path, x__cmake=b"${CMAKE_CURRENT_LIST_DIR}/../lib/libx.so $ORIGIN/../lib\n") == []


@pytest.mark.parametrize(("name", "severity"), [("x__json", "error"), ("x__sh", "error"), ("x__md", "warning")])
def test_a_home_of_somebody_in_what_tools_read_is_an_error(tmp_path: Path, name: str, severity: str) -> None:
    assert [finding.severity for finding in _findings(tmp_path, **{name: b'"/home/builder/env/bin"'})] == [severity]


def test_a_member_that_may_name_paths_is_a_warning_and_others_are_none_the_better(tmp_path: Path) -> None:
    wheel = WheelMaker(files={f"demo/{name}.cmake": b"/builds/work/x /opt/rocm/lib/y" for name in "ab"}).write(tmp_path)
    check = Check(may_name_paths=("*/a.cmake",))
    demands = Demands(platform=Platform.LINUX, build_places=_PLACES, check=check)
    report = check_wheels([wheel], expectations=None, demands={wheel.name: demands}, say=lambda _line: None)
    told = [(finding.member, finding.severity) for finding in report.findings if finding.rule == "leaked-paths"]
    assert sorted(told) == [("demo/a.cmake", "warning")] * 2 + [("demo/b.cmake", "error")] * 2
