"""Versions of ROCm packages: how each release type is versioned, and the order that versions have.

The forms are those of ROCm's build (TheRock: compute_rocm_package_version.py), with the day in UTC, so that two machines agree on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from packaging.version import InvalidVersion, Version

from build_tools.environments.candidate import version_key
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.environments.candidate import VersionKey

__all__ = ["ReleaseType", "RocmVersion", "custom_version", "order_key", "rocm_version", "today"]

ReleaseType = Literal["ci", "dev", "nightly", "prerelease", "release"]

_BASE: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_DAY: Final = re.compile(r"[0-9]{8}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHORT: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class RocmVersion:
    """One version as Python packages, Debian packages and RPMs spell it; these two have no word for a version of one's own."""

    wheel: str
    deb: str | None = None
    rpm: str | None = None

    @property
    def system(self) -> dict[str, str] | None:
        """How the packages of Linux systems spell it, by their kind."""
        return {"deb": self.deb, "rpm": self.rpm} if self.deb is not None and self.rpm is not None else None


def today() -> str:
    """Return the day in UTC, as versions spell it: ``YYYYMMDD``."""
    return datetime.now(tz=UTC).strftime("%Y%m%d")


def parse_day(text: str) -> str:
    """Return a day as versions and tags spell it, proved to be one.

    Raises
    ------
    HipwrightError
        ``bad-version`` when it is no ``YYYYMMDD``.
    """
    try:
        if _DAY.fullmatch(text):
            datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC)
            return text
    except ValueError:
        pass
    raise HipwrightError("bad-version", f"{text!r} is no day: it has the form YYYYMMDD")


def order_key(version: str) -> VersionKey:
    """Return what ROCm versions, and versions with a ROCm version in their local part, are ordered by: ROCm 10 is above ROCm 7.

    Raises
    ------
    HipwrightError
        ``bad-version``.
    """
    try:
        return version_key(Version(version))
    except InvalidVersion:
        raise HipwrightError("bad-version", f"{version!r} is no version that PEP 440 can read") from None


def rocm_version(
    release_type: ReleaseType,
    base: str,
    *,
    date: str | None = None,
    sha: str | None = None,
    candidate: int | None = None,
) -> RocmVersion:
    """Return the version of a build.

    Parameters
    ----------
    release_type
        What it is built as.
    base
        The version of ROCm, ``X.Y.Z``.
    date
        The day of the build, ``YYYYMMDD``; for ``ci``, ``dev`` and ``nightly``.
    sha
        The commit that is built, 40 hex digits; for ``ci`` and ``dev``.
    candidate
        The number of the release candidate; for ``prerelease``.

    Raises
    ------
    HipwrightError
        ``bad-version`` when something that the type needs is missing or malformed.
    """
    if not _BASE.fullmatch(base):
        raise HipwrightError("bad-version", f"{base!r} is no version of ROCm: it has the form X.Y.Z")
    match release_type:
        case "release":
            return RocmVersion(wheel=base, deb=base, rpm=base)
        case "prerelease":
            if candidate is None or candidate < 0:
                hint = "name it: --candidate N"
                raise HipwrightError("bad-version", "the release type prerelease needs the number of its candidate", hint=hint)
            return RocmVersion(wheel=f"{base}rc{candidate}", deb=f"{base}~pre{candidate}", rpm=f"{base}~rc{candidate}")
        case "nightly":
            day = _day(date, release_type)
            return RocmVersion(wheel=f"{base}a{day}", deb=f"{base}~{day}", rpm=f"{base}~{day}")
        case "ci" | "dev":
            day = _day(date, release_type)
            if sha is None or not _COMMIT.fullmatch(sha):
                message = f"the release type {release_type} needs the full commit that is built, and has {sha!r}"
                raise HipwrightError("bad-version", message, hint="give the version itself: --version V")
            return RocmVersion(wheel=f"{base}.dev0+{sha}", deb=f"{base}~dev{day}", rpm=f"{base}~{day}g{sha[:_SHORT]}")


def custom_version(base: str, suffix: str) -> str:
    """Return a version with a suffix of one's own, normalised.

    Raises
    ------
    HipwrightError
        ``bad-version`` when PEP 440 cannot read it, or when it would be taken for newer than the release of the same version.
    """
    text = f"{base}{suffix}"
    if order_key(text) > order_key(base):
        message = f"{text} would be newer than the release {base} to every installer"
        hint = "a suffix like .dev0, a20260801 or rc1 is below it"
        raise HipwrightError("bad-version", message, hint=hint)
    return str(Version(text))


def _day(text: str | None, release_type: str) -> str:
    if text is None:
        raise HipwrightError("bad-version", f"the release type {release_type} needs a day, YYYYMMDD, and has none")
    return parse_day(text)
