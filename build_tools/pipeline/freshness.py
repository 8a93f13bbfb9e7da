"""``freshness``: tell what a channel promises and does not have, or has not had for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools import files
from build_tools.config.freshness import load_freshness
from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.pipeline.index_place import index_place
from build_tools.publish.current import read_snapshot
from build_tools.publish.freshness import judge_freshness
from build_tools.receipts.freshness import FreshnessReport, FreshnessRow
from build_tools.receipts.record import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.workplace import Workplace

__all__ = ["freshness"]


def freshness(workplace: Workplace, *, clock: Callable[[], str] = files.utc_now) -> dict[str, Any]:
    """Compare the promises of a channel with its snapshot.

    Parameters
    ----------
    workplace
        Names the channel and its store.
    clock
        Tells the time, UTC in ISO 8601.

    Returns
    -------
    dict
        Under ``freshness``: the report, a row for each promise.

    Raises
    ------
    HipwrightError
        ``index-late`` when something is late, missing, or named as no promise names it; ``nothing-published`` for an index that holds
        no file; ``bad-data-file`` when the promises are broken, ``bad-index``, and what
        :func:`build_tools.pipeline.index_place.index_place` raises.
    """
    table = load_freshness()
    named = index_place(workplace, writing=False)
    if named.channel is None:
        hint = "name a channel with --channel, and none with --run-id"
        raise HipwrightError("bad-option-value", "channels make promises, runs make none", hint=hint)
    snapshot = read_snapshot(named.store, named.place)
    now = clock()
    report = FreshnessReport(
        channel=named.channel,
        index=named.place.index_url(named.store),
        time=now,
        files=len(snapshot.files),
        rows=judge_freshness(snapshot, table.of_channel(named.channel).promise, now=now),
    )
    _tell(report, workplace)
    document: dict[str, Any] = {"freshness": plain(report)}
    wrong = [row for row in report.rows if row.state not in {"fresh", "held"}]
    if wrong:
        others = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        message = f"the channel {named.channel} does not keep what it promises: {_words(wrong[0])}{others}"
        hint = (
            "look at the last runs that should have been promoted; what is promised is in build_tools/config/data/freshness.toml"
        )
        raise HipwrightError("index-late", message, hint=hint, document=document)
    return document


def _tell(report: FreshnessReport, workplace: Workplace) -> None:
    rows = [
        (row.state, row.project, row.family or "", row.platform or "", row.python or "", row.newest or "", row.uploaded or "")
        for row in report.rows
    ]
    promised = any(row.state != "held" for row in report.rows)
    note = "" if promised else f"nothing is promised of this channel; it holds {counted(report.files, 'file')}"
    head = ("state", "project", "family", "platform", "python", "newest", "uploaded")
    workplace.console.table(f"Freshness of the channel {report.channel} at {report.time}", head, rows, note=note)


def _words(row: FreshnessRow) -> str:
    if row.state == "extra":
        return f"{row.project} is there and not promised"
    whom = "".join(f", {word}" for word in (row.platform, row.python and f"Python {row.python}") if word)
    if row.state == "missing":
        return f"{row.project}{whom} is missing"
    if row.hours is None:
        return f"{row.project}{whom} came at {row.uploaded}, which is no time that has been"
    return f"{row.project}{whom} came {row.hours:.0f} hours ago, and {row.late_after_hours} are the most"
