"""Which files of an index are for which GPU, and which of them belong together: what the page for people says how to install."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.config.targets import expand_family, known_targets
from build_tools.index.snapshots import parsed_version
from build_tools.value import Value
from build_tools.wheels.local_version import rocm_of_local

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from packaging.version import Version

    from build_tools.receipts.snapshot import IndexedFile

__all__ = ["InstallSet", "family_of", "install_sets"]

_ROCM_PACKAGE: Final = "rocm"


class InstallSet(Value, frozen=True, kw_only=True):
    """Packages that belong together: ``family`` is what they are for, None for every GPU; ``targets`` its targets; ``requirements`` are exact."""

    family: str | None
    targets: tuple[str, ...]
    requirements: tuple[str, ...]
    has_prerelease: bool


def family_of(project: str) -> str | None:
    """Return the GPU family, or the target, that a distribution is for by its name; None when it is for no one in particular.

    >>> family_of("rocm-sdk-libraries-gfx94x-dcgpu"), family_of("amd-torch-device-gfx1201"), family_of("torch")
    ('gfx94X-dcgpu', 'gfx1201', None)
    """
    _, found, name = project.partition("-gfx")
    if not found:
        return None
    table = known_targets()
    return next((one for one in (*table.targets, *table.families) if one.lower() == f"gfx{name}"), None)


def install_sets(projects: Mapping[str, Sequence[IndexedFile]]) -> tuple[InstallSet, ...]:
    """Return what to install for each GPU family that an index has packages for; one set for all when it has none of any.

    Of every project the newest version counts that is not yanked and is for the newest ROCm of the index: versions for two ROCms do not
    go together. A family whose targets have packages of their own is named by these.
    """
    newest = _newest(projects)
    families = {project: family_of(project) for project in newest}
    named = {family for family in families.values() if family is not None}
    targets = {family for family in named if family in known_targets().targets}
    covered = {family for family in named - targets if set(expand_family(family)) & targets}
    sets = []
    wanted_ones: list[str | None] = [*sorted(named - covered, key=_by_number)]
    for wanted in wanted_ones or [None]:
        fits = {
            project: version
            for project, version in newest.items()
            if (family := families[project]) is None
            or family == wanted
            or (wanted in targets and wanted in expand_family(family))
        }
        sets.append(
            InstallSet(
                family=wanted,
                targets=() if wanted is None else tuple(map(str, expand_family(wanted))),
                requirements=tuple(f"{project}=={version}" for project, version in sorted(fits.items())),
                has_prerelease=any(parsed_version(version).is_prerelease for version in fits.values()),
            )
        )
    return tuple(one for one in sets if one.requirements)


def _newest(projects: Mapping[str, Sequence[IndexedFile]]) -> dict[str, str]:
    """Return of each project the version that is offered, without projects that have none for the newest ROCm."""
    offered = {
        project: {version: _rocm_of(project, version) for version in {file.version for file in files if file.yanked is None}}
        for project, files in projects.items()
    }
    latest = max((rocm for versions in offered.values() for rocm in versions.values() if rocm), default=None)
    found = {}
    for project, versions in offered.items():
        fits = [version for version, rocm in versions.items() if rocm is None or rocm == latest]
        if fits:
            found[project] = max(fits, key=parsed_version)
    return found


def _rocm_of(project: str, version: str) -> Version | None:
    """Return the ROCm that a version of a project is for; None when it does not say."""
    if project == _ROCM_PACKAGE or project.startswith(f"{_ROCM_PACKAGE}-"):
        return parsed_version(parsed_version(version).public)
    found = rocm_of_local(parsed_version(version))
    try:
        return parsed_version(found) if found else None
    except ValueError:
        return None


def _by_number(name: str) -> tuple[int, str]:
    digits = re.match(r"gfx([0-9]+)", name)
    return (int(digits[1]) if digits else 0, name)
