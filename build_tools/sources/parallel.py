"""Doing the same for several submodules at once, so that an interruption or a failure of one ends the others as well."""

from __future__ import annotations

import contextlib
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

__all__ = ["for_each"]

T = TypeVar("T")

_MOMENT: Final = 0.2
_JOBS: Final = 4
"""How many fetches run at a time: servers throttle more."""


def for_each(
    function: Callable[[T], None],
    items: Sequence[T],
    *,
    place: Callable[[T], object] | None = None,
    told: Callable[[int], None] | None = None,
) -> None:
    """Call a function, which runs git, for every item, a few at a time.

    The first failure, or an interruption from outside, is raised once the others have been stopped.

    Parameters
    ----------
    function
        What is called; in threads of its own when there are several items.
    items
        The items.
    place
        Where an item is worked on: those with the same place take turns, and no thread waits for another.
    told
        Is told from the calling thread, as they come, how many items are done.
    """
    groups: dict[object, list[T]] = {}
    for item in items:
        groups.setdefault(object() if place is None else place(item), []).append(item)
    done: list[T] = []

    def work(group: list[T]) -> None:
        for item in group:
            function(item)
            done.append(item)

    def tell() -> None:
        if told is not None:
            told(len(done))

    if len(groups) < 2:  # noqa: PLR2004 - one is done here, where an interruption reaches it
        for item in items:
            work([item])
            tell()
        return
    _in_threads(work, list(groups.values()), tell)


def _in_threads(work: Callable[[list[T]], None], groups: Sequence[list[T]], tell: Callable[[], None]) -> None:
    pool = ThreadPoolExecutor(_JOBS)
    futures: list[Future[None]] = []
    # An interruption may come as soon as the first one is under way.
    try:
        for group in groups:
            futures.append(pool.submit(work, group))  # noqa: PERF401 - what was begun must be known when an interruption comes between
        open_ones = set(futures)
        while open_ones:
            ended, open_ones = wait(open_ones, return_when=FIRST_COMPLETED)
            for future in ended:
                future.result()
            tell()
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
