"""The support table: which row speaks of a combination."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.config.load import parse_toml
from build_tools.config.project import project_names
from build_tools.config.support import SupportTable, python_text, support_table
from build_tools.errors import HipwrightError
from build_tools.types import Platform

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"
LINUX, WINDOWS = Platform.LINUX, Platform.WINDOWS


def state(
    project: str, torch: str | None, platform: Platform = LINUX, python: str = "3.12", feature: str | None = None
) -> str | None:
    row = support_table().find(project, torch=torch, platform=platform, python=python, feature=feature)
    return None if row is None else row.state


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        ("2.7.1", "unsupported"),
        ("2.9.1a0", "unsupported"),
        ("2.9.1+rocm7.10.0", "unsupported"),
        ("2.10.0a0", "supported"),
        ("2.10.0a0+rocm7.10.0", "supported"),
        ("2.13.0", "supported"),
        ("2.6.0", None),
        (None, None),
        ("no version", None),
    ],
)
def test_apex_depends_on_the_line_of_torch(torch: str | None, expected: str | None) -> None:
    assert state("apex", torch) == expected


def test_apex_is_not_built_for_windows_whatever_the_torch() -> None:
    assert {state("apex", torch, WINDOWS) for torch in (None, "2.9.0", "2.13.0")} == {"unsupported"}


def test_triton_for_windows_is_no_reason_to_skip_it() -> None:
    assert state("triton", None, WINDOWS) == "in-progress"
    assert state("triton", None, LINUX) == "supported"


@pytest.mark.parametrize("python", ["3.13t", "3.14t"])
def test_nothing_is_known_of_free_threaded_interpreters(python: str) -> None:
    assert state("pytorch", "2.13.0", python=python) == "unknown"
    assert state("pytorch", "2.13.0", python=python[:-1]) == "supported"


def test_a_feature_is_no_project_and_a_project_no_feature() -> None:
    assert state("pytorch", "2.13.0", feature="flash-attention") == "in-progress"
    assert state("pytorch", "2.13.0", WINDOWS, feature="flash-attention") == "supported"
    assert state("pytorch", "2.13.0", feature="teleport") is None


def test_every_row_is_about_a_project_that_there_is() -> None:
    assert {row.project for row in support_table().rows} <= set(project_names(EXTERNAL_BUILDS))


def test_every_project_has_a_row() -> None:
    assert set(project_names(EXTERNAL_BUILDS)) <= {row.project for row in support_table().rows}


ROW = 'schema = 1\n[[rows]]\nproject = "toy"\nstate = "unsupported"\nreason = "it is a toy"\n'


@pytest.mark.parametrize("line", ['torch = "two"', 'torch = "2.9"', 'platforms = ["plan9"]', 'link = "ftp://x"', 'state2 = "x"'])
def test_a_row_that_means_nothing_is_refused(line: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_toml(f"{ROW}{line}\n", Path("support.toml"), SupportTable)
    assert caught.value.code.name == "bad-data-file"


def test_the_first_row_that_speaks_counts() -> None:
    text = ROW + '[[rows]]\nproject = "toy"\nstate = "supported"\nreason = "never reached"\n'
    table = parse_toml(text, Path("support.toml"), SupportTable)
    found = table.find("toy", torch=None, platform=LINUX, python="3.12")
    assert found is not None
    assert found.state == "unsupported"


@pytest.mark.parametrize(("tag", "text"), [("cp310", "3.10"), ("cp313t", "3.13t"), ("cp39", "3.9"), ("pp310", "pp310")])
def test_a_tag_as_people_write_it(tag: str, text: str) -> None:
    assert python_text(tag) == text
