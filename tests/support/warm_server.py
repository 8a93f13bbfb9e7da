"""What :mod:`tests.support.warm_python` starts: imports once, then forks for each command that it is asked for."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import types

_REPLY, _OUT, _TALK = range(3)
_LARGEST = 1 << 20
_IMPORTED = (
    "nox",
    "nox.__main__",
    "build_tools.commands",
    "build_tools.pipeline.lock_stage",
    "build_tools.pipeline.run",
    "build_tools.workplace",
)
"""What most commands import, which is most of what there is; to import all would take longer than a single command."""


def _import() -> None:
    """Import what commands import, from the clone that is the current folder."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _next(control: socket.socket) -> tuple[list[str], str, dict[str, str]] | None:
    """Wait for commands, and return one in the process that is to become it; None when nobody can ask any more."""
    while True:
        data, descriptors, *_ = socket.recv_fds(control, _LARGEST, 3)
        if not data:
            return None
        if os.fork() == 0:
            break
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    # This process waits for the command, so that the first one can go on.
    control.close()
    pid = os.fork()
    if pid:
        os.close(descriptors[_OUT])
        os.close(descriptors[_TALK])
        _tell(descriptors[_REPLY], pid)
        _tell(descriptors[_REPLY], os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(descriptors[_OUT], 1)
    os.dup2(descriptors[_TALK], 2)
    for descriptor in descriptors:
        os.close(descriptor)
    command = json.loads(data)
    return command["words"], command["cwd"], command["env"]


def _tell(descriptor: int, number: int) -> None:
    os.write(descriptor, b"%d\n" % number)


def _become(words: list[str], cwd: str, env: dict[str, str]) -> None:
    """Do what Python does with these arguments."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    switch, what, *rest = words
    if switch == "-m":
        sys.argv, sys.path[0] = [what, *rest], cwd
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv, sys.path[0] = ["-c", *rest], ""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(what, "<string>", "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - as Python does with it


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[0] = ""
    _import()
    asked = _next(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        _become(*asked)
