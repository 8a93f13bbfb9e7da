from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.builds.markers import refuse_conflict_markers
from build_tools.errors import HipwrightError
from tests.support.builds import project

if TYPE_CHECKING:
    from pathlib import Path

SIDES = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> 1234567 (merge)\n"


def refused(tree: Path, **changes: object) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        refuse_conflict_markers(tree, project(**changes))
    assert caught.value.code.name == "bad-source-tree"
    return caught.value


@pytest.mark.parametrize(
    "name",
    [
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "CMakeLists.txt",
        "FindThing.cmake",
        "requirements.txt",
        "requirements-build.txt",
        ".gitmodules",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CR LF"])
def test_a_marker_in_a_build_file_is_told_by_its_line(tmp_path: Path, name: str, end: str) -> None:
    (tmp_path / name).write_bytes(f"first\nsecond\n{SIDES}".replace("\n", end).encode())
    error = refused(tmp_path)
    assert error.where is not None
    assert (error.where.file, error.where.line) == (tmp_path / name, 3)
    assert f"{name} of {project().name}" in error.message
    assert (error.excerpt or "").splitlines() == [f"{name}:3: <<<<<<< HEAD", f"{name}:7: >>>>>>> 1234567 (merge)"]


def test_the_file_with_the_version_counts_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").write_text(SIDES, encoding="utf-8")
    assert "toy/__init__.py" in refused(tmp_path, version={"file": "toy/__init__.py"}).message


def test_half_a_marker_is_one(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("x = 1\n||||||| base\n", encoding="utf-8")
    assert "line 2" in refused(tmp_path).message


@pytest.mark.parametrize(
    "text",
    [
        "Heading\n=======\n",
        "print('<<<<<<< HEAD')\n",
        "  <<<<<<< indented\n",
        "<<<<<<<<<<<<\n>>>>>>>>\n",
        "",
    ],
)
def test_what_only_looks_like_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "setup.py").write_text(text, encoding="utf-8")
    refuse_conflict_markers(tmp_path, project())


def test_other_files_are_none_of_a_builds_business(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "setup.py").write_text(SIDES, encoding="utf-8")
    (tmp_path / "notes.txt").write_text(SIDES, encoding="utf-8")
    refuse_conflict_markers(tmp_path, project())
