"""What a store has of an index's files, asked as cheaply as it can be: a few by name, many by one listing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.index.layout import DIST, metadata_key
from build_tools.stores.base import LISTED_AT_ONCE
from build_tools.threads import Threads
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.publish.offer import Offer
    from build_tools.stores.base import ObjectInfo, Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey

__all__ = ["AT_ONCE", "Holdings", "holdings"]

AT_ONCE: Final = 8
"""So many requests are under way at once: a store far away takes as long for one as for all of these."""

_FEW: Final = 16
"""Up to so many files are asked for one by one, and proved by their SHA-256; above, by what a listing says."""


class Holdings(Value, frozen=True, kw_only=True):
    """What of some files a store has; ``sizes`` are the bytes of each object by its key, None where each is asked for."""

    store: Store
    place: IndexFolder
    sizes: dict[str, int] | None

    def info(self, key: ObjectKey) -> ObjectInfo | None:
        """Return what is known of an object below the index; one that a listing lacks is not asked for."""
        return None if self.sizes is not None and self.place.key(key) not in self.sizes else self.store.head(self.place.key(key))

    def has_file(self, offer: Offer, key: ObjectKey, *, vouched: bool = False) -> bool:
        """Return whether the bytes of a file are there; when an index vouches for what was put there, its size is enough of a many."""
        if vouched and self.sizes is not None:
            return self.sizes.get(self.place.key(key)) == offer.size
        there = self.info(key)
        return there is not None and (there.size, there.sha256) == (offer.size, offer.sha256)

    def has_side_file(self, offer: Offer, key: ObjectKey, *, vouched: bool = False) -> bool:
        """Return whether the side file of a file is there, or it has none."""
        if offer.metadata is None:
            return True
        wanted = self.place.key(metadata_key(key))
        if self.sizes is not None and (vouched or wanted not in self.sizes):
            return self.sizes.get(wanted) == len(offer.metadata)
        there = self.store.get(wanted)
        return there is not None and digest.of_bytes(there.data) == digest.of_bytes(offer.metadata)

    def ask(self, offers: Sequence[Offer], keys: Sequence[ObjectKey], *, vouched: bool = False) -> list[tuple[bool, bool]]:
        """Return of each file whether its bytes and its side file are there."""
        with Threads(AT_ONCE) as pool:
            files = pool.map(lambda offer, key: self.has_file(offer, key, vouched=vouched), offers, keys)
            sides = pool.map(lambda offer, key: self.has_side_file(offer, key, vouched=vouched), offers, keys)
            return list(zip(files, sides, strict=True))


def holdings(store: Store, place: IndexFolder, count: int, *, among: int, written: bool = False) -> Holdings:
    """Look at what a store has.

    Parameters
    ----------
    store
        The store.
    place
        The index.
    count
        For how many files it will be asked.
    among
        How many the index has.
    written
        Whether they were just written: then the server itself has compared each, and to see them listed proves as much as to ask for
        each, which is done where it takes fewer requests.
    """
    # A file has two objects.
    listing = 1 + 2 * among // LISTED_AT_ONCE
    if count <= _FEW and among and not (written and listing < 2 * count):
        return Holdings(store=store, place=place, sizes=None)
    return Holdings(store=store, place=place, sizes={one.key: one.size for one in store.list(place.key(DIST))})
