"""How long PyTorch's sources take from their origin to a tree with nothing in the cache, against a plain recursive clone.

Usage: ``python -m benchmarks.checkout [ROUNDS]``. Ours is the lock and the checkout: the mirror is fetched, the tree is cloned from it, and
what was checked out is verified and read. The clone takes the one branch as well. Needs a real input, which is fetched when it is not
there yet.
"""

from __future__ import annotations

import cProfile
import pstats
import shutil
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Pair, Result, Timed, median, of_pairs, pairs, rounds, scratch, show, spent, timed, two_processors
from benchmarks._real import BRANCH, Bench, clocked, pytorch_origin
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LIMIT: Final = 1.2


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured."""
    processor = {
        "ours processor": round(median([pair.ours.processor_seconds for pair in found]), 3),
        "baseline processor": round(median([pair.baseline.processor_seconds for pair in found]), 3),
    }
    return of_pairs("checkout of PyTorch with an empty cache, against a recursive clone", LIMIT, found, **processor)


def in_a_fresh_folder(folder: Path, work: Callable[[Path], Timed]) -> Timed:
    """Do something in a folder of its own, which is gone afterwards; making and removing it does not count."""
    place = folder / "once"
    place.mkdir()
    try:
        return work(place)
    finally:
        shutil.rmtree(place)


def checkout(place: Path, origin: Path) -> Timed:
    """Lock and check out with a work dir and a cache that hold nothing."""
    return clocked(lambda: Bench(folder=place, origin=origin).run((Stage.CHECKOUT,)))


def clone(place: Path, origin: Path) -> Timed:
    """Clone by git's ordinary way of transport: no file is shared with the origin."""
    words = ["--quiet", "--recurse-submodules", "--single-branch", "--branch", BRANCH]
    return timed(["git", "clone", *words, origin.as_uri(), "pytorch"], cwd=place)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 5)
    origin = pytorch_origin()
    two_processors()
    with scratch() as folder:
        found = pairs(
            lambda: in_a_fresh_folder(folder, lambda place: checkout(place, origin)),
            lambda: in_a_fresh_folder(folder, lambda place: clone(place, origin)),
            count,
        )
        show(result(found), lambda: profile(folder, origin))


def profile(folder: Path, origin: Path) -> list[str]:
    """Return where the time of a checkout goes."""
    profiler = cProfile.Profile()
    profiler.enable()
    in_a_fresh_folder(folder, lambda place: checkout(place, origin))
    profiler.disable()
    return spent(pstats.Stats(profiler)).lines()


if __name__ == "__main__":
    main(sys.argv[1:])
