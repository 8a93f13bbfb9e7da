"""What a package file requires, read from its metadata without running any of its code."""

from __future__ import annotations

import tarfile
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from build_tools.errors import HipwrightError, Where
from build_tools.wheels.limits import absurd_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["Requires", "applies", "parse_requirement", "parse_requires", "read_requires"]

_LIMIT: Final = 16 * 2**20
"""Bytes of metadata that are read at the most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Requires:
    """What metadata says about dependencies: requirements with their markers, and the extras that exist (normalised)."""

    requirements: tuple[Requirement, ...]
    extras: frozenset[str]

    def of(self, extras: Iterable[str], markers: Mapping[str, str]) -> tuple[Requirement, ...]:
        """Return the requirements that count in an environment with these extras."""
        return tuple(requirement for requirement in self.requirements if applies(requirement, extras, markers))


def applies(requirement: Requirement, extras: Iterable[str], markers: Mapping[str, str]) -> bool:
    """Return whether a requirement's marker holds for an interpreter, with any of the extras or with none (PEP 508)."""
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({**markers, "extra": extra}) for extra in ("", *extras))


def parse_requirement(text: str, *, where: Where | None = None) -> Requirement:
    """Read a requirement.

    Raises
    ------
    HipwrightError
        ``bad-data-file``.
    """
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise HipwrightError("bad-data-file", f"{text!r} is no requirement: {str(error).splitlines()[0]}", where=where) from error


def parse_requires(data: bytes, *, name: str) -> Requires:
    """Read core metadata; fields that do not matter here may be malformed, as in old packages they are.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when a requirement cannot be read.
    """
    raw, _ = parse_email(data)
    found = []
    for text in raw.get("requires_dist", []):
        if (fault := absurd_number(text)) is not None:
            raise HipwrightError("bad-wheel", f"{name} has a requirement that cannot be read: {fault}", where=Where(file=name))
        try:
            found.append(Requirement(text))
        except InvalidRequirement as error:
            raise HipwrightError(
                "bad-wheel", f"{name} requires {text!r}, which cannot be read", where=Where(file=name)
            ) from error
    return Requires(requirements=tuple(found), extras=frozenset(map(canonicalize_name, raw.get("provides_extra", []))))


def read_requires(path: Path) -> Requires:
    """Read the metadata of a wheel (``METADATA``) or of a source distribution (``PKG-INFO``).

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the file cannot be read or holds no metadata.
    """
    try:
        data = _from_wheel(path) if path.name.endswith(".whl") else _from_sdist(path)
    except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise HipwrightError("bad-wheel", f"{path.name} cannot be read: {error}", where=Where(file=path)) from error
    if data is None:
        raise HipwrightError("bad-wheel", f"{path.name} holds no metadata", where=Where(file=path))
    return parse_requires(data, name=path.name)


def _from_wheel(path: Path) -> bytes | None:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
        return _zip_member(archive, names)


def _from_sdist(path: Path) -> bytes | None:
    if path.name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            return _zip_member(
                archive, [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/PKG-INFO")]
            )
    with tarfile.open(path) as tar:
        for member in tar:
            if member.isfile() and member.name.count("/") == 1 and member.name.endswith("/PKG-INFO"):
                stream = tar.extractfile(member)
                return stream.read(_LIMIT) if stream is not None else None
    return None


def _zip_member(archive: zipfile.ZipFile, names: list[str]) -> bytes | None:
    if len(names) != 1:
        return None
    with archive.open(names[0]) as stream:
        return stream.read(_LIMIT)
