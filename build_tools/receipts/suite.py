"""What came of a suite of tests that the sources bring along: of one shard, of several merged, of all."""

from __future__ import annotations

from typing import ClassVar, Literal

from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record
from build_tools.receipts.snapshot import PublishedIndex
from build_tools.receipts.verdict import FlakyTest, TestCounts, TestedDevice

__all__ = ["BAD_OUTCOMES", "MeasuredTimes", "SkipFinding", "SuiteCode", "SuiteOutcome", "SuiteResult", "SuiteTest", "counts_of"]

SuiteOutcome = Literal["passed", "failed", "error", "crashed", "timed-out", "not-run", "skipped", "skipped-by-us"]

BAD_OUTCOMES = frozenset({"failed", "error", "crashed", "timed-out", "not-run"})
"""The outcomes that no verdict passes with."""


class SuiteTest(Record, frozen=True, kw_only=True):
    """How one test ended. ``attempts`` above 1 are reruns: one that passed then is flaky. ``link`` is that of our skip."""

    outcome: SuiteOutcome
    seconds: float = 0.0
    message: str = ""
    attempts: int = 1
    link: str | None = None


class SkipFinding(Record, frozen=True, kw_only=True):
    """What is wrong with an entry of a skip file, and where that stands."""

    kind: Literal["no-match", "expired"]
    where: str
    message: str


class SuiteCode(Record, frozen=True, kw_only=True):
    """Whose tests ran on whose wheel: the commit of the tests, the one that the wheel says it was built from, and whether both are one.

    ``wheel_commit`` is None for a wheel that says nothing. ``tests_digest`` is the digest of the tests' files as they stood.
    """

    tests_commit: str
    tests_digest: Sha256
    wheel_commit: str | None
    same: bool


class SuiteResult(Record, frozen=True, kw_only=True):
    """What came of a suite, or of some shards of it.

    ``plan`` is the digest of everything that decides which shard has which test: results of one plan can be merged, and no others.
    ``shards`` are the shards that this result holds, of ``num_shards`` in all; ``planned`` is how many tests the plan has. ``narrowed`` says
    how a person chose a part of the suite; such a result is none of the suite. ``file_seconds`` is what a test file costs before its
    first test. ``problems`` are of test files whose process ended badly after its last test, or imported from elsewhere what it was to test.
    ``devices`` are the GPUs that tests could see, and ``environment`` is the digest of what was installed, None for shards that differ in it.
    ``imported`` says whether a process that came to its end had imported the wheel under test. ``index`` is where a run has published the wheel,
    ``pages`` are the places that a person named for it.
    """

    MADE_BY: ClassVar[str | None] = "nox -s test_pytorch_full"

    schema: Literal[1] = 1
    project: str
    line: str
    configuration: str
    plan: Sha256
    num_shards: int
    shards: tuple[int, ...]
    planned: int
    narrowed: str | None = None
    wheels: tuple[JudgedWheel, ...]
    target: str
    platform: str
    python_version: str
    packages: tuple[str, ...] = ()
    local: Sha256 | None = None
    devices: tuple[TestedDevice, ...] = ()
    environment: Sha256 | None = None
    code: SuiteCode
    started: str
    seconds: float
    tests: dict[str, SuiteTest]
    files_left_out: dict[str, str] = {}
    file_seconds: dict[str, float] = {}
    problems: dict[str, str] = {}
    findings: tuple[SkipFinding, ...] = ()
    imported: bool = False
    index: PublishedIndex | None = None
    pages: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every shard is in it."""
        return self.shards == tuple(range(1, self.num_shards + 1))

    @property
    def passed(self) -> bool:
        """Whether it may count as a pass: a test of the wheel passed, none ended badly, and no process of theirs did.

        Of some shards alone no more is asked than that nothing ended badly: theirs may be tests that are all skipped.
        """
        sound = not self.problems and not self.ended(*BAD_OUTCOMES)
        return sound and (not self.whole or (self.imported and bool(self.ended("passed"))))

    @property
    def counts(self) -> TestCounts:
        """How many tests ended how."""
        return counts_of(self.tests)

    @property
    def flaky(self) -> tuple[FlakyTest, ...]:
        """The tests that passed after an attempt that did not."""
        return tuple(
            FlakyTest(test=name, attempts=test.attempts, message=test.message)
            for name, test in self.ended("passed").items()
            if test.attempts > 1
        )

    def ended(self, *outcomes: str) -> dict[str, SuiteTest]:
        """Return the tests that ended in one of these ways."""
        return {name: test for name, test in self.tests.items() if test.outcome in outcomes}


class MeasuredTimes(Record, frozen=True, kw_only=True):
    """How long tests took, in seconds by id, and what loading each test file took; by configuration."""

    MADE_BY: ClassVar[str | None] = "nox -s merge_tests"

    schema: Literal[1] = 1
    project: str
    tests: dict[str, dict[str, float]] = {}
    files: dict[str, dict[str, float]] = {}


def counts_of(tests: dict[str, SuiteTest]) -> TestCounts:
    """Return how many tests ended how; what crashed, ran into its limit or did not run counts as an error."""
    found = [test.outcome for test in tests.values()]
    skipped = found.count("skipped") + found.count("skipped-by-us")
    passed, failed = found.count("passed"), found.count("failed")
    return TestCounts(passed=passed, failed=failed, errors=len(found) - passed - failed - skipped, skipped=skipped)
