"""A program with all that it starts, ended as one: a process group where there are sessions, a job on Windows.

Whoever ends hipwright ends its programs too: the kernel does that for jobs, and a small process beside this one for groups. A program is
started with ``CREATION_FLAGS`` and ``NEW_SESSION``, and told to :func:`began` before anything else; on Windows it does not run earlier.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Final

if sys.platform == "win32":
    import psutil

    from build_tools.job_object import Jobs, system_kernel

__all__ = ["CREATION_FLAGS", "GRACE_SECONDS", "NEW_SESSION", "began", "end"]

GRACE_SECONDS: Final = 5.0
"""How long what is asked to end may take."""

_LEAVE_SECONDS: Final = 1.0


def end(process: subprocess.Popen[bytes], *, alone: bool = False) -> None:
    """End a program with all that it started, unless it has ended; with ``alone`` also what it has left behind."""
    try:
        if process.returncode is None or alone:
            _end_group(process)
    finally:
        _ended(process.pid)


_WATCHING: Final = """
import os, signal, sys, time
groups = set()
def send(number):
    for group in list(groups):
        try:
            os.killpg(group, number)
        except OSError:
            groups.discard(group)
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
send(signal.SIGTERM)
until = time.monotonic() + 5
while groups and time.monotonic() < until:
    time.sleep(0.05)
    send(0)
send(signal.SIGKILL)
"""


@dataclass(kw_only=True, slots=True)
class _Watch:
    """A small process beside this one that ends what runs when this one was killed and could not do it.

    It is told of each program's start and end through a pipe, whose closing it takes for the end of this process. The kernel's own
    signal to children would need code between fork and exec, which is not safe beside threads, and spares the children's children.
    """

    process: subprocess.Popen[str] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, sign: str, group: int) -> None:
        """Tell it that a process group began (``+``) or ended (``-``)."""
        with self.lock, contextlib.suppress(OSError):
            if self.process is None and sign == "+":
                self.process = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-I", "-S", "-c", _WATCHING],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    cwd="/",
                    start_new_session=True,
                )
                atexit.register(self.close)
            if self.process is not None and self.process.stdin is not None:
                self.process.stdin.write(f"{sign}{group}\n")
                self.process.stdin.flush()

    def close(self) -> None:
        """Let it go."""
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
            self.process.wait()


_WATCH: Final = _Watch()
if sys.platform == "win32":
    # The number is CREATE_SUSPENDED, which subprocess does not name.
    CREATION_FLAGS: Final = subprocess.CREATE_NEW_PROCESS_GROUP | 0x4
    NEW_SESSION: Final = False

    _JOBS: Final = Jobs(kernel=system_kernel(), resume=lambda pid: psutil.Process(pid).resume())

    def began(process: subprocess.Popen[bytes]) -> None:
        """Put a program into a job of its own and let it run, which it does not before.

        Raises
        ------
        OSError
            It cannot be let run; it is ended.
        """
        try:
            _JOBS.began(process.pid)
        except psutil.Error as error:
            process.kill()
            raise OSError(errno.EACCES, str(error)) from error

    def _ended(pid: int) -> None:
        _JOBS.ended(pid)

    def _end_group(process: subprocess.Popen[bytes]) -> None:
        """End a program and all that it started."""
        if not _JOBS.end(process.pid, _LEAVE_SECONDS) and process.returncode is None:
            subprocess.run(  # noqa: S603
                ["taskkill", "/F", "/T", "/PID", str(process.pid)],  # noqa: S607
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        process.wait()

else:
    CREATION_FLAGS: Final = 0
    NEW_SESSION: Final = True

    def began(process: subprocess.Popen[bytes]) -> None:
        """Have a program watched that leads a group of its own."""
        _WATCH.tell("+", process.pid)

    def _ended(pid: int) -> None:
        _WATCH.tell("-", pid)

    def _end_group(process: subprocess.Popen[bytes]) -> None:
        """End a program and all that it started: a polite signal to the group first, then the hard one."""
        try:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        finally:
            # A child of the child may still be there after its parent went, and whoever is impatient wants all of them gone.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            # Where nobody takes leave of the others, they are counted on; they do nothing any more.
            until = time.monotonic() + _LEAVE_SECONDS
            with contextlib.suppress(OSError):
                while time.monotonic() < until:
                    os.killpg(process.pid, 0)
                    time.sleep(0.01)
