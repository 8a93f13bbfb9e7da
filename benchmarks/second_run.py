"""How long the chain on the sample takes when everything is done already, against the run that did it.

Usage: ``python -m benchmarks.second_run [ROUNDS]``. Each round has a work dir of its own: one run that does all, then three that skip
all, of which the middle one counts.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Pair, Result, of_pairs, pipeline, profiled, rounds, scratch, show, timed, two_processors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LIMIT: Final = 0.1

REPEATS: Final = 3


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured by pairs of a second and a first run."""
    return of_pairs("second run of the chain", LIMIT, found)


def both(work_dir: Path) -> Pair:
    """Run the chain once, and then again until there is a middle.

    Raises
    ------
    SystemExit
        A stage of a later run was done again.
    """
    first = timed(pipeline(work_dir), cwd=CLONE)
    later = [timed(pipeline(work_dir), cwd=CLONE) for _ in range(REPEATS)]
    for run in later:
        redone = [row["stage"] for row in json.loads(run.stdout)["stages"] if row["state"] != "skipped"]
        if redone:
            message = f"the second run did {', '.join(redone)} again; nothing was measured"
            raise SystemExit(message)
    return Pair(ours=sorted(later, key=lambda run: run.seconds)[REPEATS // 2], baseline=first)


def main(arguments: Sequence[str]) -> None:
    two_processors()
    with scratch() as folder:
        found = [both(folder / f"work-{number}") for number in range(rounds(arguments, 3))]
        show(result(found), lambda: profiled(folder / "work-0").lines())


if __name__ == "__main__":
    main(sys.argv[1:])
