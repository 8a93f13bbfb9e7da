"""The plan of a suite: every test, which shard has it, and a digest by which results of one plan know each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.receipts.record import plain
from build_tools.testing.upstream.shards import Costs, cut, file_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.receipts.check import JudgedWheel
    from build_tools.testing.upstream.collecting import Collected
    from build_tools.testing.upstream.skips import Skipped
    from build_tools.types import Sha256

__all__ = ["SuitePlan", "by_file", "make_plan"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuitePlan:
    """The shards, each with its entries in order. An entry is a test's id, or a test file that cannot be loaded: that is one failure."""

    shards: tuple[tuple[str, ...], ...]
    sha256: Sha256

    @property
    def entries(self) -> tuple[str, ...]:
        """All entries, in order."""
        return tuple(entry for shard in self.shards for entry in shard)


def make_plan(
    collected: Collected,
    skipped: Mapping[str, Skipped],
    *,
    num_shards: int,
    costs: Costs,
    wheels: Sequence[JudgedWheel],
    words: Sequence[str],
) -> SuitePlan:
    """Return the plan.

    Parameters
    ----------
    collected
        What the test files have.
    skipped
        The tests that our skip files skip: they cost next to nothing.
    num_shards
        How many shards.
    costs
        What is known of times.
    wheels
        The wheels under test.
    words
        What else decides which tests there are and on what they run: tests' digest, configuration, a person's choice.
    """
    broken = dict.fromkeys(collected.broken)
    entries = list(collected.tests)
    # A file that cannot be loaded has its place where it would lie.
    order = {file: number for number, file in enumerate(collected.file_seconds)}
    entries = sorted([*entries, *broken], key=lambda entry: order[file_of(entry)])
    cheap = Costs(tests={**costs.tests, **dict.fromkeys((*skipped, *broken), 0.0)}, files=costs.files)
    shards = cut(entries, num_shards, cheap)
    value = {
        "shards": [list(shard) for shard in shards],
        "skipped": sorted(skipped),
        "wheels": [plain(wheel) for wheel in wheels],
        "words": list(words),
    }
    return SuitePlan(shards=shards, sha256=digest.of_value(value))


def by_file(entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return entries by test file, in their order."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(file_of(entry), []).append(entry)
    return {file: tuple(tests) for file, tests in found.items()}
