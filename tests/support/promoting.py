"""Promotion in one step, as tests ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.config.channels import load_channels
from build_tools.publish.gate import Circumstances
from build_tools.publish.promote import Request, carry_out, plan_promotion
from build_tools.receipts.check import JudgedWheel
from build_tools.stores.run_outputs import IndexFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.receipts.verdict import Promotion, Verdict
    from build_tools.stores.base import Store

__all__ = ["promote", "request_for"]


def request_for(
    index: PublishedIndex,
    *,
    source: Store,
    target: Store | None = None,
    channel: str = "rehearsal",
    verdicts: Sequence[Verdict] = (),
    release_type: str | None = None,
) -> Request:
    """Return what promotes all files of an index; no index is named beside the channel."""
    return Request(
        files=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files),
        origin=IndexFolder(index.prefix),
        source=source,
        channel=load_channels().find_channel(channel),
        target=target or source,
        verdicts=verdicts,
        circumstances=Circumstances(release_type=release_type),
    )


def promote(
    index: PublishedIndex,
    verdicts: Sequence[Verdict],
    *,
    source: Store,
    target: Store,
    channel: str = "rehearsal",
    release_type: str | None = None,
    time: str = "2026-02-02T00:00:00Z",
) -> Promotion:
    """Promote all files of an index at a time."""
    request = request_for(index, source=source, target=target, channel=channel, verdicts=verdicts, release_type=release_type)
    return carry_out(plan_promotion(request), say=lambda _line: None, clock=lambda: time)
