"""What the pages of an index show, kept as an object beside them (``pages.json``), so that a publisher writes only what changed.

The one invariant: every page in the store is as one of the snapshots has it that the object names. A publisher therefore enters its
snapshot before it writes the first page, and says at the end, over the very object that it looked at, that all pages show it. Whoever
comes after one that died finds its entry, and looks at whatever the two snapshots say differently. Entries of others stay for an hour:
one that is only slow may still write.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.errors import HipwrightError
from build_tools.index.layout import PAGES
from build_tools.index.plan import PAGES_FORMAT
from build_tools.publish.current import ASK_EVERY_TIME
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.snapshot import PageWriter, ShownPages
from build_tools.value import Value

if TYPE_CHECKING:
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import Sha256

__all__ = ["Shown", "entered", "finished", "read_shown", "snapshots_of", "write_shown"]

_PATIENCE: Final = dt.timedelta(hours=1)
"""So long a publisher may take between looking at a page and writing it, and be counted on to have looked well."""

_MOST_WRITERS: Final = 16
"""More entries than that cost more to look into than all pages do."""

_TYPE: Final = "application/json"


class Shown(Value, frozen=True, kw_only=True):
    """What the pages show as it was read; ``etag`` is None when the index does not say yet."""

    pages: ShownPages
    etag: str | None


def read_shown(store: Store, place: IndexFolder, *, slash_keys: bool | None) -> Shown:
    """Return what the pages of an index can show; what is of another form, or cannot be read, is as good as nothing.

    ``slash_keys`` is whether there are to be pages under keys that end in ``/``; None for as they were made last.
    """
    content = store.get(place.key(PAGES))
    pages = None if content is None else _parsed(content.data)
    if slash_keys is None:
        slash_keys = store.abilities.slash_keys if pages is None else pages.slash_keys
    if pages is None or (pages.format, pages.slash_keys) != (PAGES_FORMAT, slash_keys):
        writers = () if pages is None else pages.writers
        pages = ShownPages(format=PAGES_FORMAT, slash_keys=slash_keys, snapshot=None, writers=writers)
    return Shown(pages=pages, etag=None if content is None else content.info.etag)


def _parsed(data: bytes) -> ShownPages | None:
    try:
        return from_json(data, ShownPages, name=PAGES)
    except HipwrightError:
        return None


def write_shown(store: Store, place: IndexFolder, *, before: Shown, after: ShownPages) -> Shown | None:
    """Write what the pages can show over what was read; None when somebody else was quicker."""
    try:
        info = store.put(
            place.key(PAGES),
            to_json(after),
            content_type=_TYPE,
            cache_seconds=ASK_EVERY_TIME,
            if_absent=before.etag is None,
            if_match=before.etag,
        )
    except HipwrightError as error:
        if error.code.name != "write-conflict":
            raise
        return None
    return Shown(pages=after, etag=info.etag)


def snapshots_of(pages: ShownPages) -> tuple[Sha256, ...] | None:
    """Return the digests of the snapshots that pages can be of, each once; None when they can be of any."""
    if pages.snapshot is None or len(pages.writers) > _MOST_WRITERS:
        return None
    return tuple(dict.fromkeys((pages.snapshot, *(one.snapshot for one in pages.writers))))


def entered(pages: ShownPages, *, writer: str, snapshot: Sha256, now: str) -> ShownPages:
    """Return what pages can show once a publisher writes some of a snapshot; the same when it is entered with that already."""
    if any((one.writer, one.snapshot) == (writer, snapshot) for one in pages.writers):
        return pages
    entry = PageWriter(writer=writer, snapshot=snapshot, since=now)
    return msgspec.structs.replace(pages, writers=(*pages.writers, entry))


def finished(pages: ShownPages, *, writer: str, snapshot: Sha256, now: str) -> ShownPages:
    """Return what pages can show once a publisher has brought all of them to a snapshot, having looked into every entry.

    Its own entries go, and those that are older than anybody's patience, or from a time to come.
    """
    left = tuple(one for one in pages.writers if one.writer != writer and _may_write(one.since, now))
    return msgspec.structs.replace(pages, snapshot=snapshot, writers=left)


def _may_write(since: str, now: str) -> bool:
    try:
        age = dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return False
    return -_PATIENCE < age < _PATIENCE
