"""A folder as a store: what a bucket does, on a disk.

Objects are plain files under their keys, so that any web server or installer can read them. What a file cannot say (its content
type, the SHA-256 of a large one) lies below ``.hipwright`` in the same folder, as does the lock that makes conditional writes exact
between processes. Bytes are first written there too, so that no half-written file ever stands among the objects.
"""

from __future__ import annotations

import contextlib
import hashlib
import mimetypes
import os
import secrets
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import quote

import filelock

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.receipts.record import Record, from_json, to_json
from build_tools.stores.base import Abilities, Content, Listed, ObjectInfo, parse_key
from build_tools.stores.body import StoredBody, body_of, prove_bytes
from build_tools.stores.copying import meant_object
from build_tools.stores.reading import SMALL_BYTES, bounded, nothing_there, too_large
from build_tools.types import ObjectKey, Sha256
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from build_tools.stores.base import Store
    from build_tools.stores.body import Body

__all__ = ["FolderStore", "folder_store_of"]

_OWN: Final = ".hipwright"
_NOTES: Final = "notes"
_PIECE: Final = 1 << 20
_SMALL: Final = 4 << 20
"""Up to this size an object's SHA-256 is always taken from its bytes; above, from what was noted when it was written."""
_STALE_SECONDS: Final = 24 * 3600


class _Note(Record, frozen=True, kw_only=True):
    """What is noted beside an object; size and time tell whether the file is still the one that was put."""

    key: str
    sha256: Sha256
    size: int
    mtime_ns: int
    content_type: str
    cache_seconds: int


class _Served(Value, frozen=True, kw_only=True):
    """How an object is served."""

    content_type: str
    cache_seconds: int


class _Condition(Value, frozen=True, kw_only=True):
    """What must hold for a write to be carried out."""

    if_absent: bool
    if_match: str | None


class FolderStore:
    """A store in a folder of this machine.

    Parameters
    ----------
    root
        The folder, absolute.
    option
        What names another folder, for hints.
    """

    def __init__(self, root: Path, *, option: str = "--store") -> None:
        self._option: Final = option
        self._root: Final = root
        self._own: Final = root / _OWN

    def __repr__(self) -> str:
        return f"FolderStore({str(self._root)!r})"

    @property
    def address(self) -> str:
        """The folder."""
        return str(self._root)

    def url(self, key: str = "") -> str:
        """Return the ``file:`` URL of a key."""
        return f"{self._root.as_uri().rstrip('/')}/{quote(key, safe='/')}"

    @property
    def abilities(self) -> Abilities:
        """What a folder can: no file's name ends in ``/``."""
        return Abilities(conditional_copy=True, byte_order=True)

    @property
    def serves_folders(self) -> bool:
        """True: installers look for the page of a folder themselves."""
        return True

    def is_open(self, key: str) -> bool:
        """Return whether the file is there: whom the system lets read it is its own affair."""
        return self._path(key).is_file()

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """Yield the objects below a prefix, by key."""
        top = self._path(prefix) if prefix else self._root
        found = []
        for folder, names, members in os.walk(top):
            if Path(folder) == self._root and _OWN in names:
                names.remove(_OWN)
            for member in members:
                path = Path(folder, member)
                with contextlib.suppress(FileNotFoundError):
                    found.append(Listed(key=ObjectKey(path.relative_to(self._root).as_posix()), size=path.stat().st_size))
        yield from sorted(found, key=lambda one: one.key.encode())

    def head(self, key: str) -> ObjectInfo | None:
        """Return what is known about an object; a file that something else wrote is read to learn its SHA-256."""
        path = self._path(key)
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if status.st_size <= _SMALL:
            content = self.get(key)
            return content.info if content else None
        note = self._note(key)
        if note is not None and (note.size, note.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return _info(key, status.st_size, note.sha256, note)
        return _info(key, status.st_size, digest.of_file(path), note)

    def get(self, key: str) -> Content | None:
        """Return an object whole."""
        path = self._path(key)
        try:
            if path.stat().st_size > SMALL_BYTES and path.is_file():
                raise too_large(key, self)
            data = path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unusable(f"cannot read {key}", error) from error
        return Content(data=data, info=_info(key, len(data), digest.of_bytes(data), self._note(key)))

    @contextlib.contextmanager
    def stream(self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> Iterator[IO[bytes]]:
        """Give the object's bytes from ``start`` on, up to ``end``; ``etag``, their SHA-256, is not asked for: that would read them all."""
        del etag
        path = self._path(key)
        try:
            source = path.open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise nothing_there(key, self) from None
        except OSError as error:
            raise self._unusable(f"cannot read {key}", error) from error
        with source:
            source.seek(start)
            yield source if end is None else bounded(source, max(0, end - start))

    @contextlib.contextmanager
    def as_file(self, key: str) -> Iterator[Path]:
        """Give the object's own file, to read only."""
        path = self._path(key)
        if not path.is_file():
            raise nothing_there(key, self)
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
        """Write an object whole or not at all; see :meth:`build_tools.stores.base.Store.put`."""
        served = _Served(content_type=content_type, cache_seconds=cache_seconds)
        condition = _Condition(if_absent=if_absent, if_match=if_match)
        return self._write(key, body_of(body, name=key), sha256, served=served, condition=condition, on_bytes=on_bytes)

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
        """Write an object of a store under another key; see :meth:`build_tools.stores.base.Store.copy_from`."""
        body = StoredBody(store=source, info=meant_object(source, source_key, sha256, size=size), meant=sha256)
        served = _Served(content_type=content_type, cache_seconds=cache_seconds)
        condition = _Condition(if_absent=if_absent, if_match=if_match)
        return self._write(key, body, sha256, served=served, condition=condition, on_bytes=on_bytes)

    def _write(
        self,
        key: str,
        body: Body,
        sha256: Sha256 | None,
        *,
        served: _Served,
        condition: _Condition,
        on_bytes: Callable[[int], None] | None,
    ) -> ObjectInfo:
        path = self._path(key, writing=True)
        try:
            with self._partial() as partial:
                found = _fill(partial, body, on_bytes)
                prove_bytes(body.name, found, sha256)
                status = partial.stat()
                note = _Note(
                    key=key,
                    sha256=found,
                    size=status.st_size,
                    mtime_ns=status.st_mtime_ns,
                    content_type=served.content_type,
                    cache_seconds=served.cache_seconds,
                )
                with self._locked():
                    self._demand(key, condition)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    # The note first: an object that can be seen has one, and one without its object is never believed.
                    files.write_bytes(self._note_path(key), to_json(note))
                    partial.replace(path)
        except OSError as error:
            raise self._unusable(f"cannot write {key}", error) from error
        return _info(key, note.size, note.sha256, note)

    def delete(self, key: str) -> None:
        """Remove an object, its note, and folders that it leaves empty."""
        path = self._path(key, writing=True)
        if path.is_dir():
            return
        try:
            with self._locked():
                with contextlib.suppress(NotADirectoryError):
                    path.unlink(missing_ok=True)
                self._note_path(key).unlink(missing_ok=True)
                for parent in path.relative_to(self._root).parents[:-1]:
                    with contextlib.suppress(OSError):
                        (self._root / parent).rmdir()
        except OSError as error:
            raise self._unusable(f"cannot delete {key}", error) from error

    def _path(self, key: str, *, writing: bool = False) -> Path:
        # What others put into a folder may have names that a folder on Windows cannot hold, where they would mean something else.
        parts = parse_key(key, foreign=not writing and os.name != "nt").split("/")
        if parts[0].lower() == _OWN:
            raise HipwrightError("bad-key", f"the object key {key!r} is in the folder that the store keeps for itself")
        return self._root.joinpath(*parts)

    def _note_path(self, key: str) -> Path:
        name = digest.of_bytes(key.encode())
        return self._own / _NOTES / name[:2] / f"{name}.json"

    def _note(self, key: str) -> _Note | None:
        path = self._note_path(key)
        try:
            return from_json(path.read_bytes(), _Note, name=path)
        except (OSError, HipwrightError):
            # A note only saves work: without one the object itself is asked.
            return None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._own.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(self._own / "lock", poll_interval=0.01):
            yield

    @contextlib.contextmanager
    def _partial(self) -> Iterator[Path]:
        folder = self._own / "partial"
        folder.mkdir(parents=True, exist_ok=True)
        self._sweep(folder)
        path = folder / secrets.token_hex(8)
        try:
            yield path
        finally:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    @staticmethod
    def _sweep(folder: Path) -> None:
        """Remove what killed writers left; a day is longer than any write in progress."""
        for left_over in folder.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - left_over.stat().st_mtime > _STALE_SECONDS:
                    left_over.unlink()

    def _demand(self, key: str, condition: _Condition) -> None:
        """Check a write's condition; the lock is held."""
        if condition.if_absent and self._path(key).exists():
            raise HipwrightError("write-conflict", f"{key} is already in {self._root}")
        if condition.if_match is not None:
            now = self.head(key)
            if now is None or now.etag != condition.if_match:
                raise HipwrightError("write-conflict", f"{key} in {self._root} was changed by someone else")

    def _unusable(self, what: str, error: OSError) -> HipwrightError:
        return HipwrightError(
            "store-unusable",
            f"{what} in the store {self._root}: {error.strerror or error}",
            hint=f"see whether its disk is full and who may write there, or choose another place with {self._option}",
        )


def folder_store_of(folder: Path) -> Path | None:
    """Return the nearest folder, from one upwards, that was written to as a store; None where there is none."""
    return next((root for root in (folder, *folder.parents) if (root / _OWN / _NOTES).is_dir()), None)


def _info(key: str, size: int, sha256: Sha256, note: _Note | None) -> ObjectInfo:
    guessed = mimetypes.guess_type(key, strict=False)[0] or "application/octet-stream"
    return ObjectInfo(
        key=ObjectKey(key),
        size=size,
        etag=sha256,
        sha256=sha256,
        content_type=note.content_type if note else guessed,
        cache_seconds=note.cache_seconds if note else 0,
    )


def _fill(target: Path, body: Body, on_bytes: Callable[[int], None] | None) -> Sha256:
    """Write the body to ``target`` and return its SHA-256, taken in the same pass."""
    hasher = hashlib.sha256()
    with target.open("xb") as sink:
        for piece in body.pieces(_PIECE):
            hasher.update(piece)
            sink.write(piece)
            if on_bytes is not None:
                on_bytes(len(piece))
        sink.flush()
        os.fsync(sink.fileno())
    return Sha256(hasher.hexdigest())
