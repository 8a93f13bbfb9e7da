"""Keep a project's hook from ending the whole command, which would look like a success.

A hook runs in this process. ``sys.exit`` in it is an exception like others, but ``os._exit(0)`` ends the process at once with status 0,
and ``os.exec…`` lets another program say how it ended: nothing is printed, and CI takes that for a command that went well. While a hook
runs these raise :class:`EndOfProcessError` instead. Processes that a hook forks may still end themselves.

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

__all__ = ["EndOfProcessError", "guarded"]

_ENDINGS: Final = ("_exit", "execv", "execve")
"""All others of their kind call one of these."""


class EndOfProcessError(BaseException):
    """A hook has called what would end the process."""


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
    """Let nothing end the process for the block.

    Raises
    ------
    EndOfProcessError
        Where the block calls what would.
    """
    _GUARD.enter()
    try:
        yield
    finally:
        _GUARD.leave()
