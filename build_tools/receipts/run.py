"""The record of a run in its outputs: what kind of run it is, said once."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.record import Record

__all__ = ["RunRecord"]


class RunRecord(Record, frozen=True, kw_only=True):
    """A run; ``release_type`` is None for one at a desk, of which nobody said it, ``repository`` is ``OWNER/NAME`` where it is known.

    ``since`` is when the record was first written (UTC, ISO 8601); None in those that were written before it was kept.
    """

    schema: Literal[1] = 1
    run_id: str
    platform: str
    release_type: str | None = None
    repository: str | None = None
    since: str | None = None
