"""Failures that the same tests took back: later, on the same bytes, target, platform and Python, and whole where the failure was.

A test that fails by the fault of a machine or of its own says nothing of the wheel, which nobody builds anew for that. So the newest result
counts, and each failure that was taken back is told and stays on record.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from build_tools.receipts.verdict import Verdict
    from build_tools.types import Sha256

__all__ = ["failed", "pass_after", "retests"]


def failed(verdict: Verdict) -> bool:
    """Return whether a verdict is a failure: a test failed, or none passed where all took part."""
    if verdict.outcome != "passed" or verdict.counts.failed or verdict.counts.errors:
        return True
    return verdict.whole and not verdict.counts.passed


def pass_after(failure: Verdict, verdicts: Iterable[Verdict], wheel: Sha256) -> Verdict | None:
    """Return a verdict that took a failure on a wheel back, None where none did.

    It is by the same tests of the built commit, all those that took part in the failure took part in it, and it began later. Where
    either does not say when it began, or both began in the same second, nothing is taken back.

    Parameters
    ----------
    failure
        The failure.
    verdicts
        Verdicts at hand.
    wheel
        The SHA-256 of the wheel that is asked about.
    """
    began = _began(failure)
    if began is None:
        return None
    for one in verdicts:
        later = _began(one)
        if (
            later is not None
            and later > began
            and not failed(one)
            and one.mismatch is None
            and any(tested.sha256 == wheel for tested in one.wheels)
            and _kind(one) == _kind(failure)
            and _covers(one, failure)
        ):
            return one
    return None


def retests(verdicts: Collection[Verdict], wheels: Collection[Sha256]) -> tuple[str, ...]:
    """Return the failures on wheels that were taken back, a line each."""
    lines = set()
    for failure in verdicts:
        if not failed(failure) or failure.mismatch is not None:
            continue
        for wheel in failure.wheels:
            passed = pass_after(failure, verdicts, wheel.sha256) if wheel.sha256 in wheels else None
            if passed is not None:
                lines.add(
                    f"{wheel.filename} failed its tests on {failure.target} at {failure.started}, and passed them at {passed.started}"
                )
    return tuple(sorted(lines))


def _kind(verdict: Verdict) -> tuple[str | None, ...]:
    """Return what two verdicts by the same tests have in common."""
    python = ".".join(verdict.python_version.split(".")[:2])
    return (verdict.project, verdict.suite, verdict.configuration, verdict.target, verdict.platform, python)


def _covers(passed: Verdict, failure: Verdict) -> bool:
    return passed.whole or (passed.num_shards == failure.num_shards and set(failure.shards) <= set(passed.shards))


def _began(verdict: Verdict) -> datetime | None:
    try:
        began = datetime.fromisoformat(verdict.started or "")
    except ValueError:
        return None
    return began if began.tzinfo is not None else began.replace(tzinfo=UTC)
