"""The verdict: a test result bound to wheels by their bytes, and to a target."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record
from build_tools.receipts.values import FlagValue

__all__ = ["CPU_ONLY", "Promotion", "TestCounts", "Verdict"]

CPU_ONLY = "cpu-only"
"""The target of a verdict that was reached without a GPU."""


class TestCounts(Record, frozen=True, kw_only=True):
    """How many tests ended how."""

    __test__ = False

    passed: int
    failed: int = 0
    errors: int = 0
    skipped: int = 0


class Verdict(Record, frozen=True, kw_only=True):
    """A test result; it speaks of these bytes on this target alone. ``flags`` are those that the wheels were proved to have."""

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


class Promotion(Record, frozen=True, kw_only=True):
    """What was promoted: the channel, the files with their bytes, and the snapshot of the channel's index afterwards."""

    channel: str
    files: tuple[JudgedWheel, ...]
    snapshot: Sha256
    index_url: str
