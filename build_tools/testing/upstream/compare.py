"""What changed since the last result of the same line: tests that fail, pass or are skipped and did not so before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.receipts.suite import BAD_OUTCOMES

if TYPE_CHECKING:
    from build_tools.receipts.suite import SuiteResult

__all__ = ["Changes", "compare"]

_SKIPPED = frozenset({"skipped", "skipped-by-us"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Ids of tests whose end has changed, in the order of their ids; ``gone`` were in the earlier result and are not in this one."""

    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.failing or self.passing or self.skipped or self.gone)


def compare(before: SuiteResult, after: SuiteResult) -> Changes:
    """Return what changed between two results.

    A test that is there for the first time counts as newly failing or newly skipped where it fails or is skipped; that it passes is no
    news. What a narrowed or partial result does not hold is not told as gone.

    Parameters
    ----------
    before, after
        The results, the earlier one first.
    """
    was = {name: test.outcome for name, test in before.tests.items()}
    now = {name: test.outcome for name, test in sorted(after.tests.items())}
    all_there = after.whole and after.narrowed is None
    return Changes(
        failing=tuple(name for name, how in now.items() if how in BAD_OUTCOMES and was.get(name) not in BAD_OUTCOMES),
        passing=tuple(name for name, how in now.items() if how == "passed" and was.get(name) in BAD_OUTCOMES | _SKIPPED),
        skipped=tuple(name for name, how in now.items() if how in _SKIPPED and was.get(name) not in _SKIPPED),
        gone=tuple(sorted(set(was) - set(now))) if all_there else (),
    )
