"""How long the source stages of PyTorch take when the tree stands as they left it, against git's own look at that tree.

Usage: ``python -m benchmarks.nothing_to_do [ROUNDS]``. Needs a real input, which is fetched when it is not there yet.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Pair, Result, of_pairs, pairs, rounds, scratch, show, spent, timed, two_processors
from benchmarks._real import SOURCES, Bench, clocked, pytorch_origin

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT: Final = 2.0


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured by pairs."""
    return of_pairs("source stages of PyTorch with nothing to do, against git status", LIMIT, found)


def again(bench: Bench) -> None:
    """Run all source stages of a tree that has them.

    Raises
    ------
    SystemExit
        A stage did something.
    """
    redone = [stage for stage, done in bench.run().done.items() if done.state == "run" and stage in SOURCES]
    if redone:
        message = f"{', '.join(redone)} ran again; nothing was measured"
        raise SystemExit(message)


def profile(bench: Bench) -> list[str]:
    """Return where the time goes."""
    watch = cProfile.Profile()
    watch.runcall(again, bench)
    return spent(pstats.Stats(watch)).lines()


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 11)
    origin = pytorch_origin()
    two_processors()
    with scratch() as folder:
        bench = Bench(folder=folder, origin=origin)
        bench.run()
        status = ["git", "-c", "safe.directory=*", "status", "--ignore-submodules=none"]
        found = pairs(lambda: clocked(lambda: again(bench)), lambda: timed(status, cwd=bench.tree), count)
        show(result(found), lambda: profile(bench))


if __name__ == "__main__":
    main(sys.argv[1:])
