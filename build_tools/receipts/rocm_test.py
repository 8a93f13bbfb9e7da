"""What ``rocm-sdk test`` said of installed ROCm packages, bound to the bytes that were installed."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.ids import Sha256
from build_tools.receipts.lock import LockedFile
from build_tools.receipts.record import Record
from build_tools.receipts.values import EnvironmentRecord

__all__ = ["RocmTestReceipt", "SuiteResult", "TestedPart"]


class TestedPart(Record, frozen=True, kw_only=True):
    """A test that failed, or that could not be run here, with the reason."""

    __test__ = False

    test: str
    reason: str


class SuiteResult(Record, frozen=True, kw_only=True):
    """What came of one suite; ``passed`` is how many tests did."""

    status: Literal["passed", "failed", "untested"]
    passed: int
    failed: tuple[TestedPart, ...] = ()
    untested: tuple[TestedPart, ...] = ()
    seconds: float = 0.0


class RocmTestReceipt(Record, frozen=True, kw_only=True):
    """One run of ``rocm-sdk test``.

    ``suites`` are empty for packages whose own test tells nothing but whether it passed. ``set_id`` is that of the packages, where they
    state one; ``gpus`` are the targets of the GPUs that were at hand, ``ran_on`` of those that a test has made work.
    """

    schema: Literal[1] = 1
    status: Literal["passed", "failed"]
    version: str
    set_id: Sha256 | None = None
    gpus: tuple[str, ...] = ()
    ran_on: tuple[str, ...] = ()
    suites: dict[str, SuiteResult] = {}
    source: str
    files: tuple[LockedFile, ...]
    environment: EnvironmentRecord
    digest: Sha256
    started: str
    seconds: float
