"""Rule ``entry-points``: files that installers can read, and those that stop them in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.checks.run import check_wheels
from tests.support.wheel_maker import WheelMaker, row

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "demo-1.0.dist-info/entry_points.txt"


def _findings(folder: Path, text: str | bytes) -> list[tuple[str, str]]:
    data = text.encode() if isinstance(text, str) else text
    maker = WheelMaker(extra=[(_FILE, data)], edit_record=lambda rows: [row(_FILE, data), *rows])
    report = check_wheels([maker.write(folder)], expectations=None, say=lambda _line: None)
    assert {finding.rule for finding in report.findings} <= {"entry-points"}
    return [(finding.severity, finding.message) for finding in report.findings]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[console_scripts]\ndemo = demo.main:run\nDemo=demo.main:run.it\n",
        "[console_scripts]\ndemo-2.0 = demo:main [fast, other]\n[gui_scripts]\nwindow=demo : main\n",
        "# a comment\n[demo.plugins]\none two = demo\nthree = demo.x:y\n",
        "[console_scripts]\na:b = demo:main\n",
        "[DEFAULT]\nx = demo\n",
    ],
)
def test_what_installers_read(tmp_path: Path, text: str) -> None:
    assert _findings(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[console_scripts]\nx=\xff:main\n", "it is not UTF-8: byte 20"),
        ("[console_scripts\nx = a:b\n", "it cannot be read"),
        ("x = a:b\n", "it cannot be read"),
        ("[console_scripts]\nx = a:b\nx = a:c\n", "it cannot be read"),
        ("[console_scripts]\n[console_scripts]\n", "it cannot be read"),
        ("[console_scripts]\nx\n", "it cannot be read"),
        ("[console_scripts]\nx = %(x)s\n", "'%(x)s' is no module:object to be called"),
        ("[console_scripts]\nx = demo\n", "'demo' is no module:object to be called"),
        ("[console_scripts]\nx =\n", "'' is no module:object to be called"),
        ("[gui_scripts]\nx = demo:main; import os\n", "is no module:object"),
        ("[console_scripts]\n../x = demo:main\n", "would lie elsewhere"),
        ("[console_scripts]\n.. = demo:main\n", "would lie elsewhere"),
        ("[console_scripts]\na\\b = demo:main\n", "would lie elsewhere"),
    ],
)
def test_what_stops_an_install(tmp_path: Path, text: str | bytes, message: str) -> None:
    ((severity, told),) = _findings(tmp_path, text)
    assert severity == "error"
    assert message in told


def test_a_plugin_that_names_no_object_is_a_warning(tmp_path: Path) -> None:
    assert _findings(tmp_path, "[demo.plugins]\nx = not-a-module\n") == [
        ("warning", "[demo.plugins] x: 'not-a-module' names no object")
    ]


@given(data=st.binary(max_size=80))
def test_nothing_in_the_file_stops_the_check(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    _findings(tmp_path_factory.mktemp("wheel"), b"[console_scripts]\n" + data)
