"""Import a wheel that was just built, in a clean process, before anything is built on it: what cannot be loaded is told there and then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.process import Runner
    from build_tools.receipts.values import EnvironmentRecord

__all__ = ["TIME_LIMIT", "prove_import"]

TIME_LIMIT: Final = 300.0
"""Seconds that an import may take; torch reads a gigabyte of libraries from a cold disk."""

_LINES: Final = 12
_PROGRAM: Final = "import importlib, sys; importlib.import_module(sys.argv[1]); open(sys.argv[2], 'x').close()"
_MARK: Final = "imported"
# Neither the folder, PYTHON* variables nor a person's own packages count, and nothing is written beside the modules.
_ISOLATED: Final = ("-I", "-B", "-X", "utf8")


def prove_import(
    module: str, wheel: str, *, environment: EnvironmentRecord, runner: Runner, folder: Path, log: Path, limit: float = TIME_LIMIT
) -> None:
    """Import a module of a wheel with the environment's interpreter, started in an empty folder, with no variables of the caller.

    Parameters
    ----------
    module
        What is imported, such as ``torch``.
    wheel
        The wheel's file name, for the message.
    environment
        The environment that the wheel is installed in.
    runner
        Starts the interpreter.
    folder
        An empty folder for it to run in.
    log
        Gets its output.
    limit
        Seconds that it may take.

    Raises
    ------
    HipwrightError
        ``import-failed`` with the last lines of what was said, or the time limit.
    """
    # Console scripts beside the interpreter count first; of other variables a child gets those of the runner's short list.
    path = f"{Path(environment.python).parent}{os.pathsep}{runner.environment.get('PATH', '')}"
    start = log.stat().st_size if log.exists() else 0
    # A module may end the process, and well; only what comes after the import proves it.
    mark = folder.absolute() / _MARK
    mark.unlink(missing_ok=True)
    try:
        done = runner.run(
            [environment.python, *_ISOLATED, "-c", _PROGRAM, module, mark],
            cwd=folder,
            log=log,
            env={"PATH": path},
            timeout=limit,
            check=False,
            what=f"the import of {module}",
            alone=True,
        )
    except HipwrightError as error:
        if error.code.name != "command-timeout":
            raise
        message = f"{module} of {wheel} was not imported within {limit:g} s, and nothing is built on it"
        raise HipwrightError("import-failed", message, log=log, excerpt=_last_lines(log, start)) from error
    if done.returncode == 0 and not mark.is_file():
        message = f"{module} of {wheel} ends the process that imports it, and nothing is built on it"
        raise HipwrightError("import-failed", message, log=log, excerpt=_last_lines(log, start))
    if done.returncode != 0:
        message = f"{module} of {wheel} cannot be imported, and nothing is built on it"
        hint = f"try it yourself: {environment.python} -I -c 'import {module}'"
        raise HipwrightError("import-failed", message, log=log, hint=hint, excerpt=_last_lines(log, start))


def _last_lines(log: Path, start: int) -> str | None:
    with log.open("rb") as stream:
        stream.seek(start)
        lines = stream.read().decode("utf-8", "replace").splitlines()[1:]
    return "\n".join([line for line in lines if line.strip()][-_LINES:]) or None
