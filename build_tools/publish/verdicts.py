"""Verdicts beside the index whose wheels they speak of: each an object that never changes, named by its bytes.

A reader finds those of its wheels by their SHA-256, so a verdict on bytes that were superseded since is there and counts for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.index.layout import VERDICTS, verdict_key
from build_tools.publish.current import put_new
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.verdict import Verdict
from build_tools.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Collection

    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import Sha256

__all__ = ["put_verdict", "read_verdicts"]

_TYPE: Final = "application/json"
_READERS: Final = 16
"""So many verdicts are read at once: a bucket takes as long to answer for one as for all of them together."""


def put_verdict(store: Store, place: IndexFolder, verdict: Verdict) -> Sha256:
    """Put a verdict beside an index, and return the digest that names it there; one that is there already is not written again.

    Raises
    ------
    HipwrightError
        ``name-taken`` when what lies under its name has other bytes, ``store-unusable``.
    """
    data = to_json(verdict)
    name = digest.of_bytes(data)
    put_new(store, place.key(verdict_key(name)), data, content_type=_TYPE, sha256=name)
    return name


def read_verdicts(store: Store, place: IndexFolder, wheels: Collection[Sha256]) -> tuple[Verdict, ...]:
    """Return the verdicts beside an index that speak of at least one of some wheels, in the order of their names.

    Parameters
    ----------
    store
        The store that the index is in.
    place
        Where in it.
    wheels
        The SHA-256 of each wheel that is asked for.

    Raises
    ------
    HipwrightError
        ``bad-index`` when an object among the verdicts is none, or not the one that its name says: a failure that cannot be read
        must not look like no failure.
    """
    wanted = frozenset(wheels)
    keys = [one.key for one in store.list(place.key(VERDICTS))]
    with Threads(_READERS) as pool:
        found = pool.map(lambda key: _read(store, place, key), keys)
        return tuple(verdict for verdict in found if any(wheel.sha256 in wanted for wheel in verdict.wheels))


def _read(store: Store, place: IndexFolder, key: str) -> Verdict:
    content = store.get(key)
    if content is not None and key == place.key(verdict_key(digest.of_bytes(content.data))):
        return from_json(content.data, Verdict, name=f"{store.address}/{key}", code="bad-index")
    what = "is gone" if content is None else "has other bytes than its name says"
    where = Where(file=f"{store.address}/{key}")
    hint = "put it back from a copy of the store, or test the wheels again and remove it"
    raise HipwrightError("bad-index", f"the verdict {key} in {store.address} {what}", where=where, hint=hint)
