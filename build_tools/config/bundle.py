"""What goes into a wheel that has ROCm inside, as data in ``data/bundle.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.config.rocm_packages import package_table
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

__all__ = ["BundleTable", "Companions", "bundle_table"]

_FILE: Final = Path(__file__).with_name("data") / "bundle.toml"


class Companions(Table, frozen=True, kw_only=True):
    """What goes with a library: other libraries by their short names, and patterns of files for each platform."""

    library: NonEmpty
    loads: tuple[NonEmpty, ...] = ()
    linux: tuple[NonEmpty, ...] = ()
    windows: tuple[NonEmpty, ...] = ()

    def files(self, platform: Platform) -> tuple[str, ...]:
        """Return the patterns for a platform."""
        return {Platform.LINUX: self.linux, Platform.WINDOWS: self.windows}[platform]


class BundleTable(Table, frozen=True, kw_only=True, rename={"companions": "with", "leave_out": "leave-out"}):
    """All of it; see the comments in the file."""

    schema: Literal[1]
    folder: NonEmpty
    leave_out: tuple[NonEmpty, ...]
    always: tuple[NonEmpty, ...]
    companions: tuple[Companions, ...]

    def of(self, library: str) -> Companions | None:
        """Return what goes with a library, by its short name."""
        return next((one for one in self.companions if one.library == library), None)


@functools.cache
def bundle_table(path: Path = _FILE) -> BundleTable:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when a library is there twice or is none of the table of packages.
    """
    table = load_toml(path, BundleTable)
    known = {library.name for library in package_table().library}
    names = [one.library for one in table.companions]
    unknown = sorted({name for one in table.companions for name in (one.library, *one.loads)} - known)
    problems = [
        *(f"{name} is there twice" for name in sorted({name for name in names if names.count(name) > 1})),
        *(f"{name} is no library of rocm_packages.toml" for name in unknown),
    ]
    if problems:
        raise HipwrightError("bad-data-file", "; ".join(problems), where=Where(file=path))
    return table
