"""The history of an index: the chain of its snapshots, newest first, each named by the one after it.

A snapshot that lost the race for its place lies in the folder of the history too, and is no part of the chain: the index never stood at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.index.layout import history_key
from build_tools.publish.current import read_past

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.publish.current import Current
    from build_tools.receipts.snapshot import Snapshot
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import Sha256

__all__ = ["Past", "find_past", "walk_history"]

_SHORTEST: Final = 8
"""So many digits of a digest tell one of any history from the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """A snapshot of the history and its name there."""

    digest: Sha256
    snapshot: Snapshot


def walk_history(store: Store, place: IndexFolder, current: Current) -> Iterator[Past]:
    """Yield the snapshots that an index stood at, the one where it stands first, to the oldest that the chain names.

    Raises
    ------
    HipwrightError
        ``bad-index`` when one that the chain names is gone, or has other bytes than its name says.
    """
    if current.etag is None:
        return
    step = Past(digest=current.digest, snapshot=current.snapshot)
    yield step
    while step.snapshot.previous is not None:
        name = step.snapshot.previous
        before = read_past(store, place, name, remembered=False)
        if before is None:
            key = place.key(history_key(name))
            message = f"the history of the index at {store.url(place.prefix)} is cut: {step.digest} follows {name}, which is gone or damaged"
            hint = f"bring {store.address}/{key} back from a copy of the store; what came after it can be gone back to"
            raise HipwrightError("bad-index", message, where=Where(file=f"{store.address}/{key}"), hint=hint)
        step = Past(digest=name, snapshot=before)
        yield step


def find_past(store: Store, place: IndexFolder, current: Current, name: str) -> Past:
    """Return the snapshot of the history that a digest, or its beginning, names.

    Raises
    ------
    HipwrightError
        ``unknown-snapshot`` when the chain has none or several of that name, ``bad-index`` when it is cut before one is found.
    """
    found = (
        [past for past in _known(store, place, current, name) if past.digest.startswith(name)] if len(name) >= _SHORTEST else []
    )
    if len(found) != 1:
        what = f"{len(found)} snapshots begin with" if found else "no snapshot of its history is"
        message = f"the index at {store.url(place.prefix)} cannot go to {name!r}: {what} that"
        hint = f"list the history with nox -s rollback, and name one by at least {_SHORTEST} digits"
        raise HipwrightError("unknown-snapshot", message, hint=hint)
    return found[0]


def _known(store: Store, place: IndexFolder, current: Current, name: str) -> Iterator[Past]:
    """Yield the chain; behind the one that a whole digest names nothing has to be read."""
    for past in walk_history(store, place, current):
        yield past
        if past.digest == name:
            return
