"""Write a wheel from a list of what goes in: from files, bytes, streams and other archives, compressed by several threads.

The same content gives the same bytes on every machine with the same zlib, however many threads work: a member is cut into blocks of one
size, each of which is compressed with the end of the one before as its dictionary, so that together they are one deflate stream.
"""

from __future__ import annotations

import collections
import hashlib
import secrets
import stat
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.wheels.record import RecordRow, encode_hash, render_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from build_tools.types import Sha256

__all__ = ["Packed", "WheelEntry", "write_wheel"]

_BLOCK: Final = 1 << 20
_WINDOW: Final = 1 << 15
_LEVEL: Final = 5
"""On ROCm's and PyTorch's libraries this is 1 % larger than level 6, zlib's own choice, in three fifths of the time."""

_SHRINKS: Final = 0.97
"""A member whose first block does not shrink below this part of it is stored: it is compressed already."""

_ZIP64: Final = 0xFFFF_FFFF - (64 << 20)
"""From this size on a member's header has room for sizes above 4 GiB: what is not known to shrink may grow a little."""

_SENTINEL: Final = 0xFFFF_FFFF
_MANY: Final = 0xFFFF
_DATE: Final = 0x0021
"""The first day that a zip can state, 1980-01-01, as it is written: the date of every member."""

_UNIX: Final = 3
_UTF8: Final = 0x0800
_STORED: Final = 0
_DEFLATED: Final = 8
_LOCAL: Final = struct.Struct("<4s5H3I2H")
_CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
_END: Final = struct.Struct("<4s4H2IH")
_END64: Final = struct.Struct("<4sQ2H2I4Q")
_LOCATOR: Final = struct.Struct("<4sIQI")


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """Content as it lies in another archive, to be copied without being unpacked.

    ``begin`` is where its ``packed`` bytes lie in ``archive``; ``method``, ``crc`` and the unpacked ``size`` are what a header says of
    them. ``algorithm`` and ``hash_value`` are its hash as a row of ``RECORD`` has it.
    """

    archive: Path
    begin: int
    packed: int
    size: int
    crc: int
    method: int
    algorithm: str
    hash_value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WheelEntry:
    """A member to be: its name, where its bytes come from, and whether it is executable.

    ``content`` are the bytes themselves, a file, a function that gives them in pieces when their turn has come, or a piece of another
    archive. ``size`` is its size in bytes where it is known before; one of 4 GiB and more must be. ``sha256`` is what its bytes must
    have, where that is known and they are read.
    """

    name: str
    content: bytes | Path | Packed | Callable[[], Iterable[bytes]]
    executable: bool = False
    size: int | None = None
    sha256: Sha256 | None = None


@dataclass(kw_only=True, slots=True)
class _Member:
    """A member while it is written."""

    entry: WheelEntry
    offset: int = 0
    method: int | None = None
    crc: int = 0
    size: int = 0
    packed: int = 0
    algorithm: str = "sha256"
    digest: str = ""
    begun: bool = False

    @property
    def is_large(self) -> bool:
        match self.entry.content:
            case bytes() as content:
                known = len(content)
            case Packed() as content:
                known = max(content.size, content.packed)
            case _:
                known = self.entry.size or 0
        return known >= _ZIP64


@dataclass(kw_only=True, slots=True)
class _Block:
    """A block on its way: raw, and compressed in some thread unless it is stored; ``last`` of its member or not.

    One whose content lies packed in another archive stands for all of it.
    """

    member: _Member
    raw: bytes
    packed: Future[bytes] | None
    last: bool


def write_wheel(
    entries: Iterable[WheelEntry],
    *,
    dist_info: str,
    wheel: Path,
    compress: bool,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Write a wheel with these members and a ``RECORD``; it is there whole or not at all.

    Members are sorted, with those of ``.dist-info`` last and ``RECORD`` at the very end (PEP 427 advises it).

    Parameters
    ----------
    entries
        The members, without ``RECORD``.
    dist_info
        The name of the ``.dist-info`` folder.
    wheel
        The file; its folder is made when missing.
    compress
        Whether members are deflated, those that shrink. Without it the bytes do not depend on the machine's zlib.
    jobs
        How many threads compress.
    progress
        Told how many members of how many are written.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when a name is there twice or a member without a known size has 4 GiB, ``output-changed`` when a member has
        other bytes than it must have, or an archive that is copied from is shorter than it was.
    """
    ordered = sorted(entries, key=lambda entry: (entry.name.startswith(f"{dist_info}/"), entry.name))
    twice = sorted(name for name, count in collections.Counter(entry.name for entry in ordered).items() if count > 1)
    if twice:
        raise HipwrightError("bad-wheel", f"{wheel.name} would hold {', '.join(twice[:3])} twice", where=Where(file=wheel))
    wheel.parent.mkdir(parents=True, exist_ok=True)
    partial = wheel.with_name(f"{wheel.name}.partial-{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as stream, ThreadPoolExecutor(max(jobs, 1)) as pool:
            writer = _Writer(stream=stream, pool=pool, compress=compress, ahead=2 * max(jobs, 1) + 2)
            try:
                for number, entry in enumerate(ordered, 1):
                    writer.add(entry)
                    progress(number, len(ordered))
                writer.drain()
                rows = [
                    RecordRow(path=one.entry.name, algorithm=one.algorithm, value=one.digest, size=one.size)
                    for one in writer.members
                ]
                record = f"{dist_info}/RECORD"
                writer.add(WheelEntry(name=record, content=render_record([*rows, RecordRow(path=record)])))
                writer.drain()
                writer.finish()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            finally:
                writer.close()
        partial.replace(wheel)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(kw_only=True, slots=True)
class _Writer:
    """Writes an archive from front to back; blocks are compressed ahead of what is written."""

    stream: IO[bytes]
    pool: ThreadPoolExecutor
    compress: bool
    ahead: int
    members: list[_Member] = field(default_factory=list)
    waiting: collections.deque[_Block] = field(default_factory=collections.deque)
    source: IO[bytes] | None = None
    source_path: Path | None = None

    def add(self, entry: WheelEntry) -> None:
        """Read a member and hand its blocks on."""
        member = _Member(entry=entry, method=None if self.compress else _STORED)
        self.members.append(member)
        if isinstance(entry.content, Packed):
            known = entry.content
            member.method, member.crc, member.size, member.packed = known.method, known.crc, known.size, known.packed
            member.algorithm, member.digest = known.algorithm, known.hash_value
            self.waiting.append(_Block(member=member, raw=b"", packed=None, last=True))
            self.drain(keep=self.ahead)
            return
        digest = hashlib.sha256()
        before = b""
        pending: bytes | None = None
        for block in _blocks(entry.content):
            if pending is not None:
                before = self._hand_on(member, pending, before, last=False)
            pending = block
            digest.update(block)
            member.crc = zlib.crc32(block, member.crc)
            member.size += len(block)
        member.digest = encode_hash(digest.digest())
        if entry.sha256 is not None and digest.hexdigest() != entry.sha256:
            message = f"{entry.content if isinstance(entry.content, Path) else entry.name} changed while it was packed"
            raise HipwrightError("output-changed", message, where=Where(member=entry.name), hint="run it again")
        if member.size >= _ZIP64 and not member.is_large:
            raise HipwrightError("bad-wheel", f"{entry.name} has {member.size} bytes, and its size was not told before")
        self._hand_on(member, pending or b"", before, last=True)

    def drain(self, keep: int = 0) -> None:
        """Write the blocks that wait, all but ``keep``."""
        while len(self.waiting) > keep:
            self._write(self.waiting.popleft())

    def finish(self) -> None:
        """Write the directory."""
        start = self.stream.tell()
        for member in self.members:
            self.stream.write(_central(member))
        size = self.stream.tell() - start
        count = len(self.members)
        if count >= _MANY or start >= _SENTINEL or size >= _SENTINEL:
            place = self.stream.tell()
            self.stream.write(_END64.pack(b"PK\x06\x06", _END64.size - 12, 45, 45, 0, 0, count, count, size, start))
            self.stream.write(_LOCATOR.pack(b"PK\x06\x07", 0, place, 1))
        shown = min(count, _MANY)
        self.stream.write(_END.pack(b"PK\x05\x06", 0, 0, shown, shown, min(size, _SENTINEL), min(start, _SENTINEL), 0))

    def _hand_on(self, member: _Member, raw: bytes, before: bytes, *, last: bool) -> bytes:
        """Let a block be compressed, and return the end of it, which is the next one's dictionary."""
        packed = None if member.method == _STORED else self.pool.submit(_deflate, raw, before, last=last)
        self.waiting.append(_Block(member=member, raw=raw, packed=packed, last=last))
        self.drain(keep=self.ahead)
        return raw[-_WINDOW:]

    def _write(self, block: _Block) -> None:
        member = block.member
        if isinstance(member.entry.content, Packed):
            member.offset = self.stream.tell()
            self.stream.write(_local(member))
            self._copy(member.entry.content)
            return
        packed = block.packed.result() if block.packed is not None else block.raw
        if not member.begun:
            if member.method is None:
                limit = len(block.raw) if block.last else len(block.raw) * _SHRINKS
                member.method = _DEFLATED if len(packed) < limit else _STORED
            member.begun = True
            member.offset = self.stream.tell()
            self.stream.write(_local(member))
        data = packed if member.method == _DEFLATED else block.raw
        self.stream.write(data)
        member.packed += len(data)
        if block.last:
            end = self.stream.tell()
            self.stream.seek(member.offset)
            self.stream.write(_local(member))
            self.stream.seek(end)

    def _copy(self, content: Packed) -> None:
        """Copy a piece of another archive, which stays open: the next piece is mostly from there too."""
        if self.source is None or self.source_path != content.archive:
            self.close()
            self.source, self.source_path = content.archive.open("rb"), content.archive
        left = content.packed
        self.source.seek(content.begin)
        while left:
            piece = self.source.read(min(left, _BLOCK))
            if not piece:
                message = f"{content.archive} is shorter than it was a moment ago"
                raise HipwrightError("output-changed", message, where=Where(file=content.archive), hint="run it again")
            self.stream.write(piece)
            left -= len(piece)

    def close(self) -> None:
        """Close the archive that was copied from."""
        if self.source is not None:
            self.source.close()
            self.source = None


def _blocks(content: bytes | Path | Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    """Give a member's bytes in blocks of one size, the last of which may be shorter."""
    if isinstance(content, Path):
        with content.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield block
        return
    kept = bytearray()
    for piece in (content,) if isinstance(content, bytes) else content():
        kept += piece
        while len(kept) > _BLOCK:
            yield bytes(kept[:_BLOCK])
            del kept[:_BLOCK]
    if kept:
        yield bytes(kept)


def _deflate(raw: bytes, before: bytes, *, last: bool) -> bytes:
    packer = (
        zlib.compressobj(_LEVEL, zlib.DEFLATED, -15, zdict=before) if before else zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    )
    return packer.compress(raw) + packer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def _header(member: _Member) -> tuple[bytes, int, int, int]:
    """Return what both headers state alike: the name, the version that is needed to read the member, its flags and method."""
    name = member.entry.name.encode()
    return name, 45 if member.is_large else 20, 0 if name.isascii() else _UTF8, member.method or _STORED


def _local(member: _Member) -> bytes:
    name, version, flags, method = _header(member)
    sizes: Sequence[int] = (member.packed, member.size)
    extra = b""
    if member.is_large:
        extra = struct.pack("<2H2Q", 1, 16, member.size, member.packed)
        sizes = (_SENTINEL, _SENTINEL)
    head = _LOCAL.pack(b"PK\x03\x04", version, flags, method, 0, _DATE, member.crc, *sizes, len(name), len(extra))
    return head + name + extra


def _central(member: _Member) -> bytes:
    name, version, flags, method = _header(member)
    sizes: Sequence[int] = (member.packed, member.size)
    numbers: tuple[int, ...] = ()
    offset = member.offset
    if member.is_large:
        numbers = (member.size, member.packed)
        sizes = (_SENTINEL, _SENTINEL)
    if offset >= _SENTINEL:
        numbers = (*numbers, offset)
        offset = _SENTINEL
    extra = struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""
    version = 45 if numbers else version
    mode = stat.S_IFREG | (0o755 if member.entry.executable else 0o644)
    head = _CENTRAL.pack(
        *(b"PK\x01\x02", _UNIX << 8 | version, version, flags, method, 0, _DATE, member.crc, *sizes),
        *(len(name), len(extra), 0, 0, 0, mode << 16, offset),
    )
    return head + name + extra
