"""The peak of the memory of a process and of all that it starts, as the operating system counts it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MemoryWatch", "watched"]

_STEP: Final = 0.02
_MIB: Final = 2**20


class MemoryWatch:
    """Looks at a process again and again; ``peak`` is the most that it and its children had in memory at once, in MiB."""

    def __init__(self, started: Path) -> None:
        self._started = started
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.peak: float | None = None

    def begin(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        process: psutil.Process | None = None
        while not self._over.is_set():
            if process is None:
                process = self._process()
            if process is not None:
                taken = _taken(process)
                if taken:
                    self.peak = max(self.peak or 0.0, taken / _MIB)
            self._over.wait(_STEP)

    def _process(self) -> psutil.Process | None:
        """Return the process once it has said its number."""
        try:
            return psutil.Process(int(self._started.read_text(encoding="utf-8")))
        except (OSError, ValueError, psutil.Error):
            return None


@contextlib.contextmanager
def watched(started: Path) -> Iterator[MemoryWatch]:
    """Watch the memory of the process whose number will be in a file, until the body is left."""
    watch = MemoryWatch(started)
    watch.begin()
    try:
        yield watch
    finally:
        watch.end()


def _taken(process: psutil.Process) -> int:
    """Return the bytes that a process and its children have in memory; 0 once it is gone."""
    with contextlib.suppress(psutil.Error, OSError):
        children = process.children(recursive=True)
        if not children:
            return int(process.memory_info().rss)
        return _share(process) + sum(map(_share, children))
    return 0


def _share(process: psutil.Process) -> int:
    """Return the bytes of a process of which there are several: what they share is parted among them, where the system can say it."""
    with contextlib.suppress(psutil.Error, OSError):
        told = process.memory_full_info()
        return int(getattr(told, "pss", 0) or told.rss)
    return 0
