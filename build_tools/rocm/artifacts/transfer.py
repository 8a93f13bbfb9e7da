"""Bring the bytes of one archive out of a store into a file: in parts at once, going on where an earlier try broke off, proved at the end.

Beside the file lies a journal of what each part has, written whenever a part ends. It is believed only for an archive of the same size and
stated SHA-256, or the same etag where none is stated; then the data are on the disk before the journal says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final, Literal, TypeVar

from build_tools.errors import HipwrightError, Kind
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor
    from pathlib import Path

    from build_tools.rocm.artifacts.select import Archive
    from build_tools.stores.base import Store

__all__ = ["PART", "Bytes", "Patience", "StoppedError", "Transfer", "TransferError", "Ways", "begun", "forget", "journal_of"]

R = TypeVar("R")

PART: Final = 32 << 20
"""How large a part is, in bytes."""

_PIECE: Final = 1 << 20
_FURTHER: Final = 1 << 20
"""How many bytes a try has to bring to be one that got further."""
_MOST_FAILURES: Final = 50
_BEGINNINGS: Final = 2
"""How often an archive is begun anew that was changed meanwhile, or came with other bytes."""


class TransferError(Exception):
    """An archive could not be fetched, for a reason in words that the archive's name goes before."""


class StoppedError(Exception):
    """Everything is to stop, since the run was interrupted or can't go on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How much is borne.

    Parameters
    ----------
    tries
        How often a part is tried that gets no further.
    pause
        Seconds before the first new try; doubled for each further one.
    seconds
        How long all of it may take; None for no bound.
    """

    tries: int = 5
    pause: float = 0.5
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What transfers share: ``gate`` bounds how many streams are open, ``parts`` runs the parts of an archive."""

    store: Store
    parts: Executor
    gate: threading.Semaphore
    patience: Patience
    began: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)

    def go_on(self) -> None:
        """Return when work is to go on.

        Raises
        ------
        StoppedError
            When it is not.
        TransferError
            When all the time is up.
        """
        if self.stop.is_set():
            raise StoppedError
        limit = self.patience.seconds
        if limit is not None and time.monotonic() - self.began > limit:
            message = f"it was not there in whole after {limit:g} seconds"
            raise TransferError(message)

    def ask(self, question: Callable[[], R]) -> R:
        """Return the answer to a question to the store; asked again while the network is what fails.

        Raises
        ------
        TransferError
            When it fails as often as is borne, or all the time is up.
        StoppedError
            When everything is to stop.
        HipwrightError
            What else the store says.
        """
        for attempt in range(self.patience.tries):
            self.go_on()
            try:
                with self.gate:
                    return question()
            except HipwrightError as error:
                if error.code.kind is not Kind.NETWORK:
                    raise
                if attempt + 1 == self.patience.tries:
                    raise TransferError(error.message) from error
            self.stop.wait(self.patience.pause * 2**attempt)
        message = "the loop ends by return or raise"
        raise AssertionError(message)


class _Journal(Record, frozen=True, kw_only=True):
    """What of a file is there: for each part the bytes from its beginning on."""

    schema: Literal[1] = 1
    sha256: Sha256 | None
    etag: str | None
    size: int
    part: int
    done: tuple[int, ...]


class _BrokenError(Exception):
    """A stream broke off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bytes:
    """What the bytes of a fetched archive are, and whether a stated SHA-256 proves them; ``etag`` is None where the store was not asked."""

    sha256: Sha256
    size: int
    etag: str | None
    proved: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """What is known of an archive before it is fetched."""

    sha256: Sha256 | None
    etag: str | None
    size: int


@dataclass(kw_only=True)
class Transfer:
    """The fetching of one archive into ``path``; ``sha256`` is what is known of its bytes beforehand."""

    archive: Archive
    path: Path
    sha256: Sha256 | None
    ways: Ways
    resumed: int = 0
    """How many bytes an earlier run had fetched."""

    def run(self) -> Bytes:
        """Fetch the archive, and return what its bytes are; file and journal stay until :func:`forget` is called.

        Raises
        ------
        TransferError
            When it is gone, or stays unreachable, or has other bytes than are stated.
        StoppedError
            When everything is to stop; what was fetched stays for the next time.
        HipwrightError
            When the store can't be used at all.
        """
        reason = ""
        for _beginning in range(_BEGINNINGS):
            wanted = self._wanted()
            try:
                found = self._fetch(wanted)
            except HipwrightError as error:
                if error.code.name != "write-conflict":
                    raise
                reason = "it was changed again and again while it was fetched"
            else:
                if wanted.sha256 in {None, found}:
                    return Bytes(sha256=found, size=wanted.size, etag=wanted.etag, proved=wanted.sha256 is not None)
                beside = " beside it" if self.sha256 else ""
                reason = f"its SHA-256 is {found}, and {wanted.sha256} is stated{beside}"
            forget(self.path)
        raise TransferError(reason)

    def _wanted(self) -> _Wanted:
        """Return what is to be fetched; where its bytes are known by a side file, the store need not be asked."""
        if self.sha256 is not None:
            return _Wanted(sha256=self.sha256, etag=None, size=self.archive.size)
        info = self.ways.ask(lambda: self.ways.store.head(self.archive.key))
        if info is None:
            message = "it is gone from the store"
            raise TransferError(message)
        return _Wanted(sha256=info.sha256, etag=info.etag, size=info.size)

    def _fetch(self, wanted: _Wanted) -> Sha256:
        done = self._begin(wanted)
        self.resumed = sum(done)
        # A file that is read from its first byte to its last in one go is hashed on the way, another one part by part.
        work = _Work(transfer=self, wanted=wanted, done=done, in_one_go=len(done) == 1 and not done[0])
        try:
            work.run()
        finally:
            work.note()
        if not work.in_one_go:
            work.hash_on()
        return Sha256(work.hasher.hexdigest())

    def _begin(self, wanted: _Wanted) -> list[int]:
        """Return what each part has, after making a file of the right size where there is none."""
        parts = max(1, -(-wanted.size // PART))
        with contextlib.suppress(OSError, HipwrightError):
            journal = read_record(journal_of(self.path), _Journal)
            known = _Wanted(sha256=journal.sha256, etag=journal.etag, size=journal.size)
            if known == wanted and (journal.part, len(journal.done)) == (PART, parts) and self.path.stat().st_size == wanted.size:
                return list(journal.done)
        forget(self.path)
        with self.path.open("xb") as file:
            file.truncate(wanted.size)
        return [0] * parts


@dataclass(kw_only=True)
class _Work:
    """The parts of an archive that are under way."""

    transfer: Transfer
    wanted: _Wanted
    done: list[int]
    in_one_go: bool
    hasher: hashlib._Hash = field(default_factory=hashlib.sha256)
    hashed: int = 0
    hashing: threading.Lock = field(default_factory=threading.Lock)
    lock: threading.Lock = field(default_factory=threading.Lock)
    failed: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Fetch what parts lack, at once."""
        missing = [number for number in range(len(self.done)) if self.done[number] < self._length(number)]
        if len(missing) == 1:
            self._part(missing[0])
            return
        futures = [self.transfer.ways.parts.submit(self._part_of_many, number) for number in missing]
        errors = [error for future in futures if (error := future.exception()) is not None]
        # That another part failed is the reason of none.
        for error in sorted(errors, key=lambda one: isinstance(one, StoppedError)):
            raise error

    def note(self) -> None:
        """Write down what is there."""
        path = self.transfer.path
        with self.lock, contextlib.suppress(OSError):
            if self.wanted.sha256 is None:
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            wanted = self.wanted
            journal = _Journal(sha256=wanted.sha256, etag=wanted.etag, size=wanted.size, part=PART, done=tuple(self.done))
            partial = path.with_name(f"{path.name}.json.new")
            partial.write_bytes(to_json(journal))
            partial.replace(journal_of(path))

    def _length(self, number: int) -> int:
        return min(self.wanted.size - number * PART, PART)

    def _part_of_many(self, number: int) -> None:
        if self.failed.is_set():
            raise StoppedError
        try:
            self._part(number)
        except BaseException:
            self.failed.set()
            raise
        self.note()
        self.hash_on()

    def hash_on(self) -> None:
        """Hash the parts that are there in their order, as far as that goes; whoever finds somebody at it leaves it to that one."""
        while self.hashing.acquire(blocking=False):
            try:
                number = self.hashed
                if number == len(self.done) or self.done[number] < self._length(number):
                    return
                with self.transfer.path.open("rb") as file:
                    file.seek(number * PART)
                    left = self._length(number)
                    while left and (piece := file.read(min(left, _FURTHER))):
                        self.hasher.update(piece)
                        left -= len(piece)
                self.hashed += 1
            finally:
                self.hashing.release()

    def _part(self, number: int) -> None:
        """Fetch a part, in as many tries as are borne."""
        ways = self.transfer.ways
        failures = in_all = 0
        with self.transfer.path.open("r+b", buffering=0) as sink:
            while self.done[number] < self._length(number):
                ways.go_on()
                before = self.done[number]
                try:
                    self._try(number, sink)
                except _BrokenError as error:
                    failures = 1 if self.done[number] - before >= _FURTHER else failures + 1
                    in_all += 1
                    if failures >= ways.patience.tries or in_all >= _MOST_FAILURES:
                        message = f"{error}, after {self.done[number] + number * PART} of {self.wanted.size} bytes"
                        raise TransferError(message) from error
                    ways.stop.wait(ways.patience.pause * 2 ** (failures - 1))

    def _try(self, number: int, sink: IO[bytes]) -> None:
        store, key = self.transfer.ways.store, self.transfer.archive.key
        start, end = number * PART + self.done[number], number * PART + self._length(number)
        sink.seek(start)
        with self.transfer.ways.gate, _opened(store, key, start, end, self.wanted.etag) as source:
            while self.done[number] < self._length(number):
                self.transfer.ways.go_on()
                if self.failed.is_set():
                    raise StoppedError
                piece = _read(source, min(_PIECE, self._length(number) - self.done[number]))
                view = memoryview(piece)
                while view:
                    view = view[sink.write(view) :]
                if self.in_one_go:
                    self.hasher.update(piece)
                self.done[number] += len(piece)


def journal_of(path: Path) -> Path:
    """Return where the journal of a file lies."""
    return path.with_name(f"{path.name}.json")


def begun(path: Path, size: int) -> int:
    """Return how many bytes of a file of so many an earlier run has fetched, as far as that is written down."""
    with contextlib.suppress(OSError, HipwrightError):
        journal = read_record(journal_of(path), _Journal)
        if journal.size == size == path.stat().st_size:
            return sum(journal.done)
    return 0


def forget(path: Path) -> None:
    """Remove what was fetched into a file, and its journal, which goes last: alone it is believed by nobody."""
    path.unlink(missing_ok=True)
    journal_of(path).unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(store: Store, key: str, start: int, end: int, etag: str | None) -> Iterator[IO[bytes]]:
    """Open a stream; what is no fault of the store's but of the way to it is a :class:`_BrokenError`."""
    try:
        with store.stream(key, start=start, end=end, etag=etag) as source:
            yield source
    except HipwrightError as error:
        if error.code.kind is Kind.NETWORK:
            raise _BrokenError(error.message) from error
        if error.code.name == "nothing-published":
            message = "it is gone from the store"
            raise TransferError(message) from error
        raise


def _read(source: IO[bytes], size: int) -> bytes:
    # What came before a break counts too: `read` would wait for the rest and lose it.
    read = getattr(source, "read1", source.read)
    try:
        piece: bytes = read(size)
    except OSError as error:
        raise _BrokenError(str(error) or type(error).__name__) from error
    if not piece:
        message = "the stream ended too early"
        raise _BrokenError(message)
    return piece
