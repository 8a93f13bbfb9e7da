"""Bytes on their way into a store, wherever they are: in memory, in a file, or in another store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores.reading import read_pieces
from build_tools.threads import go_on
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.stores.base import ObjectInfo, Store
    from build_tools.types import Sha256

__all__ = ["Body", "StoredBody", "body_of", "prove_bytes"]


class Body(Protocol):
    """Bytes that can be read from their beginning as often as that is needed."""

    @property
    def name(self) -> str:
        """What a person knows them by."""
        ...

    @property
    def size(self) -> int:
        """How many they are."""
        ...

    def sha256(self) -> Sha256:
        """Return their SHA-256, for which they may have to be read."""
        ...

    def pieces(self, length: int) -> Iterator[bytes]:
        """Yield them in pieces of a length, the last one shorter.

        Raises
        ------
        HipwrightError
            ``store-unusable`` or ``source-unreachable`` when they cannot be read.
        """
        ...


class _BytesBody(Value, frozen=True, kw_only=True):
    """Bytes in memory."""

    name: str
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def sha256(self) -> Sha256:
        return digest.of_bytes(self.data)

    def pieces(self, length: int) -> Iterator[bytes]:
        if len(self.data) <= length:
            # They are not copied, and of no bytes there is one piece too.
            yield self.data
            return
        for start in range(0, len(self.data), length):
            yield self.data[start : start + length]


class _FileBody(Value, frozen=True, kw_only=True):
    """Bytes in a file."""

    path: Path
    size: int

    @property
    def name(self) -> str:
        return str(self.path)

    def sha256(self) -> Sha256:
        try:
            return digest.of_file(self.path)
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def pieces(self, length: int) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as stream:
                while piece := stream.read(length):
                    go_on()
                    yield piece
        except OSError as error:
            raise _unreadable(self.path, error) from error


class StoredBody(Value, frozen=True, kw_only=True):
    """Bytes that another store has, read piece by piece, on where a connection broke."""

    store: Store
    info: ObjectInfo
    meant: Sha256

    @property
    def name(self) -> str:
        """The object's key and its store."""
        return f"{self.info.key} in {self.store.address}"

    @property
    def size(self) -> int:
        """What the store says."""
        return self.info.size

    def sha256(self) -> Sha256:
        """Return what the bytes are meant to be; what they are is found when they are read."""
        return self.meant

    def pieces(self, length: int) -> Iterator[bytes]:
        """Yield the bytes in pieces of a length."""
        waiting = bytearray()
        for piece in read_pieces(self.store, self.info):
            waiting += piece
            while len(waiting) >= length:
                yield bytes(waiting[:length])
                del waiting[:length]
        if waiting:
            yield bytes(waiting)


def body_of(body: bytes | Path, *, name: str) -> Body:
    """Return bytes or a file as a body; ``name`` is what bytes are known by.

    Raises
    ------
    HipwrightError
        ``store-unusable`` when the file cannot be read.
    """
    if isinstance(body, bytes):
        return _BytesBody(name=name, data=body)
    try:
        return _FileBody(path=body, size=body.stat().st_size)
    except OSError as error:
        raise _unreadable(body, error) from error


def prove_bytes(name: str, actual: Sha256, wanted: Sha256 | None) -> None:
    """Compare the bytes that were read with those that were meant.

    Raises
    ------
    HipwrightError
        ``output-changed``.
    """
    if wanted is not None and actual != wanted:
        message = f"{name} has other bytes than recorded: {actual}, not {wanted}"
        raise HipwrightError("output-changed", message, hint="make it again, or look who changed it")


def _unreadable(path: Path, error: OSError) -> HipwrightError:
    return HipwrightError(
        "store-unusable",
        f"cannot read {path}: {error.strerror or error}",
        hint="see whether it is still there, and who may read it",
    )
