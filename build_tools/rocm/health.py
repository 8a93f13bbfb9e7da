"""What is wrong with the ROCm in an environment, read from its files; nothing is expanded, mended or changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from build_tools.config.owned import is_rocm
from build_tools.environments.installed import damaged_files, installed_files, unmet_requirements
from build_tools.rocm.sdk import header_doubts, lost_files, missing_parts
from build_tools.rocm.stack import implied_rocms, mixed, same_rocm, set_marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.environments.installed import Distribution
    from build_tools.rocm.stack import Implied
    from build_tools.types import Platform, Severity

__all__ = ["Ailment", "Health", "examine", "examine_mix", "first_of", "packages_to_ask_for"]

_DEVEL: Final = "_rocm_sdk_devel*"
"""The folders of expanded development files: one, or one for each GPU family."""

_SHOWN: Final = 3
_CORE: Final = "rocm-sdk-core"
_EXTRAS: Final = ("rocm-sdk-", "rocm-")
"""How the packages are named that an extra of ``rocm`` brings; what follows is the extra."""
_OTHERS: Final = ("cu", "cpu", "xpu")
"""How the local versions begin of builds that are not for ROCm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ailment:
    """Something that is wrong: the error code that it stands for, how bad it is, and a sentence."""

    code: str
    severity: Severity
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """The packages of an environment that are of a ROCm, and what is wrong with them, the worst first."""

    packages: tuple[Implied, ...]
    ailments: tuple[Ailment, ...]


def examine(installed: Sequence[Distribution], packages: Path, *, markers: Mapping[str, str], platform: Platform) -> Health:
    """Examine an environment.

    Parameters
    ----------
    installed
        What is in it.
    packages
        Its ``site-packages``.
    markers
        What environment markers see there.
    platform
        Its operating system.
    """
    mix = examine_mix(installed, packages)
    rows = mix.packages
    return _health(rows, [*mix.ailments, *_unmet(installed, markers), *_sdk(rows, packages, platform), *_damaged(rows, packages)])


def examine_mix(installed: Sequence[Distribution], packages: Path) -> Health:
    """Examine whether an environment is a mixed stack, and nothing else; parameters as for :func:`examine`."""
    rows = implied_rocms(installed)
    return _health(rows, [*_mix(rows), *_foreign(rows), *_sets(packages), *_shared(rows, packages)])


def _health(rows: tuple[Implied, ...], found: Sequence[Ailment]) -> Health:
    return Health(packages=rows, ailments=tuple(sorted(found, key=lambda ailment: ailment.severity != "error")))


def packages_to_ask_for(rows: Sequence[Implied]) -> tuple[str, ...]:
    """Return the requirements that a sound environment with the same packages is asked for by: all of the ROCm that most of them are of."""
    versions = mixed(rows)
    if not versions:
        return tuple(row.name for row in rows)
    extras: set[str] = set()
    found = []
    for row in rows:
        same = row.rocm is not None and same_rocm(row.rocm, versions[0])
        if is_rocm(row.name):
            start = next((start for start in _EXTRAS if row.name.startswith(start)), None)
            extras |= {row.name.removeprefix(start)} if start is not None and row.name != _CORE else set()
        else:
            found.append(f"{row.name}=={row.version}" if same else row.name)
    chosen = f"[{','.join(sorted(extras))}]" if extras else ""
    return (*((f"rocm{chosen}=={versions[0]}",) if any(is_rocm(row.name) for row in rows) else ()), *found)


def first_of(parts: Sequence[str]) -> str:
    """Return the first of many things, and how many more there are."""
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return f"{', '.join(parts[:_SHOWN])}{more}"


def _mix(rows: Sequence[Implied]) -> list[Ailment]:
    versions = mixed(rows)
    if len(versions) <= 1:
        return []
    parts = []
    for version in versions:
        names = [f"{row.name} {row.version}" for row in rows if row.rocm is not None and same_rocm(row.rocm, version)]
        parts.append(f"ROCm {version}: {', '.join(names)}")
    return [
        Ailment(code="mixed-stack", severity="error", message=f"packages of {len(versions)} ROCm versions: {'; '.join(parts)}")
    ]


def _foreign(rows: Sequence[Implied]) -> list[Ailment]:
    """Return what of a ROCm stack is built for something else; a package that names nothing is a doubt alone."""
    if not any(row.rocm is not None for row in rows):
        return []
    found = []
    for row in rows:
        local = row.version.partition("+")[2]
        if row.rocm is None and local.startswith(_OTHERS):
            message = f"{row.name} {row.version} is a build for something else than ROCm"
            found.append(Ailment(code="mixed-stack", severity="error", message=message))
        elif row.rocm is None:
            message = f"{row.name} {row.version} names no ROCm that it is built for"
            found.append(Ailment(code="mixed-stack", severity="warning", message=message))
    return found


def _sets(packages: Path) -> list[Ailment]:
    """Return whether packages of one version were built at different times: their files do not fit each other."""
    by_set: dict[str, list[str]] = {}
    for mark in set_marks(packages):
        by_set.setdefault(mark.set_id, []).append(mark.distribution)
    if len(by_set) <= 1:
        return []
    parts = "; ".join(f"{set_id[:12]}: {', '.join(sorted(names))}" for set_id, names in by_set.items())
    message = f"the ROCm packages are of {len(by_set)} builds: {parts}"
    return [Ailment(code="mixed-stack", severity="error", message=message)]


def _unmet(installed: Sequence[Distribution], markers: Mapping[str, str]) -> list[Ailment]:
    unmet = unmet_requirements(installed, (), markers=markers, by="the environment")
    return [Ailment(code="install-failed", severity="error", message=str(one)) for one in unmet]


def _sdk(rows: Sequence[Implied], packages: Path, platform: Platform) -> list[Ailment]:
    """Return what the expanded development files lack, and what their headers say; before they are expanded there is nothing to see."""
    version = next((row.version for row in rows if row.name == "rocm"), None) or next(
        (row.version for row in rows if is_rocm(row.name)), None
    )
    found: list[Ailment] = []
    for root in sorted(packages.glob(_DEVEL)) if version is not None else ():
        if not (root / "include").is_dir():
            continue
        missing = missing_parts(root, platform)
        found += [Ailment(code="sdk-incomplete", severity="error", message=f"{root} lacks {part}") for part in missing]
        if lost := lost_files(root):
            message = f"{root} is not whole: {first_of(lost)}; to mend it: rocm-sdk init"
            found.append(Ailment(code="sdk-incomplete", severity="error", message=message))
        doubts = header_doubts(root, str(version))
        found += [Ailment(code="sdk-incomplete", severity="warning", message=doubt) for doubt in doubts]
    return found


def _damaged(rows: Sequence[Implied], packages: Path) -> list[Ailment]:
    """Return which packages lack files that were installed, or have others in their place."""
    found = []
    for name, paths in damaged_files(packages, [row.name for row in rows]).items():
        message = f"files of {name} are gone or of another size: {first_of(paths)}"
        found.append(Ailment(code="install-failed", severity="error", message=message))
    return found


def _shared(rows: Sequence[Implied], packages: Path) -> list[Ailment]:
    """Return which packages own files that one of the stack owns too: there is one file of a path, and uninstalling either takes it away.

    Files that were written after installing, which have no size in ``RECORD``, are not asked about: they come again.
    """
    files = installed_files(packages)
    ours = [name for row in rows if (name := canonicalize_name(row.name)) in files]
    owners: dict[str, str] = {}
    common: dict[tuple[str, str], list[str]] = {}
    for name in (*ours, *(files.keys() - set(ours))):
        for path, size in files[name].items():
            other = owners.setdefault(path, name) if name in ours else owners.get(path, name)
            if size is not None and other != name:
                common.setdefault((other, name), []).append(path)
    return [
        Ailment(
            code="mixed-stack",
            severity="warning",
            message=f"{one} and {other} own the same files, which go with either of them: "
            f"{first_of(sorted(os.path.relpath(path, packages) for path in paths))}",
        )
        for (one, other), paths in sorted(common.items())
    ]
