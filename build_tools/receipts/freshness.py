"""What a comparison of an index's promises with its files found."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.record import Record

__all__ = ["FreshnessReport", "FreshnessRow", "FreshnessState"]

FreshnessState = Literal["fresh", "late", "missing", "extra", "held"]
"""``extra`` is a package for a GPU that is none of the families promised of its project; ``held`` is one of a project of whose families nothing
is promised. All but ``fresh`` and ``held`` are findings."""


class FreshnessRow(Record, frozen=True, kw_only=True):
    """A promise for one project, family, platform and Python, and the newest file that keeps it.

    ``uploaded`` is as the index has it; ``hours`` is how long ago that was, None when it cannot be read or lies in the future.
    ``late_after_hours`` is how old it may be, None for any age.
    """

    project: str
    family: str | None
    platform: str | None
    python: str | None
    state: FreshnessState
    newest: str | None = None
    uploaded: str | None = None
    hours: float | None = None
    late_after_hours: int | None = None


class FreshnessReport(Record, frozen=True, kw_only=True):
    """How fresh a channel is at a time (UTC, ISO 8601)."""

    schema: Literal[1] = 1
    channel: str
    index: str
    time: str
    files: int
    rows: tuple[FreshnessRow, ...]
