"""What the stores share about reading: streams that end where they are to, a copy that goes on where it broke, and what is not there."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol

from build_tools.errors import HipwrightError
from build_tools.threads import go_on
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from build_tools.stores.base import ObjectInfo, Store

__all__ = [
    "SMALL_BYTES",
    "body_stream",
    "bounded",
    "compare_noted",
    "copied",
    "copy_stream",
    "nothing_there",
    "read_pieces",
    "too_large",
]

SMALL_BYTES: Final = 256 << 20
"""No object that is read whole is larger: pages, snapshots, records. What is would fill the memory; it is read piece by piece."""

_BUFFER: Final = 1 << 18
_PIECE: Final = 1 << 20
_TRIES: Final = 5


class _Reads(Protocol):
    def read(self, amount: int, /) -> bytes: ...


class _Bounded(io.RawIOBase):
    """The next ``left`` bytes of another stream, which is not closed; with ``whole`` it is an error when there are fewer."""

    def __init__(self, source: _Reads, left: int, *, whole: bool) -> None:
        super().__init__()
        self._source = source
        self._left = left
        self._whole = whole

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override] # what a BufferedReader hands over
        wanted = min(len(buffer), self._left)
        piece = self._source.read(wanted) if wanted else b""
        if wanted and not piece and self._whole:
            message = f"the connection ended {self._left} bytes too early"
            raise ConnectionError(message)
        buffer[: len(piece)] = piece
        self._left -= len(piece)
        return len(piece)


class _Translated:
    """A body whose failures become errors of reading."""

    def __init__(self, body: _Reads, failures: type[Exception]) -> None:
        self._body = body
        self._failures = failures

    def read(self, amount: int, /) -> bytes:
        try:
            return self._body.read(amount)
        except self._failures as error:
            raise ConnectionError(str(error) or type(error).__name__) from error


def body_stream(body: _Reads, size: int, *, failures: type[Exception]) -> IO[bytes]:
    """Return the body of an answer, of a known size, as a stream.

    Parameters
    ----------
    body
        What the server sends.
    size
        How many bytes that is; when it ends earlier, reading is a :class:`ConnectionError`.
    failures
        What ``body`` raises when the connection breaks; that becomes a :class:`ConnectionError` too.
    """
    return io.BufferedReader(_Bounded(_Translated(body, failures), size, whole=True), buffer_size=_BUFFER)


def bounded(source: IO[bytes], size: int) -> IO[bytes]:
    """Return a stream of the next ``size`` bytes of another one, fewer when that one ends before."""
    return io.BufferedReader(_Bounded(source, size, whole=False), buffer_size=_BUFFER)


def compare_noted(store: Store, key: str, noted: Sha256 | None, actual: Sha256) -> None:
    """Compare the SHA-256 that a store noted of an object, where it did, with that of the bytes that it gave.

    Raises
    ------
    HipwrightError
        ``hash-mismatch``.
    """
    if noted is not None and noted != actual:
        message = f"{key} in {store.address} has other bytes than were put there: {actual}, not {noted}"
        raise HipwrightError("hash-mismatch", message, hint="put it there again")


@contextlib.contextmanager
def copied(store: Store, key: str) -> Iterator[Path]:
    """Give an object in a file of its name, in a folder that goes with the block.

    Parameters
    ----------
    store
        Where it is.
    key
        Its key.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when there is no such object; what :func:`copy_stream` and :func:`compare_noted` raise.
    """
    info = store.head(key)
    if info is None:
        raise nothing_there(key, store)
    with tempfile.TemporaryDirectory(prefix="hipwright-") as folder:
        path = Path(folder, key.rpartition("/")[2])
        compare_noted(store, key, info.sha256, copy_stream(store, info, path))
        yield path


def copy_stream(store: Store, info: ObjectInfo, path: Path, *, on_bytes: Callable[[int], None] | None = None) -> Sha256:
    """Copy an object to a file, go on where a connection broke, and return the SHA-256 of what was written.

    ``on_bytes`` takes how many more bytes are there. Raises what :func:`read_pieces` does.
    """
    hasher = hashlib.sha256()
    with path.open("wb") as sink:
        for piece in read_pieces(store, info):
            sink.write(piece)
            hasher.update(piece)
            if on_bytes is not None:
                on_bytes(len(piece))
    return Sha256(hasher.hexdigest())


def read_pieces(store: Store, info: ObjectInfo) -> Iterator[bytes]:
    """Yield an object's bytes piece by piece, on where a connection broke.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` when it breaks again and again; ``nothing-published`` or ``write-conflict`` when the object went or was
        changed meanwhile.
    """
    done, failures = 0, 0
    while done < info.size:
        try:
            with store.stream(info.key, start=done, etag=info.etag) as source:
                while piece := _read(source):
                    go_on()
                    done += len(piece)
                    yield piece
            if done < info.size:
                # A file that became shorter ends without a failure.
                raise _BrokenError(f"it ended {info.size - done} bytes too early")  # noqa: TRY301 - as one that broke
        except _BrokenError as error:
            failures += 1
            if failures == _TRIES:
                message = f"cannot read {info.key} of {store.address}: {error}"
                raise HipwrightError("source-unreachable", message, hint="try again later") from error


class _BrokenError(Exception):
    """Reading broke off, which is told from writing that failed."""


def _read(source: IO[bytes]) -> bytes:
    try:
        return source.read(_PIECE)
    except OSError as error:
        raise _BrokenError(str(error)) from error


def too_large(key: str, store: Store) -> HipwrightError:
    """Return the error for an object that is to be read whole and is larger than :data:`SMALL_BYTES`."""
    message = f"{key} in {store.address} has more than {SMALL_BYTES >> 20} MiB, which nothing of its kind has"
    return HipwrightError("source-unreachable", message, hint="look what was put there")


def nothing_there(key: str, store: Store) -> HipwrightError:
    """Return the error for an object that a store does not have."""
    return HipwrightError("nothing-published", f"there is no {key} in {store.address}")
