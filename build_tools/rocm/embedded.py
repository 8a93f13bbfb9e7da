"""SDK packages that a project keeps as unpacked wheels beside its ``project.toml``, packed into a folder that is a package source.

Each folder ``<folder>/<stem of a wheel's file name>/`` is one wheel, unpacked.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import finished_folder, hold
from build_tools.wheels.pack import pack_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["pack_embedded"]

_NAME_LENGTH: Final = 16
_IGNORED: Final = "__pycache__"


def pack_embedded(folder: Path, *, cache: Path, say: Callable[[str], None] = lambda _line: None) -> Path:
    """Return a folder of wheels packed from unpacked ones; the same files give the same folder with the same bytes.

    Parameters
    ----------
    folder
        Holds one folder for each wheel.
    cache
        hipwright's cache folder.
    say
        Told when another run's packing is waited for.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the folder holds no unpacked wheel, or what is no file, link or folder; ``bad-wheel`` when one is malformed, or is called otherwise than
        its metadata say.
    """
    unpacked = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if not unpacked:
        raise HipwrightError("bad-data-file", f"{folder} holds no unpacked wheel", where=Where(file=folder))
    for path in sorted(folder.rglob("*")):
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
            message = f"{path} cannot be part of a wheel: it is no file, link or folder"
            raise HipwrightError("bad-data-file", message, where=Where(file=path), hint="take it out of the folder")
    target = cache / "embedded-wheels" / _digest(folder)[:_NAME_LENGTH]
    if target.is_dir():
        return target
    with hold(target.with_name(f"{target.name}.lock"), purpose=f"packing {folder.name}", wait=True, on_wait=say):
        if target.is_dir():
            return target
        with finished_folder(target) as partial:
            for each in unpacked:
                wheel = pack_wheel(each, target=partial)
                if wheel.stem != each.name:
                    message = f"{each} is packed into {wheel.name}: its folder should be called {wheel.stem}"
                    raise HipwrightError("bad-wheel", message, where=Where(file=each))
    return target


def _digest(folder: Path) -> str:
    """Return the digest of what goes into the wheels: names, bytes, and which files are executable."""
    files = [path for path in folder.rglob("*") if _IGNORED not in path.parts and path.is_file()]
    executable = sorted(path.relative_to(folder).as_posix() for path in files if _is_executable(path))
    return digest.of_value([digest.of_folder(folder, files), executable])


def _is_executable(path: Path) -> bool:
    return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))
