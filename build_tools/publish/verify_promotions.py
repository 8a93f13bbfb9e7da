"""Whether a channel still tells why it has each file: the records of its promotions, and the verdicts that these name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.index.layout import PROMOTIONS, VERDICTS, verdict_key
from build_tools.publish.run_references import read_records
from build_tools.publish.seen import Seen
from build_tools.receipts.verdict import PromotionRecord

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import Snapshot
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder

__all__ = ["look_at_promotions"]


def look_at_promotions(store: Store, place: IndexFolder, snapshot: Snapshot, *, promoted: bool) -> Seen:
    """Read the records of all promotions into an index, and say what they do not tell.

    Parameters
    ----------
    store
        Where the index is.
    place
        Where in it.
    snapshot
        Where it stands.
    promoted
        Whether its history says that files were promoted into it, so that there must be records.
    """
    try:
        records = read_records(store, place, PROMOTIONS, PromotionRecord)
        there = {one.key for one in store.list(place.key(VERDICTS))}
    except HipwrightError as error:
        if error.code.name != "bad-index":
            return Seen(unjudged=(f"promotions: they cannot be listed ({error.message})",))
        return Seen(faults=((PROMOTIONS, error.message),))
    named = dict.fromkeys(sha256 for record in records for sha256 in record.verdicts)
    lost = [verdict_key(sha256) for sha256 in named if place.key(verdict_key(sha256)) not in there]
    faults: list[tuple[str, str]] = [(key, "the record of a promotion names this verdict, and it is not there") for key in lost]
    if records or promoted:
        told = {(file.filename, file.sha256) for record in records for file in record.files}
        untold = [file for file in snapshot.files if (file.filename, file.sha256) not in told]
        faults += [(file.key, "no record of a promotion says why it is in this channel") for file in untold]
    return Seen(faults=tuple(faults))
