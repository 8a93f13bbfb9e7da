"""The version that a wheel gets: the sources' own, and a local part that tells what it was built against.

The local part is ``rocm<V>``, or ``devrocm<V>`` for a development version of ROCm, so that stable sorts above release candidate above
nightly above development. A ``+`` in V becomes a dot, as PEP 440 has one local part and dots between its segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from packaging.version import InvalidVersion, Version

from build_tools import digest
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.types import CommitId, Sha256

__all__ = ["build_version", "bundled_version"]

_BUNDLED: Final = "bundled"
_COMMIT_LENGTH: Final = 8


def build_version(
    base: str, *, rocm: str | None, suffix: Literal["rocm", "none"], local: Sha256 | None, commit: CommitId | None = None
) -> str:
    """Return the version of a wheel, normalised.

    Parameters
    ----------
    base
        The version that the sources have.
    rocm
        The version of the ROCm packages; None when the build has none.
    suffix
        ``rocm`` appends the local part for the ROCm packages, ``none`` keeps the base version.
    local
        The digest of a person's changes to the sources; adds ``local<digest8>``.
    commit
        The upstream commit, where the version is to name it; puts ``git<first eight digits>`` in front of the rest.

    Raises
    ------
    HipwrightError
        ``bad-version`` when a part is no version (PEP 440), or the suffix is wanted and there is no ROCm.
    """
    sources = _parse(base, "the sources' version")
    segments = [] if sources.local is None else [sources.local]
    if commit is not None:
        segments.append(f"git{commit[:_COMMIT_LENGTH]}")
    if suffix == "rocm":
        if rocm is None:
            message = f"the version {base} is to name the ROCm packages, and the build has none"
            raise HipwrightError("bad-version", message, hint='set wheel.version-suffix = "none" in project.toml')
        # The normal form from the start: of `7.10.0RC2` and `07.10.0-rc.2` the same text gets into names, metadata, pins and keys.
        known = _parse(rocm, "the version of the ROCm packages")
        if known.epoch:
            message = f"the version of the ROCm packages, {rocm!r}, has an epoch, which no local version can tell"
            raise HipwrightError("bad-version", message)
        segments.append(f"{'devrocm' if 'dev' in str(known) else 'rocm'}{str(known).replace('+', '.')}")
    if local is not None:
        segments.append(f"local{digest.short(local)}")
    whole = sources.public + (f"+{'.'.join(segments)}" if segments else "")
    return str(_parse(whole, "the wheel's version"))


def bundled_version(version: str, rocm: str) -> str:
    """Return the version of a wheel that has ROCm inside, given the one that it would have without.

    The word in front of the local part sorts below ``devrocm`` and ``rocm``: nobody gets such a wheel who did not ask for it, and among
    their like they sort as the others do. A local part that does not name ROCm yet gets its version; a version that says it stays.

    >>> bundled_version("2.9.0+rocm7.10.0", "7.10.0")
    '2.9.0+bundled.rocm7.10.0'

    Raises
    ------
    HipwrightError
        ``bad-version``.
    """
    parsed = _parse(version, "the wheel's version")
    local = parsed.local or ""
    if local.split(".")[0] == _BUNDLED:
        return str(parsed)
    named = _parse(build_version(parsed.public, rocm=rocm, suffix="rocm", local=None), "the wheel's version").local or ""
    if f".{named}." not in f".{local}.":
        local = f"{named}.{local}" if local else named
    return str(_parse(f"{parsed.public}+{_BUNDLED}.{local}", "the wheel's version"))


def _parse(text: str, what: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise HipwrightError("bad-version", f"{what}, {text!r}, is no version (PEP 440)") from error
