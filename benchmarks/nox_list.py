"""How long ``nox -l`` takes, against an empty noxfile's in the same environment.

Usage: ``python -m benchmarks.nox_list [ROUNDS]``. Both take turns, and the median of the pairs' ratios counts.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Pair, Result, import_times, median, nox, pairs, rounds, scratch, show, timed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMIT: Final = 1.5

NO_SESSIONS: Final = 3
"""nox's status for a noxfile without sessions; the file was read all the same."""


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured by pairs."""
    return Result(
        name="nox -l",
        limit=LIMIT,
        limit_on="ratio",
        ours=median([pair.ours.seconds for pair in found]),
        baseline=median([pair.baseline.seconds for pair in found]),
        ratio=median([pair.ours.seconds / pair.baseline.seconds for pair in found]),
        detail={
            "pairs": len(found),
            "processor seconds": [
                round(median([pair.ours.processor_seconds for pair in found]), 3),
                round(median([pair.baseline.processor_seconds for pair in found]), 3),
            ],
        },
    )


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 15)
    with scratch() as folder:
        empty = folder / "noxfile.py"
        empty.touch()

        def listing(noxfile: Path, *options: str) -> list[str | Path]:
            return nox("-l", noxfile=noxfile, options=options)

        def profile() -> list[str]:
            ours, theirs = (
                timed(listing(file, "-X", "importtime"), cwd=CLONE, statuses=(0, NO_SESSIONS)).stderr
                for file in (CLONE / "noxfile.py", empty)
            )
            return import_times(ours, without=theirs)

        found = pairs(
            lambda: timed(listing(CLONE / "noxfile.py"), cwd=CLONE),
            lambda: timed(listing(empty), cwd=CLONE, statuses=(0, NO_SESSIONS)),
            count,
        )
        show(result(found), profile)


if __name__ == "__main__":
    main(sys.argv[1:])
