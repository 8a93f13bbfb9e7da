"""What refers to the outputs of runs: promotions, verdicts, files and locks of the channels of a store, and locks that a person names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.index.layout import PROMOTIONS, PROVENANCE, SET_PAPER, VERDICTS, paper_key
from build_tools.publish.current import read_current
from build_tools.publish.holdings import AT_ONCE
from build_tools.receipts.lock import Lock
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.record import Record, from_json
from build_tools.receipts.verdict import PromotionRecord, Verdict
from build_tools.stores.run_outputs import IndexFolder
from build_tools.threads import Threads
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from build_tools.config.channels import Channel
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import RunOutputs

__all__ = ["RunReferences", "read_records", "read_references"]

_R = TypeVar("_R", bound=Record)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReferences:
    """What is referred to, each with the words that say by what: files by their bytes, places by their addresses, runs by their ids."""

    files: dict[Sha256, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    run_ids: dict[str, str] = field(default_factory=dict)

    def why(self, run: RunOutputs, url: str, files: Collection[Sha256]) -> str | None:
        """Return what refers to a run whose outputs lie at an address and hold files; None when nothing does."""
        found = (why for address, why in self.addresses.items() if address.startswith(f"{url.rstrip('/')}/"))
        named = next(found, None) or self.run_ids.get(run.run_id)
        return named or next((self.files[sha256] for sha256 in files if sha256 in self.files), None)

    def add_lock(self, lock: Lock, by: str) -> None:
        """Add what a lock names: files by their bytes and addresses, and runs that packages come from."""
        for entry in lock.projects.values():
            for file in entry.packages:
                self.files.setdefault(file.sha256, by)
                self.addresses.setdefault(file.url, by)
            if entry.requested.rocm_run_id is not None:
                self.run_ids.setdefault(entry.requested.rocm_run_id, by)


def read_references(store: Store, channels: Iterable[Channel], locks: Iterable[tuple[str, Lock]] = ()) -> RunReferences:
    """Read what the channels of a store refer to, and what locks name.

    Parameters
    ----------
    store
        The store that the channels are in.
    channels
        All channels that may be there.
    locks
        Other locks, each with its name.

    Raises
    ------
    HipwrightError
        ``bad-index`` when anything of it cannot be read: what it refers to would be taken for what nobody needs.
    """
    found = RunReferences()
    for name, lock in locks:
        found.add_lock(lock, f"named by {name}")
    for channel in channels:
        _read_channel(store, IndexFolder(channel.prefix), channel.name, found)
    return found


def _read_channel(store: Store, place: IndexFolder, name: str, found: RunReferences) -> None:
    for file in read_current(store, place).snapshot.files:
        found.files.setdefault(file.sha256, f"in the channel {name}")
    for promotion in read_records(store, place, PROMOTIONS, PromotionRecord):
        found.addresses.setdefault(f"{promotion.source.rstrip('/')}/", f"promoted into {name}")
        for wheel in promotion.files:
            found.files.setdefault(wheel.sha256, f"promoted into {name}")
    for verdict in read_records(store, place, VERDICTS, Verdict):
        for wheel in verdict.wheels:
            found.files.setdefault(wheel.sha256, f"named by a verdict in {name}")
    keys = [one.key for one in store.list(place.key(PROVENANCE)) if one.key.endswith(f"/{SET_PAPER}")]
    for key in keys:
        named = Sha256(key.split("/")[-2])
        listing = _read(store, key, named, ProvenanceSet)
        for paper in listing.papers:
            if paper.kind == "lock":
                lock = _read(store, place.key(paper_key(named, paper.name)), paper.sha256, Lock)
                found.add_lock(lock, f"named by a lock in {name}")


def read_records(store: Store, place: IndexFolder, folder: str, model: type[_R]) -> list[_R]:
    """Return the records of a folder beside an index, whose objects are named by their digests.

    Raises
    ------
    HipwrightError
        ``bad-index`` when one cannot be read, or is not what its name says.
    """
    keys = [one.key for one in store.list(place.key(folder))]
    with Threads(AT_ONCE) as pool:
        return list(pool.map(lambda key: _read(store, key, key.rpartition("/")[2].removesuffix(".json"), model), keys))


def _read(store: Store, key: str, sha256: str, model: type[_R]) -> _R:
    content = store.get(key)
    if content is None or digest.of_bytes(content.data) != sha256:
        what = "is gone" if content is None else "has other bytes than its name says"
        message = f"{key} in {store.address} {what}, and what it refers to is not known"
        hint = "put it back from a copy of the store"
        raise HipwrightError("bad-index", message, where=Where(file=f"{store.address}/{key}"), hint=hint)
    return from_json(content.data, model, name=f"{store.address}/{key}", code="bad-index")
