"""What a store is: objects under keys, conditional writes, exact prefixes.

The interface is the part of S3 that publishing needs, so that a folder and a bucket behave alike.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Final, Protocol

from build_tools.errors import HipwrightError
from build_tools.types import ObjectKey, Sha256
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = ["LISTED_AT_ONCE", "READ_ONLY", "Abilities", "Content", "Listed", "ObjectInfo", "Store", "join_key", "parse_key"]

LISTED_AT_ONCE: Final = 1000
"""How many objects a server is asked for at a time: the most that S3 gives."""

_FORBIDDEN = frozenset('\\:*?"<>|')
_ALWAYS_FORBIDDEN = frozenset("\\")
_MAXIMUM_BYTES = 1024


class Abilities(Value, frozen=True, kw_only=True):
    """What a store can do beyond what every store does; what one cannot, the store itself makes up for or refuses.

    Parameters
    ----------
    slash_keys
        Whether a key may end in ``/`` and hold bytes, as the page of a folder does.
    conditional_copy
        Whether a copy inside the store takes a condition in one call.
    byte_order
        Whether the server itself lists by the bytes of keys, so that a listing is read on while its first rows are used.
    """

    slash_keys: bool = False
    conditional_copy: bool = False
    byte_order: bool = False


READ_ONLY: Final = Abilities()
"""What a store can that is only read: nothing is found out about it."""


class Listed(Value, frozen=True, kw_only=True):
    """An object as a listing shows it; ``size`` in bytes, ``etag`` as :class:`ObjectInfo` has it, None where a listing does not tell."""

    key: ObjectKey
    size: int
    etag: str | None = None


class ObjectInfo(Value, frozen=True, kw_only=True):
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


class Content(Value, frozen=True, kw_only=True):
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

    @property
    def abilities(self) -> Abilities:
        """What the store can; of a bucket that is not Amazon's this is found out once, by objects that are removed again.

        Raises
        ------
        HipwrightError
            ``store-unusable`` when writes with a condition are carried out although it does not hold, on which publishing stands.
        """
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
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        """Write an object whole or not at all.

        Parameters
        ----------
        key
            Where to; one that ends in ``/`` needs ``slash_keys``.
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
        on_bytes
            Takes how many more bytes are there, in the caller's thread; of an upload that goes on, those of before too, so that
            what it was told adds up to the size.

        Raises
        ------
        HipwrightError
            ``write-conflict`` when the condition does not hold, ``output-changed`` when the bytes are others than ``sha256`` says,
            ``store-unusable`` when the store cannot be written, ``bad-key``.
        """
        ...

    def copy_from(
        self,
        source: Store,
        source_key: str,
        key: str,
        *,
        sha256: Sha256,
        content_type: str,
        cache_seconds: int,
        size: int | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        """Write an object of a store under another key, or into another store, whole or not at all.

        Two stores of one server leave the bytes there; otherwise they pass through this machine and are compared with ``sha256``.

        Parameters
        ----------
        source
            The store that has it; may be this one.
        source_key
            Its key there.
        key
            Where to; one that ends in ``/`` needs ``slash_keys``.
        sha256
            What the bytes must be.
        content_type
            What the copy is served as.
        cache_seconds
            How long clients may keep the copy unasked, in seconds.
        size
            How many bytes they must be, where that is known: a bucket then needs fewer requests.
        if_absent
            Write only when there is no object of that key.
        if_match
            Write only over the object that has this etag.
        on_bytes
            As :meth:`put` has it.

        Raises
        ------
        HipwrightError
            ``nothing-published`` when the source has no such object, ``output-changed`` when it has other bytes or is changed
            meanwhile, and what :meth:`put` raises.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens when there is none."""
        ...


def parse_key(text: str, *, foreign: bool = False, slash: bool = False) -> ObjectKey:
    """Return text as a key that a bucket, a folder on Linux and a folder on Windows can all hold.

    With ``foreign`` it may be one that others wrote into a bucket and that is only read: it may have characters that a Windows folder
    refuses, such as the colon of ``gfx942:xnack+``. With ``slash`` it may end in ``/``, which a bucket alone can hold.

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
    elif any(part in {"", ".", ".."} or part[-1] in ". " for part in (text.removesuffix("/") if slash else text).split("/")):
        reason = "has a part that is empty, is . or .., or ends in a dot or a space"
    else:
        return ObjectKey(text)
    message = f"the object key {text!r} {reason}"
    raise HipwrightError("bad-key", message, hint="name it by parts of letters, digits and . _ - + with / between them")


def join_key(*parts: str) -> ObjectKey:
    """Return parts as one key, empty ones left out.

    Raises
    ------
    HipwrightError
        ``bad-key``.
    """
    return parse_key("/".join(part for part in parts if part))
