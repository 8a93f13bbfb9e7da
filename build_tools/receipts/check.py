"""The report of the wheel checks."""

from __future__ import annotations

from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record
from build_tools.types import Severity

__all__ = ["CheckReport", "Finding", "JudgedWheel", "Unjudged"]


class Finding(Record, frozen=True, kw_only=True):
    """One thing that a rule says about a wheel; an ``error`` makes the check fail."""

    rule: str
    severity: Severity
    wheel: str
    message: str
    member: str | None = None
    hint: str | None = None


class JudgedWheel(Record, frozen=True, kw_only=True):
    """A wheel that was checked, bound to its bytes."""

    filename: str
    sha256: Sha256


class Unjudged(Record, frozen=True, kw_only=True):
    """A rule that could not judge a wheel, and why."""

    rule: str
    wheel: str
    why: str


class CheckReport(Record, frozen=True, kw_only=True):
    """What the rules found.

    ``rules`` names every rule that judged a wheel. ``off`` are the rules that a project has turned off, by name, with its reason;
    ``unjudged`` says which could not judge which wheel.
    """

    project: str | None
    wheels: tuple[JudgedWheel, ...]
    rules: tuple[str, ...]
    findings: tuple[Finding, ...]
    off: dict[str, str] = {}
    unjudged: tuple[Unjudged, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there was something to check and no rule found an error."""
        return bool(self.wheels) and bool(self.rules) and not any(finding.severity == "error" for finding in self.findings)
