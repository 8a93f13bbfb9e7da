"""Keep a project's hook from ending the whole command, which would look like a success, and from changing the process that it runs in.

A hook runs in this process. ``sys.exit`` in it is an exception like others, but ``os._exit(0)`` ends the process at once with status 0,
and ``os.exec…`` lets another program say how it ended: nothing is printed, and CI takes that for a command that went well. While a hook
runs these raise :class:`EndOfProcessError` instead. Processes that a hook forks may still end themselves.

A hook that leaves the process with another current folder, other variables or another search path for modules would change what comes after
it, the builds of other projects among them: that is put back, and an error. What a hook prints is talk, and goes where talk goes: the result
of a command is the only thing on its standard output.

What goes around Python (a signal to the own process, C code by ctypes) is not seen. A signal gives another status than 0; and in any case
no receipt says that the stage is done, so the next command does it again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ChangedProcessError", "EndOfProcessError", "guarded"]

_ENDINGS: Final = ("_exit", "execv", "execve")
"""All others of their kind call one of these."""


class EndOfProcessError(BaseException):
    """A hook has called what would end the process."""


class ChangedProcessError(Exception):
    """A hook has changed what all of the process shares."""


def _current_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - as text, which is given back as it is
    except OSError:
        return None  # somebody removed it


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shared:
    """What all of a process shares, and a hook must leave as it is: the current folder, the variables, and where modules are looked for."""

    folder: str | None = field(default_factory=_current_folder)
    variables: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    path: list[str] = field(default_factory=lambda: list(sys.path))

    def restore(self) -> tuple[str, ...]:
        """Put back what is another now, and return what that was."""
        now = _Shared()
        changed = []
        if now.folder != self.folder and self.folder is not None:
            os.chdir(self.folder)  # noqa: TID251 - it puts the current folder back, which no other code of ours touches
            changed.append("the current folder")
        names = {name for name, _value in now.variables.items() ^ self.variables.items()}
        for name in sorted(names):
            if name in self.variables:
                os.environ[name] = self.variables[name]
            else:
                del os.environ[name]
            changed.append(f"the variable {name}")
        if now.path != self.path:
            sys.path[:] = self.path
            changed.append("sys.path")
        return tuple(changed)


@dataclass(kw_only=True, slots=True)
class _Guard:
    """How many hooks run, in which process, and what the functions of ``os`` are when none does."""

    running: int = 0
    process: int = 0
    real: dict[str, Callable[..., Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self) -> None:
        with self.lock:
            if not self.running:
                self.real = {name: getattr(os, name) for name in _ENDINGS}
                for name, real in self.real.items():
                    _put(name, self.asking(name, real))
            self.running += 1
            self.process = os.getpid()

    def leave(self) -> None:
        with self.lock:
            self.running -= 1
            if not self.running:
                for name, real in self.real.items():
                    _put(name, real)

    def asking(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that asks before it does what the real one does."""

        def asks(*arguments: Any) -> Any:  # noqa: ANN401 - as the function it stands for
            if self.running and self.process == os.getpid():
                message = f"os.{name} would end the whole command"
                raise EndOfProcessError(message)
            return real(*arguments)

        return asks


def _put(name: str, function: Callable[..., Any]) -> None:
    """Have a function of ``os`` be another, wherever it is found by its name."""
    for module in (os, sys.modules[os.name]):
        setattr(module, name, function)


_GUARD: Final = _Guard()


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Let nothing end the process for the block, or change what all of it shares; what is printed there goes to standard error.

    Raises
    ------
    EndOfProcessError
        Where the block calls what would end it.
    ChangedProcessError
        After the block, naming what was changed and is put back.
    """
    shared = _Shared()
    _GUARD.enter()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _GUARD.leave()
        changed = shared.restore()
    if changed:
        message = f"it changes {', '.join(changed)} for the whole command; paths may be absolute, and variables be returned"
        raise ChangedProcessError(message)
