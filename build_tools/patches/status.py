"""How the patches of a line stand: how old and large they are, who cares for them, and what a source tree has of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from build_tools import digest
from build_tools.counted import counted
from build_tools.patches.hunks import hunks
from build_tools.patches.sections import sections

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from build_tools.patches.applied import Applied
    from build_tools.patches.series import Patch, Series
    from build_tools.types import CommitId, Platform

__all__ = ["PatchStatus", "Size", "State", "TreeStatus", "size_of", "states_of"]

State = Literal["applied", "offset", "upstream", "other-platform", "changed", "not-applied"]
"""``changed``: the tree has the patch as its file was before. The others as in a tree's record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How much a patch changes: files, and lines that come and go; binary files count as files alone."""

    files: int
    added: int
    removed: int

    def __str__(self) -> str:
        files = counted(self.files, "file")
        return f"{files}, +{self.added} -{self.removed}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeStatus:
    """What is known of a source tree that a line was applied to: its record, the commits that it stands on, and patches that are due.

    Parameters
    ----------
    applied
        The record.
    commits
        By module path all commits since upstream's; None where they cannot be read.
    due
        Files of the patches that are to go with these sources.
    """

    applied: Applied
    commits: Mapping[str, frozenset[CommitId]] | None
    due: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchStatus:
    """One patch, and how it stands; ``days`` is how long it has been carried."""

    patch: Patch
    size: Size
    days: int
    state: State
    expired: bool

    @property
    def words(self) -> str:
        """The state for people."""
        words = {
            "offset": "applied with an offset",
            "upstream": "already upstream",
            "other-platform": "other platform",
            "changed": "changed since it was applied",
            "not-applied": "not applied",
        }.get(self.state, self.state)
        return f"{words}, expired" if self.expired else words


def states_of(series: Series, tree: TreeStatus | None, *, platform: Platform, today: dt.date) -> tuple[PatchStatus, ...]:
    """Return how the patches of a series stand, in its order.

    Parameters
    ----------
    series
        The series.
    tree
        The tree that it was applied to, None without one.
    platform
        The platform that counts.
    today
        The day that ages are counted to.
    """
    return tuple(
        PatchStatus(
            patch=patch,
            size=size_of(patch.data),
            days=max((today - patch.entry.added).days, 0),
            state=_state(patch, tree, platform),
            expired=tree is not None and patch.name in tree.due,
        )
        for patch in series.patches
    )


def size_of(data: bytes) -> Size:
    """Return how much a patch file changes."""
    files = list(sections(data))
    lines = [line for section in files for hunk in hunks(section) for line in hunk.lines]
    return Size(
        files=len(files),
        added=sum(line.startswith(b"+") for line in lines),
        removed=sum(line.startswith(b"-") for line in lines),
    )


def _state(patch: Patch, tree: TreeStatus | None, platform: Platform) -> State:
    if not patch.applies_on(platform):
        return "other-platform"
    known = None if tree is None else next((one for one in tree.applied.patches if one.file == patch.name), None)
    if tree is None or known is None or known.outcome == "other-platform":
        return "not-applied"
    if known.commit is not None and tree.commits is not None and known.commit not in tree.commits.get(patch.module, ()):
        # A person took it out of the history, or the tree went back to an earlier stage.
        return "not-applied"
    if known.digest != digest.of_bytes(patch.data):
        return "changed"
    return known.outcome
