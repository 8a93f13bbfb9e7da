"""A store in memory that fails as it is told to, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import hashlib
import io
import threading
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.stores.base import READ_ONLY, Abilities, Content, Listed, ObjectInfo
from build_tools.types import ObjectKey, Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.stores.base import Store

__all__ = ["ShakyStore"]


class _Stream(io.RawIOBase):
    """Bytes that break off after so many of them."""

    def __init__(self, data: bytes, breaks_after: int | None, on_read: Callable[[], None]) -> None:
        super().__init__()
        self._data, self._place, self._breaks_after, self._on_read = data, 0, breaks_after, on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._on_read()
        size = min(len(buffer), 1 << 16)
        if self._breaks_after is not None:
            if self._place >= self._breaks_after:
                message = "the connection broke"
                raise ConnectionResetError(message)
            size = min(size, self._breaks_after - self._place)
        piece = self._data[self._place : self._place + size]
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)


@dataclass
class ShakyStore:
    """The store.

    ``breaks`` are for each key how many bytes the next streams give before they break, None for one that breaks not; ``refusals`` how
    often a question about a key fails; ``before_stream`` is called before each stream but a side file's, ``on_read`` in each of its reads.
    """

    objects: dict[str, bytes]
    breaks: dict[str, list[int | None]] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)
    before_stream: Callable[[str], None] = lambda _key: None
    on_read: Callable[[], None] = lambda: None
    asked: list[tuple[str, int, int]] = field(default_factory=list)
    open_now: int = 0
    open_most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    code: str = "source-unreachable"

    @property
    def address(self) -> str:
        return "s3://shaky"

    def url(self, key: str = "") -> str:
        return f"https://shaky.invalid/{key}"

    @property
    def abilities(self) -> Abilities:
        return READ_ONLY

    @property
    def serves_folders(self) -> bool:
        return False

    def is_open(self, key: str) -> bool:
        return key in self.objects

    def list(self, prefix: str = "") -> Iterator[Listed]:
        start = f"{prefix}/" if prefix else ""
        for key in sorted(self.objects):
            if key.startswith(start):
                yield Listed(key=ObjectKey(key), size=len(self.objects[key]))

    def head(self, key: str) -> ObjectInfo | None:
        self._refuse(key)
        data = self.objects.get(key)
        return None if data is None else self._info(key, data)

    def get(self, key: str) -> Content | None:
        self._refuse(key)
        data = self.objects.get(key)
        return None if data is None else Content(data=data, info=self._info(key, data))

    @contextlib.contextmanager
    def stream(self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> Iterator[IO[bytes]]:
        small = key.endswith(".sha256sum")
        if not small:
            self.before_stream(key)
        self._refuse(key)
        if key not in self.objects:
            raise HipwrightError("nothing-published", f"there is no {key}")
        data = self.objects[key]
        if small:
            yield io.BytesIO(data[start:end])
            return
        if etag is not None and self._info(key, data).etag != etag:
            raise HipwrightError("write-conflict", f"{key} was changed")
        end = len(data) if end is None else end
        with self.lock:
            self.asked.append((key, start, end))
            queue = self.breaks.get(key)
            breaks_after = queue.pop(0) if queue else None
            self.open_now += 1
            self.open_most = max(self.open_most, self.open_now)
        try:
            yield io.BufferedReader(_Stream(data[start:end], breaks_after, self.on_read), buffer_size=1)
        finally:
            with self.lock:
                self.open_now -= 1

    def as_file(self, key: str) -> contextlib.AbstractContextManager[Path]:
        raise NotImplementedError(key)

    def put(self, key: str, *_arguments: object, **_more: object) -> ObjectInfo:
        raise NotImplementedError(key)

    def copy_from(self, source: Store, source_key: str, key: str, **_more: object) -> ObjectInfo:
        raise NotImplementedError(key)

    def delete(self, key: str) -> None:
        raise NotImplementedError(key)

    def _refuse(self, key: str) -> None:
        with self.lock:
            left = self.refusals.get(key, 0)
            if left:
                self.refusals[key] = left - 1
                raise HipwrightError(self.code, f"cannot read {key}")

    def _info(self, key: str, data: bytes) -> ObjectInfo:
        sha256 = self.stated.get(key)
        return ObjectInfo(
            key=ObjectKey(key),
            size=len(data),
            etag=hashlib.md5(data, usedforsecurity=False).hexdigest(),
            sha256=None if sha256 is None else Sha256(sha256),
            content_type="application/zstd",
            cache_seconds=0,
        )
