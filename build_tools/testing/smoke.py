"""Run a project's smoke tests against installed wheels, and reach a verdict that is bound to their bytes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.logs import first_error
from build_tools.receipts.verdict import Verdict
from build_tools.testing import driver
from build_tools.testing.gpu import TARGET_PROPERTY, verdict_target
from build_tools.testing.judge import ProcessEnd, judge
from build_tools.testing.junit import TestReport, read_report
from build_tools.testing.leftovers import MARK, end_leftovers, new_mark
from build_tools.testing.proof import CHILD_ENVIRONMENT, ISOLATED, prove_environment, prove_imports
from build_tools.testing.story import read_story

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.types import GfxTarget, Platform, Sha256

__all__ = ["REPORT_NAME", "raise_for", "run_smoke"]

REPORT_NAME: Final = "report.xml"
"""The report's name in the output folder."""

_EXIT_GRACE: Final = 30.0
_STOP_MARGIN: Final = 2.0
_MOST_FAILURES: Final = 5


def run_smoke(
    project: Project,
    project_folder: Path,
    *,
    environment: EnvironmentRecord,
    wheels: Sequence[JudgedWheel],
    local: Sha256 | None,
    visible: Sequence[GfxTarget],
    runner: Runner,
    folder: Path,
    log: Path,
    platform: Platform,
    say: Callable[[str], None],
    time_limit: float | None = None,
    exit_grace: float = _EXIT_GRACE,
) -> Verdict:
    """Run the smoke tests of a project in an environment and return the verdict, passed or failed; see :func:`raise_for`.

    The tests are copied to a fresh folder and run from an empty one, with a configuration of their own, by an isolated interpreter:
    no source tree, ``conftest.py`` or setting of the surroundings takes part.

    Parameters
    ----------
    project, project_folder
        The project, and the folder of its ``project.toml``.
    environment
        The environment that holds the wheels under test and pytest.
    wheels
        The wheels that the verdict speaks of.
    local
        The digest of a person's changes that the wheels were built with.
    visible
        The architectures of the usable GPUs; see :func:`build_tools.testing.gpu.visible_targets`.
    runner
        Starts the tests.
    folder
        The output folder: gets ``report.xml`` and ``events.jsonl``.
    log
        Gets the tests' output.
    platform
        The platform that the tests run on.
    say
        Gets remarks for people, a line each.
    time_limit
        Seconds for the whole run; the project's own limit when not given.
    exit_grace
        Seconds that the process may take to end once its report is written.

    Raises
    ------
    HipwrightError
        ``no-tests``, ``no-report``, ``truncated-report``, ``tests-crashed``, ``tests-timeout``, ``environment-changed``,
        ``foreign-import`` or ``wheel-not-tested``. Failed tests are a verdict, not an error.
    """
    tests = project_folder / project.tests.folder
    if not any(path.is_file() for path in tests.rglob("*.py")):
        raise HipwrightError("no-tests", f"there are no tests in {tests}", where=Where(file=tests))
    limit = project.tests.time_limit_minutes * 60 if time_limit is None else time_limit
    report_path = folder / REPORT_NAME
    events = folder / "events.jsonl"
    for stale in (report_path, events):
        stale.unlink(missing_ok=True)
    with files.temporary_folder(folder, "smoke") as scratch:
        neutral = scratch / "empty"
        neutral.mkdir()
        packages = prove_environment(environment, wheels, runner=runner, folder=neutral)
        plan = _write_plan(
            scratch,
            tests,
            packages=packages,
            environment=environment,
            report=report_path,
            events=events,
            limit=limit,
            exit_grace=exit_grace,
        )
        start = log.stat().st_size if log.exists() else 0
        ended = _run(runner, environment, plan, cwd=neutral, log=log, limit=limit, say=say)
    story = read_story(events)
    try:
        report, remarks = judge(_report_or_problem(report_path), story, ended)
        if story.end is not None and not report.of("failed", "error"):
            prove_imports(story.end.loaded, story.end.foreign, environment=environment)
    except HipwrightError as error:
        error.log = log
        error.excerpt = first_error(log, start)
        raise
    for remark in remarks:
        say(remark)
    return Verdict(
        project=project.name,
        wheels=tuple(wheels),
        target=verdict_target(report.properties.get(TARGET_PROPERTY, ()), visible),
        outcome="failed" if report.of("failed", "error") else "passed",
        counts=report.counts,
        report_sha256=report.sha256,
        python_version=environment.python_version,
        platform=platform.value,
        local=local,
        packages=tuple(sorted(f"{package.name}=={package.version}" for package in environment.packages)),
    )


def raise_for(verdict: Verdict, *, report: Path, log: Path) -> None:
    """Raise when a verdict says that tests failed.

    Parameters
    ----------
    verdict
        The verdict.
    report
        The report that it was reached by; failed tests are named from it.
    log
        The log of the run.

    Raises
    ------
    HipwrightError
        ``tests-failed`` with the first failed tests and their reasons.
    """
    if verdict.outcome == "passed":
        return
    bad = read_report(report).of("failed", "error")
    listed = [f"{case.name}: {case.message}" if case.message else case.name for case in bad[:_MOST_FAILURES]]
    if len(bad) > _MOST_FAILURES:
        listed.append(f"and {len(bad) - _MOST_FAILURES} more")
    total = sum((verdict.counts.passed, verdict.counts.failed, verdict.counts.errors, verdict.counts.skipped))
    message = f"{len(bad)} of {total} smoke tests of {verdict.project} failed, first {bad[0].name}"
    raise HipwrightError("tests-failed", message, where=Where(file=report), log=log, excerpt="\n".join(listed))


def _write_plan(
    scratch: Path,
    tests: Path,
    *,
    packages: Sequence[str],
    environment: EnvironmentRecord,
    report: Path,
    events: Path,
    limit: float,
    exit_grace: float,
) -> Path:
    copied = scratch / "smoke-tests"
    shutil.copytree(tests, copied, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    settings = scratch / "pytest.ini"
    files.write_text(settings, "[pytest]\njunit_family = xunit2\n")
    arguments = [
        *("-c", settings, "--rootdir", copied, "--confcutdir", copied, "--basetemp", scratch / "tmp"),
        *("--import-mode=importlib", "--strict-markers", "-p", "no:cacheprovider", "-ra"),
        # pytest's own cancels all planned stack dumps at the first failure; the driver switches the same handler on.
        *("-p", "no:faulthandler"),
        f"--junitxml={report}",
        # Relative to the empty folder: pytest takes a bracket in a whole path for the start of a test's parameters.
        Path(os.pardir, copied.name),
    ]
    plan = {
        "arguments": [str(argument) for argument in arguments],
        "events": str(events),
        "packages": list(packages),
        "environment": environment.folder,
        "stacks_after": limit,
        "exit_grace": exit_grace,
    }
    path = scratch / "plan.json"
    files.write_text(path, json.dumps(plan, indent=2) + "\n")
    return path


def _run(
    runner: Runner,
    environment: EnvironmentRecord,
    plan: Path,
    *,
    cwd: Path,
    log: Path,
    limit: float,
    say: Callable[[str], None],
) -> ProcessEnd:
    """Run the driver; the runner stops it a moment after its stacks were printed, and nothing that tests started outlives the run."""
    mark = new_mark()
    # The interpreter lies beside the environment's console scripts.
    path = f"{Path(environment.python).parent}{os.pathsep}{runner.environment.get('PATH', '')}"
    try:
        done = runner.run(
            [environment.python, *ISOLATED, Path(driver.__file__), plan],
            cwd=cwd,
            log=log,
            env={**CHILD_ENVIRONMENT, "PATH": path, MARK: mark},
            timeout=limit + _STOP_MARGIN,
            check=False,
            what="the smoke tests",
        )
    except HipwrightError as error:
        if error.code.name != "command-timeout":
            raise
        return ProcessEnd(returncode=None, limit=limit)
    finally:
        end_leftovers(mark, say=say)
    return ProcessEnd(returncode=done.returncode, limit=limit)


def _report_or_problem(path: Path) -> TestReport | HipwrightError:
    try:
        return read_report(path)
    except HipwrightError as error:
        return error
