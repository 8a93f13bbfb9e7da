"""How programs that need ROCm reach the one of the machine: its folders, put before all others in their environment.

Which one that is, is said by what ROCm's own tools are found by, and by the usual places. An environment that holds ROCm packages brings
its own: libraries of a second one before them would be loaded in their place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.rocm.folder import version_of_folder
from build_tools.rocm.stray import NAMING, usual_rocms
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EXTRA_BIN", "EXTRA_LIB", "Reach", "find_reach"]

EXTRA_BIN: Final = "ROCM_EXTRA_BIN_DIRS"
EXTRA_LIB: Final = "ROCM_EXTRA_LIB_DIRS"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """The ROCm of a machine as programs are to find it.

    ``folder`` is its root, ``told_by`` what leads there, ``version`` what the folder states. ``bin_folders`` and ``lib_folders`` come
    first where programs and libraries are looked for; only folders that are there are among them.
    """

    platform: Platform
    folder: Path | None = None
    told_by: str = ""
    version: str | None = None
    bin_folders: tuple[Path, ...] = ()
    lib_folders: tuple[Path, ...] = ()

    @property
    def found(self) -> bool:
        """Whether there is anything to reach."""
        return bool(self.folder or self.bin_folders or self.lib_folders)

    def environment(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return what the environment of a program gets: search paths with the folders first, and the names of the root.

        Parameters
        ----------
        before
            The environment that it has without.
        """
        if not self.found:
            return {}
        separator = ";" if self.platform is Platform.WINDOWS else ":"
        # Windows looks for libraries where it looks for programs.
        windows = self.platform is Platform.WINDOWS
        paths = {"PATH": (*self.bin_folders, *self.lib_folders) if windows else self.bin_folders}
        if not windows:
            paths["LD_LIBRARY_PATH"] = self.lib_folders
        env = {
            name: separator.join([*map(str, folders), *([before[name]] if before.get(name) else [])])
            for name, folders in paths.items()
            if folders
        }
        if self.folder is not None:
            env |= dict.fromkeys(NAMING, str(self.folder))
        return env

    def describe(self) -> str:
        """Return it in words."""
        if self.folder is None:
            return "no ROCm" if not self.found else f"folders of {EXTRA_BIN} and {EXTRA_LIB}"
        return f"ROCm {self.version or 'of unknown version'} in {self.folder}, named by {self.told_by}"


def find_reach(
    machine: Mapping[str, str], *, platform: Platform, named: Path | None = None, usual: Sequence[Path] | None = None
) -> Reach:
    """Return the ROCm that programs are to find.

    A root that ``named`` gives comes first, then what ``ROCM_PATH``, ``ROCM_HOME`` and ``HIP_PATH`` name, then the newest in the usual
    places; a folder that is not there is passed over. The folders of ``ROCM_EXTRA_BIN_DIRS`` and ``ROCM_EXTRA_LIB_DIRS`` come before
    those of the root.

    Parameters
    ----------
    machine
        The environment as found.
    platform
        The operating system.
    named
        The root that a person named.
    usual
        The folders in which ROCm is usually installed; those of the operating system when None.
    """
    leads = [(named, "--rocm-path")] if named is not None else []
    leads += [(Path(machine[name]), name) for name in NAMING if machine.get(name)]
    by_age = sorted(usual_rocms(machine, platform, usual), key=_precedence, reverse=True)
    leads += [(folder, "the usual place") for folder in by_age]
    folder, told_by = next(((folder, told) for folder, told in leads if folder.is_dir()), (None, ""))
    bins, libs = _listed(machine, EXTRA_BIN, platform), _listed(machine, EXTRA_LIB, platform)
    if folder is not None:
        bins += [path for path in (folder / "bin", folder / "lib" / "llvm" / "bin") if path.is_dir()]
        libs += [path for path in (folder / "lib", folder / "lib64") if path.is_dir()]
    return Reach(
        platform=platform,
        folder=folder,
        told_by=told_by,
        version=version_of_folder(folder) if folder is not None else None,
        bin_folders=tuple(dict.fromkeys(bins)),
        lib_folders=tuple(dict.fromkeys(libs)),
    )


def _precedence(folder: Path) -> tuple[bool, list[int]]:
    """Order the ROCms of a usual place: the one that its installer links as the one to take, then by version."""
    return folder.name == "rocm", [int(part) for part in re.findall(r"\d+", folder.name)]


def _listed(machine: Mapping[str, str], name: str, platform: Platform) -> list[Path]:
    separator = ";" if platform is Platform.WINDOWS else ":"
    return [Path(text) for text in machine.get(name, "").split(separator) if text and Path(text).is_dir()]
