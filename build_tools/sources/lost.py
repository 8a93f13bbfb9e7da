"""What it means for a tree that a submodule's commit cannot be fetched."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.types import CommitId

__all__ = ["no_such_submodule", "of_submodule"]


def of_submodule(
    error: HipwrightError, *, project: str, path: str, commit: CommitId, url: str, recorded_by: str
) -> HipwrightError:
    """Return the error of fetching a commit as one that names the submodule; others as they are.

    Parameters
    ----------
    error
        What the mirror raised.
    project
        The project that the tree is of.
    path
        The submodule's path from the root of the tree.
    commit
        The commit that it is recorded at.
    url
        The address that was asked.
    recorded_by
        What records it: a commit and its origin.
    """
    way_out = f"name a repository that has it with --{project}-submodule-url {shown(path)}=URL"
    where = Where(module=path)
    if error.code.name == "unknown-ref":
        message = f"the submodule {shown(path)} is recorded at commit {commit}, which {redact(url)} does not have; {recorded_by} records it"
        hint = f"trying again will not help unless somebody pushes that commit there; choose another ref, or {way_out}"
        return HipwrightError("submodule-commit-missing", message, where=where, hint=hint, excerpt=error.excerpt)
    if error.code.name == "origin-unreachable":
        message = f"{error.message}; {recorded_by} records the submodule {shown(path)} there, at commit {commit}"
        hint = f"{error.hint}, or {way_out}"
        return HipwrightError("origin-unreachable", message, where=where, hint=hint, excerpt=error.excerpt)
    return error


def no_such_submodule(path: str, known: Iterable[str], *, commit: CommitId, origin: str) -> HipwrightError:
    """Return the error of an address that is given for a path at which a tree has no submodule; ``known`` are those that it has."""
    paths = sorted(known)
    close = difflib.get_close_matches(path, paths, n=5, cutoff=0.5)
    message = f"commit {commit} of {redact(origin)} has no submodule {shown(path)!r}, for which an address is given"
    hint = f"close to it: {', '.join(close)}" if close else f"it has {', '.join(paths) or 'no submodules'}"
    return HipwrightError("bad-option-value", message, hint=hint)
