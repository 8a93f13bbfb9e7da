"""The zip archive that a wheel is, read strictly: what one installer sees must be what every other sees.

pip goes by the central directory, uv by the local headers as they come; a package index refuses an archive in which the two differ.
So every local header is compared with its directory entry, no byte may lie outside a member, and each member's content is inflated
and measured. Faults are gathered, not raised: a damaged wheel is named with everything that is wrong with it.
"""

from __future__ import annotations

import collections
import struct
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Final, Protocol

import msgspec

from build_tools.errors import HipwrightError, Where
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "Content",
    "Directory",
    "Fault",
    "Member",
    "content_faults",
    "find_content",
    "find_framed",
    "gap_faults",
    "read_directory",
    "read_member",
]

_LOCAL: Final = struct.Struct("<4s5H3I2H")
_LOCAL_SIGNATURE: Final = b"PK\x03\x04"
_END_SIGNATURE: Final = b"PK\x05\x06"
_END64_SIGNATURE: Final = b"PK\x06\x06"
_DESCRIPTOR_SIGNATURE: Final = b"PK\x07\x08"
_END_SIZE: Final = 22
_END64_SIZE: Final = 56 + 20  # the record and its locator
_EXTRA: Final = struct.Struct("<2H")
_SENTINEL: Final = 0xFFFF_FFFF
_COUNT_SENTINEL: Final = 0xFFFF
_ZIP64: Final = 0x0001
_ENCRYPTED: Final = 0x0001
_DESCRIPTOR: Final = 0x0008
_UTF8: Final = 0x0800
_UNREADABLE: Final = 0x0020 | 0x0040 | 0x2000
"""Patched data, strong encryption, masked headers: readers of zip archives refuse them."""

_UNIX: Final = 3
_CHUNK: Final = 1 << 18
_PIECE: Final = 1 << 20
_BOMB_SIZE: Final = 256 << 20
_BOMB_RATIO: Final = 200
"""Large members of real wheels are code and shrink to a half or a tenth; deflate at its best, on zeros, comes to a thousandth."""

_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Fault(Value, frozen=True, kw_only=True):
    """One thing that is wrong with an archive, and the member that it concerns."""

    message: str
    member: str | None = None


class Member(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of the central directory; sizes and places in bytes.

    ``mode`` is the Unix mode with the file type, 0 where the archive states none. ``limit`` is where the next thing begins: the
    following member, or the directory.
    """

    name: str
    size: int
    packed: int
    crc: int
    method: int
    flags: int
    mode: int
    offset: int
    limit: int

    @property
    def is_folder(self) -> bool:
        """Whether it is an entry for a folder, which holds nothing and which ``RECORD`` does not list."""
        return self.name.endswith("/")


class Content(Protocol):
    """What a header says of packed content; see :class:`Member`."""

    @property
    def size(self) -> int:
        """Bytes when unpacked."""

    @property
    def packed(self) -> int:
        """Bytes as they lie there."""

    @property
    def crc(self) -> int:
        """The CRC-32 of the unpacked bytes."""

    @property
    def method(self) -> int:
        """How it is compressed."""


class Directory(Value, frozen=True, kw_only=True):
    """What the central directory lists, in its order, and what is wrong with the archive's frame."""

    members: tuple[Member, ...]
    faults: tuple[Fault, ...]


def read_directory(path: Path) -> Directory:
    """Read an archive's central directory and judge its frame.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the file cannot be read or is no zip archive.
    """
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            entries = archive.infolist()
            faults = tuple(_frame_faults(stream, start=archive.start_dir, comment=archive.comment, entries=entries))
            start = archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error) as error:
        raise HipwrightError("bad-wheel", f"{path.name} is no zip archive: {error}", where=Where(file=path)) from None
    except OSError as error:
        raise HipwrightError("bad-wheel", f"cannot read {path}: {error.strerror or error}", where=Where(file=path)) from None
    places = sorted(entry.header_offset for entry in entries)
    limits = dict(zip(places, [*places, start][1:], strict=True))
    members = tuple(
        Member(
            # What the archive says, before zipfile cuts it at a NUL or turns backslashes.
            name=entry.orig_filename,
            size=entry.file_size,
            packed=entry.compress_size,
            crc=entry.CRC,
            method=entry.compress_type,
            flags=entry.flag_bits,
            mode=entry.external_attr >> 16 if entry.create_system == _UNIX else 0,
            offset=entry.header_offset,
            limit=limits[entry.header_offset],
        )
        for entry in entries
    )
    return Directory(members=members, faults=faults)


def read_member(stream: IO[bytes], member: Member, sink: Callable[[bytes], object]) -> tuple[str, ...]:
    """Compare one member's local header with the directory, inflate its content into ``sink``, and return what is wrong.

    Parameters
    ----------
    stream
        The archive, open for reading; its position is moved.
    member
        The member.
    sink
        Gets the content in pieces; it is never handed more bytes than the directory states.
    """
    begin, faults = find_content(stream, member)
    if begin is None:
        return faults
    if member.size > _BOMB_SIZE and member.size > _BOMB_RATIO * member.packed:
        return (*faults, f"{member.packed} packed bytes state {member.size} bytes of content, which is not read")
    stream.seek(begin)
    return (*faults, *content_faults(stream, member, sink), *gap_faults(stream, member, begin + member.packed))


def find_content(stream: IO[bytes], member: Member) -> tuple[int | None, tuple[str, ...]]:
    """Compare one member's local header with the directory; return where its packed bytes begin, and what is wrong.

    The place is None where the content cannot be taken for the member's: no header, an overlap, encryption, a method that no wheel has.
    """
    inside = 0 <= member.offset <= member.limit - _LOCAL.size
    head = b""
    if inside:
        stream.seek(member.offset)
        head = stream.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(_LOCAL_SIGNATURE):
        return None, ("the directory points at something that is no local header",)
    name_size, extra_size = struct.unpack_from("<2H", head, 26)
    rest = stream.read(name_size + extra_size)
    faults = list(_header_faults(member, head, rest[:name_size], rest[name_size:]))
    begin = member.offset + _LOCAL.size + name_size + extra_size
    if begin + member.packed > member.limit:
        return None, (*faults, "its content overlaps what comes after it")
    if member.flags & _ENCRYPTED:
        return None, (*faults, "it is encrypted")
    if member.flags & _UNREADABLE:
        return None, (*faults, f"it has the flags {member.flags:#06x}, which no installer reads")
    if member.method not in _METHODS:
        return None, (*faults, f"it is compressed by method {member.method}; wheels are stored or deflated")
    return begin, tuple(faults)


def find_framed(stream: IO[bytes], member: Member) -> tuple[int | None, tuple[str, ...]]:
    """Judge what is around one member's content, which is not inflated: as :func:`find_content`, and by what lies behind it."""
    begin, faults = find_content(stream, member)
    return begin, faults if begin is None else (*faults, *gap_faults(stream, member, begin + member.packed))


def _frame_faults(stream: IO[bytes], *, start: int, comment: bytes, entries: Sequence[zipfile.ZipInfo]) -> Iterator[Fault]:
    places = collections.Counter(entry.header_offset for entry in entries)
    first = min(places, default=start)
    if first > 0:
        yield Fault(message=f"{first} bytes lie before the first member")
    for entry in entries:
        if entry.volume:
            yield Fault(message=f"it is said to lie in part {entry.volume} of an archive in parts", member=entry.orig_filename)
        if places[entry.header_offset] > 1:
            yield Fault(message="its local header is another directory entry's too", member=entry.orig_filename)
    size = stream.seek(0, 2)
    end = size - _END_SIZE - len(comment)
    stream.seek(end)
    record = stream.read(_END_SIZE)
    if not record.startswith(_END_SIGNATURE) or struct.unpack_from("<H", record, 20)[0] != len(comment):
        yield Fault(message="bytes lie after the archive's end record")
        return
    (count,) = struct.unpack_from("<H", record, 10)
    if count == _COUNT_SENTINEL:
        stream.seek(max(end - _END64_SIZE, 0))
        large = stream.read(_END64_SIZE)
        if not large.startswith(_END64_SIGNATURE):
            yield Fault(message="the zip64 end record is not where it belongs")
            return
        (count,) = struct.unpack_from("<Q", large, 32)
    if count != len(entries):
        yield Fault(message=f"the end record counts {count} members, and the directory lists {len(entries)}")


def _header_faults(member: Member, head: bytes, name: bytes, extra: bytes) -> Iterator[str]:
    _, _, flags, method, _, _, crc, packed, size, _, _ = _LOCAL.unpack(head)
    if name != member.name.encode("utf-8" if member.flags & _UTF8 else "cp437", "replace"):
        yield f"its local header has the name {name!r}"
    compared = _ENCRYPTED | _DESCRIPTOR | _UTF8
    if flags & compared != member.flags & compared:
        yield f"its local header has flags {flags:#06x}, the directory {member.flags:#06x}"
    if method != member.method:
        yield f"its local header has compression method {method}, the directory {member.method}"
    values, wrong = _zip64_values(extra)
    if wrong is None:
        size, packed, wrong = _sizes(size, packed, values)
    if wrong is not None:
        yield wrong
        return
    stated = (crc, packed, size)
    if flags & _DESCRIPTOR and not any(stated):
        return  # the descriptor after the content states them
    if stated != (member.crc, member.packed, member.size):
        yield (
            f"its local header states {packed} bytes packed, {size} unpacked, CRC {crc:08x}; "
            f"the directory {member.packed}, {member.size}, {member.crc:08x}"
        )


def _zip64_values(extra: bytes) -> tuple[tuple[int, ...], str | None]:
    """Return the numbers in an extra field's zip64 part, and what is wrong with the field."""
    fields: list[bytes] = []
    place = 0
    while place < len(extra):
        kind, length = _EXTRA.unpack_from(extra, place) if len(extra) - place >= _EXTRA.size else (0, len(extra))
        content = extra[place + _EXTRA.size : place + _EXTRA.size + length]
        place += _EXTRA.size + length
        if len(content) != length:
            return (), "its local header has a malformed extra field"
        if kind == _ZIP64:
            fields.append(content)
    if len(fields) > 1 or any(len(content) % 8 for content in fields):
        return (), "its local header has a malformed zip64 field"
    return tuple(number for content in fields for (number,) in struct.iter_unpack("<Q", content)), None


def _sizes(size: int, packed: int, values: tuple[int, ...]) -> tuple[int, int, str | None]:
    """Return the sizes that a local header means, given its own two and those of its zip64 field, and what is wrong with them.

    A field that states both sizes may be there without need, when they are true; one that states something that nobody asked for is
    what strict readers stumble over (``wheel tags`` before 0.48 wrote the directory's there).
    """
    both = 2
    if len(values) == both:
        large_size, large_packed = values
        if size in {_SENTINEL, large_size} and packed in {_SENTINEL, large_packed}:
            return large_size, large_packed, None
    elif len(values) == (size == _SENTINEL) + (packed == _SENTINEL):
        numbers = iter(values)
        return next(numbers) if size == _SENTINEL else size, next(numbers) if packed == _SENTINEL else packed, None
    stated = ", ".join(map(str, values)) or "nothing"
    return size, packed, f"its local header states the sizes {size} and {packed}, and its zip64 field {stated}"


def content_faults(stream: IO[bytes], member: Content, sink: Callable[[bytes], object]) -> Iterator[str]:
    """Inflate packed content, at whose first byte the stream is, into ``sink``; yield what is wrong with it."""
    crc = 0
    size = 0
    try:
        for piece in _pieces(stream, member):
            size += len(piece)
            if size > member.size:
                yield f"its content is longer than the {member.size} bytes that the directory states"
                return
            crc = zlib.crc32(piece, crc)
            sink(piece)
    except (zlib.error, EOFError) as error:
        yield f"its content is damaged: {error}"
        return
    if size != member.size:
        yield f"its content has {size} bytes, the directory states {member.size}"
    elif crc != member.crc:
        yield f"its content has CRC {crc:08x}, the directory states {member.crc:08x}"


def _pieces(stream: IO[bytes], member: Content) -> Iterator[bytes]:
    left = member.packed
    inflater = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == zipfile.ZIP_DEFLATED else None
    while left:
        raw = stream.read(min(left, _CHUNK))
        if not raw:
            raise EOFError("the file ends in it")
        left -= len(raw)
        if inflater is None:
            yield raw
            continue
        while raw:
            if piece := inflater.decompress(raw, _PIECE):
                yield piece
            raw = inflater.unconsumed_tail
        if inflater.unused_data or (inflater.eof and left):
            raise EOFError("bytes follow the end of the compressed stream")
    if inflater is not None:
        # Nearly never something: of small members each turn of all that look at pieces counts.
        if piece := inflater.flush():
            yield piece
        if not inflater.eof:
            raise EOFError("the compressed stream has no end")


def gap_faults(stream: IO[bytes], member: Member, end: int) -> Iterator[str]:
    """Judge what lies between a member's content, which ends at ``end``, and the next thing.

    It is nothing, or the descriptor that the member's flags announce.
    """
    gap = member.limit - end
    if not member.flags & _DESCRIPTOR:
        if gap:
            yield f"{gap} bytes lie between its content and what comes after it"
        return
    stream.seek(end)
    data = stream.read(gap) if gap in (12, 16, 20, 24) else b""
    if gap in (16, 24):
        if not data.startswith(_DESCRIPTOR_SIGNATURE):
            data = b""
        data = data[4:]
    layout = {12: "<3I", 20: "<I2Q"}.get(len(data))
    if layout is None or struct.unpack(layout, data) != (member.crc, member.packed, member.size):
        yield "the descriptor after its content is missing or states something else than the directory"
