"""Threads that wait for the network, and that an interruption does not wait for.

Python's own pool waits for what its threads are at when it ends, and once more when the process does: with a server that says nothing that
takes minutes. These threads are told that they are stopped, have a moment to put away what they hold, and are then left behind.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import threading
import weakref
from concurrent.futures import Executor, Future, InvalidStateError
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["StoppedError", "Threads", "go_on", "in_time"]

P = ParamSpec("P")
R = TypeVar("R")

_GRACE: Final = 2.0
"""Seconds that threads have to end after they were stopped."""

_INNER_GRACE: Final = 0.5
"""The same for those of a job that was stopped itself, and has to end in the time of the outer ones."""

_MOMENT: Final = 0.2

_WORKS_FOR: Final[contextvars.ContextVar[Threads | None]] = contextvars.ContextVar("works_for", default=None)
"""The threads that the running one is of."""


class StoppedError(KeyboardInterrupt):
    """The work of this thread was interrupted: nobody waits for it any more, and it must change nothing more."""


def go_on() -> None:
    """Return where the work of this thread is still wanted; asked before each step that takes time or changes something.

    Raises
    ------
    StoppedError
        When the work was interrupted.
    """
    threads = _WORKS_FOR.get()
    if threads is not None and threads.stopped:
        raise StoppedError


def in_time(seconds: float, job: Callable[[], R]) -> R:
    """Return what a job returns in so many seconds, in a thread that goes on whatever happens to the work around it.

    Raises
    ------
    TimeoutError
        When it takes longer; it is stopped and left behind.
    """
    threads = Threads(1, apart=True)
    try:
        return threads.submit(job).result(timeout=seconds)
    finally:
        threads.stop(grace=0)


class Threads(Executor):
    """Threads that do jobs.

    As a block they are waited for; a failure cancels the jobs that have not begun, and an interruption stops all of them, those too that
    a job began for itself. What was stopped counts as interrupted, whatever it still does.

    Parameters
    ----------
    at_once
        How many jobs are under way at once.
    apart
        Whether they are no part of the job that begins them, and not stopped with it.

    Raises
    ------
    StoppedError
        When the job that begins them was stopped.
    """

    def __init__(self, at_once: int, *, apart: bool = False) -> None:
        self.stopped = False
        self._at_once: Final = max(1, at_once)
        self._jobs: Final = collections.deque[tuple[Future[Any], functools.partial[Any]]]()
        self._open: Final = set[Future[Any]]()
        self._running = 0
        self._changed: Final = threading.Condition()
        self._inner: Final = weakref.WeakSet[Threads]()
        self._outer: Final = None if apart else _WORKS_FOR.get()
        if self._outer is not None:
            self._outer._take_in(self)  # noqa: SLF001 - of the same class

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Have a job done.

        Raises
        ------
        StoppedError
            When the threads were stopped.
        """
        future: Future[R] = Future()
        with self._changed:
            if self.stopped:
                raise StoppedError
            self._open.add(future)
            self._jobs.append((future, functools.partial(fn, *args, **kwargs)))
            if self._running < self._at_once:
                self._running += 1
                threading.Thread(target=self._work, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - the base class's
        """Wait for the jobs, of which those that have not begun can be cancelled.

        Raises
        ------
        StoppedError
            When they are stopped meanwhile.
        """
        if cancel_futures:
            with self._changed:
                waiting = list(self._jobs)
            for future, _ in waiting:
                future.cancel()
        try:
            with self._changed:
                while wait and self._running:
                    if self.stopped:
                        raise StoppedError
                    # On Windows no interruption ends a wait without a limit.
                    self._changed.wait(_MOMENT)
        except KeyboardInterrupt:
            self.stop()
            raise

    def stop(self, *, grace: float | None = None) -> None:
        """Stop all jobs: who waits for one is told at once, and the threads have some seconds to end."""
        self._halt()
        if grace is None:
            grace = _INNER_GRACE if self._outer is not None and self._outer.stopped else _GRACE
        with self._changed:
            self._changed.wait_for(lambda: not self._running, timeout=grace)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> Literal[False]:
        """Wait for the jobs, or stop them."""
        if error is None or isinstance(error, Exception):
            self.shutdown(cancel_futures=error is not None)
        else:
            self.stop()
        return False

    def _take_in(self, inner: Threads) -> None:
        with self._changed:
            if self.stopped:
                raise StoppedError
            self._inner.add(inner)

    def _halt(self) -> None:
        with self._changed:
            self.stopped = True
            self._jobs.clear()
            inner, futures = list(self._inner), list(self._open)
            self._changed.notify_all()
        for threads in inner:
            threads._halt()  # noqa: SLF001 - of the same class
        for future in futures:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(StoppedError())

    def _work(self) -> None:
        _WORKS_FOR.set(self)
        while (job := self._next()) is not None:
            future, call = job
            try:
                settle = functools.partial(future.set_result, call())
            except BaseException as error:  # noqa: BLE001 - told to whoever waits for the job
                settle = functools.partial(future.set_exception, error)
            # Of one that was stopped the end was told.
            with contextlib.suppress(InvalidStateError):
                settle()
            with self._changed:
                self._open.discard(future)
            del job, future, call, settle

    def _next(self) -> tuple[Future[Any], functools.partial[Any]] | None:
        with self._changed:
            while self._jobs:
                future, call = self._jobs.popleft()
                if future.set_running_or_notify_cancel():
                    return future, call
                self._open.discard(future)
            self._running -= 1
            self._changed.notify_all()
            return None
