"""Move an index from where it stands to what a change makes of it, whoever else writes meanwhile, and bring its pages along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.index.snapshots import changed_projects, is_same
from build_tools.publish.current import PUBLISH_AGAIN, nothing_published, read_current, swap
from build_tools.publish.pages import publish_pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.publish.current import Current
    from build_tools.receipts.snapshot import Change, Snapshot
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder

__all__ = ["move_index"]

_TRIES: Final = 200
"""Every lost race means that another publisher got on, so this many are only lost when something is broken."""


def move_index(
    store: Store,
    place: IndexFolder,
    *,
    make: Callable[[Current], Snapshot],
    change: Change,
    say: Callable[[str], None],
    whole: bool = False,
) -> Snapshot:
    """Move an index on, and return the snapshot that its pages were proved to show; where nothing changes, no snapshot is written.

    Parameters
    ----------
    store
        Where the index is.
    place
        Where in it.
    make
        Makes the snapshot that is wanted of the one that the index stands at; called again when another publisher was quicker.
    change
        What is done, for the history.
    say
        Takes one line of talk.
    whole
        Whether every page is looked at, so that what was lost or edited there is put right.

    Raises
    ------
    HipwrightError
        ``nothing-published`` where there is no index, ``bad-index``, ``write-conflict`` when other publishers never pause, and what
        ``make`` raises.
    """
    for _ in range(_TRIES):
        current = read_current(store, place)
        if current.etag is None or not current.snapshot.files:
            raise nothing_published(store, place)
        after = make(current)
        if not after.files:
            message = f"no file would be left in the index at {store.url(place.prefix)}"
            raise HipwrightError("nothing-published", message, hint="yank what nobody should install: nox -s yank -- --help")
        if is_same(after, current.snapshot) or swap(store, place, before=current, after=after, change=change):
            # The pages of one that died between the two are found by what is noted beside them; these are looked at in any case.
            return publish_pages(
                store, place, say=say, projects=changed_projects(current.snapshot, after), whole=whole, clock=lambda: change.time
            )
        say("another publisher changed the index; looking at what it wrote")
    raise HipwrightError(
        "write-conflict",
        f"the index at {store.url(place.prefix)} did not stand still for {_TRIES} tries",
        hint=PUBLISH_AGAIN,
    )
