"""Promotion: the very bytes that were tested, copied into a channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import by_filename
from build_tools.publish.current import read_snapshot
from build_tools.publish.gate import has_local_changes, refusals
from build_tools.publish.offer import offer_indexed
from build_tools.publish.upload import publish_offers
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.verdict import Promotion
from build_tools.stores.run_outputs import IndexFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.config.channels import Channel
    from build_tools.receipts.snapshot import IndexedFile, PublishedIndex
    from build_tools.receipts.verdict import Verdict
    from build_tools.stores.base import Store

__all__ = ["promote"]


def promote(
    index: PublishedIndex,
    verdicts: Sequence[Verdict],
    *,
    channel: Channel,
    source: Store,
    target: Store,
    say: Callable[[str], None],
    clock: Callable[[], str] = files.utc_now,
) -> Promotion:
    """Copy the files of a published index into a channel, all of them or none.

    Parameters
    ----------
    index
        What was published: the explicit list of files, with their bytes.
    verdicts
        The test results at hand.
    channel
        Where they go, and what it demands.
    source
        The store that ``index`` stands in.
    target
        The store that the channel stands in; may be the same.
    say
        Takes one line of talk.
    clock
        Tells the upload time, UTC in ISO 8601.

    Raises
    ------
    HipwrightError
        ``promotion-refused`` with all reasons, ``nothing-published`` when the source is gone, ``output-changed`` when it has other
        bytes than its index says, ``name-taken`` when the channel holds other bytes under a name.
    """
    place = IndexFolder(index.prefix)
    now = by_filename(read_snapshot(source, place))
    # Judged as their index has them today: a verdict on what was superseded, or a file yanked since, does not count.
    wanted = [now[file.filename] for file in index.files if _stands(file, now)]
    reasons = [
        f"{file.filename} was superseded in its index after it was published" for file in index.files if not _stands(file, now)
    ]
    reasons += refusals(wanted, verdicts, channel=channel) if wanted or not reasons else ()
    if reasons:
        message = f"the channel {channel.name} does not take these wheels: {'; '.join(reasons)}"
        raise HipwrightError("promotion-refused", message, hint=_advice(wanted, verdicts, channel))
    offers = [offer_indexed(file, store=source, place=place) for file in wanted]
    published = publish_offers(
        offers, store=target, place=IndexFolder(channel.prefix), replace=False, say=say, clock=clock, action="promote"
    )
    return Promotion(
        channel=channel.name,
        files=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in published.files),
        snapshot=published.snapshot,
        index_url=published.index_url,
    )


def _stands(file: IndexedFile, now: Mapping[str, IndexedFile]) -> bool:
    return file.filename in now and now[file.filename].sha256 == file.sha256


def _advice(wanted: Sequence[IndexedFile], verdicts: Sequence[Verdict], channel: Channel) -> str:
    if any(has_local_changes(file, verdicts) for file in wanted):
        return (
            "no test lets wheels with local changes in: bring the changes upstream (or save them as patches of the project and commit "
            "those), or take them out, then build, test and promote again"
        )
    if channel.accepts_cpu_only:
        return "test these wheels with `nox -s test_<project>`, then promote them again"
    return "test these wheels on a machine with a GPU, or try the chain with --channel rehearsal"
