"""Run a project's smoke tests against installed wheels, and reach a verdict that is bound to their bytes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.verdict import Verdict
from build_tools.testing.gpu import TARGET_PROPERTY, verdict_target
from build_tools.testing.junit import read_report
from build_tools.testing.proof import prove_environment, prove_imports
from build_tools.testing.request import DEFAULT_LIMITS, Limits, TestRequest
from build_tools.testing.run import REPORT_NAME, run_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.types import GfxTarget, Platform, Sha256

__all__ = ["REPORT_NAME", "raise_for", "run_smoke"]

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
    limits: Limits | None = None,
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
    limits
        Seconds for the phases of the run; the project's own when not given.

    Raises
    ------
    HipwrightError
        ``no-tests``, ``no-report``, ``truncated-report``, ``tests-crashed``, ``tests-hung``, ``tests-timeout``,
        ``environment-changed``, ``foreign-import`` or ``wheel-not-tested``. Failed tests are a verdict, not an error.
    """
    tests = project_folder / project.tests.folder
    if not any(path.is_file() for path in tests.rglob("*.py")):
        raise HipwrightError("no-tests", f"there are no tests in {tests}", where=Where(file=tests))
    limits = limits or _limits(project)
    with files.temporary_folder(folder, "smoke") as scratch:
        neutral = scratch / "empty"
        neutral.mkdir()
        packages = prove_environment(environment, wheels, runner=runner, folder=neutral)
        request = _request(project, tests, scratch, environment=environment, packages=packages, limits=limits)
        outcome = run_tests(request, runner=runner, folder=folder, log=log, say=say)
    report, end = outcome.judged()
    if outcome.passed:
        prove_imports(end.loaded, end.foreign, environment=environment)
    return Verdict(
        project=project.name,
        wheels=tuple(wheels),
        target=verdict_target(report.properties.get(TARGET_PROPERTY, ()), visible),
        outcome="passed" if outcome.passed else "failed",
        counts=outcome.counts,
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


def _limits(project: Project) -> Limits:
    whole = project.tests.time_limit_minutes * 60.0
    return Limits(collection=min(DEFAULT_LIMITS.collection, whole), test=min(DEFAULT_LIMITS.test, whole), whole=whole)


def _request(
    project: Project,
    tests: Path,
    scratch: Path,
    *,
    environment: EnvironmentRecord,
    packages: Sequence[str],
    limits: Limits,
) -> TestRequest:
    """Return the request for tests that lie in a fresh folder and have a configuration of their own."""
    copied = scratch / "smoke-tests"
    shutil.copytree(tests, copied, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    settings = scratch / "pytest.ini"
    files.write_text(settings, "[pytest]\njunit_family = xunit2\n")
    arguments = [
        *("-c", settings, "--confcutdir", copied, "--basetemp", scratch / "tmp"),
        *("--import-mode=importlib", "--strict-markers", "-p", "no:cacheprovider", "-ra"),
    ]
    return TestRequest(
        python=Path(environment.python),
        environment=Path(environment.folder),
        cwd=scratch / "empty",
        root=copied,
        # Relative to the empty folder: pytest takes a bracket in a whole path for the start of a test's parameters.
        tests=(str(Path(os.pardir, copied.name)),),
        arguments=tuple(str(argument) for argument in arguments),
        packages=tuple(packages),
        limits=limits,
        what=f"the smoke tests of {project.name}",
    )
