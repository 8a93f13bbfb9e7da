"""Put files into an index, so that it can be installed from at every moment.

Files go first, their side files next, then the snapshot (its history first), then the pages, the root last. No object that a page
names is ever overwritten or removed, so a run that dies at any write leaves an index that still installs, and the next run goes on.
The snapshot moves by compare-and-swap: of publishers that meet, one is first and the others add to what it wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import by_filename, is_same, merged, snapshot_digest
from build_tools.publish.current import NOT_KEPT, PUBLISH_AGAIN, read_current, swap
from build_tools.publish.holdings import holdings
from build_tools.publish.offer import offer_wheel
from build_tools.publish.pages import publish_pages
from build_tools.publish.papers import put_papers
from build_tools.publish.retired import refuse_deleted, retired_by_filename
from build_tools.publish.transfer import nobody, put_files
from build_tools.publish.upload_plan import plan_upload, refuse_retired, row_of
from build_tools.receipts.snapshot import Change, PublishedIndex
from build_tools.stores.run_outputs import IndexFolder
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import MakePapers
    from build_tools.publish.transfer import Progress
    from build_tools.publish.upload_plan import UploadPlan
    from build_tools.receipts.snapshot import Action, IndexedFile, Snapshot
    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store

__all__ = ["carry_out", "publish_offers", "publish_wheels"]

_TRIES: Final = 200
"""Every lost race means that another publisher got on, so this many are only lost when something is broken."""


def publish_wheels(
    wheels: Sequence[tuple[Path, WheelFile]],
    *,
    store: Store,
    prefix: str,
    replace: bool,
    say: Callable[[str], None],
    progress: Progress = nobody,
    papers: MakePapers | None = None,
    clock: Callable[[], str] = files.utc_now,
) -> PublishedIndex:
    """Publish wheels and bring their index up to date; with the same bytes there already, nothing is written.

    Parameters
    ----------
    wheels
        Each wheel's file, absolute, and what is recorded of it.
    store
        Where to.
    prefix
        The folder of the index in the store, without a final ``/``.
    replace
        Whether a name that holds other bytes gets these instead, as a later attempt of the same run may. The older bytes stay where
        they are, for the snapshots that name them.
    say
        Takes one line of talk.
    progress
        Takes how far it is.
    papers
        Makes the papers of the wheels that have none in the index yet.
    clock
        Tells the upload time, UTC in ISO 8601.

    Returns
    -------
    PublishedIndex
        The index as it was proved to stand; ``files`` are the files of this call.

    Raises
    ------
    HipwrightError
        ``no-wheel`` for no wheels, ``several-wheels`` for one name twice, ``bad-wheel``, ``output-changed`` when a file is not what
        is recorded, ``name-taken`` when a name holds other bytes and ``replace`` is off (nothing is written then),
        ``write-conflict``, ``store-unusable``.
    """
    if not wheels:
        raise HipwrightError("no-wheel", "there is no wheel to publish", hint="build one first")
    offers = [offer_wheel(path, wheel) for path, wheel in wheels]
    return publish_offers(
        offers,
        store=store,
        place=IndexFolder(prefix),
        replace=replace,
        say=say,
        progress=progress,
        papers=papers,
        clock=clock,
    )


def publish_offers(
    offers: Sequence[Offer],
    *,
    store: Store,
    place: IndexFolder,
    replace: bool,
    say: Callable[[str], None],
    progress: Progress = nobody,
    papers: MakePapers | None = None,
    clock: Callable[[], str] = files.utc_now,
    action: Action = "publish",
) -> PublishedIndex:
    """Publish files wherever they come from; see :func:`publish_wheels`."""
    current = read_current(store, place)
    # All names are judged before the first byte is written.
    plan = plan_upload(offers, current, store=store, place=place, replace=replace, uploaded=clock(), papers=papers)
    return carry_out(plan, store=store, place=place, say=say, progress=progress, action=action)


def carry_out(
    plan: UploadPlan,
    *,
    store: Store,
    place: IndexFolder,
    say: Callable[[str], None],
    progress: Progress = nobody,
    action: Action = "publish",
    reason: str | None = None,
    wrote: Callable[[ObjectKey], object] = lambda _key: None,
) -> PublishedIndex:
    """Do what a plan says, and prove it; see :func:`publish_wheels`.

    ``action`` and ``reason`` are what the history keeps of it; ``wrote`` takes the keys of pages that were written, planned or not.
    """
    current = plan.current
    put_files(plan.transfers, store=store, place=place, say=say, progress=progress)
    if plan.papers is not None and not is_same(plan.after, plan.before):
        put_papers(plan.papers, store=store, place=place)
    change = Change(
        action=action, time=plan.uploaded, reason=reason, what=tuple(sorted({one.offer.project for one in plan.files}))
    )
    rows: Sequence[IndexedFile] = plan.rows
    for _ in range(_TRIES):
        after = merged(current.snapshot, rows)
        moved = not is_same(after, current.snapshot)
        if not moved or swap(store, place, before=current, after=after, change=change):
            break
        say("another publisher changed the index; adding to what it wrote")
        current = read_current(store, place)
        known, left = by_filename(current.snapshot), retired_by_filename(current.snapshot)
        if not plan.replace:
            refuse_retired([one.offer for one in plan.files], current.snapshot, store)
        for one in plan.files:
            refuse_deleted(one.offer.filename, one.key, left.get(one.offer.filename))
        rows = [row_of(one, known.get(one.offer.filename), uploaded=plan.uploaded, replace=plan.replace) for one in plan.files]
    else:
        raise HipwrightError(
            "write-conflict",
            f"the index at {store.url(place.prefix)} did not stand still for {_TRIES} tries",
            hint=PUBLISH_AGAIN,
        )
    final = publish_pages(
        store,
        place,
        say=say,
        projects={one.offer.project for one in plan.files},
        untouched=not moved and not plan.transfers,
        wrote=wrote,
    )
    published = _prove(plan, final, store=store, place=place)
    return PublishedIndex(
        store=store.address,
        prefix=place.prefix,
        snapshot=snapshot_digest(final),
        files=published,
        index_url=place.index_url(store),
        find_links_url=place.find_links_url(store),
    )


def _prove(plan: UploadPlan, snapshot: Snapshot, *, store: Store, place: IndexFolder) -> tuple[IndexedFile, ...]:
    """Ask the store again for everything that this call vouches for, and return the rows."""
    known = by_filename(snapshot)
    rows = []
    for one in plan.files:
        row = known.get(one.offer.filename)
        if row is None or row.sha256 != one.offer.sha256:
            message = f"another publisher took {one.offer.filename} out of the index or replaced it just now"
            raise HipwrightError("write-conflict", message, hint="look who publishes into the same place")
        rows.append(row)
    if not plan.transfers:
        # What is there was looked at when the plan was made, and nothing has been written since.
        return tuple(rows)
    offers = [one.offer for one in plan.files]
    keys = [ObjectKey(row.key) for row in rows]
    held = holdings(store, place, len(rows), among=len(known), written=True)
    for row, (file, side) in zip(rows, held.ask(offers, keys, vouched=True), strict=True):
        if not file:
            raise HipwrightError(
                "store-unusable",
                f"{store.address} does not hold what was just written to {place.key(row.key)}",
                hint=NOT_KEPT,
            )
        if not side:
            message = f"the side file of {place.key(row.key)} in {store.address} is not what the index says"
            raise HipwrightError("store-unusable", message, hint=NOT_KEPT)
    return tuple(rows)
