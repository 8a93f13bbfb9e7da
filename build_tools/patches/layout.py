"""Where a patch lies: ``<module>/{base,hipified}/NNNN-name.patch`` below its line's folder, and what files and folders are called.

The root of a tree has the folder ``root``. A submodule has its own path, with ``root/`` before it when that begins with a folder ``root``,
so no two modules share a folder.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.modules import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from build_tools.sources.phases import Phase

__all__ = ["NAME", "PHASES", "fresh_name", "is_patch_file", "link_in", "module_folder", "patch_files", "place_of", "slug"]

NAME: Final = "series.toml"
"""The file that gives a series its order and each patch its reason."""

PHASES: Final[tuple[Phase, ...]] = ("base", "hipified")
"""The phases that have patches, in the order in which they are applied."""

_ROOT_FOLDER: Final = "root"
_SUFFIX: Final = ".patch"
_SUFFIXES: Final = frozenset({_SUFFIX, ".diff"})
_PARTS: Final = 3
_LONGEST: Final = 52
"""As long as ``git format-patch`` makes the part of a file name that comes from the subject."""

_NUMBER: Final = re.compile(r"^(\d+)")
_ODD: Final = re.compile(r"[^A-Za-z0-9._]+")
_DOTS: Final = re.compile(r"\.+")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\:]")
"""What no name may have: Windows takes a backslash for a slash, and a colon for the end of a drive or the begin of a stream."""


def module_folder(module: str) -> str:
    """Return the folder of a module's patches below the line's; ``module`` is its path in the tree, ``.`` for the root.

    Raises
    ------
    HipwrightError
        ``bad-series`` when no folder can be called so on every system.
    """
    if module == ROOT:
        return _ROOT_FOLDER
    if _UNSAFE.search(module):
        message = (
            f"the path of the submodule {shown(module)} is no folder's on every system, so no series can have patches for it"
        )
        hint = "a base patch of the repository around it can give it another path"
        raise HipwrightError("bad-series", message, where=Where(module=shown(module)), hint=hint)
    return f"{_ROOT_FOLDER}/{module}" if PurePosixPath(module).parts[0] == _ROOT_FOLDER else module


def place_of(file: str) -> tuple[str, Phase] | None:
    """Return the module and the phase of a patch file, named as a series names it; None when it lies in no module and phase.

    A name that could lead out of the line's folder on some system lies in none.
    """
    if _UNSAFE.search(file):
        return None
    path = PurePosixPath(file)
    parts = path.parts
    phase: Phase | None = next((known for known in PHASES if len(parts) >= _PARTS and parts[-2] == known), None)
    if phase is None or path.is_absolute() or ".." in parts or path.as_posix() != file or not file.endswith(_SUFFIX):
        return None
    folder = parts[:-2]
    if folder == (_ROOT_FOLDER,):
        return ROOT, phase
    if folder[0] == _ROOT_FOLDER:
        folder = folder[1:]
        if folder[0] != _ROOT_FOLDER:
            return None
    return "/".join(folder), phase


def is_patch_file(name: str) -> bool:
    """Return whether a file is called as patches are, in whatever letters: one that no series names is somebody's mistake."""
    return PurePosixPath(name).suffix.lower() in _SUFFIXES


def patch_files(place: Path) -> list[str]:
    """Return all patch files below a line's folder, whether its series names them or not, named as a series would; sorted."""
    found = (path for path in place.rglob("*") if is_patch_file(path.name) and not path.is_dir())
    return sorted(path.relative_to(place).as_posix() for path in found)


def link_in(place: Path, file: str) -> Path | None:
    """Return the symbolic link behind which a file lies, or that it is; ``place`` is the line's folder, the first that may be one.

    What lies behind a link may be another project's, or nobody's here, and is no file at all where a checkout makes no links.
    """
    parts = PurePosixPath(file).parts
    steps = (place.joinpath(*parts[:count]) for count in range(len(parts) + 1))
    return next((step for step in steps if step.is_symlink()), None)


def slug(subject: str) -> str:
    """Return a subject as a part of a file name, much as ``git format-patch`` makes it; ``patch`` where nothing is left of it."""
    words = _DOTS.sub(".", _ODD.sub("-", subject)).strip("-.")
    return words[:_LONGEST].rstrip("-.") or "patch"


def fresh_name(module: str, phase: Phase, subject: str, taken: Iterable[str]) -> str:
    """Return the name of a further patch, numbered after all of ``taken`` (names as a series has them) in the same folder."""
    folder = f"{module_folder(module)}/{phase}"
    names = [PurePosixPath(name).name for name in taken if PurePosixPath(name).parent.as_posix() == folder]
    numbers = [int(found[1]) for found in map(_NUMBER.match, names) if found]
    return f"{folder}/{max(numbers, default=0) + 1:04d}-{slug(subject)}{_SUFFIX}"
