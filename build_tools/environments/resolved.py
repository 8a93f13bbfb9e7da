"""What an installer chose, as pip and uv write it down."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.tags import parse_tag
from packaging.utils import NormalizedName, canonicalize_name

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from packaging.tags import Tag

__all__ = ["Resolved", "from_pylock", "from_report"]


_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A package as an installer chose it: ``url`` is set for one that was named by its file.

    ``requires`` are the names of what it requires, where the installer tells them; markers do not count.
    """

    name: NormalizedName
    version: str
    sha256: str | None
    url: str | None = None
    requires: frozenset[str] = frozenset()


class _DownloadInfo(msgspec.Struct, kw_only=True):
    class Archive(msgspec.Struct, kw_only=True):
        hashes: dict[str, str] = {}

    url: str
    archive_info: Archive | None = None


class _Installed(msgspec.Struct, kw_only=True):
    class Metadata(msgspec.Struct, kw_only=True):
        name: str
        version: str
        requires_dist: tuple[str, ...] = ()

    download_info: _DownloadInfo
    is_direct: bool
    metadata: Metadata


class _Report(msgspec.Struct, kw_only=True):
    install: tuple[_Installed, ...]


def from_report(report: Path) -> tuple[Resolved, ...]:
    """Read what pip says that it installed (its installation report, version 1).

    Raises
    ------
    HipwrightError
        ``install-failed`` when the report is missing or cannot be read.
    """
    try:
        data = msgspec.json.decode(report.read_bytes(), type=_Report)
    except (OSError, msgspec.DecodeError) as error:
        raise HipwrightError("install-failed", f"pip left no report that can be read: {error}") from error
    return tuple(
        Resolved(
            name=canonicalize_name(one.metadata.name),
            version=one.metadata.version,
            sha256=one.download_info.archive_info.hashes.get("sha256") if one.download_info.archive_info else None,
            url=one.download_info.url if one.is_direct else None,
            requires=frozenset(
                canonicalize_name(_NAME.split(text.strip(), maxsplit=1)[0]) for text in one.metadata.requires_dist
            ),
        )
        for one in data.install
    )


class _LockedFile(msgspec.Struct, kw_only=True):
    url: str | None = None
    path: str | None = None
    name: str | None = None
    hashes: dict[str, str] = {}

    @property
    def filename(self) -> str:
        return self.name or (self.url or self.path or "").partition("?")[0].rpartition("/")[2]


class _LockedPackage(msgspec.Struct, kw_only=True):
    name: str
    version: str | None = None
    wheels: tuple[_LockedFile, ...] = ()
    sdist: _LockedFile | None = None
    archive: _LockedFile | None = None


class _Pylock(msgspec.Struct, kw_only=True):
    packages: tuple[_LockedPackage, ...] = ()


def from_pylock(
    lock: Path, ranks: Mapping[Tag, int], pinned: Mapping[NormalizedName, frozenset[str]] | None = None
) -> tuple[Resolved, ...]:
    """Read a lock file (PEP 751) that uv made for one interpreter.

    Parameters
    ----------
    lock
        The file.
    ranks
        The interpreter's wheel tags, best first.
    pinned
        The hashes that may be taken, by package, where they are limited.

    Raises
    ------
    HipwrightError
        ``install-failed`` when the lock is missing or cannot be read.
    """
    try:
        data = msgspec.convert(tomllib.loads(lock.read_text(encoding="utf-8")), _Pylock)
    except (OSError, ValueError) as error:
        raise HipwrightError("install-failed", f"uv left no lock that can be read: {error}") from error
    return tuple(_resolved(package, ranks, pinned) for package in data.packages)


def _resolved(
    package: _LockedPackage, ranks: Mapping[Tag, int], pinned: Mapping[NormalizedName, frozenset[str]] | None
) -> Resolved:
    name = canonicalize_name(package.name)
    files = [*package.wheels, *((package.sdist,) if package.sdist else ())]
    if pinned is not None:
        files = [file for file in files if file.hashes.get("sha256") in pinned.get(name, frozenset())]
    chosen = package.archive or min(files, key=lambda file: _rank(file.filename, ranks), default=None)
    return Resolved(
        name=name,
        version=package.version or "",
        sha256=chosen.hashes.get("sha256") if chosen else None,
        url=package.archive.url or package.archive.path if package.archive else None,
    )


def _rank(filename: str, ranks: Mapping[Tag, int]) -> int:
    if not filename.endswith(".whl"):
        return len(ranks)
    tags = parse_tag("-".join(filename.removesuffix(".whl").split("-")[-3:]))
    return min((ranks[tag] for tag in tags if tag in ranks), default=len(ranks))
