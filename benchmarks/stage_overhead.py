"""What a stage takes beyond the programs that it runs, on the sample, from the receipts of whole runs.

Usage: ``python -m benchmarks.stage_overhead [ROUNDS]``. Each round has a work dir of its own; each stage's median over the rounds counts,
and the stage with the most is held to the limit.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import (
    CLONE,
    Result,
    median,
    pipeline,
    profiled,
    receipts_of,
    rounds,
    scratch,
    show,
    timed,
    two_processors,
)
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.receipts.stage import StageReceipt

LIMIT: Final = 0.3


def result(runs: Sequence[Mapping[str, tuple[StageReceipt, float]]]) -> Result:
    """Return the goal as measured by the receipts of some runs: of each stage, the receipt and its seconds in the run's table."""
    overhead = {stage: median([run[stage][0].overhead_seconds for run in runs]) for stage in runs[0]}
    # A lock is resolved, and an origin imported, before the stage's function begins.
    before = {stage: median([run[stage][1] - run[stage][0].seconds for run in runs]) for stage in runs[0]}
    worst = max(overhead, key=lambda stage: overhead[stage])
    programs = median([sum(command.seconds for command in run[worst][0].commands) for run in runs])
    return Result(
        name="overhead of a stage",
        limit=LIMIT,
        limit_on="ours",
        ours=overhead[worst],
        baseline=programs,
        ratio=(overhead[worst] + programs) / programs if programs else None,
        detail={
            "rounds": len(runs),
            "stage": worst,
            "stages": {stage: round(seconds, 3) for stage, seconds in overhead.items()},
            "beside the receipt": {stage: round(seconds, 3) for stage, seconds in before.items() if seconds > LIMIT},
        },
    )


def missed(found: Result) -> list[Stage]:
    """Return the stages that are above the limit, in their order."""
    stages: dict[str, float] = dict(found.detail["stages"])
    return [stage for stage in Stage if stages.get(stage, 0.0) > LIMIT]


def profiles(stages: Sequence[Stage], work_dir: Path) -> list[str]:
    """Return where the time of some stages goes in a fresh work dir: what a run that does one takes more than a run that skips it."""
    order, lines = list(Stage), []
    for stage in stages:
        before = order.index(stage) - 1
        if before >= 0:
            timed(pipeline(work_dir, "--until", order[before]), cwd=CLONE)
        doing, skipping = (profiled(work_dir, "--until", stage) for _ in range(2))
        lines += [f"{stage}: {line}" for line in doing.beyond(skipping).lines()]
    return lines


def main(arguments: Sequence[str]) -> None:
    two_processors()
    with scratch() as folder:
        work_dirs = [folder / f"work-{number}" for number in range(rounds(arguments, 3))]
        runs = [receipts_of(timed(pipeline(work_dir), cwd=CLONE).stdout) for work_dir in work_dirs]
        found = result(runs)
        show(found, lambda: profiles(missed(found), folder / "profiled"))


if __name__ == "__main__":
    main(sys.argv[1:])
