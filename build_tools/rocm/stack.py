"""Which ROCm each installed package is of, and whether an environment holds more than one: a mixed stack fails late, in ways that name no cause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools import digest
from build_tools.config.owned import is_owned, is_rocm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from packaging.requirements import Requirement

    from build_tools.environments.installed import Distribution

__all__ = ["Implied", "SetMark", "implied_rocm", "implied_rocms", "mixed", "same_rocm", "set_marks"]

_LOCAL: Final = re.compile(
    r"(?:^|\.)(?:dev)?rocm\.?(?P<version>\d+(?:\.\d+)+(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?)(?=\.|$)", re.IGNORECASE
)
"""The ROCm in a local version, such as ``2.12.0+rocm7.15.0a20260728``; ``rocm700`` names none that can be compared."""

_EXACT: Final = frozenset({"==", "==="})
_WHOLE: Final = 3
"""How many numbers a ROCm version has; one with fewer stands for all that begin so, as upstream's ``+rocm6.4`` does."""

_SETS: Final = ("*/_set.json", "*/.devel_links/*.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class Implied:
    """An installed package with the ROCm that it is of: the version, and what says so. ``rocm`` is None where nothing does."""

    name: str
    version: str
    rocm: str | None
    said_by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SetMark:
    """A set of ROCm packages that were built together, as a file of an installed package names it."""

    distribution: str
    set_id: str


class _Mark(msgspec.Struct, kw_only=True):
    set_id: str = ""
    distribution: str = ""
    rocm: str = ""


def implied_rocm(name: str, version: str, requirements: Iterable[Requirement] = ()) -> Implied:
    """Return which ROCm a package is of.

    A ROCm package is of its own version; another one is of what it requires exactly, else of what its local version names.
    """
    if is_rocm(name):
        return Implied(name=name, version=version, rocm=version, said_by="its version")
    for requirement in requirements:
        exact = [spec.version for spec in requirement.specifier if spec.operator in _EXACT and not spec.version.endswith(".*")]
        if is_rocm(requirement.name) and exact:
            return Implied(name=name, version=version, rocm=exact[0], said_by=f"it requires {requirement.name}=={exact[0]}")
    local = version.partition("+")[2]
    found = _LOCAL.search(local)
    if found is None:
        return Implied(name=name, version=version, rocm=None, said_by=f"+{local}" if local else "nothing")
    return Implied(name=name, version=version, rocm=found["version"], said_by=f"+{local}")


def implied_rocms(installed: Sequence[Distribution]) -> tuple[Implied, ...]:
    """Return the packages of an environment that are of a ROCm, or bear a name that such packages have."""
    rows = [implied_rocm(one.name, one.version, one.requirements) for one in installed]
    return tuple(row for row in rows if row.rocm is not None or is_owned(canonicalize_name(row.name)))


def same_rocm(first: str, second: str) -> bool:
    """Return whether two versions are of one ROCm; one that says less than a whole version may stand for the other.

    >>> same_rocm("6.4", "6.4.1"), same_rocm("7.15.0a20260728", "7.15.0"), same_rocm("7.10", "7.1.0")
    (True, False, False)
    """
    try:
        one, other = Version(first), Version(second)
    except InvalidVersion:
        return first == second
    if one.local is None or other.local is None:
        one, other = Version(one.public), Version(other.public)
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=lambda version: len(version.release))
    short = len(shorter.release) < _WHOLE and shorter.public == shorter.base_version
    return short and longer.release[: len(shorter.release)] == shorter.release


def mixed(rows: Sequence[Implied]) -> tuple[str, ...]:
    """Return the ROCm versions of a stack, the one that most packages are of first; one that is not mixed has one at the most."""
    counted: dict[str, int] = {}
    # The longest texts say most: a short one is counted with the version that it stands for.
    for rocm in sorted((row.rocm for row in rows if row.rocm is not None), key=len, reverse=True):
        known = next((each for each in counted if same_rocm(each, rocm)), rocm)
        counted[known] = counted.get(known, 0) + 1
    return tuple(sorted(counted, key=lambda rocm: (-counted[rocm], rocm)))


def set_marks(packages: Path) -> tuple[SetMark, ...]:
    """Return the sets that the installed ROCm packages belong to: packages of one version, built twice, are no set."""
    found = []
    rocm = packages / "rocm_sdk" / "dist_info.json"
    for pattern in _SETS:
        for path in sorted(packages.glob(pattern)):
            try:
                mark = msgspec.json.decode(path.read_bytes(), type=_Mark)
            except (OSError, msgspec.DecodeError):
                continue
            if mark.set_id:
                found.append(SetMark(distribution=mark.distribution or path.parts[-2], set_id=mark.set_id))
            if mark.rocm and rocm.is_file():
                # One ``rocm`` is that of all platforms: it bears no id, and the core package knows its digest.
                own = digest.of_file(rocm)
                found.append(SetMark(distribution="rocm", set_id=mark.set_id if own == mark.rocm else own))
    return tuple(found)
