"""Run pytest in a process of its own and say what came of it: the one runner of smoke tests, upstream's suite and extensions' tests."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools import files
from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.logs import first_error
from build_tools.testing import driver
from build_tools.testing.judge import ProcessEnd, judge
from build_tools.testing.junit import TestReport, read_report
from build_tools.testing.leftovers import MARK, end_leftovers, new_mark
from build_tools.testing.outcome import OutcomeKind, TestOutcome
from build_tools.testing.proof import CHILD_ENVIRONMENT
from build_tools.testing.story import Result, Story, StoryReader, read_story

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.process import Runner
    from build_tools.testing.judge import Phase
    from build_tools.testing.request import Limits, TestRequest

__all__ = ["EVENTS_NAME", "REPORT_NAME", "run_tests"]

REPORT_NAME: Final = "report.xml"
"""The name of the JUnit report in the output folder."""

EVENTS_NAME: Final = "events.jsonl"
"""The name of the file that gets a line for each event, as it comes."""

_STOP_MARGIN: Final = 2.0
"""Seconds between a limit and the end; the driver may be a second late with the stacks."""
_LINES_OF_STACKS: Final = 25
_LITTLE_SPACE: Final = 1 << 20
_STACKS: Final = (b"Timeout (", b"Fatal Python error", b"Windows fatal exception")


def run_tests(
    request: TestRequest, *, runner: Runner, folder: Path, log: Path, say: Callable[[str], None] = lambda _line: None
) -> TestOutcome:
    """Run tests and return what came of them; no way in which tests can end is an error of this function.

    The process is ended with all that it started: at its time limits, also when it ignores the first signal, and at its end whatever
    it left behind. Reports are written while tests run, so that a crash loses none.

    Parameters
    ----------
    request
        What to run, where and for how long.
    runner
        Starts the process.
    folder
        The output folder, which is made: gets ``report.xml`` and ``events.jsonl``, and a folder for each further attempt.
    log
        Gets the output of the tests, and the stacks of all threads when they hang or crash.
    say
        Gets remarks for people, a line each.

    Raises
    ------
    HipwrightError
        ``missing-tool`` when the interpreter cannot be started.
    """
    outcome = _run_once(request, runner=runner, folder=folder, log=log, say=say)
    for attempt in range(1, request.reruns + 1):
        # Files that could not be collected have no tests to try again, and most often a reason that stays.
        again = [result.test for result in outcome.failures if "::" in result.test]
        if outcome.kind is not OutcomeKind.FAILED or not again:
            break
        say(f"trying {counted(len(again), 'failed test')} again, attempt {attempt + 1}")
        place = folder / f"attempt-{attempt + 1}"
        repeated = _run_once(_only(request, again), runner=runner, folder=place, log=log, say=say)
        results = _merged(outcome.results, repeated, again)
        outcome = outcome.with_results(results, seconds=repeated.seconds)
    return outcome


def _only(request: TestRequest, tests: list[str]) -> TestRequest:
    """Return a request for some of the tests alone, by the ids that pytest gave them."""
    root = os.path.relpath(request.root or request.cwd, request.cwd)
    return replace(request, tests=tuple(test if root == os.curdir else f"{root}{os.sep}{test}" for test in tests))


def _merged(before: Mapping[str, Result], repeated: TestOutcome, again: list[str]) -> Mapping[str, Result]:
    """Return results with those of a further attempt; a test that has none this time keeps its failure."""
    merged = dict(before)
    for test in again:
        last = repeated.attempt_at(test)
        tried = before[test].attempts
        merged[test] = msgspec.structs.replace(last or before[test], attempts=tried + (last.attempts if last else 1))
        if last is not None and not last.bad and not last.message:
            # What it failed with is the point of telling that it is flaky.
            merged[test] = msgspec.structs.replace(merged[test], message=before[test].message)
    return merged


def _run_once(request: TestRequest, *, runner: Runner, folder: Path, log: Path, say: Callable[[str], None]) -> TestOutcome:
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    report_path, events = folder / REPORT_NAME, folder / EVENTS_NAME
    for stale in (report_path, events):
        stale.unlink(missing_ok=True)
    start = log.stat().st_size if log.exists() else 0
    with files.temporary_folder(folder, "plan") as scratch:
        plan = _write_plan(request, scratch / "plan.json", report=report_path, events=events)
        ended = _run(request, runner, plan, events=events, log=log, say=say)
    story = read_story(events)
    report = _report_or_problem(report_path)
    problem: HipwrightError | None = None
    remarks: tuple[str, ...] = ()
    try:
        _, remarks = judge(report, story, ended, may_skip_all=request.may_skip_all)
    except HipwrightError as error:
        problem = _with_log(error, log, start, folder)
    for remark in remarks:
        say(remark)
    bad = any(result.bad for result in story.results.values())
    kind = OutcomeKind.of(problem) if problem is not None else OutcomeKind.FAILED if bad else OutcomeKind.PASSED
    return TestOutcome(
        kind=kind,
        problem=problem,
        results=story.results,
        story=story,
        report=report if isinstance(report, TestReport) else None,
        report_path=report_path,
        events_path=events,
        log=log,
        remarks=remarks,
        seconds=time.monotonic() - began,
    )


def _write_plan(request: TestRequest, path: Path, *, report: Path, events: Path) -> Path:
    arguments = [
        f"--rootdir={request.root or request.cwd}",
        *request.arguments,
        # pytest's own cancels all planned stack dumps at the first failure; the driver switches the same handler on.
        *("-p", "no:faulthandler"),
        f"--junitxml={report}",
        *request.tests,
    ]
    limits = request.limits
    plan = {
        "arguments": arguments,
        "events": str(events),
        "packages": list(request.packages),
        "environment": str(request.environment),
        "plugins": [[str(file), str(settings)] for file, settings in request.plugins],
        "limits": {"collection": limits.collection, "test": limits.test, "whole": limits.whole},
        "exit_grace": limits.exit_grace,
        "gpu": request.gpu,
    }
    files.write_text(path, json.dumps(plan, indent=2) + "\n")
    return path


def _run(request: TestRequest, runner: Runner, plan: Path, *, events: Path, log: Path, say: Callable[[str], None]) -> ProcessEnd:
    """Run the driver; the runner stops it a moment after its stacks were printed, and nothing that tests started outlives the run."""
    mark = new_mark()
    # The interpreter lies beside the environment's console scripts.
    path = f"{request.python.parent}{os.pathsep}{runner.environment.get('PATH', '')}"
    clock = _Clock(limits=request.limits, events=StoryReader(events))
    try:
        done = runner.run(
            [request.python, *request.flags, Path(driver.__file__), plan],
            cwd=request.cwd,
            log=log,
            env={**CHILD_ENVIRONMENT, "PATH": path, **request.variables, MARK: mark},
            left=clock.left,
            check=False,
            what=request.what,
        )
    except HipwrightError as error:
        if error.code.name != "command-timeout":
            raise
        return ProcessEnd(returncode=None, limit=clock.limit, phase=clock.phase)
    finally:
        end_leftovers(mark, say=say)
    if done.returncode < 0 and clock.is_over():
        # Stacks are printed of threads that may be running, which can end the process: it was at its limit all the same.
        return ProcessEnd(returncode=None, limit=clock.limit, phase=clock.phase)
    return ProcessEnd(returncode=done.returncode, limit=request.limits.whole)


@dataclass(kw_only=True, slots=True)
class _Clock:
    """Tells how long a run may go on: as long as the phase that it is in, and all of it, may take.

    Events carry the time of the machine's monotonic clock, which is the same in all processes of Linux and Windows.
    """

    limits: Limits
    events: StoryReader
    began: float = field(default_factory=time.monotonic)
    phase: Phase = "collection"
    limit: float = 0.0

    def left(self) -> float:
        """Return the seconds that the run may go on as things stand; the phase that has the least is remembered."""
        # The driver prints the stacks when the time has come, which takes a moment.
        left = self._until_limit() + _STOP_MARGIN
        # The phase that comes next may have less time than this one.
        return min(left, self.limits.test, self.limits.exit_grace + _STOP_MARGIN)

    def is_over(self) -> bool:
        """Return whether a limit has passed."""
        return self._until_limit() <= 0

    def _until_limit(self) -> float:
        story = self.events.read()
        step, limit = self._phase(story)
        since = story.latest if story.latest is not None else self.began
        now = time.monotonic()
        of_step, of_whole = since + limit - now, self.began + self.limits.whole - now
        self.phase, self.limit = (step, limit) if of_step <= of_whole else ("whole", self.limits.whole)
        return min(of_step, of_whole)

    def _phase(self, story: Story) -> tuple[Phase, float]:
        if story.end is not None:
            return "exit", self.limits.exit_grace
        return ("test", self.limits.test) if story.collected is not None else ("collection", self.limits.collection)


def _report_or_problem(path: Path) -> TestReport | HipwrightError:
    try:
        return read_report(path)
    except HipwrightError as error:
        return error


def _with_log(problem: HipwrightError, log: Path, start: int, folder: Path) -> HipwrightError:
    """Return a problem with the part of the log that tells most, and with the reason where the disk is full."""
    free = shutil.disk_usage(folder).free
    hint = problem.hint if free > _LITTLE_SPACE else f"there is no space left in {folder}: make room, and run the tests again"
    return HipwrightError(
        problem.code.name,
        problem.message,
        where=problem.where,
        hint=hint,
        log=log,
        excerpt=_stacks(log, start) or first_error(log, start),
    )


def _stacks(log: Path, start: int) -> str | None:
    """Return the stacks that the interpreter printed when tests hung or crashed, None where it printed none."""
    try:
        with log.open("rb") as stream:
            stream.seek(start)
            lines = stream.read().splitlines()
    except OSError:
        return None
    # The line may begin with the dots that pytest prints for tests that passed.
    found = [number for number, line in enumerate(lines) if any(mark in line for mark in _STACKS)]
    if not found:
        return None
    return "\n".join(line.decode("utf-8", "replace") for line in lines[found[-1] : found[-1] + _LINES_OF_STACKS])
