"""Wheel file names, parsed and made: ``packaging`` reads them, and this module adds what it lets through.

The rules are those of the binary distribution format (PEP 427, PEP 425, PEP 440).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform
from build_tools.value import Value
from build_tools.wheels.limits import MOST_TAGS, absurd_number, count_of_tags, read_version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packaging.tags import Tag

__all__ = ["WheelName", "escaped_name", "is_wheel_name", "parse_wheel_name", "same_version", "wheel_filename"]

_ALLOWED: Final = re.compile(r"[A-Za-z0-9._+!-]+\.whl")
_BUILD: Final = re.compile(r"[0-9][A-Za-z0-9_.]*")


class WheelName(Value, frozen=True, kw_only=True):
    """The parts of a wheel's file name: as they are spelled, and as they are meant.

    ``distribution``, ``version``, ``build`` and the three tag fields are the text between the hyphens; ``build`` is empty without
    a build tag. ``project`` is the normalised name and ``tags`` are all combinations that the compressed tag fields stand for.
    """

    filename: str
    distribution: str
    version: str
    build: str
    python: str
    abi: str
    platform: str
    tags: frozenset[Tag]

    @property
    def project(self) -> NormalizedName:
        """The normalised name (PEP 503)."""
        return canonicalize_name(self.distribution)

    @property
    def system(self) -> Platform | None:
        """The operating system that the wheel is for, as its platform tags say; None for any, or one that is none of ours."""
        return Platform.WINDOWS if self.platform.startswith("win") else Platform.LINUX if "linux" in self.platform else None

    @property
    def dist_info(self) -> str:
        """The folder of metadata that a wheel of this name holds."""
        return f"{self.distribution}-{self.version}.dist-info"


def parse_wheel_name(filename: str) -> WheelName:
    """Read a wheel's file name.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when an installer would refuse the name: wrong number of parts, a version or a tag that cannot be read, a
        space, a percent sign (``%2B`` for ``+``) or any other character that does not belong there.
    """
    if not _ALLOWED.fullmatch(filename):
        strange = sorted({character for character in filename.removesuffix(".whl") if not _ALLOWED.fullmatch(f"{character}.whl")})
        reason = f"{', '.join(map(repr, strange))} cannot be in it" if strange else "it must be parts and .whl"
        raise _bad_name(filename, reason)
    if (fault := absurd_number(filename)) is not None:
        raise _bad_name(filename, fault)
    if count_of_tags(filename) > MOST_TAGS:
        raise _bad_name(filename, f"it stands for more than {MOST_TAGS} tags")
    try:
        _, _, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise _bad_name(filename, str(error).rsplit(":", 1)[0]) from None
    distribution, version, *build, python, abi, platform = filename.removesuffix(".whl").split("-")
    return WheelName(
        filename=filename,
        distribution=distribution,
        version=version,
        build=build[0] if build else "",
        python=python,
        abi=abi,
        platform=platform,
        tags=tags,
    )


def is_wheel_name(filename: str) -> bool:
    """Return whether a file name is a wheel's, as :func:`parse_wheel_name` reads it."""
    try:
        parse_wheel_name(filename)
    except HipwrightError:
        return False
    return True


def same_version(one: str, other: str) -> bool:
    """Return whether two texts are the same version by PEP 440; a text that is no version is like no other."""
    try:
        return read_version(one) == read_version(other)
    except InvalidVersion:
        return False


def escaped_name(name: str) -> str:
    """Return a distribution's name as file names and ``.dist-info`` folders spell it: normalised, with ``_`` between the words."""
    return canonicalize_name(name).replace("-", "_")


def wheel_filename(*, name: str, version: str, tags: Iterable[Tag], build: str = "") -> str:
    """Return the file name for a distribution, its version and its tags, all normalised.

    Raises
    ------
    HipwrightError
        ``bad-version``; ``bad-wheel`` for a build tag that starts with no digit, for no tags, and for tags that one name cannot
        express, because compressed tag fields stand for *all* their combinations (PEP 425).
    """
    try:
        normal = str(read_version(version))
    except InvalidVersion:
        raise HipwrightError("bad-version", f"{name} has the version {version!r}, which PEP 440 cannot read") from None
    if build and not _BUILD.fullmatch(build):
        raise HipwrightError("bad-wheel", f"{name} has the build tag {build!r}; one starts with a digit, and has no hyphen")
    wanted = frozenset(tags)
    fields = [sorted(set(each)) for each in zip(*((tag.interpreter, tag.abi, tag.platform) for tag in wanted), strict=True)]
    if not fields:
        raise HipwrightError("bad-wheel", f"{name} {version} has no tags")
    if len(wanted) != len(fields[0]) * len(fields[1]) * len(fields[2]):
        listed = ", ".join(sorted(map(str, wanted)))
        raise HipwrightError("bad-wheel", f"{name} {version} has tags that no one file name stands for: {listed}")
    parts = [escaped_name(name), normal, *([build] if build else []), *(".".join(field) for field in fields)]
    return f"{'-'.join(parts)}.whl"


def _bad_name(filename: str, reason: str) -> HipwrightError:
    return HipwrightError("bad-wheel", f"{filename!r} is no wheel's file name: {reason}", where=Where(file=filename))
