"""A Python that has imported nox, invoke and hipwright once, and forks itself for each command.

A command is a process of its own, with its own arguments, folder, environment, output and end, as if it had been started anew; what it saves
is the imports, which take most of the time of a short one. Hash seeds are those of the Python that forks.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["run_python"]

_SERVER: Final = Path(__file__).with_name("warm_server.py")
_SWITCHES: Final = ("-m", "-c")
_MOST: Final = 3
"""Clones whose Python is kept; each takes some 60 MB."""


def run_python(
    words: Sequence[str | Path], *, clone: Path, cwd: Path, env: Mapping[str, str], timeout: float = 150, anew: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run Python with arguments and return its status and output; on other systems than Linux it is started anew.

    Parameters
    ----------
    words
        ``-m`` and a module or ``-c`` and code, with arguments; anything else is started anew.
    clone
        The clone whose ``build_tools`` count; ``PYTHONPATH`` in ``env`` names it too.
    cwd, env
        The folder and the whole environment that it runs in.
    timeout
        The most seconds that it may take.
    anew
        Whether it is started anew anyway.
    """
    command = [os.fspath(word) for word in words]
    whole = [sys.executable, *command]
    if anew or sys.platform != "linux" or command[0] not in _SWITCHES or env.get("PYTHONPATH") != str(clone):
        return subprocess.run(whole, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=timeout)
    # What an interpreter reads of the environment when it starts has to be the same.
    own = tuple(sorted((name, value) for name, value in env.items() if name.startswith("PYTHON")))
    return _warm(clone, own).run(command, cwd=cwd, env=env, timeout=timeout)


@functools.lru_cache(maxsize=_MOST)
def _warm(clone: Path, own: tuple[tuple[str, str], ...]) -> _Warm:
    """Start a Python for a clone; it ends when nobody holds its socket any more."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with there:
        process = subprocess.Popen(
            [sys.executable, _SERVER, str(there.fileno())],
            cwd=clone,
            env={**plain, **dict(own)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[there.fileno()],
        )
    return _Warm(process=process, control=here)


atexit.register(_warm.cache_clear)


@dataclass(frozen=True, kw_only=True)
class _Warm:
    """A Python that waits for commands."""

    process: subprocess.Popen[bytes]
    control: socket.socket

    def __del__(self) -> None:
        self.control.close()
        self.process.wait()

    def run(self, words: list[str], *, cwd: Path, env: Mapping[str, str], timeout: float) -> subprocess.CompletedProcess[str]:
        asked = json.dumps({"words": words, "cwd": os.fspath(cwd), "env": dict(env)}).encode()
        mine, its = socket.socketpair()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as talk, mine:
            with its:
                socket.send_fds(self.control, [asked], [its.fileno(), out.fileno(), talk.fileno()])
            mine.settimeout(timeout)
            answer = mine.makefile("r", encoding="ascii")
            pid = int(answer.readline())
            try:
                status = int(answer.readline())
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired([sys.executable, *words], timeout) from None
            finally:
                answer.close()
            said = []
            for stream in (out, talk):
                stream.seek(0)
                said.append(stream.read().decode().replace("\r\n", "\n"))
        return subprocess.CompletedProcess([sys.executable, *words], status, *said)
