"""Which tests the test files of a suite have: each file is asked in a process of its own, for one that crashes hides no other."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.testing.run import run_tests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.testing.upstream.desk import Desk

__all__ = ["Collected", "collect"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What test files have.

    Parameters
    ----------
    tests
        The ids that are chosen, in order, each once.
    all_tests
        The ids before ``-k`` chose among them.
    broken
        By test file, why its tests cannot be loaded.
    empty
        Test files that skip themselves or have no test, with the reason.
    twice
        Ids that more than one test has.
    file_seconds
        By test file, how long it took to load.
    """

    tests: tuple[str, ...]
    all_tests: tuple[str, ...]
    broken: dict[str, str] = field(default_factory=dict)
    empty: dict[str, str] = field(default_factory=dict)
    twice: tuple[str, ...] = ()
    file_seconds: dict[str, float] = field(default_factory=dict)


@dataclass(kw_only=True, slots=True)
class _OneFile:
    file: str
    tests: tuple[str, ...] = ()
    all_tests: tuple[str, ...] = ()
    broken: str | None = None
    empty: str | None = None
    seconds: float = 0.0


def collect(desk: Desk, files: Sequence[str], *, jobs: int) -> Collected:
    """Ask test files for their tests.

    Parameters
    ----------
    desk
        Where and with what.
    files
        The test files.
    jobs
        How many are asked at once.
    """
    done: list[_OneFile] = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for one in pool.map(lambda file: _ask(desk, file), files):
            done.append(one)
            desk.progress("test files whose tests are known", len(done), len(files))
    all_tests = [test for one in done for test in one.all_tests]
    return Collected(
        tests=tuple(dict.fromkeys(test for one in done for test in one.tests)),
        all_tests=tuple(dict.fromkeys(all_tests)),
        broken={one.file: one.broken for one in done if one.broken is not None},
        empty={one.file: one.empty for one in done if one.empty is not None},
        twice=tuple(test for test, times in Counter(all_tests).items() if times > 1),
        file_seconds={one.file: round(one.seconds, 2) for one in done},
    )


def _ask(desk: Desk, file: str) -> _OneFile:
    place = desk.place(file) / "collected"
    listing = desk.place(file) / "all.json"
    shutil.rmtree(place, ignore_errors=True)
    listing.unlink(missing_ok=True)
    keyword = ("-k", desk.keyword) if desk.keyword is not None else ()
    request = desk.request(file, {"all": str(listing)}, name="collect", arguments=("--collect-only", "-q", *keyword))
    outcome = run_tests(request, runner=desk.runner, folder=place, log=desk.log(file), say=desk.say)
    story, one = outcome.story, _OneFile(file=file, seconds=outcome.seconds)
    failed = [result for result in story.results.values() if result.outcome == "error"]
    if failed:
        one.broken = failed[0].message or "it cannot be loaded; see the log"
    elif story.collected is None or story.end is None or not listing.is_file():
        problem = outcome.problem or HipwrightError("no-report", "its process ended before its tests were known")
        one.broken = f"{problem.code.name}: {problem.message}"
    else:
        one.tests = story.collected
        one.all_tests = tuple(json.loads(listing.read_bytes()))
        if not one.all_tests:
            reasons = [result.message for result in story.results.values() if result.outcome == "skipped"]
            one.empty = reasons[0] if reasons else "it has no tests"
    return one
