"""What was found when a published index was looked at from outside."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.record import Record

__all__ = ["IndexFinding", "IndexReport", "IndexRule"]

IndexRule = Literal[
    "empty", "snapshot", "history", "page", "file", "side-file", "metadata", "requires", "provenance", "verdict", "promotion"
]
"""The rule that a finding breaks: see ``docs/how-to/keep-an-index.md``."""


class IndexFinding(Record, frozen=True, kw_only=True):
    """A broken rule: which one, the key or the address that breaks it, and how."""

    rule: IndexRule
    where: str
    message: str


class IndexReport(Record, frozen=True, kw_only=True):
    """What of an index was looked at, what could not be judged, and what breaks a rule.

    ``size`` are the bytes of files that were read; ``history`` is how many snapshots the chain has, None where there is none.
    """

    schema: Literal[1] = 1
    address: str
    projects: int
    files: int
    size: int
    history: int | None
    unjudged: tuple[str, ...] = ()
    findings: tuple[IndexFinding, ...] = ()
