"""What ``noxw.py`` adds to nox when its environment is there: ``python3 noxw.py -l`` against ``nox -l`` in that environment.

Usage: ``python -m benchmarks.wrapper [ROUNDS]``. Both take turns, and the median of the pairs' differences counts.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Pair, Result, base_interpreter, import_times, median, pairs, rounds, show, timed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMIT: Final = 0.2


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured by pairs."""
    return Result(
        name="noxw.py beyond nox",
        limit=LIMIT,
        limit_on="difference",
        ours=median([pair.ours.seconds for pair in found]),
        baseline=median([pair.baseline.seconds for pair in found]),
        ratio=median([pair.ours.seconds / pair.baseline.seconds for pair in found]),
        difference=median([pair.ours.seconds - pair.baseline.seconds for pair in found]),
        detail={
            "pairs": len(found),
            "processor seconds beyond nox": round(
                median([pair.ours.processor_seconds - pair.baseline.processor_seconds for pair in found]), 3
            ),
        },
    )


def direct() -> list[str | Path]:
    """Return the command that the wrapper becomes."""
    scripts = CLONE / ".venv" / ("Scripts" if os.name == "nt" else "bin")
    return [scripts / "nox.exe"] if os.name == "nt" else [scripts / "python", scripts / "nox"]


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 15)
    wrapped = [base_interpreter(), CLONE / "noxw.py"]

    def profile() -> list[str]:
        bare = median([timed([base_interpreter(), "-c", ""], cwd=CLONE).seconds for _ in range(5)])
        # The interpreter that the wrapper becomes is not told to take times, so these are the wrapper's own.
        own = timed([base_interpreter(), "-X", "importtime", CLONE / "noxw.py", "--version"], cwd=CLONE).stderr
        return [f"an interpreter that does nothing: {bare * 1e3:.0f} ms", *import_times(own)]

    found = pairs(lambda: timed([*wrapped, "-l"], cwd=CLONE), lambda: timed([*direct(), "-l"], cwd=CLONE), count)
    show(result(found), profile)


if __name__ == "__main__":
    main(sys.argv[1:])
