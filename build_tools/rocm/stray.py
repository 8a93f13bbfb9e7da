"""A ROCm that a machine has by itself: found to be told, and used by nothing unless a person names it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.rocm.folder import version_of_folder
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NAMING", "StrayRocm", "find_strays", "folder_of_environment", "usual_rocms"]

NAMING: Final = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")
"""The environment names that ROCm's own tools are found by, the one that counts most first."""

_EXTRA: Final = ("ROCM_EXTRA_LIB_DIRS", "ROCM_EXTRA_BIN_DIRS")
_PROGRAMS: Final = ("hipcc", "amdclang", "rocminfo", "hipconfig")


@dataclass(frozen=True, kw_only=True, slots=True)
class StrayRocm:
    """A ROCm of the machine: its folder, what leads there, and its version where the folder states one."""

    folder: str
    told_by: str
    version: str | None


def find_strays(
    machine: Mapping[str, str], *, platform: Platform, but: Sequence[Path] = (), roots: Sequence[Path] | None = None
) -> tuple[StrayRocm, ...]:
    """Return every ROCm that the machine's environment, its search path and the usual folders lead to, each once.

    Parameters
    ----------
    machine
        The environment as found.
    platform
        The operating system.
    but
        Folders that are no strays: an environment of packages.
    roots
        The folders in which ROCm is usually installed; those of the operating system when None.
    """
    separator = ";" if platform is Platform.WINDOWS else ":"
    leads: list[tuple[Path, str]] = [(Path(machine[name]), name) for name in NAMING if machine.get(name)]
    leads += [(Path(text), name) for name in _EXTRA for text in machine.get(name, "").split(separator) if text]
    leads += [(folder, "the usual place") for folder in usual_rocms(machine, platform, roots)]
    ending = ".exe" if platform is Platform.WINDOWS else ""
    for text in machine.get("PATH", "").split(separator):
        found = next((name for name in _PROGRAMS if text and Path(text, f"{name}{ending}").is_file()), None)
        if found is not None:
            leads.append((Path(text).parent, f"PATH, which has {found}"))
    seen: dict[Path, StrayRocm] = {}
    for folder, told_by in leads:
        real = Path(folder).resolve()
        if not any(real.is_relative_to(Path(place).resolve()) for place in but):
            seen.setdefault(real, StrayRocm(folder=str(folder), told_by=told_by, version=version_of_folder(real)))
    return tuple(seen.values())


def folder_of_environment(machine: Mapping[str, str]) -> tuple[Path, str]:
    """Return the folder of the ROCm that the machine's environment names, and the name that does.

    Raises
    ------
    HipwrightError
        ``no-rocm-source`` when none does.
    """
    for name in NAMING:
        if machine.get(name):
            return Path(machine[name]), name
    message = f"--rocm-path env takes the ROCm that {', '.join(NAMING)} name, and none of them is set"
    raise HipwrightError("no-rocm-source", message, hint="name the folder: --rocm-path DIR")


def usual_rocms(machine: Mapping[str, str], platform: Platform, roots: Sequence[Path] | None = None) -> list[Path]:
    """Return the folders of the usual places that are a ROCm; ``roots`` are other places than those of the operating system."""
    return [folder for root in (_usual(machine, platform) if roots is None else roots) for folder in _rocms(root)]


def _usual(machine: Mapping[str, str], platform: Platform) -> tuple[Path, ...]:
    if platform is Platform.WINDOWS:
        return (Path(machine.get("PROGRAMFILES", r"C:\Program Files"), "AMD", "ROCm"),)
    return (Path("/opt"),)


def _rocms(root: Path) -> list[Path]:
    r"""Return the folders of a usual place that are a ROCm: ``/opt/rocm`` and ``/opt/rocm-6.4.1``, ``…\\AMD\\ROCm\\6.4``."""
    if not root.is_dir():
        return []
    pattern = "*" if root.name == "ROCm" else "rocm*"
    return sorted(path for path in root.glob(pattern) if (path / "bin").is_dir())
