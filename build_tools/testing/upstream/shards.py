"""Which shard has which test: every test in exactly one, and the longest shard as short as can be.

The tests keep their order and are cut into stretches, so that a test file lies in one shard or is cut at a few places: to load a file
takes seconds, and each shard that has a part of it pays for that. Among all such cuts it is one whose longest shard is the shortest.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Costs", "balance", "cut", "file_of", "refuse_bad_shard"]

_PER_SECOND: Final = 10_000
"""Times are counted in whole tenths of milliseconds: sums of fractions would depend on their order."""

_LEAST: Final = 1
_MOST_SHARDS: Final = 1000
_UNKNOWN_SECONDS: Final = 0.1
"""What a test is taken to need when no test was ever measured."""


def file_of(test: str) -> str:
    """Return the test file of a test's id.

    >>> file_of("inductor/test_a.py::TestA::test_b[x::y]"), file_of("test_a.py")
    ('inductor/test_a.py', 'test_a.py')
    """
    return test.partition("::")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What tests and files cost, in whole units.

    Parameters
    ----------
    tests
        Seconds of each test that was measured.
    files
        Seconds that it takes to load a test file, of those that were measured.
    """

    tests: Mapping[str, float]
    files: Mapping[str, float]

    def of(self, tests: Sequence[str]) -> tuple[list[int], dict[str, int]]:
        """Return the costs of tests, and of the files that they lie in; what was never measured gets the median of the others."""
        known = [self.tests[test] for test in tests if test in self.tests]
        middle = statistics.median(known or self.tests.values() or [_UNKNOWN_SECONDS])
        names = dict.fromkeys(map(file_of, tests))
        loading = [self.files[name] for name in names if name in self.files]
        middle_file = statistics.median(loading or self.files.values() or [0.0])
        costs = [max(_LEAST, round(self.tests.get(test, middle) * _PER_SECOND)) for test in tests]
        return costs, {name: round(self.files.get(name, middle_file) * _PER_SECOND) for name in names}


def refuse_bad_shard(shard: int | None, num_shards: int | None) -> tuple[int, int]:
    """Return which shard of how many is meant, ``(1, 1)`` when nobody says any.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for numbers that name no shard, or for one without the other.
    """
    if (shard is None) != (num_shards is None):
        given, lacking = ("--shard", "--num-shards") if num_shards is None else ("--num-shards", "--shard")
        raise HipwrightError(
            "bad-option-value", f"{given} is given and {lacking} is not", hint="a shard is --shard 1 --num-shards 3"
        )
    if shard is None or num_shards is None:
        return 1, 1
    if num_shards < 1:
        raise HipwrightError("bad-option-value", f"--num-shards is {num_shards}, and there is at least one shard")
    if num_shards > _MOST_SHARDS:
        raise HipwrightError("bad-option-value", f"--num-shards is {num_shards}, and there are {_MOST_SHARDS} at the most")
    if not 1 <= shard <= num_shards:
        message = f"there is no shard {shard} of {num_shards}"
        raise HipwrightError("bad-option-value", message, hint=f"shards are numbered from 1: 1 to {num_shards}")
    return shard, num_shards


def cut(tests: Sequence[str], num_shards: int, costs: Costs) -> tuple[tuple[str, ...], ...]:
    """Return the tests of each shard; they are disjoint, and all of them together are ``tests`` in their order.

    Parameters
    ----------
    tests
        The ids, each once, the tests of a file side by side.
    num_shards
        How many shards; with fewer tests than that, the last ones are empty.
    costs
        What is known of times.
    """
    if num_shards == 1 or not tests:
        return (tuple(tests), *(() for _ in range(num_shards - 1)))
    weights, files = costs.of(tests)
    opening = [files[file_of(test)] for test in tests]
    fresh = [number == 0 or file_of(tests[number - 1]) != file_of(test) for number, test in enumerate(tests)]
    least = max(weight + load for weight, load in zip(weights, opening, strict=True))
    most = sum(weights) + sum(files.values())
    while least < most:
        limit = (least + most) // 2
        if len(_stretches(weights, opening, fresh, limit, num_shards)) <= num_shards:
            most = limit
        else:
            least = limit + 1
    ends = _stretches(weights, opening, fresh, least, num_shards)
    starts = [0, *ends[:-1]]
    shards = [tuple(tests[start:end]) for start, end in zip(starts, ends, strict=True)]
    return (*shards, *(() for _ in range(num_shards - len(shards))))


def balance(seconds: Sequence[float]) -> float:
    """Return how much longer the longest shard is than the mean one: 1.0 where all are alike."""
    mean = statistics.fmean(seconds)
    return max(seconds) / mean if mean else 1.0


def _stretches(weights: Sequence[int], opening: Sequence[int], fresh: Sequence[bool], limit: int, num_shards: int) -> list[int]:
    """Return where each stretch ends when none costs more than ``limit``; no stretch is left empty while there are tests for it."""
    ends: list[int] = []
    total, count = 0, len(weights)
    for number, weight in enumerate(weights):
        cost = weight + (opening[number] if fresh[number] else 0)
        # So many tests have to be left that each later shard gets one.
        needed = num_shards - len(ends) - 1
        if number > (ends[-1] if ends else 0) and (total + cost > limit or count - number <= needed):
            ends.append(number)
            total, cost = 0, weight + opening[number]
        total += cost
    return [*ends, count]
