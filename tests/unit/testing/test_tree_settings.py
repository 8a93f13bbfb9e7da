from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.testing.tree_settings import has_pytest_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("pytest.ini", "", True),
        ("tests/pytest.ini", "", True),
        ("other/pytest.ini", "", False),
        ("../pytest.ini", "", False),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", True),
        ("pyproject.toml", "[tool.ruff]\n", False),
        ("pyproject.toml", "[tool", True),
        ("tox.ini", "[pytest]\n", True),
        ("tox.ini", "[tox]\n", False),
        ("setup.cfg", "[tool:pytest]\nx = %(y)s\n", True),
        ("setup.cfg", "[pytest]\n", False),
        ("setup.cfg", "no section\n", True),
    ],
)
def test_settings_are_those_of_the_tree(tmp_path: Path, name: str, text: str, *, there: bool) -> None:
    tree = tmp_path / "tree"
    for folder in ("tests", "other"):
        (tree / folder).mkdir(parents=True)
    (tree / name).write_text(text, encoding="utf-8")
    assert has_pytest_settings(tree, ("tests/test_a.py::test_one", "-k", "one")) is there
