"""Wait for the end of a child, and see it when it comes.

:meth:`subprocess.Popen.wait` with a time limit looks now and then, and on POSIX sees an end up to 50 ms late. Linux tells it at once, through
a descriptor that stands for the child (pidfd, Linux 5.3).
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Final, Protocol

__all__ = ["wait_for_end"]


class _Child(Protocol):
    """A :class:`subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    def wait(self, timeout: float | None = None) -> int: ...


def wait_for_end(process: _Child, timeout: float | None) -> None:
    """Wait for a child's end.

    Parameters
    ----------
    process
        The child.
    timeout
        The most seconds to wait; None waits as long as it takes.

    Raises
    ------
    subprocess.TimeoutExpired
        It still runs after that time.
    """
    if timeout is not None:
        until = time.monotonic() + timeout
        _sleep_until_end(process.pid, timeout)
        timeout = max(0.0, until - time.monotonic())
    process.wait(timeout)


if sys.platform == "linux":
    _MOST_MILLISECONDS: Final = 2**31 - 1

    def _sleep_until_end(pid: int, seconds: float) -> None:
        """Sleep until a child ends, at most so long; not at all where the system cannot tell."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return
        try:
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            ended.poll(min(_MOST_MILLISECONDS, max(0.0, seconds) * 1000))
        finally:
            os.close(descriptor)

else:

    def _sleep_until_end(_pid: int, _seconds: float) -> None:
        """Leave the waiting to :class:`subprocess.Popen`."""
