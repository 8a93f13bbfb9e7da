"""A shard of a suite from its tests to its result: collect, plan, run the test files of the shard, and say what came of each test."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import LifoQueue
from typing import TYPE_CHECKING

from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.files import machine_failure, utc_now
from build_tools.receipts.suite import SuiteResult, SuiteTest
from build_tools.receipts.verdict import CPU_ONLY
from build_tools.testing.upstream.collecting import collect
from build_tools.testing.upstream.plan import by_file, make_plan
from build_tools.testing.upstream.running import FileEnd, run_file
from build_tools.testing.upstream.skips import applied, files_left_out, findings, pattern_of
from build_tools.testing.upstream.tree import chosen_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from build_tools.config.skips import Place, SkipRow
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.suite import SkipFinding, SuiteCode
    from build_tools.receipts.verdict import TestedDevice
    from build_tools.testing.upstream.collecting import Collected
    from build_tools.testing.upstream.desk import Desk
    from build_tools.testing.upstream.plan import SuitePlan
    from build_tools.testing.upstream.shards import Costs
    from build_tools.testing.upstream.skips import Skipped
    from build_tools.types import Sha256

__all__ = ["Asked", "Prepared", "prepare", "run_shard"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is asked of a suite.

    Parameters
    ----------
    project
        Its name.
    place
        Platform, targets, version line and configuration.
    shard, num_shards
        Which shard of how many.
    wanted
        Test files that a person named.
    skips, today
        What the skip files say, and the day.
    costs
        What is known of times.
    wheels, local, code
        What the result speaks of: the wheels, the digest of a person's changes in them, and whose tests these are.
    failed_first
        Ids that failed the last time, which come first.
    jobs
        How many test files run at once.
    gpu_tests
        Patterns of the ids of tests that run on a GPU: one that passed makes the result one on that GPU.
    devices
        The GPUs that tests can see.
    """

    project: str
    place: Place
    shard: int
    num_shards: int
    wanted: tuple[str, ...]
    skips: tuple[SkipRow, ...]
    today: date
    costs: Costs
    wheels: tuple[JudgedWheel, ...]
    local: Sha256 | None
    code: SuiteCode
    failed_first: tuple[str, ...] = ()
    jobs: int = 1
    gpu_tests: tuple[str, ...] = ()
    devices: tuple[TestedDevice, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A suite whose tests are known: the plan, what is skipped and why, and what is wrong with the skip files."""

    collected: Collected
    plan: SuitePlan
    skipped: dict[str, Skipped]
    files_left_out: dict[str, str]
    findings: tuple[SkipFinding, ...]
    narrowed: str | None


def prepare(desk: Desk, asked: Asked) -> Prepared:
    """Find a suite's tests, and cut them into shards.

    Raises
    ------
    HipwrightError
        ``no-tests`` when there are none; ``bad-option-value`` for a named test file that is none.
    """
    name = asked.place.configuration
    left_out = files_left_out(asked.skips, asked.place, asked.today)
    files = chosen_files(desk.configuration, name, desk.tests, asked.wanted)
    loaded = [file for file in files if file not in left_out]
    if not loaded:
        raise HipwrightError("no-tests", f"the skip files leave all {len(files)} test files of {name} out")
    collected = collect(desk, loaded, jobs=asked.jobs)
    if not collected.tests and not collected.broken:
        message = f"no test was collected from {counted(len(loaded), 'test file')} of {name}"
        hint = "look at what -k says" if desk.keyword else None
        raise HipwrightError("no-tests", message, hint=hint, log=desk.log(loaded[0]))
    for test in collected.twice:
        desk.say(f"more than one test is called {test}: they count as one, which passes when all of them do")
    skipped = applied(asked.skips, collected.all_tests, asked.place, asked.today)
    wrong = findings(
        asked.skips,
        collected.all_tests,
        asked.place,
        asked.today,
        tree=desk.tests.files,
        loaded=[file for file in loaded if file not in collected.broken],
    )
    narrowed = " ".join((*asked.wanted, *(("-k", desk.keyword) if desk.keyword is not None else ()))) or None
    words = (asked.project, name, asked.place.line, asked.place.platform, *asked.place.targets, desk.tests.sha256, narrowed or "")
    plan = make_plan(
        collected,
        {test: why for test, why in skipped.items() if test in set(collected.tests)},
        num_shards=asked.num_shards,
        costs=asked.costs,
        wheels=asked.wheels,
        words=words,
    )
    unseen = {file: f"skipped by us: {why.reason} ({why.link})" for file, why in left_out.items() if file in files}
    unseen |= {file: f"no test of it was collected: {why}" for file, why in collected.empty.items()}
    return Prepared(
        collected=collected,
        plan=plan,
        skipped=skipped,
        files_left_out=dict(sorted(unseen.items())),
        findings=wrong,
        narrowed=narrowed,
    )


def run_shard(desk: Desk, asked: Asked, prepared: Prepared) -> SuiteResult:
    """Run the tests of a shard; however they end is a result, and no error."""
    started, began = utc_now(), time.monotonic()
    broken = prepared.collected.broken
    groups = by_file(prepared.plan.shards[asked.shard - 1])
    failed = {test: number for number, test in enumerate(asked.failed_first)}
    # What failed the last time is told first.
    order = sorted(groups, key=lambda file: min((failed.get(test, len(failed)) for test in groups[file]), default=0))
    runnable = [file for file in order if file not in broken]
    ends: dict[str, FileEnd] = {}
    total, done = sum(len(groups[file]) for file in runnable), 0

    free: LifoQueue[Mapping[str, str]] = LifoQueue()
    for number in range(max(asked.jobs, len(desk.seats))):
        free.put(desk.seats[number % len(desk.seats)])

    def run(file: str) -> FileEnd:
        seat = free.get()
        try:
            return run_file(replace(desk, seats=(seat,)), file, groups[file], prepared.skipped, first=asked.failed_first)
        except (HipwrightError, OSError) as failure:
            # Earlier tests may have taken away what these need, the disk or the folder that they lie in: what is known is not given up.
            error = machine_failure(failure) if isinstance(failure, OSError) else failure
            if error is None:
                raise
            why = f"{error.code.name}: {error.message}"
            return FileEnd(tests={test: SuiteTest(outcome="not-run", message=why) for test in groups[file]})
        finally:
            free.put(seat)

    with ThreadPoolExecutor(max_workers=asked.jobs) as pool:
        for file, end in zip(runnable, pool.map(run, runnable), strict=True):
            ends[file] = end
            done += len(end.tests)
            desk.progress(f"tests of shard {asked.shard} of {asked.num_shards}", done, total)
    tests: dict[str, SuiteTest] = {}
    for file, entries in groups.items():
        if file in broken:
            tests |= {entry: SuiteTest(outcome="error", message=f"it cannot be loaded: {broken[file]}") for entry in entries}
        else:
            tests |= ends[file].tests
    return SuiteResult(
        project=asked.project,
        line=asked.place.line,
        configuration=asked.place.configuration,
        plan=prepared.plan.sha256,
        num_shards=asked.num_shards,
        shards=(asked.shard,),
        planned=len(prepared.plan.entries),
        narrowed=prepared.narrowed,
        wheels=asked.wheels,
        target=_target(asked, tests),
        platform=asked.place.platform,
        python_version=desk.environment.python_version,
        packages=tuple(sorted(f"{package.name}=={package.version}" for package in desk.environment.packages)),
        local=asked.local,
        devices=asked.devices,
        environment=desk.environment.digest,
        code=asked.code,
        started=started,
        seconds=round(time.monotonic() - began, 2),
        tests=tests,
        files_left_out=prepared.files_left_out,
        file_seconds={file: round(end.loading, 2) for file, end in ends.items() if end.loading is not None},
        problems=_problems(ends, desk),
        findings=prepared.findings,
        imported=any(end.imported for end in ends.values()),
    )


def _problems(ends: Mapping[str, FileEnd], desk: Desk) -> dict[str, str]:
    """Return what is wrong beside tests that failed, by test file or path of the tree."""
    found = {file: end.problem for file, end in ends.items() if end.problem is not None}
    folder = f"{desk.suite.folder}/"
    for name in desk.tests.changed():
        found.setdefault(
            name.removeprefix(folder), "it was changed or removed while the tests ran: what it tested is not what it should"
        )
    return found


def _target(asked: Asked, tests: dict[str, SuiteTest]) -> str:
    """Return the target that a result may speak of: a machine with a GPU does not turn tests of the CPU into tests of the GPU."""
    patterns = [pattern_of(text) for text in asked.gpu_tests]
    ran = any(test.outcome == "passed" and any(one.fullmatch(name) for one in patterns) for name, test in tests.items())
    return asked.place.targets[0] if ran else CPU_ONLY
