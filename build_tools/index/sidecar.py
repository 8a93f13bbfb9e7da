"""Metadata side files (PEP 658): the wheel's own ``METADATA``, byte for byte, and what pages take from it and from source distributions."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from typing import TYPE_CHECKING, Final

from packaging.utils import InvalidSdistFilename, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.value import Value
from build_tools.wheels.contents import read_dist_info
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.wheels.metadata import CoreMetadata

__all__ = ["SideFile", "read_sdist", "read_side_file"]


_LIMIT: Final = 64 << 20
"""Bytes that a source distribution unpacks to at the most: ours hold a few small files."""


class SideFile(Value, frozen=True, kw_only=True):
    """What an index says of a file beyond its bytes: ``project`` is normalised, ``metadata`` are the side file's bytes, if it has one."""

    project: str
    version: str
    requires_python: str | None
    metadata: bytes | None


def read_side_file(wheel: Path, data: bytes | None = None) -> SideFile:
    """Read what an index needs from a wheel.

    Parameters
    ----------
    wheel
        The wheel.
    data
        Its ``METADATA``, where that was read before.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file; ``bad-wheel`` when it is no wheel, or its name and its metadata disagree.
    """
    name = parse_wheel_name(wheel.name)
    data = read_dist_info(wheel, "METADATA") if data is None else data
    metadata = _parsed(data, wheel, "METADATA")
    if (metadata.project, metadata.version) != (name.project, Version(name.version)):
        message = f"{wheel.name} holds the metadata of {metadata.project} {metadata.version}"
        raise HipwrightError(
            "bad-wheel",
            message,
            where=Where(file=wheel, member="METADATA"),
            hint="give the file the name that its metadata says, or build it again",
        )
    return SideFile(project=name.project, version=str(metadata.version), requires_python=metadata.requires_python, metadata=data)


def read_sdist(sdist: Path) -> SideFile:
    """Read what an index needs from a source distribution: its name (PEP 625) and its ``PKG-INFO`` (PEP 643).

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is no such file; ``bad-wheel`` when it is no source distribution, or name and metadata disagree.
    """
    try:
        name, version = parse_sdist_filename(sdist.name)
    except (InvalidSdistFilename, InvalidVersion):
        message = f"{sdist.name!r} is no source distribution's file name"
        raise HipwrightError(
            "bad-wheel", message, where=Where(file=sdist), hint="name it NAME-VERSION.tar.gz, or leave it out"
        ) from None
    if not sdist.is_file():
        raise HipwrightError("no-wheel", f"there is no {sdist}", where=Where(file=sdist), hint="build it first")
    metadata = _parsed(_package_info(sdist), sdist, "PKG-INFO")
    if (metadata.project, metadata.version) != (name, version):
        message = f"{sdist.name} holds the metadata of {metadata.project} {metadata.version}"
        raise HipwrightError(
            "bad-wheel",
            message,
            where=Where(file=sdist, member="PKG-INFO"),
            hint="give the file the name that its metadata says, or build it again",
        )
    return SideFile(project=name, version=str(metadata.version), requires_python=metadata.requires_python, metadata=None)


def _parsed(data: bytes, file: Path, member: str) -> CoreMetadata:
    """Read the metadata of a file; what is wrong with it is said with the file's name."""
    try:
        return parse_metadata(data)
    except HipwrightError as error:
        where = Where(file=file, member=member)
        raise HipwrightError(error.code.name, f"{file.name}: {error.message}", where=where, hint=error.hint) from error


def _package_info(sdist: Path) -> bytes:
    """Return the ``PKG-INFO`` in the one folder that a source distribution unpacks to; it is read to its end, whose checksum counts."""
    wanted = f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO"
    found = None
    try:
        with gzip.open(sdist) as stream:
            data = stream.read(_LIMIT + 1)
        if len(data) > _LIMIT:
            raise HipwrightError(
                "bad-wheel", f"{sdist.name} holds more than {_LIMIT} bytes", where=Where(file=sdist), hint="build it again"
            )
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                if member.isfile() and member.name == wanted and (content := tar.extractfile(member)) is not None:
                    found = content.read()
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise HipwrightError(
            "bad-wheel", f"{sdist.name} cannot be read: {error}", where=Where(file=sdist), hint="build it or fetch it again"
        ) from error
    if found is None:
        raise HipwrightError("bad-wheel", f"{sdist.name} has no {wanted}", where=Where(file=sdist), hint="build it again")
    return found
