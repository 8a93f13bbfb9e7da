"""The verdict that ``test_rocm`` reaches: what ROCm's own test said, bound to the bytes of the packages and to the GPU that it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.verdict import TestCounts, Verdict
from build_tools.testing.gpu import tested_device, verdict_target

if TYPE_CHECKING:
    from build_tools.receipts.rocm_test import RocmTestReceipt
    from build_tools.testing.choosing import VisibleDevice
    from build_tools.types import Platform, Sha256

__all__ = ["PROJECT", "counts_of", "rocm_verdict"]

PROJECT: Final = "rocm"
"""The project that these verdicts are of."""


def rocm_verdict(receipt: RocmTestReceipt, *, device: VisibleDevice | None, report: Sha256, platform: Platform) -> Verdict:
    """Return the verdict of one run of ``rocm-sdk test``.

    Its target is that of the GPU when the packages' test says that it made such a one work, else it is ``cpu-only``.

    Parameters
    ----------
    receipt
        What was installed, and what came of its test.
    device
        The GPU that the test was given.
    report
        The SHA-256 of what the test said.
    platform
        The platform that it ran on.
    """
    record = receipt.environment
    return Verdict(
        project=PROJECT,
        wheels=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in receipt.files),
        target=verdict_target(receipt.ran_on, (device.target,) if device is not None else ()),
        outcome=receipt.status,
        counts=counts_of(receipt),
        report_sha256=report,
        python_version=record.python_version,
        platform=platform.value,
        packages=tuple(sorted(f"{package.name}=={package.version}" for package in record.packages)),
        suite="rocm-sdk",
        devices=(tested_device(device),) if device is not None else (),
        environment=record.digest,
        started=receipt.started,
        seconds=receipt.seconds,
    )


def counts_of(receipt: RocmTestReceipt) -> TestCounts:
    """Return how many tests ended how; packages that tell no suites have one test, and an end that no test explains is an error."""
    if not receipt.suites:
        return TestCounts(passed=int(receipt.status == "passed"), failed=int(receipt.status == "failed"))
    suites = receipt.suites.values()
    failed = sum(len(suite.failed) for suite in suites)
    return TestCounts(
        passed=sum(suite.passed for suite in suites),
        failed=failed,
        errors=int(receipt.status == "failed" and not failed),
        skipped=sum(len(suite.untested) for suite in suites),
    )
