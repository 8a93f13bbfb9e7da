"""Copy files of one index beside another one, by the store itself where both are on one server: files, side files, papers.

The store is the journal: what a promotion that was killed has copied already is found by one listing, proved by its SHA-256, and not
copied again. Nothing here makes a file visible, so what was copied for nothing harms nobody.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.index import layout
from build_tools.index.snapshots import by_filename
from build_tools.publish.current import FOR_EVER, NOT_KEPT, put_new
from build_tools.publish.holdings import AT_ONCE
from build_tools.publish.offer import offer_indexed
from build_tools.publish.retired import key_beside, retired_by_filename
from build_tools.publish.spelled import refuse_respelled
from build_tools.publish.transfer import all_of
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.record import from_json
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from build_tools.publish.offer import Offer
    from build_tools.publish.transfer import Progress
    from build_tools.receipts.snapshot import IndexedFile, RetiredFile, Snapshot
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import Sha256

__all__ = ["FileCopy", "Route", "copy_files", "copy_papers", "plan_copies", "proved_paper"]

_COPIES_AT_ONCE: Final = 16
"""A copy inside a store is nothing but waiting."""

_WHEEL_TYPE: Final = "application/zip"
_SDIST_TYPE: Final = "application/gzip"
_METADATA_TYPE: Final = "text/plain; charset=utf-8"
_JSON_TYPE: Final = "application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """From which index of which store to which."""

    source: Store
    origin: IndexFolder
    target: Store
    place: IndexFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class FileCopy:
    """What becomes of a file: ``key`` is where it will be, relative to the index it goes into; ``action`` tells whether it is there."""

    row: IndexedFile
    offer: Offer
    key: ObjectKey
    action: Literal["copy", "keep"]
    side_file: bool

    def indexed(self, uploaded: str) -> IndexedFile:
        """Return the row that the index gets for it, uploaded at a time (UTC, ISO 8601)."""
        return self.offer.indexed(self.key, uploaded=uploaded)


def plan_copies(rows: Sequence[IndexedFile], there: Snapshot, route: Route) -> tuple[FileCopy, ...]:
    """Return what becomes of files of an index in another one; nothing is written.

    Parameters
    ----------
    rows
        The files, as the index has them that they come from.
    there
        What the other index holds.
    route
        From where to where.

    Raises
    ------
    HipwrightError
        ``name-taken`` naming all whose names hold other bytes, ``nothing-published`` when a side file is gone, ``output-changed``.
    """
    # The name of a file that left the channel stays taken by its bytes.
    left = retired_by_filename(there)
    known = {**{name: one.file for name, one in left.items()}, **by_filename(there)}
    lying = {one.key: one.size for one in route.target.list(route.place.dist_prefix)}
    offers = _each(lambda row: offer_indexed(row, store=route.source, place=route.origin), rows)
    refuse_respelled(offers, there)
    found = _each(
        lambda pair: _plan(pair[0], pair[1], known, left, lying=lying, route=route), list(zip(rows, offers, strict=True))
    )
    taken = [one for one in found if isinstance(one, str)]
    if taken:
        message = f"{', '.join(taken)} in {route.target.address}/{route.place.prefix}: there already, with other bytes"
        hint = "a published name never changes: build with another version or build number"
        by_file = {name: [f"{name} is there already, with other bytes"] for name in taken}
        raise HipwrightError("name-taken", message, hint=hint, document={"refused": by_file})
    return tuple(one for one in found if isinstance(one, FileCopy))


def _plan(
    row: IndexedFile,
    offer: Offer,
    known: Mapping[str, IndexedFile],
    left: Mapping[str, RetiredFile],
    *,
    lying: Mapping[ObjectKey, int],
    route: Route,
) -> FileCopy | str:
    old = known.get(row.filename)
    if old is not None and old.sha256 != row.sha256:
        return row.filename
    gone = left.get(row.filename)
    if old is not None and gone is not None and gone.deleted is not None:
        old = None
    key = key_beside(row.filename, row.sha256, gone) if old is None else ObjectKey(old.key)
    full = route.place.key(key)
    action: Literal["copy", "keep"] = "keep" if full in lying else "copy"
    # What the index names was proved when it came there; what only lies there may be anybody's.
    if action == "keep" and (old is None or lying[full] != row.size):
        info = route.target.head(full)
        if info is not None and (info.size, info.sha256) != (row.size, row.sha256):
            return row.filename
        action = "copy" if info is None else "keep"
    side = offer.metadata is not None and layout.metadata_key(full) not in lying
    return FileCopy(row=row, offer=offer, key=key, action=action, side_file=side)


def copy_files(copies: Sequence[FileCopy], route: Route, *, say: Callable[[str], None], progress: Progress) -> None:
    """Copy files, then their side files; what fails first ends it, after what is under way has ended too.

    Raises
    ------
    HipwrightError
        ``name-taken`` when a key holds other bytes, ``nothing-published`` when a file is gone, ``output-changed`` when it has other bytes
        than its index says, ``store-unusable``.
    """
    wanted = [one for one in copies if one.action == "copy" or one.side_file]
    counting, done = threading.Lock(), 0

    def copy(one: FileCopy) -> None:
        nonlocal done
        if one.action == "copy":
            _copy(one, route)
        if one.side_file and one.offer.metadata is not None:
            _put_side(route, layout.metadata_key(route.place.key(one.key)), one.offer.metadata)
        with counting:
            done += 1
            if one.action == "copy":
                say(f"copied {one.row.filename}")
            progress("promoting", done, len(wanted), "files")

    _each(copy, sorted(wanted, key=lambda one: -one.row.size), at_once=_COPIES_AT_ONCE)


def _copy(one: FileCopy, route: Route) -> None:
    key = route.place.key(one.key)
    kind = _WHEEL_TYPE if one.row.filename.endswith(".whl") else _SDIST_TYPE
    try:
        info = route.target.copy_from(
            route.source,
            route.origin.key(one.row.key),
            key,
            sha256=one.row.sha256,
            content_type=kind,
            cache_seconds=FOR_EVER,
            size=one.row.size,
            if_absent=True,
        )
    except HipwrightError as error:
        if error.code.name != "write-conflict":
            raise
        # Another promotion came first: with the same bytes that is as good.
        there = route.target.head(key)
        if there is None or (there.size, there.sha256) != (one.row.size, one.row.sha256):
            message = f"{key} in {route.target.address} was just taken by other bytes"
            raise HipwrightError("name-taken", message, hint="look who else promotes into the channel") from error
        return
    if info.size != one.row.size or info.sha256 not in {None, one.row.sha256}:
        raise HipwrightError(
            "output-changed",
            f"the copy {key} in {route.target.address} is not what was copied",
            hint=NOT_KEPT,
        )


def _put_side(route: Route, key: ObjectKey, data: bytes) -> None:
    try:
        route.target.put(
            key, data, content_type=_METADATA_TYPE, cache_seconds=FOR_EVER, sha256=digest.of_bytes(data), if_absent=True
        )
    except HipwrightError as error:
        if error.code.name != "write-conflict":
            raise
        put_new(route.target, key, data, content_type=_METADATA_TYPE)


def copy_papers(sets: Iterable[Sha256], route: Route) -> None:
    """Copy the papers of published sets, the list of each set last; a set that is there is not copied again.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when a paper is gone, ``output-changed`` when one is not what its set says, ``bad-index``.
    """

    def copy(name: Sha256) -> None:
        if route.target.head(route.place.key(layout.paper_key(name))) is not None:
            # The list comes last, so all that it lists is there.
            return
        listing = proved_paper(route, layout.paper_key(name), name)
        record = from_json(listing, ProvenanceSet, name=layout.SET_PAPER, code="bad-index")
        for paper in record.papers:
            key = layout.paper_key(name, paper.name)
            data = proved_paper(route, key, paper.sha256)
            put_new(route.target, route.place.key(key), data, content_type=_JSON_TYPE, sha256=paper.sha256)
        put_new(route.target, route.place.key(layout.paper_key(name)), listing, content_type=_JSON_TYPE, sha256=name)

    _each(copy, sorted(sets))


def proved_paper(route: Route, key: ObjectKey, sha256: Sha256) -> bytes:
    """Return the bytes of a paper beside the index that files come from.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when it is gone, ``output-changed`` when it has other bytes than its name or its list says.
    """
    content = route.source.get(route.origin.key(key))
    if content is None:
        message = f"{route.origin.key(key)}, which says where these wheels come from, is gone from {route.source.address}"
        raise HipwrightError("nothing-published", message, hint="publish the wheels again, with their papers")
    if digest.of_bytes(content.data) != sha256:
        raise HipwrightError(
            "output-changed",
            f"{route.origin.key(key)} in {route.source.address} is not what its name says",
            hint="publish the wheels again as another run, with their papers",
        )
    return content.data


_In = TypeVar("_In")
_Out = TypeVar("_Out")


def _each(work: Callable[[_In], _Out], items: Sequence[_In], *, at_once: int = AT_ONCE) -> list[_Out]:
    """Do some work on each item, several at a time, and return what comes of it in the items' order."""
    found: dict[int, _Out] = {}

    def one(place: int, item: _In) -> None:
        found[place] = work(item)

    all_of([functools.partial(one, place, item) for place, item in enumerate(items)], at_once=at_once)
    return [found[place] for place in range(len(items))]
