"""What is known to build: projects and features by line of torch, system and Python, read from ``data/support.toml``."""

from __future__ import annotations

import fnmatch
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from build_tools.config.fields import NonEmpty, PlatformName, Table
from build_tools.config.load import load_toml

if TYPE_CHECKING:
    from build_tools.types import Platform

__all__ = ["SupportRow", "SupportTable", "python_text", "support_table"]

_FILE: Final = Path(__file__).parent / "data" / "support.toml"
_TAG: Final = re.compile(r"cp(3)(\d+)(t?)")

Link = Annotated[str, msgspec.Meta(pattern=r"^https://\S+$")]


class SupportRow(Table, frozen=True, kw_only=True):
    """One row: a project, or a feature of it, and how it stands in the combinations that the row speaks of.

    ``torch`` is a version specifier on the release of torch that a project is built with (for torch itself, its own); without it a row
    speaks of all. ``pythons`` are shell patterns of versions as people write them, such as ``3.1?t``. ``link`` leads to where the reason is told.
    """

    project: NonEmpty
    feature: NonEmpty | None = None
    torch: NonEmpty | None = None
    platforms: tuple[PlatformName, ...] = ("linux", "windows")
    pythons: tuple[NonEmpty, ...] = ("*",)
    state: Literal["supported", "in-progress", "unsupported", "unknown"]
    reason: NonEmpty
    link: Link | None = None

    def __post_init__(self) -> None:
        """Refuse a specifier that is none."""
        try:
            SpecifierSet(self.torch or "")
        except InvalidSpecifier:
            message = f"{self.torch!r} is no version specifier"
            raise ValueError(message) from None

    def speaks_of(self, *, torch: str | None, platform: Platform, python: str) -> bool:
        """Say whether a combination is one of the row's; ``python`` is a version as people write it.

        A row for some releases of torch speaks of none where the release is not known.
        """
        here = platform.value in self.platforms and any(fnmatch.fnmatchcase(python, pattern) for pattern in self.pythons)
        return here and (self.torch is None or _fits(torch, self.torch))


class SupportTable(Table, frozen=True, kw_only=True):
    """The table; of the rows that speak of a combination the first one counts."""

    schema: Literal[1]
    rows: tuple[SupportRow, ...]

    def find(
        self, project: str, *, torch: str | None, platform: Platform, python: str, feature: str | None = None
    ) -> SupportRow | None:
        """Return what is known of a combination, None for nothing.

        Parameters
        ----------
        project, feature
            The project, and one of its features; None for the project as a whole.
        torch
            The version of torch that it is built with, None where it is not known.
        platform
            The system that is built for.
        python
            The target Python, as people write it: ``3.12``, ``3.13t``.
        """
        return next(
            (
                row
                for row in self.rows
                if row.project == project
                and row.feature == feature
                and row.speaks_of(torch=torch, platform=platform, python=python)
            ),
            None,
        )


@functools.cache
def support_table() -> SupportTable:
    """Return the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``.
    """
    return load_toml(_FILE, SupportTable)


def python_text(tag: str) -> str:
    """Return a Python version as people write it, given its tag; anything else stays.

    >>> python_text("cp312"), python_text("cp313t")
    ('3.12', '3.13t')
    """
    found = _TAG.fullmatch(tag)
    return f"{found[1]}.{found[2]}{found[3]}" if found else tag


def _fits(torch: str | None, specifier: str) -> bool:
    if torch is None:
        return False
    try:
        # The release counts: 2.9.1a0 of a branch stands where 2.9.1 will.
        return SpecifierSet(specifier).contains(Version(torch).base_version)
    except InvalidVersion:
        return False
