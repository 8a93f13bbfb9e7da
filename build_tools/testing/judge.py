"""The judgement of one test run, as a pure function of the report, the driver's story and how the process ended.

Whether tests passed is taken from the reports alone. An exit status can't tell a pass: a process may be stopped after a whole report,
and may end with 0 without having run its tests. It only helps to name what went wrong when the report is not whole.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.testing.junit import TestReport
    from build_tools.testing.story import Story

__all__ = ["Phase", "ProcessEnd", "how_it_ended", "judge"]

Phase: TypeAlias = Literal["collection", "test", "whole", "exit"]

_PYTEST_OK: Final = 0
_NTSTATUS_ERROR: Final = 0xC0000000
_NTSTATUS: Final[Mapping[int, str]] = {
    0xC0000005: "an access violation",
    0xC0000017: "no memory",
    0xC00000FD: "a stack overflow",
    0xC0000135: "a DLL that was not found",
    0xC0000409: "a fatal error (fast fail)",
}


_HUNG: Final = "the log has where each thread stood; a GPU that hangs needs its driver loaded anew, or the machine started anew"
_LONG: Final = "the project.toml says how long its tests may take: time-limit-minutes"
_CRASHED: Final = "the log has the stacks; where SIGKILL ended it, the machine was out of memory (dmesg says so)"
_NO_REPORT: Final = "look into the log: pytest or a plugin failed, or a test ended the process"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How the test process ended: its exit status, None when it was stopped at the time limit of ``limit`` seconds that ``phase`` has."""

    returncode: int | None
    limit: float
    phase: Phase = "whole"


def how_it_ended(returncode: int) -> tuple[bool, str]:
    """Return whether an exit status tells of a crash, and the status in words; POSIX signals and Windows NTSTATUS values."""
    if returncode < 0:
        try:
            name = signal.Signals(-returncode).name
        except ValueError:
            name = f"number {-returncode}"
        return True, f"by signal {name}"
    if returncode >= _NTSTATUS_ERROR:
        return True, f"by {_NTSTATUS.get(returncode, 'a system error')} ({returncode:#x})"
    return False, f"with status {returncode}"


def judge(
    report: TestReport | HipwrightError, story: Story, ended: ProcessEnd, *, may_skip_all: bool = False
) -> tuple[TestReport, tuple[str, ...]]:
    """Return the report when the run can be judged by it, with remarks about how the process ended.

    Parameters
    ----------
    report
        The report, or the error that reading it ended with.
    story
        What the driver wrote down.
    ended
        How the process ended.
    may_skip_all
        Whether a run in which every test was skipped is one that passed.

    Raises
    ------
    HipwrightError
        ``tests-hung``, ``tests-timeout``, ``tests-crashed``, ``no-report``, ``truncated-report`` or ``no-tests``, each saying which test
        ran.
    """
    if isinstance(report, HipwrightError):
        raise _without_report(report, story, ended)
    if story.end is None:
        raise _unfinished(story, ended)
    bad = any(result.bad for result in story.results.values())
    if bad is not bool(report.of("failed", "error")):
        if not bad and not story.collected:
            raise HipwrightError("truncated-report", "pytest itself failed while it collected tests: see the log")
        says = "no failure" if bad else "failures"
        message = f"the report speaks of {says}, and the events of the same run of {'some' if bad else 'none'}"
        raise HipwrightError("truncated-report", message)
    if not bad:
        _complete(report, story, may_skip_all=may_skip_all)
    remarks = []
    if story.forked is not None:
        error = f", with {story.forked.message}" if story.forked.message else ""
        message = f"a process that {story.forked.test} had forked came back out of it{error}, and was ended"
        if not bad:
            raise HipwrightError("tests-crashed", message, hint="have it end in the test: os._exit")
        remarks.append(message)
    if ended.returncode is None:
        remarks.append(f"the test process did not end after its last test and was stopped after {ended.limit:g} s")
    else:
        crashed, words = how_it_ended(ended.returncode)
        if crashed or ended.returncode != story.end.status:
            remarks.append(
                f"the test process hung or failed on its way out, after its report was whole: it ended {words}; see the log"
            )
    return report, tuple(remarks)


def _without_report(problem: HipwrightError, story: Story, ended: ProcessEnd) -> HipwrightError:
    """Return the error for a run whose report cannot be read: the process's own end says more, where it ended badly."""
    if problem.code.name == "no-tests":
        return problem
    process = _unfinished(story, ended)
    if problem.code.name == "no-report" or process.code.name in {"tests-hung", "tests-timeout", "tests-crashed"}:
        return process
    return HipwrightError(problem.code.name, f"{problem.message} (the process ended {_words(ended)})", where=problem.where)


def _unfinished(story: Story, ended: ProcessEnd) -> HipwrightError:
    moment = story.moment()
    if ended.returncode is None:
        limit = f"{ended.limit:g} s"
        if ended.phase == "collection":
            message = f"the tests were not collected after {limit} and were stopped, {moment}"
            return HipwrightError("tests-hung", message, hint=_HUNG)
        if ended.phase == "test":
            message = f"the tests were stopped after {limit}, the time limit of one test, {moment}"
            return HipwrightError("tests-hung", message, hint=_HUNG)
        return HipwrightError("tests-timeout", f"the tests were stopped after {limit}, their time limit, {moment}", hint=_LONG)
    crashed, words = how_it_ended(ended.returncode)
    if crashed:
        return HipwrightError("tests-crashed", f"the test process ended {words}, {moment}", hint=_CRASHED)
    return HipwrightError("no-report", f"the test process ended {words} and left no whole report, {moment}", hint=_NO_REPORT)


def _words(ended: ProcessEnd) -> str:
    return "at its time limit" if ended.returncode is None else how_it_ended(ended.returncode)[1]


def _complete(report: TestReport, story: Story, *, may_skip_all: bool) -> None:
    """Prove that a report without failures speaks of every collected test, and that one of them passed."""
    end, collected = story.end, story.collected
    if end is None or collected is None or end.finished < len(collected) or len(report.cases) < len(collected):
        spoken = min(len(report.cases), end.finished if end else 0)
        # The end of the session hides which test ran when it came.
        early = "" if story.running is None else f", while {story.running} ran"
        message = f"the report speaks of {spoken} of {len(collected or ())} tests: the session ended early{early}"
        raise HipwrightError("truncated-report", message)
    missing = [test for test in collected if test not in story.results]
    if missing:
        message = f"the report says nothing of {len(missing)} of {len(collected)} tests, first {missing[0]}"
        raise HipwrightError("truncated-report", message)
    if end.status != _PYTEST_OK and not (may_skip_all and not collected):
        message = f"no test failed in the report, but pytest ended with status {end.status}"
        raise HipwrightError("truncated-report", message, hint="look into the log: a plugin or pytest itself failed")
    if not report.counts.passed and not may_skip_all:
        message = f"no test passed: all {len(report.cases)} were skipped"
        raise HipwrightError("no-tests", message)
