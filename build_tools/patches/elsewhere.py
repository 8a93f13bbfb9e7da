"""A series as other platforms get it, tried beside the tree that this one makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.patches.apply import replay
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.patches.applied import AppliedPatch
    from build_tools.patches.series import Series
    from build_tools.sources.modules import Module
    from build_tools.sources.phases import Phase
    from build_tools.types import CommitId

__all__ = ["other_platforms", "replay_elsewhere", "unfit_elsewhere"]

_UNFIT: Final = frozenset({"bad-series", "patch-conflict", "patch-misplaced"})


def other_platforms(series: Series, here: Platform) -> tuple[Platform, ...]:
    """Return the platforms that get other patches of a series than the one we are on."""
    ours = _names(series, here)
    return tuple(platform for platform in Platform if _names(series, platform) != ours)


def replay_elsewhere(
    series: Series,
    platform: Platform,
    starts: Mapping[Phase, Mapping[Module, CommitId]],
    *,
    here: Platform,
    tree: Path,
    log: Path,
    say: Callable[[str], None],
    strict: bool = False,
    three_way: bool = False,
) -> tuple[AppliedPatch, ...]:
    """Apply a series as another platform gets it, beside the tree, and return what became of the patches that this one does not get.

    Parameters
    ----------
    series
        The series.
    platform
        The other platform.
    starts
        For each phase that is to be tried, the commit of each module that its patches go on top of. Hipified patches are tried on what
        hipify made here, which is what it makes there too.
    here
        The platform that we are on.
    tree, log, say, strict, three_way
        As for :func:`build_tools.patches.apply.replay`.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.patches.apply.replay`.
    """
    ours = _names(series, here)
    found: list[AppliedPatch] = []
    for phase, commits in starts.items():
        done = replay(series, phase, commits, tree=tree, platform=platform, log=log, say=say, strict=strict, three_way=three_way)
        found += [one for module in done.values() for one in module.patches if one.file not in ours]
    return tuple(found)


def unfit_elsewhere(
    series: Series, starts: Mapping[Phase, Mapping[Module, CommitId]], *, here: Platform, tree: Path, log: Path
) -> dict[Platform, str | None]:
    """Return for each platform that gets other patches of a series why it does not take them, None where it does.

    The parameters are those of :func:`replay_elsewhere`.
    """
    found: dict[Platform, str | None] = {}
    for platform in other_platforms(series, here):
        try:
            replay_elsewhere(series, platform, starts, here=here, tree=tree, log=log, say=lambda _line: None)
        except HipwrightError as error:
            if error.code.name not in _UNFIT:
                raise
            found[platform] = error.message
        else:
            found[platform] = None
    return found


def _names(series: Series, platform: Platform) -> frozenset[str]:
    return frozenset(patch.name for patch in series.patches if patch.applies_on(platform))
