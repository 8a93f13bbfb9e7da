"""The SHA-256 of files that were read before, noted in the cache: large wheels that nobody touched are not read again to find nothing new.

A note says what the bytes of a file were when it had a size, an inode and two times: when its bytes and when anything of it was changed
last; and whether they were found to be a sound wheel. It is good as long as all of them are the same. A file that was changed a moment before it was read gets none: it could change
once more within the grain of its times. What is sent is hashed while it is read, whatever is noted.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.receipts.record import Record, from_json, to_json
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["KnownDigests"]

_NAME: Final = "digests.json"
_MOST: Final = 4096
_GRAIN_NS: Final = 2_000_000_000
"""Two seconds, the coarsest grain of times that a file system of today has (FAT)."""


class _Note(Record, frozen=True, kw_only=True):
    """What a file was; ``noted_ns`` is when that was found, nanoseconds of the time of day; ``sound`` tells whether it was judged to be."""

    noted_ns: int
    size: int
    inode: int
    mtime_ns: int
    ctime_ns: int
    sha256: Sha256
    sound: bool = False


class _Notes(Record, frozen=True, kw_only=True):
    """The notes by the absolute paths of the files."""

    schema: Literal[1] = 1
    notes: dict[str, _Note]


class KnownDigests:
    """Digests of files, from their notes where these are good; safe to use from several threads.

    Parameters
    ----------
    cache
        The folder of the cache.
    believed
        Whether notes count; without, every file is read.
    now_ns
        The time of day in nanoseconds.
    """

    def __init__(self, cache: Path, *, believed: bool = True, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._path: Final = cache / _NAME
        self._now_ns: Final = now_ns
        self._lock: Final = threading.Lock()
        self._known: Final = _read(self._path) if believed else {}
        self._new: Final[dict[str, _Note]] = {}

    def of_file(self, path: Path) -> Sha256:
        """Return the SHA-256 of a file, which is read only when nothing good is noted of it.

        Raises
        ------
        OSError
            It cannot be read.
        """
        state = path.stat()
        note = self._note_of(path)
        if note is not None and _is_of(note, state):
            return note.sha256
        since = self._now_ns()
        sha256 = digest.of_file(path)
        note = _Note(
            noted_ns=since,
            size=state.st_size,
            inode=state.st_ino,
            mtime_ns=state.st_mtime_ns,
            ctime_ns=state.st_ctime_ns,
            sha256=sha256,
        )
        if _is_of(note, path.stat()) and max(note.mtime_ns, note.ctime_ns) + _GRAIN_NS < since:
            with self._lock:
                self._new[_name_of(path)] = note
        return sha256

    def is_sound(self, path: Path) -> bool:
        """Return whether a file was found sound, by a good note.

        Raises
        ------
        OSError
            It cannot be asked for.
        """
        note = self._note_of(path)
        return note is not None and note.sound and _is_of(note, path.stat())

    def found_sound(self, path: Path) -> None:
        """Note that a file is sound, which was read before; one of which nothing is noted gets no note by this.

        Raises
        ------
        OSError
            It cannot be asked for.
        """
        note = self._note_of(path)
        if note is not None and not note.sound and _is_of(note, path.stat()):
            with self._lock:
                self._new[_name_of(path)] = msgspec.structs.replace(note, sound=True)

    def _note_of(self, path: Path) -> _Note | None:
        name = _name_of(path)
        with self._lock:
            return self._new.get(name) or self._known.get(name)

    def keep(self) -> None:
        """Write down what was read; a cache that cannot be written keeps nothing."""
        if not self._new:
            return
        notes = {name: note for name, note in _read(self._path).items() if name not in self._new} | self._new
        newest = dict(sorted(notes.items(), key=lambda row: row[1].noted_ns)[-_MOST:])
        with contextlib.suppress(HipwrightError, OSError):
            files.make_folder(self._path.parent)
            files.write_bytes(self._path, to_json(_Notes(notes=newest)))


def _name_of(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - a link is noted by its own name


def _read(path: Path) -> dict[str, _Note]:
    try:
        return from_json(path.read_bytes(), _Notes, name=path).notes
    except (OSError, HipwrightError):
        return {}


def _is_of(note: _Note, state: os.stat_result) -> bool:
    there = (state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)
    return there == (note.size, note.inode, note.mtime_ns, note.ctime_ns)
