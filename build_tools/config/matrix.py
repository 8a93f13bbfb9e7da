"""Which jobs continuous integration starts, read from ``data/matrix.toml``."""

from __future__ import annotations

import fnmatch
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import msgspec

from build_tools.config.fields import NonEmpty, PlatformName, Table
from build_tools.config.load import load_toml
from build_tools.config.runners import Tier  # noqa: TC001 - the fields are read at run time
from build_tools.config.targets import family_name
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from build_tools.types import Platform

__all__ = ["ChangeRow", "Exclusion", "Images", "JobPurpose", "MatrixTable", "Refs", "matrix_table"]

_FILE: Final = Path(__file__).parent / "data" / "matrix.toml"

ImageName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^(\S+@sha256:[0-9a-f]{64})?$")]
ReleaseKind: TypeAlias = Literal["ci", "dev", "nightly", "prerelease", "release"]


class Refs(Table, frozen=True, kw_only=True):
    """The refs of PyTorch that are built on each platform."""

    linux: tuple[NonEmpty, ...] = ()
    windows: tuple[NonEmpty, ...] = ()

    def of(self, platform: Platform) -> tuple[str, ...]:
        """Return those of a platform."""
        return self.linux if platform.value == "linux" else self.windows


class Images(Table, frozen=True, kw_only=True):
    """The container images that wheels are built in, by digest; empty for a build on the machine itself."""

    linux: ImageName = ""
    windows: ImageName = ""

    def of(self, platform: Platform) -> str:
        """Return that of a platform."""
        return self.linux if platform.value == "linux" else self.windows


class JobPurpose(Table, frozen=True, kw_only=True):
    """What jobs are started for: release type, tier of GPU families, projects in the order of a build, Pythons, refs."""

    name: NonEmpty
    release_type: ReleaseKind
    tier: Tier
    projects: tuple[NonEmpty, ...]
    pythons: tuple[NonEmpty, ...]
    refs: Refs


class Exclusion(Table, frozen=True, kw_only=True):
    """GPU families that some refs are not built for."""

    families: tuple[NonEmpty, ...]
    refs: tuple[NonEmpty, ...]
    platforms: tuple[PlatformName, ...] = ("linux", "windows")
    reason: NonEmpty

    def holds(self, family: str, ref: str, platform: Platform) -> bool:
        """Say whether a family is left out."""
        return family in self.families and ref in self.refs and platform.value in self.platforms


class ChangeRow(Table, frozen=True, kw_only=True):
    """What files are about whose path in the clone, with ``/``, fits one of some shell patterns; ``*`` takes ``/`` too."""

    paths: tuple[NonEmpty, ...]
    about: Literal["nothing", "everything"]
    reason: NonEmpty

    def speaks_of(self, path: str) -> bool:
        """Say whether a changed file is one of the row's."""
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.paths)


class MatrixTable(Table, frozen=True, kw_only=True):
    """All of it."""

    schema: Literal[1]
    limit: Annotated[int, msgspec.Meta(ge=1, le=256)]
    skip_label: NonEmpty
    purpose: tuple[JobPurpose, ...]
    images: Images = Images()
    exclude: tuple[Exclusion, ...] = ()
    changes: tuple[ChangeRow, ...] = ()

    def find(self, name: str) -> JobPurpose:
        """Return a purpose by its name; ``tests`` has the jobs of ``nightly``."""
        return {row.name: row for row in self.purpose}[name]


@functools.cache
def matrix_table(path: Path = _FILE) -> MatrixTable:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when a purpose is there twice, or an exclusion names no family.
    """
    table = load_toml(path, MatrixTable)
    names = [row.name for row in table.purpose]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise HipwrightError("bad-data-file", f"the purpose {', '.join(twice)} is there twice", where=Where(file=path))
    for family in [family for row in table.exclude for family in row.families]:
        try:
            family_name(family)
        except HipwrightError as error:
            raise HipwrightError("bad-data-file", error.message, where=Where(file=path, key=family), hint=error.hint) from error
    return table
