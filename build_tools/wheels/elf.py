"""ELF files: what a loader asks of one, read as the loader reads it, by the headers of what is loaded.

Only binaries of the machine are told, programs and shared libraries; object files, static libraries and code for GPUs, which is ELF too,
are data. The tables are read directly: ``pyelftools`` looks at every section of a file before it gives the first entry, and takes a
quarter of the time of a whole check of a wheel with it.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from build_tools.wheels.binary_read import DamageError, damage_told, read_at, read_exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["ELF_MAGIC", "Elf", "read_elf"]

ELF_MAGIC: Final = b"\x7fELF"

_CLASS_64_LITTLE: Final = b"\x02\x01"
_MACHINES: Final = {62: "x86_64", 183: "aarch64"}
_EXECUTABLE, _SHARED = 2, 3
_PIE: Final = 0x0800_0000
_VERSION: Final = re.compile(r"(?P<of>[A-Za-z_]+)_(?P<number>\d+(?:\.\d+)*)")

_HEADER: Final = struct.Struct("<16x2HI3QI6H")
_SEGMENT: Final = struct.Struct("<2I6Q")
_SECTION: Final = struct.Struct("<2I4Q2I2Q")
_ENTRY: Final = struct.Struct("<2Q")
_NEED: Final = struct.Struct("<2H3I")
_NEED_VERSION: Final = struct.Struct("<I2H2I")

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 10, 14, 15, 29
_DT_FLAGS_1, _DT_VERNEED, _DT_VERNEEDNUM = 0x6FFF_FFFB, 0x6FFF_FFFE, 0x6FFF_FFFF
_SHT_NOBITS: Final = 8
"""A section without bytes in the file, as those of a file of debug data are."""

_MANY_SECTIONS: Final = 0xFFFF

_MOST_ENTRIES: Final = 1 << 16
_LARGEST_NAMES: Final = 1 << 26
_MOST_SECTIONS: Final = 1 << 18


@dataclass(frozen=True, kw_only=True, slots=True)
class Elf:
    """A program or a shared library of the machine.

    ``run_path`` is what DT_RPATH says and ``runpath`` what DT_RUNPATH says, split at colons; ``symbol_versions`` are the versions that
    it demands of other libraries: the highest of each kind, such as ``GLIBC`` to ``(2, 34)``. ``versions_known`` is off where it demands
    some and they cannot be told. ``looks_here`` is on where an entry of its run path is empty: such a one is the
    current folder. ``device_code`` is the place and size of its section of GPU code in the file, in bytes; None without one.
    """

    machine: str
    is_program: bool
    is_dynamic: bool
    soname: str | None = None
    needed: tuple[str, ...] = ()
    run_path: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    symbol_versions: tuple[tuple[str, tuple[int, ...]], ...] = ()
    versions_known: bool = True
    looks_here: bool = False
    device_code: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Image:
    """A file and what of it is loaded: address, size in the file, and place of each part."""

    stream: IO[bytes]
    loads: tuple[tuple[int, int, int], ...]

    def place(self, address: int) -> int:
        """Return where in the file is what is loaded to an address."""
        for start, size, place in self.loads:
            if start <= address < start + size:
                return address - start + place
        message = f"nothing of the file is loaded to {address:#x}"
        raise DamageError(message)

    def read(self, place: int, size: int) -> bytes:
        """Return a part of the file."""
        return read_exactly(self.stream, place, size)


def read_elf(stream: IO[bytes], *, name: Path | str) -> Elf | None:
    """Read a file's ELF headers; None for what is no program or shared library of the machine.

    Parameters
    ----------
    stream
        The file, open for reading and seekable.
    name
        What it is called in errors.

    Raises
    ------
    HipwrightError
        ``bad-binary`` when it begins as an ELF file and its headers cannot be read.
    """
    if read_at(stream, 0, len(ELF_MAGIC)) != ELF_MAGIC:
        return None
    with damage_told(name, "an ELF"):
        return _read(_Image(stream=stream, loads=()))


def _read(file: _Image) -> Elf | None:
    if file.read(4, 2) != _CLASS_64_LITTLE:
        file.read(0, 52)  # the header of 32 bits, which is not of our machines; one that is cut off is damage all the same
        return None
    kind, machine_id, _, _, segments_at, sections_at, _, _, segment_size, segments, section_size, sections, names = (
        _HEADER.unpack(file.read(0, _HEADER.size))
    )
    machine = _MACHINES.get(machine_id)
    if machine is None or kind not in {_EXECUTABLE, _SHARED}:
        return None
    if segments and segment_size != _SEGMENT.size:
        message = f"a program header has {segment_size} bytes"
        raise DamageError(message)
    table = list(_SEGMENT.iter_unpack(file.read(segments_at, segments * _SEGMENT.size)))
    image = _Image(stream=file.stream, loads=tuple((row[3], row[5], row[2]) for row in table if row[0] == _PT_LOAD))
    interpreted = any(row[0] == _PT_INTERP for row in table)
    dynamic = next((row for row in table if row[0] == _PT_DYNAMIC), None)
    code = _section(image, b".hip_fatbin", (sections_at, section_size, sections, names))
    if dynamic is None:
        return Elf(machine=machine, is_program=kind == _EXECUTABLE, is_dynamic=False, device_code=code)
    entries = list(_entries(image, dynamic[2], dynamic[5]))
    # What is said twice counts as it was said last.
    last = dict(entries)
    texts = _texts(image, last) if _DT_STRTAB in last else b""

    def text(place: int) -> str:
        end = texts.find(b"\0", place)
        if place >= len(texts) or end < 0:
            message = f"there is no name at {place} of its names"
            raise DamageError(message)
        return texts[place:end].decode()

    soname = text(last[_DT_SONAME]) if _DT_SONAME in last else None
    paths = {tag: text(last[tag]) for tag in (_DT_RPATH, _DT_RUNPATH) if tag in last}
    versions = _demands(image, last, text)
    return Elf(
        machine=machine,
        # A library may have an interpreter too, so that it says its version when it is run; a program has no SONAME.
        is_program=kind == _EXECUTABLE or bool(last.get(_DT_FLAGS_1, 0) & _PIE) or (interpreted and soname is None),
        is_dynamic=True,
        soname=soname,
        needed=tuple(text(value) for tag, value in entries if tag == _DT_NEEDED),
        run_path=tuple(filter(None, paths.get(_DT_RPATH, "").split(":"))),
        runpath=tuple(filter(None, paths.get(_DT_RUNPATH, "").split(":"))),
        symbol_versions=tuple(sorted(versions.items())),
        versions_known=bool(versions) or _DT_VERNEED not in last,
        looks_here=any(path and "" in path.split(":") for path in paths.values()),
        device_code=code,
    )


def _entries(image: _Image, place: int, size: int) -> Iterator[tuple[int, int]]:
    count = min(size // _ENTRY.size, _MOST_ENTRIES)
    for tag, value in _ENTRY.iter_unpack(image.read(place, count * _ENTRY.size)):
        if not tag:
            return
        yield tag, value


def _texts(image: _Image, last: dict[int, int]) -> bytes:
    size = last.get(_DT_STRSZ, 0)
    if size > _LARGEST_NAMES:
        message = f"its names have {size} bytes"
        raise DamageError(message)
    return image.read(image.place(last[_DT_STRTAB]), size)


def _demands(image: _Image, last: dict[int, int], text: Callable[[int], str]) -> dict[str, tuple[int, ...]]:
    """Return the highest version of each kind that is demanded of other libraries."""
    highest: dict[str, tuple[int, ...]] = {}
    if _DT_VERNEED not in last:
        return highest
    place = image.place(last[_DT_VERNEED])
    for _ in range(min(last.get(_DT_VERNEEDNUM, 0), _MOST_ENTRIES)):
        _, count, _, first, following = _NEED.unpack(image.read(place, _NEED.size))
        inner = place + first
        for _ in range(count):
            _, _, _, name, step = _NEED_VERSION.unpack(image.read(inner, _NEED_VERSION.size))
            found = _VERSION.fullmatch(text(name))
            if found:
                number = tuple(map(int, found["number"].split(".")))
                highest[found["of"]] = max(highest.get(found["of"], ()), number)
            if not step:
                break
            inner += step
        if not following:
            break
        place += following
    return highest


def _section(image: _Image, name: bytes, table: tuple[int, int, int, int]) -> tuple[int, int] | None:
    """Return place and size of a section by its name; None without one, or where the section headers are gone.

    ``table`` is what the header says of them: their place, the size of one, how many, and which has their names.
    """
    place, size, count, names = table
    if not place or size != _SECTION.size:
        return None
    if not count or names == _MANY_SECTIONS:
        # Numbers that are too large for the header stand in the first section's.
        first = _SECTION.unpack(image.read(place, _SECTION.size))
        count, names = count or first[5], first[6] if names == _MANY_SECTIONS else names
    if count > _MOST_SECTIONS:
        message = f"it states {count} sections"
        raise DamageError(message)
    rows = list(_SECTION.iter_unpack(image.read(place, count * _SECTION.size)))
    if names >= len(rows) or rows[names][5] > _LARGEST_NAMES:
        return None
    texts = image.read(rows[names][4], rows[names][5])
    return next(((row[4], row[5]) for row in rows if row[1] != _SHT_NOBITS and texts.startswith(name + b"\0", row[0])), None)
