from __future__ import annotations

import pytest

from build_tools.ci.changes import About, projects_about
from build_tools.config.matrix import matrix_table

PROJECTS = ("pytorch", "pytorch-audio", "pytorch-vision", "triton", "apex")
BASES = {"pytorch": ["triton"], "pytorch-audio": ["pytorch"], "pytorch-vision": ["pytorch"], "apex": ["pytorch"]}


def about(*changed: str) -> About:
    return projects_about(changed, PROJECTS, rows=matrix_table().changes, built_on=lambda name: BASES.get(name, []))


def test_a_project_s_own_folder_is_about_it_and_what_is_built_on_it() -> None:
    found = about("external-builds/pytorch-audio/project.toml")
    assert found.kept == {"pytorch-audio": "external-builds/pytorch-audio/project.toml changed"}
    assert set(found.left_out) == set(PROJECTS) - {"pytorch-audio"}
    found = about("external-builds/triton/hooks.py")
    assert set(found.kept) == set(PROJECTS)
    assert found.kept["apex"] == "it is built on pytorch: it is built on triton: external-builds/triton/hooks.py changed"


@pytest.mark.parametrize("path", ["build_tools/process.py", "noxfile.py", "requirements/hipwright.txt", "external-builds/README"])
def test_what_no_row_speaks_of_is_about_everything(path: str) -> None:
    found = about(path, "docs/index.md")
    assert set(found.kept) == set(PROJECTS)
    assert all(path in reason for reason in found.kept.values())


def test_pages_and_tests_start_no_build_and_the_reason_is_told() -> None:
    found = about("docs/how-to/patches.md", "README.md", "tests/unit/test_files.py")
    assert not found.kept
    assert all("pages only" in reason for reason in found.left_out.values())
    assert about().left_out["pytorch"].endswith("(nothing changed)")


def test_a_project_without_jobs_keeps_nothing() -> None:
    assert not about("external-builds/sample/project.toml").kept
