"""Bring the pages of an index to what its snapshot says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.index.plan import pages
from build_tools.publish.current import ASK_EVERY_TIME, read_current

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.index.plan import Page
    from build_tools.receipts.snapshot import Snapshot
    from build_tools.stores.base import ObjectInfo, Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey

__all__ = ["publish_pages"]

_TRIES: Final = 200


def publish_pages(store: Store, place: IndexFolder, *, say: Callable[[str], None]) -> Snapshot:
    """Write the pages that differ from what the current snapshot says, and return that snapshot, proved to be what they show.

    Publishers that meet cannot leave an old page: a page is written only over the one that was seen before the snapshot was read, and
    at the end the snapshot is asked once more.

    Raises
    ------
    HipwrightError
        ``write-conflict`` when other publishers never pause.
    """
    current = read_current(store, place)
    for _ in range(_TRIES):
        plan = {place.key(key): page for key, page in pages(current.snapshot).items()}
        seen = {key: store.head(key) for key in plan}
        again = read_current(store, place)
        if again.etag != current.etag:
            current = again
            continue
        quiet = _write(plan, seen, store=store, say=say)
        again = read_current(store, place)
        if quiet and again.etag == current.etag and _shown(plan, store):
            return current.snapshot
        current = again
    raise HipwrightError("write-conflict", f"the pages at {store.url(place.prefix)} did not stand still for {_TRIES} tries")


def _write(
    plan: Mapping[ObjectKey, Page],
    seen: Mapping[ObjectKey, ObjectInfo | None],
    *,
    store: Store,
    say: Callable[[str], None],
) -> bool:
    """Write what differs, in the plan's order; return whether nobody else wrote a page meanwhile."""
    written = 0
    for key, page in plan.items():
        there = seen[key]
        if there is not None and there.sha256 == digest.of_bytes(page.body):
            continue
        try:
            store.put(
                key,
                page.body,
                content_type=page.content_type,
                cache_seconds=ASK_EVERY_TIME,
                if_absent=there is None,
                if_match=None if there is None else there.etag,
            )
        except HipwrightError as error:
            if error.code.name != "write-conflict":
                raise
            return False
        written += 1
    if written:
        say(f"wrote {written} index page{'s' if written > 1 else ''}")
    return True


def _shown(plan: Mapping[ObjectKey, Page], store: Store) -> bool:
    """Return whether the store gives every page back as planned."""
    for key, page in plan.items():
        content = store.get(key)
        if content is None or content.data != page.body:
            return False
    return True
