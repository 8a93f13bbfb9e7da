"""A lock that processes of one machine share: the system lets go of it when its holder ends, however that comes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["held"]

_PAUSE = 0.05


@contextlib.contextmanager
def held(path: Path, *, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock file for the block.

    Parameters
    ----------
    path
        The file; made when missing, and left.
    on_wait
        Called once when another process holds it, before it is waited for.

    Raises
    ------
    OSError
        When the file cannot be made.
    """
    descriptor = _hold(path, on_wait)
    try:
        yield
    finally:
        _let_go(descriptor)
        os.close(descriptor)


def _hold(path: Path, on_wait: Callable[[], None]) -> int:
    told = False
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            while not _try(descriptor):
                if not told:
                    told = True
                    on_wait()
                time.sleep(_PAUSE)
            if _is_at(descriptor, path):
                return descriptor
            _let_go(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        # An uninstaller removed the file meanwhile: whoever comes next locks another one.
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> bool:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _let_go(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(descriptor: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _let_go(descriptor: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
