"""A store in memory: what is asked of it is counted, and it may keep keys that end in ``/``."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import io
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.stores.base import Abilities, Content, Listed, ObjectInfo, parse_key
from build_tools.types import ObjectKey, Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from build_tools.stores.base import Store

__all__ = ["MemoryStore"]


class MemoryStore:
    """The store.

    Parameters
    ----------
    slash_keys
        Whether it keeps keys that end in ``/``, which no listing shows.
    on_write
        Is called before each write and each removal with how many there were and its key, and again after it; what it raises passes.
    """

    def __init__(self, *, slash_keys: bool = False) -> None:
        self.objects: dict[str, tuple[bytes, str, int]] = {}
        self.abilities = Abilities(slash_keys=slash_keys)
        self.calls: collections.Counter[str] = collections.Counter()
        self.read: list[str] = []
        self.written: list[str] = []
        self.before: Callable[[int, str], None] = lambda _number, _key: None
        self.after: Callable[[int, str], None] = lambda _number, _key: None

    @property
    def address(self) -> str:
        return "s3://memory"

    @property
    def serves_folders(self) -> bool:
        return False

    def url(self, key: str = "") -> str:
        return f"https://memory.invalid/{key}"

    def is_open(self, key: str) -> bool:
        return key in self.objects

    def list(self, prefix: str = "") -> Iterator[Listed]:
        self.calls["list"] += 1
        start = f"{prefix}/" if prefix else ""
        for key in sorted(self.objects):
            if key.startswith(start) and not key.endswith("/"):
                yield Listed(key=ObjectKey(key), size=len(self.objects[key][0]))

    def head(self, key: str) -> ObjectInfo | None:
        self.calls["head"] += 1
        return self._info(key)

    def get(self, key: str) -> Content | None:
        self.calls["get"] += 1
        self.read.append(key)
        info = self._info(key)
        return None if info is None else Content(data=self.objects[key][0], info=info)

    @contextlib.contextmanager
    def stream(self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> Iterator[IO[bytes]]:
        del etag
        self.calls["stream"] += 1
        self.read.append(key)
        yield io.BytesIO(self.objects[key][0][start:end])

    @contextlib.contextmanager
    def as_file(self, key: str) -> Iterator[Path]:
        self.calls["as_file"] += 1
        self.read.append(key)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, key.rpartition("/")[2])
            path.write_bytes(self.objects[key][0])
            yield path

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
        data = body if isinstance(body, bytes) else body.read_bytes()
        number = len(self.written)
        self.calls["put"] += 1
        self.written.append(key)
        self.before(number, key)
        there = self._info(key)
        if (if_absent and there is not None) or (if_match is not None and (there is None or there.etag != if_match)):
            raise HipwrightError("write-conflict", f"{key} was changed by someone else")
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise HipwrightError("output-changed", f"{key} has other bytes")
        self.objects[key] = (data, content_type, cache_seconds)
        if on_bytes is not None:
            on_bytes(len(data))
        info = self._info(key)
        assert info is not None
        self.after(number, key)
        return info

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
        content = source.get(source_key)
        if content is None:
            raise HipwrightError("nothing-published", f"there is no {source_key}")
        assert size in {None, len(content.data)}
        return self.put(
            key,
            content.data,
            content_type=content_type,
            cache_seconds=cache_seconds,
            sha256=sha256,
            if_absent=if_absent,
            if_match=if_match,
            on_bytes=on_bytes,
        )

    def delete(self, key: str) -> None:
        number = len(self.written)
        self.calls["delete"] += 1
        self.written.append(key)
        self._check(key)
        self.before(number, key)
        self.objects.pop(key, None)
        self.after(number, key)

    def _check(self, key: str) -> None:
        parse_key(key, slash=self.abilities.slash_keys)

    def _info(self, key: str) -> ObjectInfo | None:
        self._check(key)
        if key not in self.objects:
            return None
        data, content_type, cache_seconds = self.objects[key]
        sha256 = hashlib.sha256(data).hexdigest()
        return ObjectInfo(
            key=ObjectKey(key),
            size=len(data),
            # As S3's: equal bytes have equal etags, whatever was there between.
            etag=hashlib.md5(data, usedforsecurity=False).hexdigest(),
            sha256=Sha256(sha256),
            content_type=content_type,
            cache_seconds=cache_seconds,
        )
