"""What is demanded of a wheel beside what is demanded of any: a project's data, and what the wheel is to meet where it is installed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.config.wheel_demands import Check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.types import GfxTarget, Platform

__all__ = ["Demands", "Unmet"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmet:
    """Something that an install of a wheel would lack: in words, and whether it would without an extra too."""

    text: str
    always: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Demands:
    """What rules judge a wheel by when nobody planned it, too.

    Parameters
    ----------
    platform
        The system that it is for.
    check
        The project's own demands.
    members, forbidden
        Members that must be there, and that must not: paths as in the archive, or shell patterns.
    targets
        The GPU targets that it must have code for; none when nobody named any.
    libraries
        Names of the libraries that the packages which it requires bring, as a loader looks for them; None when nobody knows.
    preloads
        Names of the libraries that the package loads by itself before others need them.
    packages
        What will be beside it, by distribution: versions of the other wheels of the set, and of the ROCm packages; None when nobody
        knows.
    build_places
        Folders of the machine that built it, which it must not name.
    unmet
        Why the wheel cannot be installed from its set and the places that packages come from; None when none was asked.
    unasked
        Why none was asked, where there was one to ask.
    baseline
        Sizes of the members of the wheel that it is compared with, by name, in bytes; None without one.
    """

    platform: Platform
    check: Check = field(default_factory=Check)
    members: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    targets: tuple[GfxTarget, ...] = ()
    libraries: frozenset[str] | None = None
    preloads: tuple[str, ...] = ()
    packages: Mapping[str, str] | None = None
    build_places: tuple[str, ...] = ()
    unmet: tuple[Unmet, ...] | None = None
    unasked: str | None = None
    baseline: Mapping[str, int] | None = None
