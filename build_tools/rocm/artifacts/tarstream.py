"""Read the members of an archive that nobody vouches for: forwards only, in bounded memory, and proved whole at its end."""

from __future__ import annotations

import lzma
import tarfile
from typing import IO, TYPE_CHECKING, Final, Protocol

import zstandard

from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LARGEST_HEADER", "PIECE", "Forward", "bad_archive", "members", "open_tar"]

PIECE: Final = 1 << 20
"""How much is read at once, in bytes."""
LARGEST_HEADER: Final = 1 << 20
"""No header is larger, in bytes: what says so would fill the memory."""

_BLOCK: Final = tarfile.BLOCKSIZE
_LARGEST_WINDOW: Final = 1 << 30
_LARGEST_DICTIONARY: Final = 1 << 30
_MOST_MEMBERS: Final = 2_000_000
_BROKEN: Final = (tarfile.TarError, ValueError, LookupError, ArithmeticError, RecursionError, EOFError, MemoryError)
"""What :mod:`tarfile` raises for headers that are none."""
_HINT: Final = "ask whoever made it; nothing of it was kept"


def bad_archive(archive: Path, reason: str, *, member: str | None = None) -> HipwrightError:
    """Return the error for an archive that is not unpacked."""
    message = f"{archive.name} cannot be unpacked: {reason}"
    return HipwrightError("bad-archive", message, where=Where(file=archive, member=member), hint=_HINT)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Xz:
    """The content of an ``.xz`` file with a bound to the memory that its dictionary takes, which :class:`lzma.LZMAFile` has not."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._stream = self._begun()

    @staticmethod
    def _begun() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_LARGEST_DICTIONARY)

    def read(self, size: int, /) -> bytes:
        while True:
            data = b""
            if self._stream.eof:
                # Zeros may fill the space between two streams.
                data = self._stream.unused_data.lstrip(b"\0") or self._packed.read(PIECE).lstrip(b"\0")
                if not data:
                    return b""
                self._stream = self._begun()
            elif self._stream.needs_input:
                data = self._packed.read(PIECE)
                if not data:
                    message = "it ends before its compressed data do"
                    raise EOFError(message)
            found = self._stream.decompress(data, size)
            if found:
                return found


class Forward:
    """A stream as :mod:`tarfile` reads one, forwards only; ``last`` is what was read last."""

    def __init__(self, source: _Readable) -> None:
        self._source = source
        self._position = 0
        self.last = b""

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._position

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end."""
        if not 0 <= size <= LARGEST_HEADER:
            message = f"it has a header of {size} bytes"
            raise tarfile.ReadError(message)
        found = self.some(size)
        while len(found) < size and (more := self.some(size - len(found))):
            found += more
        self.last = found
        return found

    def some(self, size: int) -> bytes:
        """Return at least one byte and at most so many; none at the end."""
        try:
            found = self._source.read(size) if size else b""
        except (zstandard.ZstdError, lzma.LZMAError, EOFError) as error:
            raise tarfile.ReadError(str(error)) from error
        self._position += len(found)
        return found

    def seek(self, position: int) -> None:
        """Go on to a position."""
        while self._position < position and self.some(min(position - self._position, PIECE)):
            pass
        if self._position != position:
            message = f"it ends after {self._position} bytes, and {position} are needed"
            raise tarfile.ReadError(message)


def open_tar(archive: Path, packed: IO[bytes]) -> Forward:
    """Return the uncompressed stream of an archive whose packed bytes are given; its name tells how they are packed."""
    if archive.name.endswith(".xz"):
        return Forward(_Xz(packed))
    unpacker = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    return Forward(unpacker.stream_reader(packed, read_across_frames=True))


def members(archive: Path, source: Forward) -> Iterator[tarfile.TarInfo]:
    """Give an archive's members; the caller reads a file's data before it asks for the next one.

    Raises
    ------
    HipwrightError
        ``bad-archive`` when the archive is broken, is cut short, or does not end as one does.
    """
    count = 0
    try:
        tar = tarfile.TarFile(
            fileobj=source,  # type: ignore[arg-type] # what it uses of one
            mode="r",
            format=tarfile.PAX_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except _BROKEN as error:
        raise bad_archive(archive, str(error) or "it is no tar archive") from error
    while True:
        try:
            member = tar.next()
        except _BROKEN as error:
            raise bad_archive(archive, str(error) or type(error).__name__) from error
        if member is None:
            break
        tar.members.clear()  # type: ignore[attr-defined] # they are not needed again, and may be many
        count += 1
        if count > _MOST_MEMBERS:
            raise bad_archive(archive, f"it has more than {_MOST_MEMBERS} members")
        if member.size < 0:
            raise bad_archive(archive, f"its member {member.name!r} has {member.size} bytes")
        yield member
    _prove_end(archive, source)


def _prove_end(archive: Path, source: Forward) -> None:
    """Prove that the archive ends as one does: with a block of zeros, and nothing else behind it. An end anywhere else is a cut."""
    if source.last != bytes(_BLOCK):
        raise bad_archive(archive, "it is cut short, or damaged in between")
    try:
        # To the end: only there the checksum of the compressed data is proved.
        while piece := source.some(PIECE):
            if piece.count(0) != len(piece):
                raise bad_archive(archive, "it has data behind its end")
    except tarfile.ReadError as error:
        raise bad_archive(archive, str(error)) from error
