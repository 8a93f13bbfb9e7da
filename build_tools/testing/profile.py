"""Profile examples: each in processes of its own, so that what one does hides nothing of the others."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.logs import first_error
from build_tools.receipts.profile import ExampleProfile, ExampleRun, ExampleStatus, Framework, Mebibytes, Seconds
from build_tools.testing import example_probe
from build_tools.testing.judge import how_it_ended
from build_tools.testing.leftovers import MARK, end_leftovers, new_mark
from build_tools.testing.memory_watch import watched
from build_tools.testing.proof import ISOLATED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.config.examples import Example
    from build_tools.process import Runner

__all__ = ["REMEDIES", "ProfilePlan", "judge_run", "profile_example"]

_STOP_MARGIN: Final = 2.0
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME: Final = 60
_CODES: Final = {"failed": "command-failed"}

REMEDIES: Final[Mapping[str, str]] = {
    "bad-option-value": "mend the list of examples: a script that is not there is no missing asset",
    "command-failed": "its log has the traceback",
    "no-report": "the example ends its process by itself (os._exit): let it return instead",
    "tests-crashed": "its log has the stacks; where SIGKILL ended it, the machine was out of memory (dmesg says so)",
    "tests-timeout": "its log has the stacks of all threads; --timeout SECONDS gives it more time",
}
"""What helps where an example did not pass, by the code of its error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfilePlan:
    """How examples are measured.

    ``python`` is the environment's interpreter, ``cwd`` the folder that the examples run in, ``logs`` gets a log of each.
    ``env`` is added to the runner's environment. ``time_limit`` are the seconds of one run, ``repeat`` is how many runs count, and
    ``warm_up`` whether one before them does not. ``missing`` are the exceptions that say that an asset is not there.
    """

    python: Path
    cwd: Path
    logs: Path
    time_limit: float
    missing: Sequence[str]
    env: Mapping[str, str]
    repeat: int = 3
    warm_up: bool = True


class _Told(msgspec.Struct, frozen=True):
    """What the probe writes."""

    status: ExampleStatus
    duration_s: Seconds
    error: str | None = None
    missing: str | None = None
    framework: Framework | None = None
    peak_memory_mb: Mebibytes | None = None
    peak_device_memory_mb: Mebibytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """One run as it is judged."""

    status: ExampleStatus
    measured: ExampleRun
    code: str | None = None
    error: str | None = None
    missing: str | None = None
    framework: Framework | None = None


def profile_example(
    example: Example, number: int, plan: ProfilePlan, *, runner: Runner, say: Callable[[str], None]
) -> ExampleProfile:
    """Measure one example; whatever it does is in what is returned, and nothing that it started outlives it.

    Parameters
    ----------
    example
        The example.
    number
        Its place in the list, from 1; names its log.
    plan
        How it is measured.
    runner
        Starts it.
    say
        Gets remarks for people.
    """
    script = plan.cwd / example.script
    if not script.is_file():
        # A script that is gone is a fault of whoever lists it, and no missing asset.
        error = f"{script} is no file" if script.exists() else f"there is no script {script}"
        return ExampleProfile(name=example.name, status="failed", code="bad-option-value", error=error)
    absent = next((asset for asset in example.assets if not (plan.cwd / asset).exists()), None)
    if absent is not None:
        return ExampleProfile(name=example.name, status="skipped", missing=absent, error=f"there is no {absent}")
    log = plan.logs / f"{number:02d}-{_UNSAFE.sub('-', example.script)[-_LONGEST_NAME:].strip('-')}.log"
    log.unlink(missing_ok=True)
    counted: list[_Run] = []
    for turn in range(plan.repeat + plan.warm_up):
        run = _measure(example, script, plan, runner=runner, log=log, say=say)
        if run.status != "passed":
            # What counts is that it fails at all, in whatever turn.
            return _failed(example, run, log)
        if turn >= plan.warm_up:
            counted.append(run)
    return ExampleProfile(
        name=example.name,
        status="passed",
        duration_s=_median([run.measured.duration_s for run in counted]),
        peak_memory_mb=_median([run.measured.peak_memory_mb for run in counted]),
        peak_device_memory_mb=_median([run.measured.peak_device_memory_mb for run in counted]),
        runs=tuple(run.measured for run in counted),
        framework=counted[-1].framework,
        log=str(log),
    )


def _measure(example: Example, script: Path, plan: ProfilePlan, *, runner: Runner, log: Path, say: Callable[[str], None]) -> _Run:
    limit = float(example.time_limit_s or plan.time_limit)
    mark = new_mark()
    start = log.stat().st_size if log.exists() else 0
    with files.temporary_folder(plan.logs, "example") as scratch:
        said, started, report = scratch / "plan.json", scratch / "started", scratch / "report.json"
        told = {
            "script": str(script),
            "arguments": list(example.arguments),
            "started": str(started),
            "report": str(report),
            "stacks_after": limit,
            "missing": list(plan.missing),
        }
        files.write_text(said, json.dumps(told))
        returncode: int | None = None
        with watched(started) as watch:
            try:
                done = runner.run(
                    [plan.python, *ISOLATED, Path(example_probe.__file__), said],
                    cwd=plan.cwd,
                    log=log,
                    env={**plan.env, MARK: mark},
                    timeout=limit + _STOP_MARGIN,
                    check=False,
                    what=example.name,
                    alone=True,
                )
                returncode, seconds = done.returncode, done.seconds
            except HipwrightError as error:
                if error.code.name != "command-timeout":
                    raise
                seconds = limit
            finally:
                end_leftovers(mark, say=say, grace=0.0)
        return judge_run(
            _read(report), returncode, seconds=seconds, limit=limit, peak=watch.peak, excerpt=first_error(log, start)
        )


def judge_run(
    told: _Told | None, returncode: int | None, *, seconds: float, limit: float, peak: float | None, excerpt: str | None
) -> _Run:
    """Judge a run by what the probe wrote, None when it wrote nothing, and by how its process ended, None when it was stopped."""
    peaks = [value for value in (peak, told.peak_memory_mb if told else None) if value is not None]
    measured = ExampleRun(
        duration_s=told.duration_s if told is not None else seconds,
        peak_memory_mb=max(peaks, default=None),
        peak_device_memory_mb=told.peak_device_memory_mb if told is not None else None,
    )
    if returncode is None:
        after = "; it was done, and did not end" if told is not None and told.status == "passed" else "; its log has the stacks"
        return _Run(
            status="timeout", measured=measured, code="tests-timeout", error=f"it ran past its {limit:g} s and was stopped{after}"
        )
    crashed, words = how_it_ended(returncode)
    if crashed:
        after = " after it was done" if told is not None and told.status == "passed" else ""
        last = f": {excerpt.splitlines()[0]}" if excerpt else ""
        return _Run(status="crashed", measured=measured, code="tests-crashed", error=f"it ended {words}{after}{last}")
    if told is None:
        return _Run(status="failed", measured=measured, code="no-report", error=f"it ended {words} without leaving what it took")
    if told.status == "passed" and returncode != 0:
        return _Run(status="failed", measured=measured, code="command-failed", error=f"it ended {words} after it was done")
    return _Run(
        status=told.status,
        measured=measured,
        code=_CODES.get(told.status),
        error=told.error,
        missing=told.missing,
        framework=told.framework,
    )


def _failed(example: Example, run: _Run, log: Path) -> ExampleProfile:
    return ExampleProfile(
        name=example.name,
        status=run.status,
        code=run.code,
        error=run.error,
        missing=run.missing,
        duration_s=run.measured.duration_s,
        peak_memory_mb=run.measured.peak_memory_mb,
        peak_device_memory_mb=run.measured.peak_device_memory_mb,
        runs=(run.measured,),
        framework=run.framework,
        log=str(log),
    )


def _median(values: Sequence[float | None]) -> float | None:
    """Return the median of values; None when one of them is not known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known and len(known) == len(values) else None


def _read(report: Path) -> _Told | None:
    try:
        return msgspec.json.decode(report.read_bytes(), type=_Told)
    except (OSError, msgspec.DecodeError):
        return None
