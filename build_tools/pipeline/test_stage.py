"""What the test stage does: an environment with the published bytes, the smoke tests on each chosen GPU, verdicts beside the index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.files import write_bytes
from build_tools.receipts.record import to_json
from build_tools.receipts.stage import TestResult
from build_tools.testing.choosing import choose_devices, of_targets
from build_tools.testing.gpu import visible_devices
from build_tools.testing.outcome import raise_for_outcome
from build_tools.testing.smoke import run_smoke

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.values import EnvironmentRecord, FlagValue
    from build_tools.receipts.verdict import Verdict
    from build_tools.testing.choosing import GpuPolicy, VisibleDevice
    from build_tools.testing.smoke import SmokeRun
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["devices_to_test_on", "reach_verdicts", "show_runs"]

_COLUMNS: Final = ("tested on", "GPU", "result", "passed", "failed", "skipped", "not run", "flaky", "seconds")


def devices_to_test_on(
    workplace: Workplace, targets: Sequence[str], *, policy: GpuPolicy | None = None
) -> tuple[VisibleDevice, ...]:
    """Return the GPUs that tests of code for some targets are given: those that are seen and suit, as many as ``--gpu-policy`` says.

    Parameters
    ----------
    workplace
        The machine and its settings.
    targets
        What the wheels have code for; every GPU suits wheels that name none.
    policy
        What is taken instead of that option.
    """
    seen = visible_devices(workplace.platform, workplace.runner, workplace.machine)
    suited = of_targets(seen, targets)
    if others := sorted({one.target for one in seen} - {one.target for one in suited}):
        workplace.console.warn(f"not tested on {', '.join(others)}, which these wheels have no code for")
    return choose_devices(suited, policy or workplace.settings.gpu_policy)


def reach_verdicts(
    project: Project,
    *,
    environment: EnvironmentRecord,
    wheels: Sequence[JudgedWheel],
    local: Sha256 | None,
    flags: tuple[FlagValue, ...],
    devices: Sequence[VisibleDevice],
    keep: Callable[[Verdict], object],
    workplace: Workplace,
    runner: Runner,
    folder: Path,
    log: Path,
) -> TestResult:
    """Run the smoke tests and return the verdicts, once ``keep`` has put them beside the index, those of failed runs too.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.testing.smoke.run_smoke`, and ``tests-failed``.
    """
    runs = run_smoke(
        project,
        workplace.external_builds / project.name,
        environment=environment,
        wheels=wheels,
        local=local,
        devices=devices,
        runner=runner,
        folder=folder,
        log=log,
        platform=workplace.platform,
        say=workplace.console.say,
        reruns=workplace.settings.reruns or 0,
    )
    verdicts = tuple(msgspec.structs.replace(run.verdict, flags=flags) for run in runs)
    show_runs(project, runs, workplace)
    # Reports and verdicts of a failed run are worth keeping where the log lies; the stage's folder goes with the failure.
    for number, (run, verdict) in enumerate(zip(runs, verdicts, strict=True)):
        beside = log if number == 0 else run.outcome.log
        write_bytes(beside.with_suffix(".junit.xml"), run.outcome.report_path.read_bytes())
        write_bytes(beside.with_suffix(".events.jsonl"), run.outcome.events_path.read_bytes())
        write_bytes(beside.with_suffix(".verdict.json"), to_json(verdict))
    for verdict in verdicts:
        keep(verdict)
    for run in runs:
        kept = run.outcome.log.with_suffix(".junit.xml")
        raise_for_outcome(replace(run.outcome, report_path=kept), what=f"smoke tests of {project.name}")
    for number, verdict in enumerate(verdicts):
        write_bytes(folder / ("verdict.json" if number == 0 else f"verdict-{number}.json"), to_json(verdict))
    return TestResult(value=verdicts[0], more=verdicts[1:])


def show_runs(project: Project, runs: Sequence[SmokeRun], workplace: Workplace) -> None:
    """Show what came of each run, a row for each, and the tests that passed only when they were tried again."""
    rows = []
    for run in runs:
        verdict, counts = run.verdict, run.verdict.counts
        given = ", ".join(device.name or device.target for device in verdict.devices) or "none"
        numbers = (counts.passed, counts.failed + counts.errors, counts.skipped, counts.not_run, len(verdict.flaky))
        rows.append((verdict.target, given, verdict.outcome, *map(str, numbers), f"{verdict.seconds:g}"))
    flaky = [one.told for run in runs for one in run.verdict.flaky]
    withheld = any(run.verdict.counts.not_run for run in runs)
    note = "\n".join([*flaky, *(["tests that need a GPU were not run: this run was given none"] if withheld else [])])
    workplace.console.table(f"Smoke tests of {project.name}", _COLUMNS, rows, note=note)
