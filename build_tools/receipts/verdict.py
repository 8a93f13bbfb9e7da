"""The verdict: a test result bound to wheels by their bytes, and to a target."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record
from build_tools.receipts.values import FlagValue

__all__ = ["CPU_ONLY", "FlakyTest", "Promotion", "PromotionRecord", "TestCounts", "TestedDevice", "Verdict"]

CPU_ONLY = "cpu-only"
"""The target of a verdict that was reached without a GPU."""


class TestCounts(Record, frozen=True, kw_only=True):
    """How many tests ended how; ``not_run`` are those that need a GPU where there is none."""

    __test__ = False

    passed: int
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    not_run: int = 0


class TestedDevice(Record, frozen=True, kw_only=True):
    """A GPU that tests were given: architecture, what its maker calls it, memory in bytes, driver, and the name that never moves."""

    __test__ = False

    target: str
    name: str | None = None
    memory: int | None = None
    driver: str | None = None
    uuid: str | None = None


class FlakyTest(Record, frozen=True, kw_only=True):
    """A test that passed only when it was tried again; ``message`` is what it failed with."""

    test: str
    attempts: int
    message: str = ""

    @property
    def told(self) -> str:
        """It in one line."""
        return f"{self.test} passed at attempt {self.attempts}: {self.message}"


class Verdict(Record, frozen=True, kw_only=True):
    """A test result; it speaks of these bytes on this target alone.

    ``suite`` says which tests these were: the project's smoke tests, upstream's own, or ROCm's own. ``flags`` are those that the wheels
    were proved to have. ``devices`` are the GPUs that the tests were given, also where none of them ran anything there. ``environment``
    is the digest of what was installed. ``flaky`` are tests that passed at a later attempt. ``mismatch`` says, where the tests are not
    those of the built commit, which they are of; such a verdict counts for nothing. ``configuration`` is that of upstream's suite, and
    ``shards`` are those of its ``num_shards`` shards that took part: a pass of some of them is none of the suite. ``started`` is when, in UTC; ``seconds`` is how long it took.
    """

    schema: Literal[1] = 1
    project: str
    wheels: tuple[JudgedWheel, ...]
    target: str
    outcome: Literal["passed", "failed"]
    counts: TestCounts
    report_sha256: Sha256
    python_version: str
    platform: str
    local: Sha256 | None = None
    packages: tuple[str, ...] = ()
    flags: tuple[FlagValue, ...] = ()
    suite: Literal["smoke", "upstream", "rocm-sdk"] = "smoke"
    devices: tuple[TestedDevice, ...] = ()
    environment: Sha256 | None = None
    flaky: tuple[FlakyTest, ...] = ()
    mismatch: str | None = None
    configuration: str | None = None
    shards: tuple[int, ...] = (1,)
    num_shards: int = 1
    started: str | None = None
    seconds: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether all shards took part."""
        return self.shards == tuple(range(1, self.num_shards + 1))


class Promotion(Record, frozen=True, kw_only=True):
    """What was promoted: the channel, the files with their bytes, and the snapshot of the channel's index afterwards."""

    channel: str
    files: tuple[JudgedWheel, ...]
    snapshot: Sha256
    index_url: str


class PromotionRecord(Record, frozen=True, kw_only=True):
    """Why a channel took files: where they came from, the verdicts that were judged, by the digests that name them, and who was overruled.

    ``override`` is the reason that a person gave for wheels without a test, None where tests were enough. ``unjudged`` are requirements
    that nobody looked for, a line each. It is written before the channel's snapshot names the files.
    """

    schema: Literal[1] = 1
    channel: str
    source: str
    source_snapshot: Sha256
    release_type: str | None
    files: tuple[JudgedWheel, ...]
    verdicts: tuple[Sha256, ...]
    override: str | None = None
    unjudged: tuple[str, ...] = ()
