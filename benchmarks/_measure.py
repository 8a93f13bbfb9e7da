"""What the benchmarks share: running a command with a clock, pairs that cancel the machine's load, one line of JSON, profiles."""

from __future__ import annotations

import json
import os
import pstats
import shutil
import statistics
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from build_tools.process import Completed, Runner
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import StageReceipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "CLONE",
    "Pair",
    "Result",
    "Spent",
    "Timed",
    "base_interpreter",
    "import_times",
    "machine_environment",
    "median",
    "nox",
    "pairs",
    "pipeline",
    "profiled",
    "receipts_of",
    "rounds",
    "scratch",
    "show",
    "spent",
    "timed",
    "two_processors",
]

CLONE: Final = Path(__file__).resolve().parents[1]

_OURS: Final = ("HIPWRIGHT_", "NOX", "GIT_", "GITHUB_", "COVERAGE_", "PYTEST_")
_NAMES: Final = frozenset(
    {"CI", "FORCE_COLOR", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
)
_TINY: Final = 0.001

_WAITING: Final = ("poll", "acquire", "fork_exec", "posix.read", "waitpid", "select", "readline")
"""Built-in functions in which a process waits for its children; what they take is the children's time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """A command that ended: seconds on the wall, seconds of processor time of it and its children, and its output."""

    seconds: float
    processor_seconds: float
    stdout: str
    stderr: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """The same moment's ours and baseline."""

    ours: Timed
    baseline: Timed


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One goal, measured.

    Parameters
    ----------
    name
        What is measured.
    limit
        The most that ``limit_on`` may be.
    limit_on
        Which of the numbers the limit is about.
    ours, baseline
        The two numbers in ``unit``; None where nothing was measured.
    ratio, difference
        Of ours and baseline; medians over pairs where there are pairs.
    unit
        The unit of ours, baseline and difference.
    detail
        Further numbers.
    profile
        Where the time goes, when the limit is missed.
    how
        How to come by a measurement, when there is none.
    """

    name: str
    limit: float
    limit_on: Literal["ours", "ratio", "difference"]
    ours: float | None = None
    baseline: float | None = None
    ratio: float | None = None
    difference: float | None = None
    unit: str = "s"
    detail: Mapping[str, Any] = field(default_factory=dict)
    profile: Sequence[str] = ()
    how: str | None = None

    @property
    def met(self) -> bool | None:
        """Whether the limit is kept; None when nothing was measured."""
        value = {"ours": self.ours, "ratio": self.ratio, "difference": self.difference}[self.limit_on]
        return None if value is None else value <= self.limit

    def line(self) -> str:
        """Return the result as one line of JSON."""
        row: dict[str, Any] = {
            "name": self.name,
            "ours": _rounded(self.ours),
            "baseline": _rounded(self.baseline),
            "ratio": _rounded(self.ratio),
            "limit": self.limit,
            "unit": self.unit,
            "limit_on": self.limit_on,
            "met": self.met,
        }
        if self.difference is not None:
            row["difference"] = _rounded(self.difference)
        row.update({key: value for key in ("detail", "profile", "how") if (value := getattr(self, key))})
        return json.dumps(row, allow_nan=False, ensure_ascii=False)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def show(result: Result, profile: Callable[[], Sequence[str]]) -> None:
    """Print a result's line; with a profile when its limit is missed."""
    if result.met is False:
        result = replace(result, profile=tuple(profile()))
    print(result.line(), flush=True)


def of_pairs(name: str, limit: float, found: Sequence[Pair], **detail: float) -> Result:
    """Return a goal on the ratio of pairs: medians of ours, of the baseline and of their ratio, with the number of rounds."""
    return Result(
        name=name,
        limit=limit,
        limit_on="ratio",
        ours=median([pair.ours.seconds for pair in found]),
        baseline=median([pair.baseline.seconds for pair in found]),
        ratio=median([pair.ours.seconds / pair.baseline.seconds for pair in found]),
        detail={"rounds": len(found), **detail},
    )


def median(values: Sequence[float]) -> float:
    """Return the middle one of some numbers."""
    return statistics.median(values)


def rounds(arguments: Sequence[str], usual: int) -> int:
    """Return how often to measure: the one argument that most benchmarks take.

    Raises
    ------
    SystemExit
        The argument is no number above zero.
    """
    if not arguments:
        return usual
    if len(arguments) > 1 or not arguments[0].isdecimal() or int(arguments[0]) < 1:
        message = f"expected the number of rounds and nothing else, got: {' '.join(arguments)}"
        raise SystemExit(message)
    return int(arguments[0])


def machine_environment(machine: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as a person at this machine has it, without what nox, a test run or hipwright itself put there."""
    return {name: value for name, value in machine.items() if name not in _NAMES and not name.startswith(_OURS)}


def two_processors() -> None:
    """Keep this process and its children to two processors, where the system can."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def base_interpreter() -> Path:
    """Return the interpreter behind the environment that this runs in: what a person calls ``python3`` before there is one."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable)


@contextmanager
def scratch() -> Iterator[Path]:
    """Lend a folder that vanishes at the end."""
    folder = Path(tempfile.mkdtemp(prefix="hipwright-bench-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def timed(
    argv: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str] | None = None, statuses: Sequence[int] = (0,)
) -> Timed:
    """Run a program to its end and take its time.

    Raises
    ------
    SystemExit
        It ended with another status than one of ``statuses``: a failed command is no measurement.
    """
    runner = Runner(environment=machine_environment(os.environ))
    before = os.times()
    done = runner.capture(argv, cwd=cwd, env=env, check=False)
    after = os.times()
    if done.returncode not in statuses:
        raise SystemExit(_failure(done))
    return Timed(
        seconds=done.seconds,
        processor_seconds=after.children_user + after.children_system - before.children_user - before.children_system,
        stdout=done.text,
        stderr=done.stderr.decode("utf-8", "replace"),
    )


def _failure(done: Completed) -> str:
    end = "\n".join(done.stderr.decode("utf-8", "replace").splitlines()[-15:])
    return f"{end}\n{' '.join(done.argv)} ended with status {done.returncode}; nothing was measured"


def pairs(ours: Callable[[], Timed], baseline: Callable[[], Timed], count: int) -> list[Pair]:
    """Measure two things in turns, the order swapped each time, after one round that does not count."""
    ours()
    baseline()
    found = []
    for number in range(count):
        if number % 2:
            second = baseline()
            found.append(Pair(ours=ours(), baseline=second))
        else:
            first = ours()
            found.append(Pair(ours=first, baseline=baseline()))
    return found


def nox(*words: str | Path, noxfile: Path = CLONE / "noxfile.py", options: Sequence[str | Path] = ()) -> list[str | Path]:
    """Return the command line of nox in this environment; ``options`` go to the interpreter."""
    return [sys.executable, *options, "-m", "nox", "--noxfile", noxfile, *words]


def pipeline(work_dir: Path, *words: str | Path, options: Sequence[str | Path] = ()) -> list[str | Path]:
    """Return the command line of the chain on the sample, in a work dir and with a cache beside it, with JSON on stdout."""
    cache = work_dir.with_name(f"{work_dir.name}-cache")
    return nox("-s", "pipeline", "--", "--work-dir", work_dir, "--cache-dir", cache, "--json", *words, options=options)


def receipts_of(document: str) -> dict[str, tuple[StageReceipt, float]]:
    """Return each stage's receipt and its seconds as the run's table has them, from the JSON document of a run.

    Raises
    ------
    SystemExit
        The run did nothing.
    """
    stages = json.loads(document)["stages"]
    if not stages:
        message = "the run did no stage; nothing was measured"
        raise SystemExit(message)
    return {row["stage"]: (read_record(Path(row["receipt"]), StageReceipt), float(row["seconds"])) for row in stages}


def import_times(stderr: str, *, without: str = "", most: int = 6) -> list[str]:
    """Return which packages cost most to import, from what ``-X importtime`` wrote; those that ``without`` has too do not count."""
    known = {name for name, _ in _imports(without)}
    cost: dict[str, int] = {}
    for name, microseconds in _imports(stderr):
        if name not in known:
            package = ".".join(name.split(".")[:2]) if name.startswith("build_tools") else name.split(".")[0]
            cost[package] = cost.get(package, 0) + microseconds
    ordered = sorted(cost.items(), key=lambda item: -item[1])
    total = f"imports: {sum(cost.values()) / 1e3:.0f} ms in all"
    return [total, *(f"import {name}: {microseconds / 1e3:.1f} ms" for name, microseconds in ordered[:most])]


def _imports(stderr: str) -> list[tuple[str, int]]:
    """Return module and own microseconds of every line that ``-X importtime`` wrote."""
    rows = [line.removeprefix("import time:").split("|") for line in stderr.splitlines() if line.startswith("import time:")]
    return [(row[2].strip(), int(row[0])) for row in rows if row[0].strip().isdecimal()]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Where a run's time went: seconds of other programs, how many these were, and each function's own seconds."""

    waited: float
    programs: int
    own: Mapping[str, float]

    def beyond(self, other: Spent) -> Spent:
        """Return what this run took more than another one."""
        return Spent(
            waited=self.waited - other.waited,
            programs=self.programs - other.programs,
            own={name: seconds - other.own.get(name, 0.0) for name, seconds in self.own.items()},
        )

    def lines(self, most: int = 4) -> list[str]:
        """Return it for people, the functions that took most first."""
        ordered = sorted(((seconds, name) for name, seconds in self.own.items()), reverse=True)[:most]
        return [
            f"{self.waited:.2f} s in {self.programs} other programs, {max(0.0, sum(self.own.values())):.2f} s in Python itself",
            *(f"{name}: {seconds * 1e3:.0f} ms" for seconds, name in ordered if seconds > _TINY),
        ]


def profiled(work_dir: Path, *words: str | Path) -> Spent:
    """Run the chain in a work dir under Python's profiler, which itself takes time, and say where the time goes."""
    file = work_dir.with_name(f"{work_dir.name}-profile")
    timed(pipeline(work_dir, *words, options=("-m", "cProfile", "-o", file)), cwd=CLONE)
    return spent(pstats.Stats(str(file)))


def spent(stats: pstats.Stats) -> Spent:
    """Return where the time of a profiled run went."""
    waited, programs = 0.0, 0
    own: dict[str, float] = {}
    rows: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = stats.stats  # type: ignore[attr-defined]
    for (file, _, function), (_, calls, itself, _, _) in rows.items():
        if file == "~" and any(word in function for word in _WAITING):
            waited += itself
            programs += calls if "fork_exec" in function else 0
        else:
            name = function if file == "~" else f"{Path(file).stem}.{function}"
            own[name] = own.get(name, 0.0) + itself
    return Spent(waited=waited, programs=programs, own=own)
