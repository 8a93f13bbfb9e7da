"""What a store is: objects under keys, conditional writes, exact prefixes.

The interface is the part of S3 that publishing needs, so that a folder and a bucket behave alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Protocol

from build_tools.errors import HipwrightError
from build_tools.types import ObjectKey, Sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["Content", "Listed", "ObjectInfo", "Store", "join_key", "parse_key"]

_FORBIDDEN = frozenset('\\:*?"<>|')
_ALWAYS_FORBIDDEN = frozenset("\\")
_MAXIMUM_BYTES = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """An object as a listing shows it; ``size`` in bytes."""

    key: ObjectKey
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectInfo:
    """What a store knows about an object.

    ``etag`` changes when the bytes change and is what conditional writes compare. ``sha256`` is of the whole object; None when it
    was put there by something that recorded none. ``cache_seconds`` is how long a client may keep it unasked.
    """

    key: ObjectKey
    size: int
    etag: str
    sha256: Sha256 | None
    content_type: str
    cache_seconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """An object's bytes together with what the store knew about exactly these bytes."""

    data: bytes
    info: ObjectInfo


class Store(Protocol):
    """Where objects live: a folder or a bucket."""

    @property
    def address(self) -> str:
        """The store as a person names it: a folder or ``s3://bucket/prefix``."""
        ...

    def url(self, key: str = "") -> str:
        """Return the address that installers take for a key, percent-encoded (``+`` as ``%2B``); a final ``/`` is kept."""
        ...

    @property
    def serves_folders(self) -> bool:
        """Whether an address that ends in ``/`` gives the ``index.html`` of that folder, which is how installers read an index."""
        ...

    def is_open(self, key: str) -> bool:
        """Return whether anybody can read an object at its address, without credentials."""
        ...

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """Yield the objects below a folder-like prefix, by key.

        ``prefix`` has no final ``/`` and matches whole parts only: ``v2/gfx110X-all`` does not catch ``v2/gfx110X-all-staging/x``.
        """
        ...

    def head(self, key: str) -> ObjectInfo | None:
        """Return what is known about an object without reading it, None when there is none."""
        ...

    def get(self, key: str) -> Content | None:
        """Return a small object whole, None when there is none."""
        ...

    def stream(
        self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None
    ) -> AbstractContextManager[IO[bytes]]:
        """Give an object's bytes to read piece by piece for the time of the block.

        Parameters
        ----------
        key
            Of what object.
        start
            The first byte that is wanted; at or behind the end of the object there is nothing to read.
        end
            The byte behind the last one that is wanted; None for all that there is.
        etag
            What the object must still have, so that bytes of two objects are never put together. A folder, whose files are proved by
            their bytes, does not ask.

        Raises
        ------
        HipwrightError
            ``nothing-published`` when there is no such object, ``write-conflict`` when it has another etag. What breaks while bytes are read is an :class:`OSError` of ``read``.
        """
        ...

    def as_file(self, key: str) -> AbstractContextManager[Path]:
        """Give an object as a local file to read for the time of the block.

        Raises
        ------
        HipwrightError
            ``nothing-published`` when there is no such object.
        """
        ...

    def put(
        self,
        key: str,
        body: bytes | Path,
        *,
        content_type: str,
        cache_seconds: int,
        sha256: Sha256 | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
    ) -> ObjectInfo:
        """Write an object whole or not at all.

        Parameters
        ----------
        key
            Where to.
        body
            The bytes, or the file to read them from.
        content_type
            What it is served as.
        cache_seconds
            How long clients may keep it unasked, in seconds.
        sha256
            What the bytes must be; compared while they are read.
        if_absent
            Write only when there is no object of that key.
        if_match
            Write only over the object that has this etag.

        Raises
        ------
        HipwrightError
            ``write-conflict`` when the condition does not hold, ``output-changed`` when the bytes are others than ``sha256`` says,
            ``store-unusable`` when the store cannot be written, ``bad-key``.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens when there is none."""
        ...


def parse_key(text: str, *, foreign: bool = False) -> ObjectKey:
    """Return text as a key that a bucket, a folder on Linux and a folder on Windows can all hold.

    With ``foreign`` it may be one that others wrote into a bucket and that is only read: it may have characters that a Windows folder
    refuses, such as the colon of ``gfx942:xnack+``.

    Raises
    ------
    HipwrightError
        ``bad-key`` for an empty or absolute key, a part that is empty, ``.`` or ``..``, ends in a dot or a space, or has a character
        that a Windows folder refuses, and for more than 1024 bytes (the limit of S3).
    """
    if not text:
        reason = "is empty"
    elif len(text.encode()) > _MAXIMUM_BYTES:
        reason = f"is longer than {_MAXIMUM_BYTES} bytes"
    elif any(character in (_ALWAYS_FORBIDDEN if foreign else _FORBIDDEN) or not character.isprintable() for character in text):
        reason = "has a character that not every store can hold"
    elif any(part in {"", ".", ".."} or part[-1] in ". " for part in text.split("/")):
        reason = "has a part that is empty, is . or .., or ends in a dot or a space"
    else:
        return ObjectKey(text)
    message = f"the object key {text!r} {reason}"
    raise HipwrightError("bad-key", message)


def join_key(*parts: str) -> ObjectKey:
    """Return parts as one key, empty ones left out.

    Raises
    ------
    HipwrightError
        ``bad-key``.
    """
    return parse_key("/".join(part for part in parts if part))
