"""The snapshot that an index stands at: reading it, and moving it on by compare-and-swap."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.version import InvalidVersion

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.index import html, layout
from build_tools.index.snapshots import by_filename, by_project, parsed_version
from build_tools.receipts.record import from_json, newer_schema, to_json
from build_tools.receipts.snapshot import ShownPages, Snapshot
from build_tools.stores.base import parse_key
from build_tools.value import Value

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import Change
    from build_tools.stores.base import Content, Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey, Sha256

__all__ = [
    "ASK_EVERY_TIME",
    "FOR_EVER",
    "NAME_IT",
    "NOT_KEPT",
    "PUBLISH_AGAIN",
    "Current",
    "is_still",
    "nothing_published",
    "put_new",
    "read_current",
    "read_past",
    "read_snapshot",
    "swap",
]

PUBLISH_AGAIN: Final = "look who else publishes there, then start this again: what is there already is kept"
"""What helps against others who never pause, for hints."""

NOT_KEPT: Final = "see whether something removes or changes what lies there, then start this again"
"""What helps where a store has not what was put there, for hints."""

FOR_EVER: Final = 365 * 24 * 3600
"""Seconds that a client may keep what never changes under its key: files, side files, the history."""

NAME_IT: Final = (
    "name the one that is meant: --channel NAME, or --run-id ID with --artifact-group G, in the store of --store or --bucket"
)
"""What to do where no index is."""

ASK_EVERY_TIME: Final = 0
"""Seconds that a client may keep a page unasked: none, else it installs by an old page."""

_TYPE: Final = "application/json"

_PLAIN_KEY: Final = re.compile(r"dist/(?:[0-9a-f]{16}/)?[A-Za-z0-9_.!+-]{1,900}[A-Za-z0-9]")
"""The keys that :func:`build_tools.index.layout.file_key` gives, nearly all there are: each store can hold them."""

_RECENT: Final[OrderedDict[Sha256, Snapshot]] = OrderedDict()
"""Snapshots that this process has read or written, by the digests of their bytes: a large one takes longer to read than to ask for."""

_MOST_RECENT: Final = 4


class Current(Value, frozen=True, kw_only=True):
    """A snapshot as it was read, with the digest of its bytes, its name in the history; ``etag`` is None when the index has none yet."""

    snapshot: Snapshot
    digest: Sha256
    etag: str | None


def read_current(store: Store, place: IndexFolder) -> Current:
    """Return the snapshot that an index stands at, an empty one when nothing was published there.

    Pages are only ever written after a snapshot, and no snapshot that is written is empty. So one that is missing or empty beside
    pages was lost, and to go on from nothing would take every file but the new ones out of the index.

    Raises
    ------
    HipwrightError
        ``bad-index`` when what lies there is no snapshot, or one of a later hipwright, or it was lost.
    """
    key = place.key(layout.SNAPSHOT)
    there = store.head(key) if _RECENT else None
    if there is not None and there.sha256 is not None and (known := _recent(there.sha256)) is not None and known.files:
        return Current(snapshot=known, digest=there.sha256, etag=there.etag)
    content = store.get(key)
    if content is None and _has_pages(store, place):
        # It was not there yet, or it is gone: of the two, only what is gone stays away.
        content = store.get(key)
        if content is None:
            raise _damaged(store, place, "is gone")
    if content is None:
        nothing = Snapshot(files=())
        return Current(snapshot=nothing, digest=digest.of_bytes(to_json(nothing)), etag=None)
    name = content.info.sha256 or digest.of_bytes(content.data)
    snapshot = _recent(name) or _parsed(content, store, place)
    if not snapshot.files and _has_pages(store, place):
        raise _damaged(store, place, "names no file")
    _remember(name, snapshot)
    return Current(snapshot=snapshot, digest=name, etag=content.info.etag)


def is_still(store: Store, place: IndexFolder, current: Current) -> bool:
    """Return whether an index stands at the snapshot that was read before; it is not read again."""
    there = store.head(place.key(layout.SNAPSHOT))
    return (None if there is None else there.etag) == current.etag


def read_past(store: Store, place: IndexFolder, name: Sha256, *, remembered: bool = True) -> Snapshot | None:
    """Return a snapshot of the history by its digest; None when it is not there, or is not what its name says.

    ``remembered`` tells whether one that this process has read before is good enough: it says what was in the store, not that it is.
    """
    known = _recent(name) if remembered else None
    if known is not None:
        return known
    content = store.get(place.key(layout.history_key(name)))
    if content is None or digest.of_bytes(content.data) != name:
        return None
    try:
        return from_json(content.data, Snapshot, name=layout.SNAPSHOT)
    except HipwrightError:
        return None


def nothing_published(store: Store, place: IndexFolder) -> HipwrightError:
    """Return the failure that there is no index at a place, or an empty one, or that the server refuses to say what is there."""
    from build_tools.stores.listing import refusal_of  # noqa: PLC0415 - what succeeds needs nothing of it

    refusal = refusal_of(store, place.key(layout.SNAPSHOT))
    if refusal is not None:
        return refusal
    return HipwrightError("nothing-published", f"there is no index with files at {store.url(place.prefix)}", hint=NAME_IT)


def read_snapshot(store: Store, place: IndexFolder) -> Snapshot:
    """Return the snapshot that an index stands at.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when there is none, or it is empty; ``bad-index``.
    """
    snapshot = read_current(store, place).snapshot
    if not snapshot.files:
        raise nothing_published(store, place)
    return snapshot


def swap(store: Store, place: IndexFolder, *, before: Current, after: Snapshot, change: Change) -> bool:
    """Move the index from one snapshot to the next, the history first; return whether nobody else was quicker.

    Parameters
    ----------
    store
        Where the index is.
    place
        Where in it.
    before
        The snapshot that was read, which the next one follows in the history.
    after
        The files as they are to be; what it follows and why is filled in.
    change
        What is done to the index.

    Raises
    ------
    HipwrightError
        ``name-taken`` when the history holds other bytes under its name, ``store-unusable``.
    """
    previous = None if before.etag is None else before.digest
    after = msgspec.structs.replace(after, previous=previous, change=change)
    data = to_json(after)
    name = digest.of_bytes(data)
    put_new(store, place.key(layout.history_key(name)), data, content_type=_TYPE, sha256=name, expected=False)
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
    _remember(name, after)
    return True


def put_new(
    store: Store, key: ObjectKey, data: bytes, *, content_type: str, sha256: Sha256 | None = None, expected: bool = True
) -> bool:
    """Write a small object that never changes, and return whether it had to be written.

    ``expected`` tells whether it may well be there: then the store is asked before it is sent.

    Raises
    ------
    HipwrightError
        ``name-taken`` when other bytes lie there; ``write-conflict`` when somebody else is writing there; ``output-changed`` when ``data``
        is not what ``sha256`` says.
    """
    there = store.get(key) if expected else None
    if there is None:
        try:
            store.put(key, data, content_type=content_type, cache_seconds=FOR_EVER, sha256=sha256, if_absent=True)
        except HipwrightError as error:
            if error.code.name != "write-conflict":
                raise
            there = store.get(key)
            if there is None:
                raise
        else:
            return True
    if there.data != data:
        raise HipwrightError(
            "name-taken",
            f"{key} in {store.address} holds other bytes",
            hint="its name is the digest of its bytes, so somebody changed it: see what else is damaged with `nox -s verify`",
        )
    return False


def _parsed(content: Content, store: Store, place: IndexFolder) -> Snapshot:
    key = place.key(layout.SNAPSHOT)
    if (stated := newer_schema(content.data, Snapshot)) is not None:
        # It is whole: an older one over it would take what was published since out of the index.
        message = f"a later hipwright wrote the snapshot of the index at {store.url(place.prefix)}: it has schema {stated}"
        hint = "update hipwright, git pull; leave the index as it is"
        raise HipwrightError("bad-index", message, where=Where(file=f"{store.address}/{key}"), hint=hint)
    try:
        snapshot = from_json(content.data, Snapshot, name=layout.SNAPSHOT, code="bad-index")
        for version in {file.version for file in snapshot.files}:
            parsed_version(version)
        for file in snapshot.files:
            if not _PLAIN_KEY.fullmatch(file.key):
                parse_key(file.key)
    except (HipwrightError, InvalidVersion) as error:
        raise _damaged(store, place, f"cannot be used ({error})") from error
    if len(by_filename(snapshot)) != len(snapshot.files):
        raise _damaged(store, place, f"cannot be used ({key} names a file twice)")
    return snapshot


def _recent(name: Sha256) -> Snapshot | None:
    return _RECENT.get(name)


def _remember(name: Sha256, snapshot: Snapshot) -> None:
    _RECENT[name] = snapshot
    while len(_RECENT) > _MOST_RECENT:
        _RECENT.popitem(last=False)


def _has_pages(store: Store, place: IndexFolder) -> bool:
    """Return whether an index was published here: its pages, and its files or its history."""

    def holds(part: str) -> bool:
        return any(True for _ in store.list(place.key(part)))

    return any(holds(part) for part in (layout.DIST, layout.HISTORY)) and (
        any(holds(part) for part in (layout.SIMPLE, layout.SIMPLE_JSON)) or store.head(place.key(layout.FLAT_PAGE)) is not None
    )


def _damaged(store: Store, place: IndexFolder, what: str) -> HipwrightError:
    """Return the error for a snapshot that is lost or damaged, with the very copy that restores it where the pages prove which."""
    key = place.key(layout.SNAPSHOT)
    kept = [one.key for one in store.list(place.key(layout.HISTORY)) if one.key.endswith(".json")]
    said = _said(store, place)
    # What the pages themselves say of it comes first: a long history takes long to read.
    kept.sort(key=lambda one: one != said)
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


def _said(store: Store, place: IndexFolder) -> ObjectKey | None:
    """Return the key of the snapshot that the pages were last brought to, as is noted beside them."""
    content = store.get(place.key(layout.PAGES))
    if content is None:
        return None
    try:
        name = from_json(content.data, ShownPages, name=layout.PAGES).snapshot
    except HipwrightError:
        return None
    return None if name is None else place.key(layout.history_key(name))


def _is_shown(store: Store, place: IndexFolder, key: str) -> bool:
    """Return whether the flat page is the one of a snapshot in the history."""
    content = store.get(key)
    page = store.get(place.key(layout.FLAT_PAGE))
    if content is None or page is None:
        return False
    try:
        snapshot = from_json(content.data, Snapshot, name=key)
        return html.flat_page(file for files in by_project(snapshot).values() for file in files) == page.data
    except (HipwrightError, InvalidVersion):
        return False
