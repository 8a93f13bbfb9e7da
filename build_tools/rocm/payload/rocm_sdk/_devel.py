"""The development files: expanded from the archive of ``rocm-sdk-devel`` when they are first wanted.

They go into ``_rocm_sdk_devel`` beside the packages whose files they share, or, where that folder cannot be written, into the user's cache.
The archive stays: a damaged tree can be mended without an index, and several trees can be made of it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ._packages import note
from ._plan import is_current, make_plan, place_in_cache, place_in_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ._plan import Place, Plan

__all__ = ["devel_root", "drop_archives"]


def devel_root(*, repair: bool = False, say: Callable[[str], None] = note) -> Path:
    """Return the root of the development files, expanded and up to date.

    Parameters
    ----------
    repair
        Whether each file is looked for, and not only the mark.
    say
        Told what takes long.

    Raises
    ------
    MissingPackageError
        When they are not installed; names what to type.
    MixedPackagesError
        When packages are of different builds.
    BadArchiveError
        When the archive is not what its package says.
    SdkError
        When there is no place for them, or a file that they need is gone.
    """
    plan = make_plan()
    beside = place_in_site(plan)
    if beside is not None and not repair and is_current(beside, plan):
        return beside.tree
    own = place_in_cache(plan)
    if own is not None and not repair and is_current(own, plan):
        return own.tree
    return _expanded([place for place in (beside, own) if place is not None], plan, repair=repair, say=say)


def drop_archives() -> int:
    """Remove the archives of expanded development files, and return how many bytes that frees.

    The tree stays whole; what damages it later can only be mended by a reinstallation.
    """
    root = devel_root()
    freed = 0
    for part in make_plan().parts:
        with contextlib.suppress(FileNotFoundError):
            freed += part.archive.stat().st_size
            part.archive.unlink()
            note(f"removed {part.archive}, expanded in {root}")
    return freed


def _expanded(places: list[Place], plan: Plan, *, repair: bool, say: Callable[[str], None]) -> Path:
    from ._expand import bring, writable  # noqa: PLC0415 - what is seldom done is imported then
    from ._lock import held  # noqa: PLC0415

    place = writable(places, plan)
    with held(place.lock, on_wait=lambda: say(f"waiting for another process that expands {place.tree}")):
        if repair or not is_current(place, plan):
            bring(place, plan, repair=repair, say=say)
    return place.tree
