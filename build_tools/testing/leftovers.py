"""Processes that tests started and left behind: found by a mark in their environment, wherever in the process table they went.

A child in a session of its own, or a daemon whose parent is gone, belongs to no process group that could be ended; what it was started
with still tells where it came from.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MARK", "end_leftovers", "new_mark"]

MARK: Final = "_HIPWRIGHT_TEST_RUN"
"""The environment variable that a run's processes have."""

_GRACE: Final = 2.0
_HARD: Final = 2.0
_ROUNDS: Final = 5
_STEP: Final = 0.1


def new_mark() -> str:
    """Return a value that no other run has."""
    return secrets.token_hex(16)


def end_leftovers(mark: str, *, say: Callable[[str], None], grace: float = _GRACE) -> None:
    """End what a run's processes left behind, and say a remark that names it.

    Parameters
    ----------
    mark
        The run's value of :data:`MARK`.
    say
        Gets the remark.
    grace
        Seconds in which helpers that end by themselves, once their parent has, may do so.
    """
    until = time.monotonic() + grace
    while (left := _marked(mark)) and time.monotonic() < until:
        time.sleep(_STEP)
    named: dict[int, str] = {}
    for _ in range(_ROUNDS):
        for process in left:
            with contextlib.suppress(psutil.Error):
                named.setdefault(process.pid, f"{process.name()} ({process.pid})")
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        _, stubborn = psutil.wait_procs(left, timeout=_HARD)
        for process in stubborn:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(stubborn, timeout=_HARD)
        # One that was about to start another may have done so meanwhile.
        left = _marked(mark)
        if not left:
            break
    if named:
        say(f"what ran left processes behind, which were ended: {', '.join(named.values())}")
    if left:
        say(f"processes of it are still there and cannot be ended: {', '.join(str(process.pid) for process in left)}")


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        # Other users' processes cannot be asked, and are none of ours.
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
