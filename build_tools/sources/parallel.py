"""Doing the same for several submodules at once, so that an interruption or a failure of one ends the others as well."""

from __future__ import annotations

import contextlib
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["for_each"]

T = TypeVar("T")

_MOMENT: Final = 0.2
_JOBS: Final = 4
"""How many fetches run at a time: servers throttle more."""


def for_each(function: Callable[[T], None], items: Sequence[T]) -> None:
    """Call a function, which runs git, for every item, a few at a time.

    The first failure, or an interruption from outside, is raised once the others have been stopped.
    """
    if len(items) < 2:  # noqa: PLR2004 - one is done here, where an interruption reaches it
        for item in items:
            function(item)
        return
    pool = ThreadPoolExecutor(_JOBS)
    futures = [pool.submit(function, item) for item in items]
    try:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # More than once: one that is ended may be followed by the next step of the same item.
        while running := [future for future in futures if not future.done()]:
            _end_children()
            wait(running, timeout=_MOMENT)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_children() -> None:
    """End the git processes of this process: an interruption reaches this thread, and they belong to others."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.name().startswith("git"):
                process.terminate()
