"""What the test runner adds to plain pytest on 2,000 quick tests: limits, stacks, results as they come, and the search for leftovers.

Usage: ``python -m benchmarks.runner_overhead [ROUNDS]``. Both take turns, with the same arguments and both with a JUnit report; the median
of the pairs' differences counts, of ours and of the plain time with a twentieth added.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Pair, Result, Timed, machine_environment, median, pairs, rounds, scratch, show, timed
from build_tools.process import Runner
from build_tools.testing.outcome import raise_for_outcome
from build_tools.testing.request import TestRequest
from build_tools.testing.run import run_tests

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT: Final = 1.5
TESTS: Final = 2000

_SHARE: Final = 0.05
_FILES: Final = 20
_SOURCE: Final = (
    "import pytest\n\n@pytest.mark.parametrize('number', range({count}))\ndef test_quick(number):\n    assert number >= 0\n"
)
_ARGUMENTS: Final = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist")


def result(found: Sequence[Pair]) -> Result:
    """Return the goal as measured by pairs."""
    return Result(
        name="the test runner beyond pytest and a twentieth",
        limit=LIMIT,
        limit_on="difference",
        ours=median([pair.ours.seconds for pair in found]),
        baseline=median([pair.baseline.seconds for pair in found]),
        ratio=median([pair.ours.seconds / pair.baseline.seconds for pair in found]),
        difference=median([pair.ours.seconds - pair.baseline.seconds * (1 + _SHARE) for pair in found]),
        detail={"pairs": len(found), "tests": TESTS},
    )


def ours(folder: Path, tests: Path) -> Timed:
    """Run the tests by the runner, to a judged outcome."""
    request = TestRequest(
        python=Path(sys.executable),
        environment=Path(sys.prefix),
        cwd=folder,
        root=tests,
        tests=(tests.name,),
        arguments=_ARGUMENTS,
    )
    started = time.perf_counter()
    runner = Runner(environment=machine_environment(os.environ))
    outcome = run_tests(request, runner=runner, folder=folder / "out", log=folder / "log")
    seconds = time.perf_counter() - started
    raise_for_outcome(outcome, what="quick tests")
    if outcome.counts.passed != TESTS:
        message = f"{outcome.counts.passed} of {TESTS} tests passed; nothing was measured"
        raise SystemExit(message)
    return Timed(seconds=seconds, processor_seconds=0.0, stdout="", stderr="")


def plain(folder: Path, tests: Path) -> Timed:
    """Run the tests by pytest itself."""
    arguments = [f"--rootdir={tests}", *_ARGUMENTS, f"--junitxml={folder / 'plain.xml'}", tests.name]
    return timed([sys.executable, "-I", "-B", "-m", "pytest", *arguments], cwd=folder)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 5)
    with scratch() as folder:
        tests = folder / "quick"
        tests.mkdir()
        for number in range(_FILES):
            (tests / f"test_{number}.py").write_text(_SOURCE.format(count=TESTS // _FILES), encoding="utf-8")

        def profile() -> list[str]:
            path = str(tests / "test_0.py")
            few = timed([sys.executable, "-I", "-B", "-m", "pytest", *_ARGUMENTS, path], cwd=folder).seconds
            return [f"pytest on {TESTS // _FILES} of these tests: {few:.3f} s"]

        show(result(pairs(lambda: ours(folder, tests), lambda: plain(folder, tests), count)), profile)


if __name__ == "__main__":
    main(sys.argv[1:])
