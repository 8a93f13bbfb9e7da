"""What people are told of a program that failed: how it ended, and what its log says first."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["first_error", "how_it_ended"]

_ERROR_WORDS: Final = ("error", "fatal", "failed", "traceback", "exception", "undefined reference", "no such file", "cannot find")
_NOT_ERRORS: Final = (
    "-werror",
    "0 errors",
    "no error",
    "error_",
    "errors.py",
    "stderr",
    "on_error",
    "ignore error",
    "tip pass",
    "liberror",
    "gpg-error",
    # What pip says around what the build of a tree said.
    "finished with status 'error'",
    "subprocess-exited-with-error",
)


def how_it_ended(label: str, returncode: int) -> tuple[str, str | None]:
    """Return what people are told of a program that failed, and a hint where a signal ended it.

    >>> how_it_ended("git", 128), how_it_ended("git", -15)[0]
    (('git ended with status 128', None), 'git was ended by the signal SIGTERM')
    """
    name = ""
    with contextlib.suppress(ValueError):
        name = signal.Signals(-returncode).name
    if not name:
        return f"{label} ended with status {returncode}", None
    killed = "if nobody ended it, this machine ran out of memory (its log, dmesg, says so): use fewer jobs, or more memory"
    hint = killed if name == "SIGKILL" else "run the command again; if it ends so again, the log says what it did last"
    return f"{label} was ended by the signal {name}", hint


def first_error(log: Path, start: int = 0, lines: int = 6) -> str | None:
    """Return the first line of a log that reads like a real error, with the lines after it; the last lines when none does.

    Parameters
    ----------
    log
        The log file.
    start
        The byte to begin at.
    lines
        How many lines to return at the most.
    """
    try:
        with log.open("rb") as stream:
            stream.seek(start)
            text = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    text = [line.rstrip() for line in text if line.strip() and not line.startswith("$ ")]
    for number, line in enumerate(text):
        low = line.lower()
        if any(word in low for word in _ERROR_WORDS) and not any(word in low for word in _NOT_ERRORS):
            return "\n".join(text[number : number + lines])
    return "\n".join(text[-lines:]) or None
