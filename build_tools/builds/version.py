"""The version that a wheel gets: the sources' own, and a local part that tells what it was built against.

The local part is ``rocm<V>``, or ``devrocm<V>`` for a development version of ROCm, so that stable sorts above release candidate above
nightly above development. A ``+`` in V becomes a dot, as PEP 440 has one local part and dots between its segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from packaging.version import InvalidVersion, Version

from build_tools import digest
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.types import Sha256

__all__ = ["build_version"]


def build_version(base: str, *, rocm: str | None, suffix: Literal["rocm", "none"], local: Sha256 | None) -> str:
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

    Raises
    ------
    HipwrightError
        ``bad-version`` when a part is no version (PEP 440), or the suffix is wanted and there is no ROCm.
    """
    sources = _parse(base, "the sources' version")
    segments = [] if sources.local is None else [sources.local]
    if suffix == "rocm":
        if rocm is None:
            message = f"the version {base} is to name the ROCm packages, and the build has none"
            raise HipwrightError("bad-version", message, hint='set wheel.version-suffix = "none" in project.toml')
        _parse(rocm, "the version of the ROCm packages")
        segments.append(f"{'devrocm' if 'dev' in rocm else 'rocm'}{rocm.replace('+', '.')}")
    if local is not None:
        segments.append(f"local{digest.short(local)}")
    whole = sources.public + (f"+{'.'.join(segments)}" if segments else "")
    return str(_parse(whole, "the wheel's version"))


def _parse(text: str, what: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise HipwrightError("bad-version", f"{what}, {text!r}, is no version (PEP 440)") from error
