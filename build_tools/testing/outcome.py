"""What came of a test run: its kind, each test's result, and the problem of a run that cannot be judged by its tests."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.verdict import FlakyTest
from build_tools.testing.story import End, Result, Story, count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.receipts.verdict import TestCounts
    from build_tools.testing.junit import TestReport

__all__ = ["OutcomeKind", "TestOutcome", "raise_for_outcome"]

_MOST_FAILURES: Final = 5


class OutcomeKind(enum.StrEnum):
    """How a run can end; all but the first have an error code of their own."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"
    TIMED_OUT = "timed-out"
    NOTHING_COLLECTED = "nothing-collected"
    NO_REPORT = "no-report"
    TRUNCATED_REPORT = "truncated-report"

    @property
    def code(self) -> str | None:
        """The error code; None for a run that passed."""
        return _CODES.get(self)

    @classmethod
    def of(cls, problem: HipwrightError) -> OutcomeKind:
        """Return the kind that a problem is of."""
        return _KINDS[problem.code.name]


_CODES: Final[Mapping[OutcomeKind, str]] = {
    OutcomeKind.FAILED: "tests-failed",
    OutcomeKind.CRASHED: "tests-crashed",
    OutcomeKind.HUNG: "tests-hung",
    OutcomeKind.TIMED_OUT: "tests-timeout",
    OutcomeKind.NOTHING_COLLECTED: "no-tests",
    OutcomeKind.NO_REPORT: "no-report",
    OutcomeKind.TRUNCATED_REPORT: "truncated-report",
}
_KINDS: Final[Mapping[str, OutcomeKind]] = {code: kind for kind, code in _CODES.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class TestOutcome:
    """A run's outcome.

    Parameters
    ----------
    kind
        How it ended.
    problem
        Why it can't be judged by its tests; None for a run that passed or failed.
    results
        What is known of each test, by its id: all of them in a run that passed or failed, else those that ended before.
    story
        The events of the run (of the first process, where tests were tried again).
    report, report_path
        The JUnit report, None where it is not whole, and its file.
    events_path, log
        The file of the events, and the log of the process.
    remarks
        What people should know besides, a line each.
    seconds
        How long all of it took.
    """

    __test__ = False

    kind: OutcomeKind
    problem: HipwrightError | None
    results: Mapping[str, Result]
    story: Story
    report: TestReport | None
    report_path: Path
    events_path: Path
    log: Path
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the run may count as a pass."""
        return self.kind is OutcomeKind.PASSED

    @property
    def counts(self) -> TestCounts:
        """How many tests ended how."""
        return count(self.results.values())

    @property
    def failures(self) -> tuple[Result, ...]:
        """The tests that failed."""
        return tuple(result for result in self.results.values() if result.bad)

    @property
    def flaky(self) -> tuple[FlakyTest, ...]:
        """The tests that passed after an attempt that did not."""
        found = (result for result in self.results.values() if result.flaky)
        return tuple(FlakyTest(test=one.test, attempts=one.attempts, message=one.message) for one in found)

    def attempt_at(self, test: str) -> Result | None:
        """Return what this run, a further attempt at a test that had failed, says of it; None where it brings nothing to believe.

        Neither a pass in a process that ended badly nor a skip takes a failure back.
        """
        last = self.results.get(test)
        if last is None or not (last.bad or (last.outcome == "passed" and self.problem is None)):
            return None
        return last

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The collected tests that have no result: the one that ran when the process ended badly, and those after it."""
        return tuple(test for test in self.story.collected or () if test not in self.results)

    def judged(self) -> tuple[TestReport, End]:
        """Return the report and the last event of a run that passed or failed.

        Raises
        ------
        HipwrightError
            The problem of a run that did neither.
        """
        if self.problem is not None:
            raise self.problem
        if self.report is None or self.story.end is None:
            raise AssertionError(self.kind)
        return self.report, self.story.end

    def with_results(self, results: Mapping[str, Result], *, seconds: float) -> TestOutcome:
        """Return the outcome of a run that could be judged, with results of further attempts."""
        merged = replace(self, results=results, seconds=self.seconds + seconds)
        if merged.failures:
            return replace(merged, kind=OutcomeKind.FAILED)
        if left := merged.unfinished:
            # The failure had ended the first process early, and what passes now does not speak for the tests after it.
            message = f"what failed passed when it was tried again, and {counted(len(left), 'test')} never ran, first {left[0]}"
            problem = HipwrightError(
                "truncated-report", message, hint="run all of them: without --exitfirst and --maxfail", log=self.log
            )
            return replace(merged, kind=OutcomeKind.TRUNCATED_REPORT, problem=problem)
        return replace(merged, kind=OutcomeKind.PASSED)


def raise_for_outcome(outcome: TestOutcome, *, what: str) -> None:
    """Raise unless a run passed.

    Parameters
    ----------
    outcome
        The outcome.
    what
        Which tests these are, for the message: ``smoke tests of torch``.

    Raises
    ------
    HipwrightError
        The code of the outcome's kind; of ``tests-failed`` with the first failed tests and their reasons.
    """
    if outcome.problem is not None:
        raise outcome.problem
    bad = outcome.failures
    if not bad:
        return
    listed = [f"{result.test}: {result.message}" if result.message else result.test for result in bad[:_MOST_FAILURES]]
    if len(bad) > _MOST_FAILURES:
        listed.append(f"and {len(bad) - _MOST_FAILURES} more")
    message = f"{len(bad)} of {len(outcome.results)} {what} failed, first {bad[0].test}"
    where = Where(file=outcome.report_path)
    raise HipwrightError("tests-failed", message, where=where, log=outcome.log, excerpt="\n".join(listed))
