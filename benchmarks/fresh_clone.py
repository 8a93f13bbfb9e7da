"""How long ``python3 noxw.py -s pipeline`` takes on a fresh clone, on two processors, with packages in the download cache.

Usage: ``python -m benchmarks.fresh_clone``. The last commit is cloned, so what is not committed is not measured. A first clone goes the
whole way without counting, to fill the download caches; hipwright's own cache is empty both times. The baseline is what the programs take
that have to run anyhow: git's clone, pip for the environment, and the commands on the receipts.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Result, base_interpreter, receipts_of, rounds, scratch, show, timed, two_processors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.stage import StageReceipt

LIMIT: Final = 90.0

_MADE: Final = re.compile(r"made \.venv in (\d+\.\d+) s")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fresh:
    """A fresh clone's whole way: seconds of the clone, of making the environment, of all the rest, and the stages' receipts."""

    clone: float
    environment: float
    run: float
    stages: dict[str, tuple[StageReceipt, float]]


def made_seconds(stderr: str) -> float:
    """Return how long making the environment took, from what noxw.py said.

    Raises
    ------
    SystemExit
        It did not say so: the clone was not fresh.
    """
    found = _MADE.search(stderr)
    if found is None:
        message = "noxw.py made no environment; nothing was measured"
        raise SystemExit(message)
    return float(found[1])


def result(fresh: Fresh) -> Result:
    """Return the goal as measured by one fresh clone."""
    whole = fresh.clone + fresh.environment + fresh.run
    programs = sum(command.seconds for receipt, _ in fresh.stages.values() for command in receipt.commands)
    baseline = fresh.clone + fresh.environment + programs
    return Result(
        name="the chain on a fresh clone",
        limit=LIMIT,
        limit_on="ours",
        ours=whole,
        baseline=baseline,
        ratio=whole / baseline,
        detail={
            "clone": round(fresh.clone, 2),
            "environment": round(fresh.environment, 2),
            "stages and nox": round(fresh.run, 2),
        },
    )


def profile(fresh: Fresh) -> list[str]:
    """Return where the time of a fresh clone went, the longest first."""
    parts = {"git clone": fresh.clone, ".venv": fresh.environment}
    for stage, (receipt, seconds) in fresh.stages.items():
        parts[f"{stage}, programs"] = sum(command.seconds for command in receipt.commands)
        parts[f"{stage}, the rest"] = max(0.0, seconds - parts[f"{stage}, programs"])
    parts["nox and the start"] = max(0.0, fresh.run - sum(seconds for _, seconds in fresh.stages.values()))
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    return [f"{name}: {seconds:.1f} s" for name, seconds in ordered[:8]]


def go(folder: Path) -> Fresh:
    """Clone into a folder and run the chain there."""
    clone = folder / "clone"
    cloned = timed(["git", "clone", "--quiet", CLONE, clone], cwd=folder)
    command: list[str | Path] = [base_interpreter(), "noxw.py", "-s", "pipeline", "--", "--cache-dir", folder / "cache", "--json"]
    ran = timed(command, cwd=clone)
    made = made_seconds(ran.stderr)
    return Fresh(clone=cloned.seconds, environment=made, run=ran.seconds - made, stages=receipts_of(ran.stdout))


def main(arguments: Sequence[str]) -> None:
    two_processors()
    whole = []
    for number in range(1 + rounds(arguments, 1)):
        with scratch() as folder:
            fresh = go(folder)
        if number:
            whole.append(fresh)
    middle = sorted(whole, key=lambda fresh: fresh.clone + fresh.environment + fresh.run)[len(whole) // 2]
    show(result(middle), lambda: profile(middle))


if __name__ == "__main__":
    main(sys.argv[1:])
