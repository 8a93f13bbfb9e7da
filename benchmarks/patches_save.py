"""How long saving PyTorch's patches takes when nothing changed, against git's own look at that tree.

Usage: ``python -m benchmarks.patches_save [ROUNDS]``. The tree has the patches that Debian keeps for PyTorch. Needs real inputs, which are
fetched when they are not there yet.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Pair, Result, of_pairs, pairs, rounds, scratch, show, spent, timed, two_processors
from benchmarks._real import Bench, clocked, with_imported_series
from build_tools.pipeline.save_patches import save_patches

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT: Final = 2.0


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured by pairs."""
    return of_pairs("saving PyTorch's patches with nothing changed, against git status", LIMIT, found)


def save(bench: Bench) -> None:
    """Save what is saved already.

    Raises
    ------
    SystemExit
        Something was written.
    """
    written = [one["written"] for one in save_patches(bench.chain.workplace)["saved"].values()]
    if written != [[]]:
        message = f"{written} was written, and nothing had changed; nothing was measured"
        raise SystemExit(message)


def profile(bench: Bench) -> list[str]:
    """Return where the time goes."""
    watch = cProfile.Profile()
    watch.runcall(save, bench)
    return spent(pstats.Stats(watch)).lines()


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 11)
    two_processors()
    with scratch() as folder:
        bench = with_imported_series(folder)
        bench.run()
        status = ["git", "-c", "safe.directory=*", "status", "--ignore-submodules=none"]
        found = pairs(lambda: clocked(lambda: save(bench)), lambda: timed(status, cwd=bench.tree), count)
        show(result(found), lambda: profile(bench))


if __name__ == "__main__":
    main(sys.argv[1:])
