"""What one wheel was meant to be: the plan that the rules compare it with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from build_tools.types import CommitId, Platform, Sha256

__all__ = ["Expectation", "StatedCommit"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedCommit:
    """What a wheel must say of its sources: the Python member, the name in it, and the commit that it is assigned."""

    member: str
    name: str
    commit: CommitId


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """The plan for one wheel.

    Parameters
    ----------
    distribution
        The project's name in the index, in any spelling.
    version
        The exact version, local part included.
    python_tag
        The interpreter that it was built for, such as ``cp311``, or ``cp313t`` for a free-threaded one.
    platform
        The system that it was built for.
    sha256
        The bytes that the build recorded; None when nobody did.
    members
        Members that must be there: paths as in the archive, or shell patterns whose ``*`` spans folders too.
    pins
        Requirements that the metadata must state exactly so, such as ``rocm[libraries]==7.10.0``.
    pinned
        Names of requirements that must each be pinned to one exact version.
    source_commit
        Which commit the wheel must say that it was built from, and where; None when it says nothing of it.
    """

    distribution: str
    version: str
    python_tag: str
    platform: Platform
    sha256: Sha256 | None = None
    members: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    source_commit: StatedCommit | None = None
