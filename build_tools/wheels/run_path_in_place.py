"""Set where a binary looks for libraries without holding it in memory: a new table of names goes to its end.

``patchelf`` reads a file whole and writes it anew, which takes twice its size in memory, and some of PyTorch's libraries have half a
GiB. Here the names that the dynamic section points to are copied behind all else, together with the run path, and are loaded from there by
the program header of a note, which says what the section of that note says too. All other bytes stay as and where they are. Where a binary
has no such note, or no room for a run path in its dynamic section, that program is needed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from build_tools.wheels.binary_read import read_exactly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["set_run_path_in_place"]

_HEADER: Final = struct.Struct("<4s5B7x2HI3QI6H")
_SEGMENT: Final = struct.Struct("<2I6Q")
_SECTION: Final = struct.Struct("<2I4Q2I2Q")
_ENTRY: Final = struct.Struct("<qQ")
_PAGE: Final = 0x10000
"""No smaller than the pages of any machine that ROCm runs on."""

_LOAD, _DYNAMIC, _NOTE = 1, 2, 4
_STRINGS: Final = 3
_READABLE: Final = 4
_STRTAB, _STRSZ, _RPATH, _RUNPATH = 5, 10, 15, 29
_MOST: Final = 4096
"""No binary has more program headers or entries of a dynamic section than some dozens."""

_CHUNK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Segment:
    """A program header: what it is, where its bytes are in the file and in memory; ``raw`` as it stands there."""

    kind: int
    offset: int
    address: int
    in_file: int
    in_memory: int
    raw: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class _Change:
    """What is to be done: bytes to write at places, and names to copy to the end, whose place in the file is ``end``."""

    writes: tuple[tuple[int, bytes], ...]
    names: tuple[int, int]
    end: int
    text: bytes


def set_run_path_in_place(path: Path, run_path: Sequence[str]) -> bool:
    """Set a binary's run path, as DT_RPATH; return False, with the file as it was, where it is laid out so that this cannot be done.

    Parameters
    ----------
    path
        A 64-bit little-endian ELF file that is this function's to change.
    run_path
        The entries.
    """
    text = ":".join(run_path).encode() + b"\0"
    with path.open("r+b") as stream:
        try:
            change = _plan(stream, text)
        except (struct.error, StopIteration, ValueError, OverflowError, OSError):
            return False
        if change is None:
            return False
        place, left = change.names
        end = change.end
        while left:
            piece = read_exactly(stream, place, min(left, _CHUNK))
            stream.seek(end)
            stream.write(piece)
            place, end, left = place + len(piece), end + len(piece), left - len(piece)
        for at, data in ((end, change.text), *change.writes):
            stream.seek(at)
            stream.write(data)
    return True


def _plan(stream: IO[bytes], text: bytes) -> _Change | None:
    head = _HEADER.unpack(read_exactly(stream, 0, _HEADER.size))
    magic, kind, order, program, sections = head[0], head[1], head[2], head[10], head[11]
    size, count, section_size, section_count = head[14], head[15], head[16], head[17]
    if (magic, kind, order) != (b"\x7fELF", 2, 1) or size != _SEGMENT.size or not 0 < count < _MOST:
        return None
    segments = [_segment(read_exactly(stream, program + number * size, size)) for number in range(count)]
    loads = [segment for segment in segments if segment.kind == _LOAD]
    entries, spare = _entries(stream, next(segment for segment in segments if segment.kind == _DYNAMIC))
    places = {tag: (place, value) for place, tag, value in entries}
    ours = [place for place, tag, _ in entries if tag in {_RPATH, _RUNPATH}] or spare
    note = next(segment for segment in segments if segment.kind == _NOTE)
    if len(ours) != 1 or not {_STRTAB, _STRSZ} <= places.keys():
        return None
    (_, start), (_, length) = places[_STRTAB], places[_STRSZ]
    holder = next(one for one in loads if one.address <= start and start + length <= one.address + one.in_file)
    names = holder.offset + start - holder.address
    size_of_all = stream.seek(0, 2)
    if names + length > size_of_all:
        return None
    end = _up(size_of_all)
    address = _up(max(one.address + one.in_memory for one in loads))
    whole = length + len(text)
    added = _SEGMENT.pack(_LOAD, _READABLE, end, address, address, whole, whole, _PAGE)
    # Loaded segments stand in the order of their addresses.
    kept = [segment.raw for segment in segments if segment is not note]
    after = max(number for number, raw in enumerate(kept) if _segment(raw).kind == _LOAD) + 1
    table = b"".join([*kept[:after], added, *kept[after:]])
    writes = [
        (program, table),
        (ours[0], _ENTRY.pack(_RPATH, length)),
        (places[_STRTAB][0], _ENTRY.pack(_STRTAB, address)),
        (places[_STRSZ][0], _ENTRY.pack(_STRSZ, whole)),
    ]
    if sections and section_count:
        table_at = sections, section_size, section_count
        writes += [
            (at, _moved(raw, address, end, whole)) for at, raw in _sections(stream, *table_at) if _holds(raw, start, names)
        ]
    return _Change(writes=tuple(writes), names=(names, length), end=end, text=text)


def _up(place: int) -> int:
    return -(-place // _PAGE) * _PAGE


def _segment(raw: bytes) -> _Segment:
    kind, _, offset, address, _, in_file, in_memory, _ = _SEGMENT.unpack(raw)
    return _Segment(kind=kind, offset=offset, address=address, in_file=in_file, in_memory=in_memory, raw=raw)


def _entries(stream: IO[bytes], dynamic: _Segment) -> tuple[list[tuple[int, int, int]], list[int]]:
    """Return the dynamic section's entries, each with its place in the file, tag and value, and the place of one that is free, if any.

    Linkers leave some behind the last; one has to stay, as the end.
    """
    found: list[tuple[int, int, int]] = []
    free: list[int] = []
    for number in range(min(dynamic.in_file // _ENTRY.size, _MOST)):
        place = dynamic.offset + number * _ENTRY.size
        tag, value = _ENTRY.unpack(read_exactly(stream, place, _ENTRY.size))
        if tag:
            if free:
                break
            found.append((place, tag, value))
        elif not free:
            free.append(place)
        else:
            return found, free
    return found, []


def _sections(stream: IO[bytes], table: int, size: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Give each section header with its place in the file."""
    if size != _SECTION.size:
        raise ValueError(size)
    for number in range(count):
        place = table + number * size
        yield place, read_exactly(stream, place, size)


def _holds(section: bytes, address: int, offset: int) -> bool:
    """Return whether a section is the one with the names."""
    _, kind, _, start, place, *_ = _SECTION.unpack(section)
    return kind == _STRINGS and (start, place) == (address, offset)


def _moved(section: bytes, address: int, offset: int, size: int) -> bytes:
    name, kind, flags, _, _, _, *rest = _SECTION.unpack(section)
    return _SECTION.pack(name, kind, flags, address, offset, size, *rest)
