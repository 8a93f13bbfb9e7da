"""Run a project's smoke tests against installed wheels, once for each chosen GPU, and reach verdicts that are bound to their bytes."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.verdict import Verdict
from build_tools.testing.choosing import HIDDEN
from build_tools.testing.gpu import TARGET_PROPERTY, tested_device, verdict_target
from build_tools.testing.proof import prove_environment, prove_imports
from build_tools.testing.request import DEFAULT_LIMITS, Limits, TestRequest
from build_tools.testing.run import run_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.testing.choosing import VisibleDevice
    from build_tools.testing.outcome import TestOutcome
    from build_tools.types import Platform, Sha256

__all__ = ["SmokeRun", "run_smoke"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SmokeRun:
    """One run of the smoke tests: its verdict, and the outcome that it was reached by."""

    verdict: Verdict
    outcome: TestOutcome


def run_smoke(
    project: Project,
    project_folder: Path,
    *,
    environment: EnvironmentRecord,
    wheels: Sequence[JudgedWheel],
    local: Sha256 | None,
    devices: Sequence[VisibleDevice],
    runner: Runner,
    folder: Path,
    log: Path,
    platform: Platform,
    say: Callable[[str], None],
    limits: Limits | None = None,
    reruns: int = 0,
) -> tuple[SmokeRun, ...]:
    """Run the smoke tests of a project in an environment and return a verdict for each device, passed or failed.

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
    devices
        The GPUs to test on, each in a process of its own, at the same time; without one, tests that need a GPU are told as not run, and
        no GPU can be seen.
    runner
        Starts the tests.
    folder
        The output folder: gets ``report.xml`` and ``events.jsonl``; of several devices each has a folder of its own in it.
    log
        Gets the tests' output; of several devices each has a log of its own beside it.
    platform
        The platform that the tests run on.
    say
        Gets remarks for people, a line each.
    limits
        Seconds for the phases of the run; the project's own when not given.
    reruns
        How often tests that failed are tried again.

    Raises
    ------
    HipwrightError
        ``no-tests``, ``no-report``, ``truncated-report``, ``tests-crashed``, ``tests-hung``, ``tests-timeout``,
        ``environment-changed``, ``foreign-import`` or ``wheel-not-tested``. Failed tests are a verdict, not an error.
    """
    tests = project_folder / project.tests.folder
    if not any(path.is_file() for path in tests.rglob("*.py")):
        raise HipwrightError("no-tests", f"there are no tests in {tests}", where=Where(file=tests))
    with files.temporary_folder(folder, "proof") as neutral:
        packages = prove_environment(environment, wheels, runner=runner, folder=neutral)

    def on(device: VisibleDevice | None, place: Path, log: Path) -> SmokeRun:
        started = files.utc_now()
        with files.temporary_folder(place, "smoke") as scratch:
            (scratch / "empty").mkdir()
            request = _request(
                project,
                tests,
                scratch,
                environment=environment,
                packages=packages,
                limits=limits or _limits(project),
                variables=device.variables if device is not None else HIDDEN,
                gpu=device is not None,
                reruns=reruns,
            )
            outcome = run_tests(request, runner=runner, folder=place, log=log, say=say)
        report, end = outcome.judged()
        if outcome.passed:
            prove_imports(end.loaded, end.foreign, environment=environment)
        tested = (tested_device(device),) if device is not None else ()
        verdict = Verdict(
            project=project.name,
            wheels=tuple(wheels),
            target=verdict_target(report.properties.get(TARGET_PROPERTY, ()), [each.target for each in tested]),
            outcome="passed" if outcome.passed else "failed",
            counts=outcome.counts,
            report_sha256=report.sha256,
            python_version=environment.python_version,
            platform=platform.value,
            local=local,
            packages=tuple(sorted(f"{package.name}=={package.version}" for package in environment.packages)),
            devices=tested,
            environment=environment.digest,
            flaky=outcome.flaky,
            started=started,
            seconds=round(outcome.seconds, 1),
        )
        return SmokeRun(verdict=verdict, outcome=outcome)

    if len(devices) <= 1:
        return (on(devices[0] if devices else None, folder, log),)
    with ThreadPoolExecutor(len(devices)) as pool:
        named = [(device, f"gpu-{number}-{device.target}") for number, device in enumerate(devices)]
        runs = [pool.submit(on, device, folder / name, log.with_suffix(f".{name}.log")) for device, name in named]
    return tuple(run.result() for run in runs)


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
    variables: Mapping[str, str],
    gpu: bool,
    reruns: int,
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
        variables=variables,
        limits=limits,
        gpu=gpu,
        reruns=reruns,
        what=f"the smoke tests of {project.name}",
    )
