"""Whether a source tree has settings of pytest: where it has none, pytest takes those of a folder around it."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["has_pytest_settings"]

_ALONE: Final = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
"""Files that are settings of pytest whatever they hold."""

_SECTIONS: Final = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}


def has_pytest_settings(tree: Path, tests: Sequence[str]) -> bool:
    """Return whether pytest finds settings of its own in a tree, for tests that are given as it takes them.

    It looks in the folder that all tests are in, and then in each folder around that one. What it cannot read counts: it says so itself.
    """
    named = [Path(test.partition("::")[0]) for test in tests if not test.startswith("-")]
    folders = {tree}
    for path in named:
        folders |= {tree / folder for folder in (path, *path.parents) if (tree / folder).is_dir()}
    return any(_in_folder(folder) for folder in folders)


def _in_folder(folder: Path) -> bool:
    if any((folder / name).is_file() for name in _ALONE):
        return True
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        project = {}
    except (OSError, ValueError):
        return True
    if "pytest" in project.get("tool", {}):
        return True
    return any(_has_section(folder / name, section) for name, section in _SECTIONS.items())


def _has_section(file: Path, section: str) -> bool:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(file, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return True
    return parser.has_section(section)
