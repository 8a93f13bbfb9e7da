"""The ROCm that goes with a chosen torch: how old the pair is, and whether a newer ROCm is offered for another torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from build_tools.counted import counted
from build_tools.environments.candidate import version_key
from build_tools.rocm.stack import implied_rocm, mixed, same_rocm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from build_tools.environments.candidate import Candidate
    from build_tools.receipts.lock import LockedFile
    from build_tools.rocm.stack import Implied

__all__ = ["Pair", "chosen_pair", "days_old", "fitting_versions"]

_TORCH: Final = "torch"
_ROCM: Final = "rocm"
_DATED: Final = re.compile(r"(?:a|dev|git)(?P<day>20\d{6})(?!\d)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A chosen torch and ROCm, either may be lacking; ``days`` is the age of the younger one, ``newer`` what is offered beside."""

    torch: str | None
    rocm: str | None
    days: int | None
    newer: str | None

    def __str__(self) -> str:
        parts = [*([f"torch {self.torch}"] if self.torch else []), *([f"ROCm {self.rocm}"] if self.rocm else [])]
        age = "" if self.days is None else f", {counted(self.days, 'day')} old"
        return f"{' with '.join(parts)}{age}"


def chosen_pair(files: Sequence[LockedFile], offered: Iterable[Candidate], *, today: date) -> Pair | None:
    """Return the torch and ROCm among chosen files, None when neither is.

    Parameters
    ----------
    files
        What was chosen.
    offered
        All files of torch that the source has.
    today
        The day that ages are counted from, in UTC.
    """
    versions = {file.distribution: file.version for file in files}
    torch, rocm = versions.get(_TORCH), versions.get(_ROCM)
    if torch is None and rocm is None:
        return None
    here = list(offered)
    days = [age for text in (torch, rocm) if text and (age := days_old(text, _uploaded(text, here), today=today)) is not None]
    return Pair(torch=torch, rocm=rocm, days=min(days, default=None), newer=_newer(torch, rocm, here) if torch else None)


def fitting_versions(
    packages: Sequence[Implied], *, files: Sequence[LockedFile], offered: Callable[[str], Iterable[Candidate]]
) -> dict[str, str]:
    """Return the versions to ask for instead of a mixed stack: of each package that was chosen, one of the ROCm that most are of.

    Parameters
    ----------
    packages
        What is installed.
    files
        What was chosen of the sources.
    offered
        Returns all files of a package that its source has.

    Returns
    -------
    dict
        Empty where a package is offered for no such ROCm.
    """
    chosen = {file.distribution for file in files}
    versions = mixed(packages)
    found: dict[str, str] = {}
    for package in packages:
        if not versions or package.name not in chosen or package.name.startswith("rocm"):
            continue
        if package.rocm is not None and same_rocm(package.rocm, versions[0]):
            found[package.name] = package.version
            continue
        others = [one.version for one in offered(package.name)]
        same = [one for one in others if (rocm := implied_rocm(package.name, str(one)).rocm) and same_rocm(rocm, versions[0])]
        if not same:
            return {}
        found[package.name] = str(max(same, key=version_key))
    return found


def days_old(version: str, uploaded: str | None = None, *, today: date) -> int | None:
    """Return how many days ago a version was made, by the date in it or else by its upload; None where neither tells.

    >>> days_old("7.10.0a20260801", today=date(2026, 8, 4)), days_old("7.10.0", today=date(2026, 8, 4))
    (3, None)
    """
    found = _DATED.search(version)
    try:
        day = (
            datetime.strptime(found["day"], "%Y%m%d").replace(tzinfo=UTC).date()
            if found
            else datetime.fromisoformat(uploaded).date()
            if uploaded
            else None
        )
    except ValueError:
        return None
    return None if day is None else max(0, (today - day).days)


def _uploaded(version: str, offered: Sequence[Candidate]) -> str | None:
    return next((one.link.uploaded for one in offered if str(one.version) == version and one.link.uploaded), None)


def _newer(torch: str, rocm: str | None, offered: Sequence[Candidate]) -> str | None:
    """Return the newest torch that is built for a newer ROCm than the chosen one; the newest torch need not be of the newest ROCm."""
    own = implied_rocm(_TORCH, torch).rocm or rocm
    if own is None:
        return None
    later = [
        (version_key(Version(found)), version_key(one.version), str(one.version))
        for one in offered
        if (found := implied_rocm(_TORCH, str(one.version)).rocm) is not None
        and version_key(Version(found)) > version_key(Version(own))
    ]
    return max(later)[2] if later else None
