"""Put files into an index, so that it can be installed from at every moment.

Files go first, their side files next, then the snapshot (its history first), then the pages, the root last. No object that a page
names is ever overwritten or removed, so a run that dies at any write leaves an index that still installs, and the next run goes on.
The snapshot moves by compare-and-swap: of publishers that meet, one is first and the others add to what it wrote.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

import humanize

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.index import layout
from build_tools.index.snapshots import by_filename, merged, snapshot_digest
from build_tools.publish.current import FOR_EVER, put_new, read_current, swap
from build_tools.publish.offer import offer_wheel
from build_tools.publish.pages import publish_pages
from build_tools.receipts.snapshot import PublishedIndex
from build_tools.stores.run_outputs import IndexFolder
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from build_tools.publish.offer import Offer
    from build_tools.receipts.snapshot import IndexedFile, Snapshot
    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store

__all__ = ["publish_offers", "publish_wheels"]

_TRIES: Final = 200
"""Every lost race means that another publisher got on, so this many are only lost when something is broken."""

_WHEEL_TYPE: Final = "application/zip"
_SDIST_TYPE: Final = "application/gzip"
_METADATA_TYPE: Final = "text/plain; charset=utf-8"


def publish_wheels(
    wheels: Sequence[tuple[Path, WheelFile]],
    *,
    store: Store,
    prefix: str,
    replace: bool,
    say: Callable[[str], None],
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
    return publish_offers(offers, store=store, place=IndexFolder(prefix), replace=replace, say=say, clock=clock)


def publish_offers(
    offers: Sequence[Offer],
    *,
    store: Store,
    place: IndexFolder,
    replace: bool,
    say: Callable[[str], None],
    clock: Callable[[], str] = files.utc_now,
) -> PublishedIndex:
    """Publish files wherever they come from; see :func:`publish_wheels`."""
    for name, times in collections.Counter(offer.filename for offer in offers).items():
        if times > 1:
            raise HipwrightError("several-wheels", f"{name} is to be published {times} times at once")
    uploaded = clock()
    current = read_current(store, place)
    # All names are judged before the first byte is written.
    known = by_filename(current.snapshot)
    keys = {
        offer.filename: _key_for(offer, known.get(offer.filename), store=store, place=place, replace=replace) for offer in offers
    }
    for offer in offers:
        _put_file(offer, place.key(keys[offer.filename]), store=store, say=say)
    for _ in range(_TRIES):
        known = by_filename(current.snapshot)
        rows = [
            _row(offer, known.get(offer.filename), key=keys[offer.filename], uploaded=uploaded, replace=replace)
            for offer in offers
        ]
        after = merged(current.snapshot, rows)
        if after == current.snapshot or swap(store, place, before=current, after=after):
            break
        say("another publisher changed the index; adding to what it wrote")
        current = read_current(store, place)
    else:
        raise HipwrightError("write-conflict", f"the index at {store.url(place.prefix)} did not stand still for {_TRIES} tries")
    final = publish_pages(store, place, say=say, projects={offer.project for offer in offers})
    published = _prove(offers, final, store=store, place=place)
    return PublishedIndex(
        store=store.address,
        prefix=place.prefix,
        snapshot=snapshot_digest(final),
        files=published,
        index_url=place.index_url(store),
        find_links_url=place.find_links_url(store),
    )


def _key_for(offer: Offer, row: IndexedFile | None, *, store: Store, place: IndexFolder, replace: bool) -> ObjectKey:
    """Return the key, relative to the index, under which a file's bytes are or will be; ``row`` is what the index has of its name."""
    if row is not None and row.sha256 == offer.sha256:
        return ObjectKey(row.key)
    if row is not None and not replace:
        raise _taken(offer, row.sha256, store)
    key = layout.file_key(offer.filename)
    there = store.head(place.key(key))
    if there is None or there.sha256 == offer.sha256:
        return key
    if not replace:
        raise _taken(offer, there.sha256, store)
    return layout.superseding_key(offer.filename, offer.sha256)


def _put_file(offer: Offer, key: ObjectKey, *, store: Store, say: Callable[[str], None]) -> None:
    """Write a file and its side file unless they are there."""
    if not _is_there(offer, key, store):
        kind = _WHEEL_TYPE if offer.filename.endswith(".whl") else _SDIST_TYPE
        with offer.opened() as path:
            try:
                store.put(key, path, content_type=kind, cache_seconds=FOR_EVER, sha256=offer.sha256, if_absent=True)
            except HipwrightError as error:
                if error.code.name != "write-conflict":
                    raise
                # Another publisher came first: with the same bytes that is as good.
                if not _is_there(offer, key, store):
                    there = store.head(key)
                    raise _taken(offer, there.sha256 if there else None, store) from error
        say(f"published {offer.filename} ({humanize.naturalsize(offer.size, binary=True)})")
    if offer.metadata is not None:
        put_new(store, layout.metadata_key(key), offer.metadata, content_type=_METADATA_TYPE)


def _row(offer: Offer, row: IndexedFile | None, *, key: ObjectKey, uploaded: str, replace: bool) -> IndexedFile:
    """Return the index's row for a file: ``row``, which is there, when it is of the same bytes, with its upload time and yank."""
    if row is None:
        return offer.indexed(key, uploaded=uploaded)
    if row.sha256 == offer.sha256:
        return row
    if not replace:
        raise _taken(offer, row.sha256, None)
    return offer.indexed(key, uploaded=uploaded)


def _prove(offers: Sequence[Offer], snapshot: Snapshot, *, store: Store, place: IndexFolder) -> tuple[IndexedFile, ...]:
    """Ask the store again for everything that this call vouches for, and return the rows."""
    rows = []
    known = by_filename(snapshot)
    for offer in offers:
        row = known.get(offer.filename)
        if row is None or row.sha256 != offer.sha256:
            message = f"another publisher took {offer.filename} out of the index or replaced it just now"
            raise HipwrightError("write-conflict", message, hint="look who publishes into the same place")
        key = place.key(row.key)
        if not _is_there(offer, key, store):
            raise HipwrightError("store-unusable", f"{store.address} does not hold what was just written to {key}")
        if row.metadata_sha256 is not None:
            side = store.get(layout.metadata_key(key))
            if side is None or digest.of_bytes(side.data) != row.metadata_sha256:
                message = f"the side file of {key} in {store.address} is not what the index says"
                raise HipwrightError("store-unusable", message)
        rows.append(row)
    return tuple(rows)


def _is_there(offer: Offer, key: ObjectKey, store: Store) -> bool:
    there = store.head(key)
    return there is not None and (there.size, there.sha256) == (offer.size, offer.sha256)


def _taken(offer: Offer, there: str | None, store: Store | None) -> HipwrightError:
    where = f" in {store.address}" if store is not None else ""
    message = f"{offer.filename}{where} already holds other bytes ({there or 'unknown'}, not {offer.sha256})"
    return HipwrightError(
        "name-taken", message, hint="a published name never changes: build with another version or build number"
    )
