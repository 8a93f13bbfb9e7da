"""Import a wheel in a clean process, before anything is built on it or tested with it: what cannot be loaded is told there and then.

In the same process its flags are read, which say what it was built with, such as whether a backend has some feature.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from build_tools.builds import import_probe
from build_tools.errors import HipwrightError
from build_tools.receipts.values import FlagValue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.config.wheel_demands import Flag
    from build_tools.process import Runner

__all__ = ["TIME_LIMIT", "prove_import"]

TIME_LIMIT: Final = 300.0
"""Seconds that an import may take; torch reads a gigabyte of libraries from a cold disk."""

_LINES: Final = 12
_MARK: Final = "imported"
_ANSWERS: Final = "flags.json"
# Neither the folder, PYTHON* variables nor a person's own packages count, and nothing is written beside the modules.
_ISOLATED: Final = ("-I", "-B", "-X", "utf8")


class _Answer(msgspec.Struct, frozen=True):
    """What a flag was found to be, in words too; no value where there is none that a recipe can name."""

    told: str
    value: bool | int | str | None = None


class _Environment(Protocol):
    """What has an interpreter."""

    @property
    def python(self) -> str | Path: ...


def prove_import(
    module: str,
    wheel: str,
    *,
    environment: _Environment,
    runner: Runner,
    folder: Path,
    log: Path,
    flags: Sequence[Flag] = (),
    so: str = "nothing is built on it",
    limit: float = TIME_LIMIT,
    variables: Mapping[str, str] | None = None,
) -> tuple[FlagValue, ...]:
    """Import a module of a wheel with the environment's interpreter, started in an empty folder, with no variables of the caller.

    Return the flags, which are all as they should be.

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
    flags
        What the package must say of itself.
    so
        What does not happen when it fails, for the message.
    limit
        Seconds that it may take.
    variables
        What the process gets beyond the runner's environment.

    Raises
    ------
    HipwrightError
        ``import-failed`` with the last lines of what was said, or the time limit; ``flag-differs`` naming each flag that is not there or
        has another value.
    """
    # Console scripts beside the interpreter count first; of other variables a child gets those of the runner's short list.
    path = f"{Path(environment.python).parent}{os.pathsep}{runner.environment.get('PATH', '')}"
    start = log.stat().st_size if log.exists() else 0
    # A module may end the process, and well; only what comes after the import proves it.
    mark, answers = folder.absolute() / _MARK, folder.absolute() / _ANSWERS
    for stale in (mark, answers):
        stale.unlink(missing_ok=True)
    try:
        done = runner.run(
            [environment.python, *_ISOLATED, Path(import_probe.__file__), module, mark, answers, *(flag.name for flag in flags)],
            cwd=folder,
            log=log,
            env={"PATH": path, **(variables or {})},
            timeout=limit,
            check=False,
            what=f"the import of {module}",
            alone=True,
        )
    except HipwrightError as error:
        if error.code.name != "command-timeout":
            raise
        message = f"{module} of {wheel} was not imported within {limit:g} s, and {so}"
        raise HipwrightError("import-failed", message, log=log, excerpt=_last_lines(log, start)) from error
    if done.returncode == 0 and not mark.is_file():
        message = f"{module} of {wheel} ends the process that imports it, and {so}"
        raise HipwrightError("import-failed", message, log=log, excerpt=_last_lines(log, start))
    if done.returncode != 0 and mark.is_file():
        what = "was imported" if answers.is_file() or not flags else "was imported, its flags cannot be read"
        message = f"{module} of {wheel} {what}, and {so}: then the process ended with {done.returncode}"
        raise HipwrightError("import-failed", message, log=log, excerpt=_last_lines(log, start))
    if done.returncode != 0:
        message = f"{module} of {wheel} cannot be imported, and {so}"
        hint = f"try it yourself: {environment.python} -I -c 'import {module}'"
        raise HipwrightError("import-failed", message, log=log, hint=hint, excerpt=_last_lines(log, start))
    return _proven(wheel, flags, answers, so=so, log=log, excerpt=_last_lines(log, start))


def _proven(
    wheel: str, flags: Sequence[Flag], answers: Path, *, so: str, log: Path, excerpt: str | None
) -> tuple[FlagValue, ...]:
    """Return the flags that were read, once all are as they should be; ``1`` is not ``true``."""
    if not flags:
        return ()
    if not answers.is_file():
        message = f"the flags of {wheel} cannot be read, and {so}: one of them ends the process"
        raise HipwrightError("import-failed", message, log=log, excerpt=excerpt)
    try:
        found = msgspec.json.decode(answers.read_bytes(), type=list[_Answer])
    except msgspec.DecodeError as error:
        message = f"the flags of {wheel} cannot be read, and {so}: {error}"
        raise HipwrightError("import-failed", message, log=log, excerpt=excerpt) from error
    wrong = [
        f"{flag.name} {answer.told} and should be {flag.value!r}"
        for flag, answer in zip(flags, found, strict=True)
        if type(answer.value) is not type(flag.value) or answer.value != flag.value
    ]
    if wrong:
        message = f"{wheel} says something else of itself than wheel.flags of its project.toml, and {so}: {'; '.join(wrong)}"
        hint = "look in the build's log at what it was configured with, or change the flag where the value is right"
        raise HipwrightError("flag-differs", message, log=log, hint=hint)
    return tuple(FlagValue(name=flag.name, value=flag.value) for flag in flags)


def _last_lines(log: Path, start: int) -> str | None:
    with log.open("rb") as stream:
        stream.seek(start)
        lines = stream.read().decode("utf-8", "replace").splitlines()[1:]
    return "\n".join([line for line in lines if line.strip()][-_LINES:]) or None
