"""Bring the pages of an index to what its snapshot says.

What is written are the pages of the projects in which the snapshot differs from those that the pages may show, the pages that name
every file, and the root; so what a publisher writes grows with what it changed, not with the index. No file is read for it: what pages
say of one is in the snapshot.

Publishers that meet cannot leave an old page: a page is written only over the very one that was looked at, after it was entered that it
may change, which is refused when another one has entered or finished something since; and at the end the snapshot is asked once more. What
one that died left half done, the next finds: see :mod:`build_tools.publish.shown`.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import secrets
from typing import TYPE_CHECKING, Final

from build_tools import digest, files
from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.index import html, json
from build_tools.index.layout import SIMPLE, SIMPLE_JSON, html_keys, json_keys, project_of
from build_tools.index.plan import pages, project_pages
from build_tools.index.snapshots import changed_projects
from build_tools.publish.current import ASK_EVERY_TIME, PUBLISH_AGAIN, is_still, read_current, read_past
from build_tools.publish.holdings import AT_ONCE
from build_tools.publish.shown import entered, finished, read_shown, snapshots_of, write_shown
from build_tools.publish.transfer import all_of
from build_tools.stores.base import LISTED_AT_ONCE, ObjectInfo
from build_tools.threads import Threads
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from build_tools.index.plan import Page
    from build_tools.publish.current import Current
    from build_tools.publish.shown import Shown
    from build_tools.receipts.snapshot import ShownPages, Snapshot
    from build_tools.stores.base import Listed, Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey

__all__ = ["publish_pages"]

_TRIES: Final = 200

_FEW: Final = 12
"""Up to so many pages, those of one project and the pages that name all, are asked for one by one."""


def publish_pages(
    store: Store,
    place: IndexFolder,
    *,
    say: Callable[[str], None],
    projects: Iterable[str] = (),
    whole: bool = False,
    untouched: bool = False,
    wrote: Callable[[ObjectKey], object] = lambda _key: None,
    clock: Callable[[], str] = files.utc_now,
) -> Snapshot:
    """Write the pages that differ from what the current snapshot says, and return that snapshot, proved to be what they show.

    Where nothing was published there are no pages either.

    Parameters
    ----------
    store
        Where the index is.
    place
        The folder of the index.
    say
        Takes one line of talk.
    projects
        Projects whose pages are looked at even when nothing says that they changed: what was lost or edited there is put right.
    whole
        Whether every page is looked at, and asked how it is served.
    untouched
        Whether nothing was changed before: then it is believed what is noted of the store beside the pages, as to try it takes writing.
    wrote
        Takes the key, relative to the index, of each page that was written or removed, from several threads.
    clock
        Tells the time, UTC in ISO 8601.

    Raises
    ------
    HipwrightError
        ``write-conflict`` when other publishers never pause; ``bad-index``.
    """
    desk = _Desk(store=store, place=place, writer=secrets.token_hex(8), whole=whole, say=say, wrote=wrote, clock=clock)
    asked = frozenset(projects)
    current = read_current(store, place)
    for attempt in range(_TRIES):
        if current.etag is None:
            # Pages without a snapshot are what is left of an index that lost it: see read_current.
            return current.snapshot
        shown = read_shown(store, place, slash_keys=None if untouched else store.abilities.slash_keys)
        stale = None if whole else _stale(desk, shown.pages, current)
        if desk.bring(current, shown, None if stale is None else stale | asked, first=not attempt):
            return current.snapshot
        current = current if is_still(store, place, current) else read_current(store, place)
    raise HipwrightError(
        "write-conflict",
        f"the pages at {store.url(place.prefix)} did not stand still for {_TRIES} tries",
        hint=PUBLISH_AGAIN,
    )


def _stale(desk: _Desk, shown: ShownPages, current: Current) -> frozenset[str] | None:
    """Return the projects of which a page may be other than the current snapshot has it; None when it may be any."""
    digests = snapshots_of(shown)
    if digests is None:
        return None
    found: frozenset[str] = frozenset()
    for one in digests:
        if one == current.digest:
            continue
        before = read_past(desk.store, desk.place, one)
        if before is None:
            return None
        found |= changed_projects(before, current.snapshot)
    return found


class _Desk(Value, frozen=True, kw_only=True):
    """One publisher of pages: where it writes, by which name it enters what it does, and whether it asks for every page."""

    store: Store
    place: IndexFolder
    writer: str
    whole: bool
    say: Callable[[str], None]
    wrote: Callable[[ObjectKey], object]
    clock: Callable[[], str]

    def bring(self, current: Current, shown: Shown, projects: Collection[str] | None, *, first: bool) -> bool:
        """Bring the pages of projects, of all when None, to a snapshot; return whether it worked out and the snapshot still stands.

        ``first`` tells whether what a listing does not have may be taken for absent; a write shows when it is not.
        """
        plan, seen = self._look(current, projects, listed=first, slash_keys=shown.pages.slash_keys)
        writing = {key: page for key, page in plan.items() if not _is_as(seen[key], page)}
        settled = finished(shown.pages, writer=self.writer, snapshot=current.digest, now=self.clock())
        if not writing and settled == shown.pages:
            return is_still(self.store, self.place, current)
        if writing:
            after = entered(shown.pages, writer=self.writer, snapshot=current.digest, now=self.clock())
            written = shown if after == shown.pages else write_shown(self.store, self.place, before=shown, after=after)
            if written is None:
                return False
            # Who changed a page since it was looked at had entered that before, and then this entry was refused.
            shown = written
            put = self._write(writing, seen)
            if put is None or not self._stands(writing, put, current):
                return False
        if not is_still(self.store, self.place, current):
            return False
        return write_shown(self.store, self.place, before=shown, after=settled) is not None

    def _look(
        self, current: Current, projects: Collection[str] | None, *, listed: bool, slash_keys: bool
    ) -> tuple[dict[ObjectKey, Page | None], dict[ObjectKey, ObjectInfo | None]]:
        """Return the pages to be, None for one that is to go, in the order of writing, and what is there of them."""
        plan: dict[ObjectKey, Page | None] = {**pages(current.snapshot, slash_keys=slash_keys, projects=projects)}
        held = {file.project for file in current.snapshot.files}
        there = self._listed() if projects is None or _is_cheaper_listed(held, len(plan)) else None
        gone = self._left_over(there or {}, held) if projects is None else frozenset(projects) - held
        plan |= dict.fromkeys(project_pages(gone, slash_keys=slash_keys))
        absent: set[ObjectKey] = set()
        if there is not None and listed:
            # What ends in a slash is in no listing; it came with the page beside it.
            absent = {key for key in plan if plan[key] is not None and "/" in key and not _is_listed(key, there)}
        # How a page is served no listing tells.
        known = {} if self.whole else there or {}
        same = {key: info for key, page in plan.items() if (info := _listed_same(key, page, known)) is not None}
        seen = same | self._seen(key for key in plan if key not in absent and key not in same)
        return plan, {key: seen.get(key) for key in plan}

    def _listed(self) -> dict[str, Listed]:
        """Return the pages of projects, and the roots, as a listing shows them, by their keys relative to the index."""
        cut = len(self.place.prefix) + 1 if self.place.prefix else 0
        return {one.key[cut:]: one for folder in (SIMPLE, SIMPLE_JSON) for one in self.store.list(self.place.key(folder))}

    def _left_over(self, there: Mapping[str, Listed], held: Collection[str]) -> frozenset[str]:
        """Return the projects that have a page and are not in the index; what we have not made is not ours to remove."""
        found = {project for key in there if (project := project_of(key)) is not None and project not in held}
        return frozenset(project for project in found if self._is_ours(project))

    def _is_ours(self, project: str) -> bool:
        """Return whether a project's page was made here; one that a publisher died at may be there in one form only."""
        kinds = ((html_keys, html.is_page), (json_keys, json.is_page))
        contents = ((self.store.get(self.place.page_key(keys(project, slash_keys=False)[0])), is_page) for keys, is_page in kinds)
        known = [is_page(content.data) for content, is_page in contents if content is not None]
        return bool(known) and all(known)

    def _write(
        self, writing: Mapping[ObjectKey, Page | None], seen: Mapping[ObjectKey, ObjectInfo | None]
    ) -> Mapping[ObjectKey, str] | None:
        """Write pages, and remove those that are to go; return the etags of those written, None when somebody else wrote one meanwhile.

        Projects, whose pages come first, are gone through several at a time, as no page of one names another; all else goes in order.
        """
        put: dict[ObjectKey, str] = {}

        def write(keys: Iterable[ObjectKey]) -> None:
            for key in keys:
                page = writing[key]
                if page is None:
                    self.store.delete(self.place.page_key(key))
                else:
                    put[key] = self._write_page(key, page, seen[key]).etag
                self.wrote(key)

        own = list(itertools.takewhile(lambda key: writing[key] is not None and project_of(key), writing))
        try:
            all_of([functools.partial(write, list(keys)) for _, keys in itertools.groupby(own, project_of)])
            write(list(writing)[len(own) :])
        except HipwrightError as error:
            if error.code.name != "write-conflict":
                raise
            return None
        count = sum(page is not None for page in writing.values())
        if count:
            self.say(f"wrote {counted(count, 'index page')}")
        if len(writing) > count:
            self.say(f"removed {counted(len(writing) - count, 'index page')}")
        return put

    def _write_page(self, key: ObjectKey, page: Page, there: ObjectInfo | None) -> ObjectInfo:
        """Write a page over the very one that was looked at."""
        return self.store.put(
            self.place.page_key(key),
            page.body,
            content_type=page.content_type,
            cache_seconds=ASK_EVERY_TIME,
            if_absent=there is None,
            if_match=None if there is None else there.etag,
        )

    def _stands(self, writing: Mapping[ObjectKey, Page | None], put: Mapping[ObjectKey, str], current: Current) -> bool:
        """Return whether the store has what was just written: where that is most of the index, as a listing tells, else page by page."""
        held = {file.project for file in current.snapshot.files}
        there = self._listed() if _is_cheaper_listed(held, len(writing)) else {}
        asked = [key for key in writing if key not in put or key not in there or there[key].etag != put[key]]
        return all(_is_as(info, writing[key]) for key, info in self._seen(asked).items())

    def _seen(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, ObjectInfo | None]:
        """Return what is known of each page that is there, several asked for at a time."""
        asked = list(keys)
        with Threads(AT_ONCE) as pool:
            return dict(zip(asked, pool.map(lambda key: self.store.head(self.place.page_key(key)), asked), strict=True))


def _is_as(there: ObjectInfo | None, page: Page | None) -> bool:
    if there is None or page is None:
        return there is None and page is None
    served = (there.content_type, there.cache_seconds) == (page.content_type, ASK_EVERY_TIME)
    return served and there.size == len(page.body) and there.sha256 == digest.of_bytes(page.body)


def _is_cheaper_listed(held: Collection[str], pages: int) -> bool:
    """Return whether to list the pages of all projects takes fewer requests than to ask for some pages."""
    # A project has up to four.
    return _FEW + 4 * len(held) // LISTED_AT_ONCE < pages


def _listed_same(key: ObjectKey, page: Page | None, there: Mapping[str, Listed]) -> ObjectInfo | None:
    """Return what is known of a page that a listing proves to be as it is to be; None when it has to be asked for.

    A server's own mark of an object is the MD5 of its bytes for most that were sent whole. Where it is something else it proves nothing.
    """
    row = there.get(key)
    if page is None or row is None or row.etag is None or row.size != len(page.body):
        return None
    if row.etag.strip('"') != hashlib.md5(page.body, usedforsecurity=False).hexdigest():
        return None
    return ObjectInfo(
        key=key,
        size=row.size,
        etag=row.etag,
        sha256=digest.of_bytes(page.body),
        content_type=page.content_type,
        cache_seconds=ASK_EVERY_TIME,
    )


def _is_listed(key: str, there: Collection[str]) -> bool:
    return any(f"{key}{name}" in there for name in (("index.html", "index.json") if key.endswith("/") else ("",)))
