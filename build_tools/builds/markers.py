"""Conflict markers of an unfinished merge in the files that a build reads first: told at once, by line, and not as a syntax error later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.config.project import Project

__all__ = ["refuse_conflict_markers"]

_PATTERNS: Final = (
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "CMakeLists.txt",
    "*.cmake",
    "requirements*.txt",
    ".gitmodules",
)
"""The files in the root of a tree that say how it is built; the one that holds its version counts too."""

# The line between the sides is left out: seven equals signs underline headings as well.
_MARKER: Final = re.compile(rb"^(?:<{7}|\|{7}|>{7})(?:[ \t].*)?\r?$", re.MULTILINE)


def refuse_conflict_markers(tree: Path, project: Project) -> None:
    """Refuse a source tree whose build files hold what a merge leaves where it could not decide.

    Parameters
    ----------
    tree
        The source tree.
    project
        The project that it is of.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` with the file and the line of the first one.
    """
    found = [(file, line, text) for file in _build_files(tree, project) for line, text in _markers(file)]
    if not found:
        return
    file, line, text = found[0]
    raise HipwrightError(
        "bad-source-tree",
        f"{file.relative_to(tree).as_posix()} of {project.name} has a merge-conflict marker on line {line}: {shown(text)!r}",
        where=Where(file=file, line=line),
        hint="finish the merge there; where it came with the sources, take another ref and tell the people of that branch",
        excerpt="\n".join(f"{file.relative_to(tree).as_posix()}:{line}: {shown(text)}" for file, line, text in found),
    )


def _build_files(tree: Path, project: Project) -> Iterator[Path]:
    names = {path.name for pattern in _PATTERNS for path in tree.glob(pattern)}
    if project.version.file is not None:
        names.add(project.version.file)
    return (tree / name for name in sorted(names) if (tree / name).is_file())


def _markers(file: Path) -> Iterator[tuple[int, bytes]]:
    data = file.read_bytes()
    for match in _MARKER.finditer(data):
        yield data.count(b"\n", 0, match.start()) + 1, match[0].removesuffix(b"\r")
