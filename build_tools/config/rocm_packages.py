"""The table of ROCm Python packages, libraries and scripts, read from ``data/rocm_packages.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

__all__ = ["DevelPackage", "Library", "PackageTable", "RuntimePackage", "Script", "package_table"]

_FILE: Final = Path(__file__).with_name("data") / "rocm_packages.toml"

Component = Literal["dev", "doc", "dbg", "lib", "run", "test"]
_RunPath = Annotated[str, msgspec.Meta(pattern="^[a-z]+:[^/].*$")]


class RuntimePackage(Table, frozen=True, kw_only=True):
    """A package of what is needed to run.

    ``artifacts`` are names of artifacts, of which ``components`` are taken; of ``with_dev`` the component ``dev`` too. Files that match
    a pattern of ``leave_out`` are not. ``run_paths`` are the folders ``package:folder`` that its binaries look in for other packages'
    libraries.
    """

    key: Literal["core", "libraries", "profiler"]
    distribution: NonEmpty
    summary: NonEmpty
    components: tuple[Component, ...]
    artifacts: tuple[NonEmpty, ...]
    platforms: tuple[Platform, ...] = (Platform.LINUX, Platform.WINDOWS)
    with_dev: tuple[NonEmpty, ...] = ()
    leave_out: tuple[NonEmpty, ...] = ()
    run_paths: tuple[_RunPath, ...] = ()


class DevelPackage(Table, frozen=True, kw_only=True):
    """The package of what a build needs; ``artifacts`` are those that no runtime package has."""

    distribution: NonEmpty
    summary: NonEmpty
    components: tuple[Component, ...]
    artifacts: tuple[NonEmpty, ...]


class Library(Table, frozen=True, kw_only=True):
    """A library that is found by a short name: where, as a pattern below its package's folder for each platform.

    ``artifact`` has it, in its component ``lib``. ``optional`` tells whether an SDK may lack it even so.
    """

    name: NonEmpty
    package: Literal["core", "libraries", "profiler"]
    artifact: NonEmpty
    linux: str | None = None
    windows: str | None = None
    optional: bool = False


class Script(Table, frozen=True, kw_only=True):
    """A program that becomes a console script; ``expand`` tells whether the devel package is expanded before it runs."""

    name: NonEmpty
    file: NonEmpty
    platforms: tuple[Platform, ...] = (Platform.LINUX, Platform.WINDOWS)
    expand: bool = True


class PackageTable(Table, frozen=True, kw_only=True):
    """All of it."""

    schema: Literal[1]
    package: tuple[RuntimePackage, ...]
    devel: DevelPackage
    library: tuple[Library, ...]
    script: tuple[Script, ...]

    def runtime(self, key: str) -> RuntimePackage:
        """Return a runtime package by its key."""
        return next(package for package in self.package if package.key == key)


@functools.cache
def package_table(path: Path = _FILE) -> PackageTable:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when a name is there twice, an artifact is in two packages, or a library is of one that its package
        has not.
    """
    table = load_toml(path, PackageTable)
    artifacts = [name for package in table.package for name in package.artifacts] + list(table.devel.artifacts)
    names: dict[str, list[str]] = {
        "artifact": artifacts,
        "library": [library.name for library in table.library],
        "script": [script.name for script in table.script],
        "package": [package.key for package in table.package],
    }
    twice = [f"{what} {name}" for what, all_of in names.items() for name in sorted({n for n in all_of if all_of.count(n) > 1})]
    if twice:
        raise HipwrightError("bad-data-file", f"{', '.join(twice)} is there twice", where=Where(file=path))
    owners = {name: package.key for package in table.package for name in package.artifacts}
    astray = [library.name for library in table.library if owners.get(library.artifact) != library.package]
    if astray:
        message = f"{', '.join(astray)}: the artifact is not one of the package's"
        raise HipwrightError("bad-data-file", message, where=Where(file=path))
    return table
