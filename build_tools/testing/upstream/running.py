"""Run the tests of one test file that a shard has, in as many processes as it takes until each has an end.

A process that crashes, or that is stopped in a test that hangs, costs that test alone: the others go on in a further process.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.receipts.suite import SuiteTest
from build_tools.testing.outcome import OutcomeKind
from build_tools.testing.proof import prove_imports
from build_tools.testing.run import run_tests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.testing.outcome import TestOutcome
    from build_tools.testing.story import Result
    from build_tools.testing.upstream.desk import Desk
    from build_tools.testing.upstream.skips import Skipped

__all__ = ["FileEnd", "run_file"]

_TRIED_AGAIN: Final = frozenset({"failed", "error"})
_MOST_PROCESSES: Final = 20
"""A test file that ends so many processes badly is not asked further."""


@dataclass(kw_only=True, slots=True)
class FileEnd:
    """What came of a test file: each test's end, what its first process took to load it, a problem, and whether it loaded the wheel."""

    tests: dict[str, SuiteTest] = field(default_factory=dict)
    loading: float | None = None
    problem: str | None = None
    imported: bool = False


def run_file(desk: Desk, file: str, tests: Sequence[str], skips: Mapping[str, Skipped], *, first: Sequence[str] = ()) -> FileEnd:
    """Run some tests of a file.

    Parameters
    ----------
    desk
        Where and with what.
    file
        The test file.
    tests
        The ids.
    skips
        What our skip files say, by id.
    first
        Ids that come before the others.
    """
    end = FileEnd()
    left = list(tests)
    told = {test: f"skipped by us: {skips[test].reason} ({skips[test].link})" for test in left if test in skips}
    for number in range(1, _MOST_PROCESSES + 1):
        place = desk.place(file) / f"run-{number}"
        shutil.rmtree(place, ignore_errors=True)
        request = desk.request(file, {"only": left, "first": list(first), "skips": told}, name=f"run-{number}")
        outcome = run_tests(request, runner=desk.runner, folder=place, log=desk.log(file), say=desk.say)
        if end.loading is None:
            end.loading = max(0.0, outcome.seconds - sum(result.seconds for result in outcome.results.values()))
        _take(end, outcome, left, skips)
        _prove(end, outcome, desk)
        remaining = [test for test in left if test not in end.tests]
        if not remaining:
            break
        why = str(outcome.problem.message) if outcome.problem is not None else "it was not among the tests that pytest ran"
        if len(remaining) == len(left) or outcome.kind is OutcomeKind.TIMED_OUT or number == _MOST_PROCESSES:
            end.tests |= {test: SuiteTest(outcome="not-run", message=why) for test in remaining}
            break
        desk.say(f"{file}: {why}; {len(remaining)} tests go on in a further process")
        left = remaining
    _try_again(end, desk, file)
    end.tests = {test: end.tests[test] for test in tests}
    return end


def _try_again(end: FileEnd, desk: Desk, file: str) -> None:
    """Try the tests of a file that failed again, each time in a fresh process; what crashed or hung is left as it was."""
    for attempt in range(2, desk.reruns + 2):
        again = [test for test, how in end.tests.items() if how.outcome in _TRIED_AGAIN]
        if not again:
            break
        desk.say(f"{file}: trying {counted(len(again), 'failed test')} again, attempt {attempt}")
        place = desk.place(file) / f"attempt-{attempt}"
        shutil.rmtree(place, ignore_errors=True)
        request = desk.request(file, {"only": again}, name=place.name)
        outcome = run_tests(request, runner=desk.runner, folder=place, log=desk.log(file), say=desk.say)
        _prove(end, outcome, desk)
        for test in again:
            last = outcome.attempt_at(test)
            before = end.tests[test]
            # What it failed with is the point of telling that it is flaky.
            how = _ended(last, None) if last is not None else before
            message = before.message if how.outcome == "passed" else how.message
            attempts = before.attempts + (last.attempts if last is not None else 1)
            end.tests[test] = msgspec.structs.replace(how, message=message, attempts=attempts)


def _take(end: FileEnd, outcome: TestOutcome, left: Sequence[str], skips: Mapping[str, Skipped]) -> None:
    """Note the tests that a process has brought to an end, the one that it ended in among them."""
    for test in left:
        if (result := outcome.results.get(test)) is not None:
            end.tests[test] = _ended(result, skips.get(test))
    problem, running = outcome.problem, outcome.story.running
    if problem is None:
        return
    if running is not None and running in left and running not in end.tests:
        hung = outcome.kind in {OutcomeKind.HUNG, OutcomeKind.TIMED_OUT}
        end.tests[running] = SuiteTest(outcome="timed-out" if hung else "crashed", message=problem.message)
    elif not any(test not in end.tests for test in left):
        # All tests have an end, and the process that ran them none that can be trusted.
        end.problem = problem.message


def _prove(end: FileEnd, outcome: TestOutcome, desk: Desk) -> None:
    """Note what a process has imported of the wheel, and that all of it came from the environment."""
    if outcome.story.end is None or not outcome.story.end.loaded:
        return
    end.imported = True
    try:
        prove_imports(outcome.story.end.loaded, outcome.story.end.foreign, environment=desk.environment)
    except HipwrightError as error:
        end.problem = f"{error.code.name}: {error.message}"


def _ended(result: Result, skip: Skipped | None) -> SuiteTest:
    if skip is not None and result.outcome == "skipped":
        return SuiteTest(outcome="skipped-by-us", seconds=result.seconds, message=skip.reason, link=skip.link)
    return SuiteTest(outcome=result.outcome, seconds=result.seconds, message=result.message, attempts=result.attempts)
