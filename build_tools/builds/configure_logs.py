"""CMake's own logs of a build that failed, kept beside the build's log: the build folder they lie in may be gone when somebody reads that.

CMake tells on its output that a check failed, and in these files why: ``CMakeConfigureLog.yaml`` since 3.26, ``CMakeError.log`` and
``CMakeOutput.log`` before.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.files import remove_tree, write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["forget_configure_logs", "keep_configure_logs"]

_NAMES: Final = ("CMakeConfigureLog.yaml", "CMakeError.log", "CMakeOutput.log")
_HOME: Final = "CMakeFiles"
_MOST: Final = 20
_LARGEST: Final = 32 * 2**20


def keep_configure_logs(folder: Path, log: Path, *, mask: Callable[[str], str] = str) -> tuple[Path, ...]:
    """Copy the configure logs of a build that failed into a folder beside its log; what cannot be copied is left out, as the build's error counts.

    Parameters
    ----------
    folder
        The folder that the build works in.
    log
        The build's log; the copies lie in the folder of its name with ``.configure``.
    mask
        Takes secrets out of a text.

    Returns
    -------
    tuple
        The copies, that of the outermost project first.
    """
    with contextlib.suppress(OSError):
        forget_configure_logs(log)
    kept = []
    for found in sorted(_find(folder), key=lambda path: (len(path.parts), _NAMES.index(path.name), path))[:_MOST]:
        # The folder that all of them lie in tells nothing, and paths have limits.
        place = _folder(log) / found.relative_to(folder).parent.parent / found.name
        with contextlib.suppress(OSError, HipwrightError):
            content = found.read_bytes()
            text = content.decode("utf-8", "replace")
            masked = mask(text)
            write_bytes(place, content if masked == text else masked.encode())
            kept.append(place)
    return tuple(kept)


def forget_configure_logs(log: Path) -> None:
    """Remove what is kept of an earlier build of the same log."""
    remove_tree(_folder(log))


def _folder(log: Path) -> Path:
    return log.with_suffix(".configure")


def _find(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        if Path(at).name == _HOME:
            yield from (path for name in files if name in _NAMES and _is_kept(path := Path(at, name)))


def _is_kept(path: Path) -> bool:
    try:
        return 0 < path.lstat().st_size <= _LARGEST
    except OSError:
        # What a failed build left running may still remove files.
        return False
