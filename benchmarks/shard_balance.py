"""How much longer the longest shard of a suite runs than the mean one, against shards that each test falls into by its digest.

Usage: ``python -m benchmarks.shard_balance``. A generated suite of twelve files with 240 tests, whose times differ by a factor of
thousand as those of real suites do, runs once to be measured. Then it is cut into four shards by these times, and each shard runs. The
baseline is computed from the measured times: tests fall into shards by the digest of their ids, as pytest-shard does it. What counts is
how long a shard takes on the wall where one test file runs at a time, as the second run measures it: its tests, and the loading of each file
that it has a part of. The tests wait and compute nothing, so that the load of the machine moves the loading alone.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Result, scratch, show
from build_tools import digest
from build_tools.receipts.suite import MeasuredTimes
from build_tools.testing.upstream.merge import merge, refuse_partial
from build_tools.testing.upstream.shards import Costs, balance, file_of
from build_tools.testing.upstream.times import costs_from, with_measured
from tests.support.environment_under_test import make_tested
from tests.support.upstream_suites import SuiteSite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.suite import SuiteResult

LIMIT: Final = 1.1
SHARDS: Final = 4
FILES: Final = 12
TESTS: Final = 20
_SEED: Final = 9

_HEAD: Final = "import time\nimport toywheel\n"


def sources() -> dict[str, str]:
    """Return the test files: most tests take a few milliseconds, a few take seconds."""
    chance = random.Random(_SEED)  # noqa: S311 - the same suite every time
    files = {}
    for number in range(FILES):
        seconds = [min(2.0, chance.lognormvariate(-4.0, 1.8)) for _ in range(TESTS)]
        tests = "\n".join(f"def test_{index}(): time.sleep({amount:.4f})" for index, amount in enumerate(seconds))
        files[f"test_{number}"] = f"{_HEAD}\n{tests}\n"
    return files


def by_digest(costs: Costs) -> list[float]:
    """Return how long shards take when each test falls into one by its digest, as pytest-shard does it."""
    totals = [0.0] * SHARDS
    files: list[set[str]] = [set() for _ in totals]
    for name, seconds in costs.tests.items():
        shard = int(digest.of_bytes(name.encode()), 16) % SHARDS
        totals[shard] += seconds
        files[shard].add(file_of(name))
    return [total + sum(costs.files[file] for file in loaded) for total, loaded in zip(totals, files, strict=True)]


def wall(part: SuiteResult) -> float:
    """Return how long a shard takes when one test file runs at a time."""
    return sum(test.seconds for test in part.tests.values()) + sum(part.file_seconds.values())


def result(seconds: Sequence[float], others: Sequence[float], tests: int) -> Result:
    """Return the goal as measured."""
    return Result(
        name="longest shard over the mean one",
        limit=LIMIT,
        limit_on="ours",
        ours=round(balance(seconds), 3),
        baseline=round(balance(others), 3),
        unit="times",
        detail={
            "tests": tests,
            "shards": [round(one, 2) for one in seconds],
            "shards by digest": [round(one, 2) for one in others],
        },
    )


def main() -> int:
    """Measure, and print the line."""
    with scratch() as folder:
        site = SuiteSite(tested=make_tested(folder / "env"), folder=folder)
        site.write(sources())
        whole = site.run(jobs=2)
        costs = costs_from(with_measured(MeasuredTimes(project=whole.project), whole), whole.configuration)
        parts = [site.run(shard=shard, num_shards=SHARDS, costs=costs, jobs=2) for shard in range(1, SHARDS + 1)]
        seconds = [wall(part) for part in parts]
        union = merge(parts)
        refuse_partial(union)
        if union.tests.keys() != whole.tests.keys() or not union.passed:
            message = "the shards are not together what the whole suite is"
            raise SystemExit(message)
        show(result(seconds, by_digest(costs), len(whole.tests)), profile=list)
    return 0


if __name__ == "__main__":
    sys.exit(main())
