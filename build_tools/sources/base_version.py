"""The base version of a project's sources: a file of the tree that holds it, a line of one that does, or a fixed text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.contents import PLAIN_FILES, entry_at, read_file

if TYPE_CHECKING:
    from build_tools.config.project import Project
    from build_tools.sources.git import Repository
    from build_tools.types import CommitId

__all__ = ["base_version", "version_in"]


def base_version(project: Project, repository: Repository, commit: CommitId) -> str:
    """Return the base version of a project at a commit, as it is written there.

    Parameters
    ----------
    project
        The project; its ``version`` says where the version stands.
    repository
        A repository in which the commit's files can be read.
    commit
        The commit.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the commit has no such file, or not exactly one line that holds the version; ``bad-version`` when what
        stands there is none; ``bad-data-file`` when the project does not say where.
    """
    if project.version.fixed is not None:
        where = Where(file="project.toml", key="version.fixed")
        return _checked(project.version.fixed, f"the version of {project.name}", where)
    name = project.version.file
    if name is None:
        message = f"{project.name} does not say where its version stands"
        raise HipwrightError("bad-data-file", message, where=Where(file="project.toml", key="version"), hint="set file or fixed")
    where = Where(file=name, key=f"commit {commit}")
    entry = entry_at(repository, commit, name)
    data = read_file(repository, commit, name)
    if entry is None or data is None:
        message = f"commit {commit} of {project.name} has no file {name}, which should hold its version"
        raise HipwrightError("bad-source-tree", message, where=where)
    if entry.mode not in PLAIN_FILES:
        message = f"{name} of commit {commit} should hold the version of {project.name}, and is a link"
        raise HipwrightError("bad-source-tree", message, where=where, hint="name the file itself in version.file of project.toml")
    return version_in(project, data, told=f"{name} of commit {commit}", where=where)


def version_in(project: Project, data: bytes, *, told: str, where: Where) -> str:
    """Return the base version of a project out of the file that has it.

    Parameters
    ----------
    project
        The project; its ``version.pattern`` finds the version, if the file is not just that.
    data
        The file's bytes.
    told, where
        The file as messages name it, and where it is.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the file has not exactly one line that holds the version; ``bad-version`` when what stands there is none.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        message = f"{told} should hold the version of {project.name}, and is no UTF-8 text"
        raise HipwrightError("bad-source-tree", message, where=where) from None
    found = text.strip() if project.version.pattern is None else _by_pattern(project, project.version.pattern, text, where)
    if not found or len(found.splitlines()) != 1:
        message = f"{told} should hold one line, the version of {project.name}"
        raise HipwrightError("bad-source-tree", message, where=where)
    return _checked(found, f"{told} holds the version of {project.name}, which", where)


def _by_pattern(project: Project, pattern: str, text: str, where: Where) -> str:
    """Return what the pattern's first group is in the one line that it fits."""
    fits = [(number, match[1]) for number, line in enumerate(text.splitlines(), start=1) if (match := re.search(pattern, line))]
    if len(fits) == 1 and fits[0][1]:
        return fits[0][1]
    lines = ", ".join(str(number) for number, _ in fits)
    what = f"lines {lines} fit" if len(fits) > 1 else f"line {lines} fits without a version" if fits else "no line fits"
    message = (
        f"one line of {where.file} should say the version of {project.name} as version.pattern has it, and {what}: {pattern}"
    )
    raise HipwrightError(
        "bad-source-tree", message, where=where, hint="set version.pattern of project.toml to what that file has"
    )


def _checked(text: str, what: str, where: Where) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise HipwrightError("bad-version", f"{what} is {shown(text)!r}: no version (PEP 440)", where=where) from None
    return text
