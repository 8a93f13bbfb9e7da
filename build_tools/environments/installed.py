"""What is installed in an environment, read from its metadata files; no program of the environment is run."""

from __future__ import annotations

import csv
import functools
import importlib.metadata
import os.path
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools.environments.requires import applies
from build_tools.errors import HipwrightError
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Distribution",
    "Unmet",
    "damaged_files",
    "installed_distributions",
    "installed_files",
    "python_in",
    "scripts_in",
    "site_packages",
    "unmet_requirements",
]


_COLUMNS: Final = 3
"""Path, hash and size: the columns of a ``RECORD``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """An installed package.

    ``url`` and ``sha256`` are what ``direct_url.json`` (PEP 610) says of a package that was installed from a named file.
    """

    name: NormalizedName
    version: str
    requirements: tuple[Requirement, ...]
    url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmet:
    """A requirement that an environment does not meet: who has it, and the version that is there instead, if any."""

    requirement: Requirement
    by: str
    found: str | None

    def __str__(self) -> str:
        state = f"{canonicalize_name(self.requirement.name)} {self.found} is installed" if self.found else "it is not installed"
        return f"{self.by} requires {self.requirement}, and {state}"


def scripts_in(folder: Path, platform: Platform) -> Path:
    """Return the folder of an environment that its programs are in."""
    return folder / ("Scripts" if platform is Platform.WINDOWS else "bin")


def python_in(folder: Path, platform: Platform) -> Path:
    """Return an environment's interpreter."""
    return scripts_in(folder, platform) / ("python.exe" if platform is Platform.WINDOWS else "python")


def site_packages(folder: Path, platform: Platform) -> Path:
    """Return the folder of an environment that packages are in.

    Raises
    ------
    HipwrightError
        ``install-failed`` when the folder is no environment.
    """
    if platform is Platform.WINDOWS:
        found = [folder / "Lib" / "site-packages"]
    else:
        found = sorted((folder / "lib").glob("python*/site-packages"))
    if len(found) != 1 or not found[0].is_dir():
        raise HipwrightError("install-failed", f"{folder} is no environment: it has no folder site-packages")
    return found[0]


def installed_files(packages: Path) -> dict[NormalizedName, dict[str, int | None]]:
    """Return the files that each package's ``RECORD`` lists, with the size that it states; None for what was not packed with a size.

    What is written after installing has no size there: bytecode, and files that a package expands. The paths are whole, and texts:
    there are thousands, and most are only looked up.
    """
    found: dict[NormalizedName, dict[str, int | None]] = {}
    for each in importlib.metadata.distributions(path=[str(packages)]):
        # `files` looks at each path; the text of RECORD is all that is wanted here.
        if rows := _rows(str(packages), each.read_text("RECORD") or ""):
            found.setdefault(canonicalize_name(_core(each).name or ""), {}).update(rows)
    return found


@functools.lru_cache(maxsize=256)
def _rows(packages: str, record: str) -> tuple[tuple[str, int | None], ...]:
    """Return the rows of a ``RECORD``, parsed once for each text: thousands of files are asked for several times in a run."""
    return tuple(
        (os.path.normpath(f"{packages}{os.sep}{row[0]}"), int(row[2]) if row[2].isdigit() else None)
        for row in csv.reader(record.splitlines())
        if len(row) == _COLUMNS and row[0]
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Core:
    """What of core metadata is wanted here; ``name`` is None where it has none."""

    name: str | None
    version: str
    requires: tuple[str, ...]


def _core(each: importlib.metadata.Distribution) -> _Core:
    """Return the core metadata of a package; :mod:`importlib.metadata` parses all of it, the description too, for each field."""
    text = each.read_text("METADATA")
    # An egg says what it requires in a file of its own.
    return _parsed(text) if text else _Core(name=each.metadata["Name"], version=each.version, requires=tuple(each.requires or ()))


@functools.lru_cache(maxsize=1024)
def _parsed(metadata: str) -> _Core:
    fields = HeaderParser().parsestr(metadata)
    return _Core(name=fields["Name"], version=fields["Version"], requires=tuple(fields.get_all("Requires-Dist") or ()))


def damaged_files(packages: Path, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return which installed files of packages are gone or of another size than installed, by package; those that are whole are left out."""
    files = installed_files(packages)
    found = {}
    for name in sorted({canonicalize_name(name) for name in names}):
        bad = [path for path, size in files.get(name, {}).items() if size is not None and _size_of(path) != size]
        if bad:
            found[str(name)] = tuple(sorted(os.path.relpath(path, packages) for path in bad))
    return found


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - of thousands, each asked for as the text that it is
    except OSError:
        return None


class _Archive(msgspec.Struct, frozen=True, kw_only=True):
    hashes: dict[str, str] = {}
    hash: str = ""


class _Direct(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    archive_info: _Archive = _Archive()


def installed_distributions(packages: Path) -> tuple[Distribution, ...]:
    """Return the packages of a ``site-packages`` folder, sorted by name.

    Raises
    ------
    HipwrightError
        ``install-failed`` for a package without readable metadata.
    """
    found = []
    for each in importlib.metadata.distributions(path=[str(packages)]):
        core = _core(each)
        if core.name is None:
            raise HipwrightError("install-failed", f"a package in {packages} has no name in its metadata")
        name = canonicalize_name(core.name)
        direct = _direct(each.read_text("direct_url.json"), name)
        found.append(
            Distribution(
                name=name,
                version=core.version,
                requirements=_readable(core.requires, name),
                url=direct.url if direct else None,
                sha256=_sha256_of(direct) if direct else None,
            )
        )
    return tuple(sorted(found, key=lambda one: one.name))


def unmet_requirements(
    distributions: Sequence[Distribution], wanted: Iterable[Requirement], *, markers: Mapping[str, str], by: str
) -> tuple[Unmet, ...]:
    """Return what an environment lacks: of ``wanted``, and of what its packages require of each other, extras followed.

    The same as ``pip check``, and extras besides, without starting a program.

    Parameters
    ----------
    distributions
        What is installed.
    wanted
        What must be there.
    markers
        What environment markers see.
    by
        Who wants it, for the message.
    """
    here = {one.name: one for one in distributions}
    todo: list[tuple[Requirement, str]] = [(requirement, by) for requirement in wanted if applies(requirement, (), markers)]
    for one in distributions:
        todo += [(requirement, one.name) for requirement in one.requirements if applies(requirement, (), markers)]
    unmet: dict[str, Unmet] = {}
    followed: set[tuple[str, str]] = set()
    for requirement, owner in todo:
        found = here.get(canonicalize_name(requirement.name))
        if found is None or not _meets(found.version, requirement):
            miss = Unmet(requirement=requirement, by=owner, found=found.version if found else None)
            unmet.setdefault(str(miss), miss)
            continue
        for extra in map(canonicalize_name, sorted(requirement.extras)):
            if (found.name, extra) not in followed:
                followed.add((found.name, extra))
                # Only what the extra adds; what holds without it is on the list already.
                todo += [
                    (inner, f"{found.name}[{extra}]")
                    for inner in found.requirements
                    if not applies(inner, (), markers) and applies(inner, (extra,), markers)
                ]
    return tuple(unmet.values())


def _meets(version: str, requirement: Requirement) -> bool:
    if requirement.url is not None:
        return True
    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


@functools.lru_cache(maxsize=1024)
def _readable(texts: tuple[str, ...], name: str) -> tuple[Requirement, ...]:
    """Return the requirements of a package, parsed once for the same texts: packages are listed several times in a run."""
    found = []
    for text in texts:
        try:
            found.append(Requirement(text))
        except InvalidRequirement as error:
            raise HipwrightError("install-failed", f"{name} requires {text!r}, which cannot be read") from error
    return tuple(found)


def _direct(text: str | None, name: str) -> _Direct | None:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=_Direct)
    except msgspec.DecodeError as error:
        raise HipwrightError("install-failed", f"{name} has a direct_url.json that cannot be read: {error}") from error


def _sha256_of(direct: _Direct) -> str | None:
    algorithm, _, value = direct.archive_info.hash.partition("=")
    return direct.archive_info.hashes.get("sha256") or (value if algorithm == "sha256" else None)
