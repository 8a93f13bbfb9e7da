"""The snapshot that an index stands at: reading it, and moving it on by compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.index import layout
from build_tools.index.plan import pages
from build_tools.index.snapshots import by_filename, snapshot_digest
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.snapshot import Snapshot
from build_tools.stores.base import parse_key
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from build_tools.stores.base import Content, Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import Sha256

__all__ = ["ASK_EVERY_TIME", "FOR_EVER", "Current", "put_new", "read_current", "read_snapshot", "swap"]

FOR_EVER: Final = 365 * 24 * 3600
"""Seconds that a client may keep what never changes under its key: files, side files, the history."""

ASK_EVERY_TIME: Final = 0
"""Seconds that a client may keep a page unasked: none, else it installs by an old page."""

_TYPE: Final = "application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Current:
    """A snapshot as it was read; ``etag`` is None when the index has none yet."""

    snapshot: Snapshot
    etag: str | None


def read_current(store: Store, place: IndexFolder) -> Current:
    """Return the snapshot that an index stands at, an empty one when nothing was published there.

    Pages are only ever written after a snapshot, and no snapshot that is written is empty. So one that is missing or empty beside
    pages was lost, and to go on from nothing would take every file but the new ones out of the index.

    Raises
    ------
    HipwrightError
        ``bad-index`` when what lies there is no snapshot, or it was lost.
    """
    key = place.key(layout.SNAPSHOT)
    content = store.get(key)
    if content is None and _has_pages(store, place):
        # It was not there yet, or it is gone: of the two, only what is gone stays away.
        content = store.get(key)
        if content is None:
            raise _damaged(store, place, "is gone")
    if content is None:
        return Current(snapshot=Snapshot(files=()), etag=None)
    snapshot = _parsed(content, store, place)
    if not snapshot.files and _has_pages(store, place):
        raise _damaged(store, place, "names no file")
    return Current(snapshot=snapshot, etag=content.info.etag)


def read_snapshot(store: Store, place: IndexFolder) -> Snapshot:
    """Return the snapshot that an index stands at.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when there is none, or it is empty; ``bad-index``.
    """
    snapshot = read_current(store, place).snapshot
    if not snapshot.files:
        raise HipwrightError("nothing-published", f"there is no index with files at {store.url(place.prefix)}")
    return snapshot


def swap(store: Store, place: IndexFolder, *, before: Current, after: Snapshot) -> bool:
    """Move the index from one snapshot to the next, the history first; return whether nobody else was quicker."""
    data = to_json(after)
    put_new(store, place.key(layout.history_key(snapshot_digest(after))), data, content_type=_TYPE)
    try:
        store.put(
            place.key(layout.SNAPSHOT),
            data,
            content_type=_TYPE,
            cache_seconds=ASK_EVERY_TIME,
            if_absent=before.etag is None,
            if_match=before.etag,
        )
    except HipwrightError as error:
        if error.code.name != "write-conflict":
            raise
        return False
    return True


def put_new(store: Store, key: ObjectKey, data: bytes, *, content_type: str, sha256: Sha256 | None = None) -> bool:
    """Write a small object that never changes, and return whether it had to be written.

    Raises
    ------
    HipwrightError
        ``name-taken`` when other bytes lie there; ``output-changed`` when ``data`` is not what ``sha256`` says.
    """
    there = store.get(key)
    if there is None:
        try:
            store.put(key, data, content_type=content_type, cache_seconds=FOR_EVER, sha256=sha256, if_absent=True)
        except HipwrightError as error:
            if error.code.name != "write-conflict":
                raise
            there = store.get(key)
        else:
            return True
    if there is None or there.data != data:
        raise HipwrightError("name-taken", f"{key} in {store.address} holds other bytes")
    return False


def _parsed(content: Content, store: Store, place: IndexFolder) -> Snapshot:
    key = place.key(layout.SNAPSHOT)
    try:
        snapshot = from_json(content.data, Snapshot, name=layout.SNAPSHOT, code="bad-index")
        for file in snapshot.files:
            Version(file.version)
            parse_key(file.key)
    except (HipwrightError, InvalidVersion) as error:
        raise _damaged(store, place, f"cannot be used ({error})") from error
    if len(by_filename(snapshot)) != len(snapshot.files):
        raise _damaged(store, place, f"cannot be used ({key} names a file twice)")
    return snapshot


def _has_pages(store: Store, place: IndexFolder) -> bool:
    """Return whether an index was published here: its pages, and its files or its history."""
    return any(_holds(store, place, page) for page in (layout.SIMPLE, layout.SIMPLE_JSON, layout.FLAT_PAGE)) and any(
        _holds(store, place, part) for part in (layout.DIST, layout.HISTORY)
    )


def _holds(store: Store, place: IndexFolder, part: str) -> bool:
    key = place.key(part)
    return any(True for _ in store.list(key)) or store.head(key) is not None


def _damaged(store: Store, place: IndexFolder, what: str) -> HipwrightError:
    """Return the error for a snapshot that is lost or damaged, with the very copy that restores it where the pages prove which."""
    key = place.key(layout.SNAPSHOT)
    kept = [one.key for one in store.list(place.key(layout.HISTORY)) if one.key.endswith(".json")]
    proved = next((one for one in kept if _is_shown(store, place, one)), None)
    folder = f"{store.address}/{place.key(layout.HISTORY)}"
    if proved is not None:
        hint = f"the pages show the snapshot {store.address}/{proved}: copy it to {store.address}/{key}"
    elif kept:
        hint = f"copy the newest snapshot in {folder} to {store.address}/{key}"
    else:
        hint = f"{folder} keeps no snapshot: bring both back from a copy of the store, or publish to another place"
    message = (
        f"the snapshot of the index at {store.url(place.prefix)} {what}, and without it published files would leave the index"
    )
    return HipwrightError("bad-index", message, where=Where(file=f"{store.address}/{key}"), hint=hint)


def _is_shown(store: Store, place: IndexFolder, key: str) -> bool:
    """Return whether the flat page is the one of a snapshot in the history."""
    content = store.get(key)
    page = store.get(place.key(layout.FLAT_PAGE))
    if content is None or page is None:
        return False
    try:
        snapshot = from_json(content.data, Snapshot, name=key)
        return pages(snapshot)[ObjectKey(layout.FLAT_PAGE)].body == page.data
    except (HipwrightError, InvalidVersion):
        return False
