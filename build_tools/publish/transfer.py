"""Put files into a store, several at a time, and say how far that is, how fast it goes, and how long it will take."""

from __future__ import annotations

import functools
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import humanize

from build_tools.errors import HipwrightError
from build_tools.index.layout import metadata_key
from build_tools.publish.current import FOR_EVER, put_new
from build_tools.publish.holdings import AT_ONCE
from build_tools.threads import Threads
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.publish.offer import Offer
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import ObjectKey

    Progress = Callable[[str, int, int, str], None]
    """Takes what is done, how many of how many units are done, and the unit."""

__all__ = ["Meter", "Transfer", "all_of", "nobody", "put_files", "taken"]

_WHEEL_TYPE: Final = "application/zip"
_SDIST_TYPE: Final = "application/gzip"
_METADATA_TYPE: Final = "text/plain; charset=utf-8"

_TRIES: Final = 5
_MEBIBYTE: Final = 1 << 20
_SOON: Final = 1.0
"""Seconds after which a rate says something."""


class Transfer(Value, frozen=True, kw_only=True):
    """A file that is put under a key relative to the index: its bytes, its side file, or both."""

    offer: Offer
    key: ObjectKey
    file: bool
    side_file: bool


@dataclass(kw_only=True, slots=True)
class Meter:
    """Counts bytes that several threads move, and tells of them.

    Parameters
    ----------
    what
        What is done, for people.
    total
        How many bytes there will be.
    progress
        Takes what is told.
    now
        The time in seconds.
    """

    what: str
    total: int
    progress: Progress
    now: Callable[[], float] = time.monotonic
    _done: int = field(init=False, default=0)
    _began: float = field(init=False)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._began = self.now()

    def add(self, count: int) -> None:
        """Count further bytes."""
        with self._lock:
            self._done += count
            seconds = self.now() - self._began
            unit = "MiB"
            if seconds >= _SOON and 0 < self._done < self.total:
                rate = self._done / seconds
                left = humanize.precisedelta(round((self.total - self._done) / rate), minimum_unit="seconds", format="%d")
                unit = f"MiB ({humanize.naturalsize(rate, binary=True)}/s, {left} left)"
            self.progress(self.what, -(-self._done // _MEBIBYTE), -(-self.total // _MEBIBYTE), unit)


def nobody(_what: str, _done: int, _total: int, _unit: str) -> None:
    """Take progress that nobody looks at."""


def put_files(
    transfers: Sequence[Transfer],
    *,
    store: Store,
    place: IndexFolder,
    say: Callable[[str], None],
    progress: Progress = nobody,
    at_once: int = AT_ONCE,
) -> None:
    """Put files and their side files into a store; what fails first ends it, after what is under way has ended too.

    A file under whose key other bytes came to lie meanwhile is refused; the same bytes are as good as put.

    Parameters
    ----------
    transfers
        What to put; the largest goes first, so that none is left to be sent alone.
    store
        Where to.
    place
        The index that the keys are relative to.
    say
        Takes one line of talk for each file.
    progress
        Takes how far it is, as :meth:`build_tools.console.events.Console.progress` does.
    at_once
        How many files are under way at once.

    Raises
    ------
    HipwrightError
        ``name-taken`` when a key holds other bytes, ``write-conflict`` when somebody else is writing there again and again,
        ``output-changed`` when a file is not what was offered, ``store-unusable``, ``source-unreachable``.
    """
    total = sum(one.offer.size for one in transfers if one.file)
    meter = Meter(what="uploading", total=total, progress=progress)
    talk = threading.Lock()

    def put(one: Transfer) -> None:
        if one.file:
            _put_file(one.offer, place.key(one.key), store, meter)
            with talk:
                say(f"published {one.offer.filename} ({humanize.naturalsize(one.offer.size, binary=True)})")
        if one.side_file and one.offer.metadata is not None:
            key = metadata_key(place.key(one.key))
            put_new(store, key, one.offer.metadata, content_type=_METADATA_TYPE, expected=False)

    largest_first = sorted(transfers, key=lambda one: -one.offer.size)
    all_of([functools.partial(put, one) for one in largest_first], at_once=at_once)


def all_of(jobs: Sequence[Callable[[], object]], *, at_once: int = AT_ONCE) -> None:
    """Do jobs, several at a time; of those that fail the first one's failure is raised, after what is under way has ended too.

    An interruption does not wait for that.
    """
    with Threads(max(1, min(at_once, len(jobs)))) as pool:
        futures = [pool.submit(job) for job in jobs]
        for future in wait(futures, return_when=FIRST_EXCEPTION).done:
            future.result()


def _put_file(offer: Offer, key: ObjectKey, store: Store, meter: Meter) -> None:
    kind = _WHEEL_TYPE if offer.filename.endswith(".whl") else _SDIST_TYPE
    counted = 0

    def count(more: int) -> None:
        nonlocal counted
        counted += more
        meter.add(more)

    with offer.opened() as path:
        for left in reversed(range(_TRIES)):
            try:
                store.put(
                    key, path, content_type=kind, cache_seconds=FOR_EVER, sha256=offer.sha256, if_absent=True, on_bytes=count
                )
            except HipwrightError as error:
                if error.code.name != "write-conflict":
                    raise
                there = store.head(key)
                if there is None and left:
                    # Somebody else's write was under way, and of the two neither was first.
                    meter.add(-counted)
                    counted = 0
                    continue
                if there is None:
                    raise
                # Another publisher came first: with the same bytes that is as good.
                if (there.size, there.sha256) != (offer.size, offer.sha256):
                    raise taken(offer, there.sha256, store) from error
                meter.add(offer.size - counted)
            return


def taken(offer: Offer, there: str | None, store: Store | None) -> HipwrightError:
    """Return the refusal of a file whose name holds other bytes."""
    where = f" in {store.address}" if store is not None else ""
    message = f"{offer.filename}{where} already holds other bytes ({there or 'unknown'}, not {offer.sha256})"
    hint = (
        "a published name never changes: build with another version or build number; in a run's outputs --replace REASON puts these "
        "beside the older ones"
    )
    return HipwrightError("name-taken", message, hint=hint)
