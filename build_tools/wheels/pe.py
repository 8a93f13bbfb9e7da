"""PE files, the binaries of Windows: what a loader asks of one, read from its headers and tables.

A reader of its own: ``pefile`` copies the whole file and parses whatever it meets, and of a library of 400 MB only a few pages matter.
The layout is that of Microsoft's "PE Format". Tables are found by addresses in memory; each address is looked up in the sections.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from build_tools.wheels.binary_read import DamageError, damage_told, read_at, read_exactly

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["PE_MAGIC", "Pe", "read_pe"]

PE_MAGIC: Final = b"MZ"

_MACHINES: Final = {0x8664: "amd64", 0x14C: "x86", 0xAA64: "arm64"}
_PE32: Final = 0x10B
_PE32_PLUS: Final = 0x20B
_DLL: Final = 0x2000
_EXECUTABLE: Final = 0x0002
_SECTION: Final = struct.Struct("<8s4I12xI")
_IMPORT: Final = struct.Struct("<5I")
_DELAY_IMPORT: Final = struct.Struct("<8I")
_EXPORT, _IMPORTS, _DELAY_IMPORTS = 0, 1, 13
_MOST_SECTIONS: Final = 4096
_MOST_LIBRARIES: Final = 4096
_LONGEST_NAME: Final = 512
_BY_ADDRESS: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Pe:
    """A program or a library of Windows.

    ``machine`` is spelled as in platform tags: ``amd64``, ``x86``, ``arm64``. ``imports`` are the libraries that it loads with it,
    ``delay_imports`` those that it loads when it first calls them, as their names stand there. ``exports`` counts what it offers by
    name. ``device_code`` is the place and size of its section of GPU code in the file, in bytes; None without one.
    """

    machine: str
    is_library: bool
    imports: tuple[str, ...] = ()
    delay_imports: tuple[str, ...] = ()
    exports: int = 0
    device_code: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    name: bytes
    address: int
    size: int
    offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Image:
    stream: IO[bytes]
    sections: tuple[_Section, ...]
    base: int

    def read(self, address: int, size: int) -> bytes:
        """Return what is loaded to an address, counted from the image's base."""
        for section in self.sections:
            inside = address - section.address
            if 0 <= inside < section.size:
                return read_at(self.stream, section.offset + inside, min(size, section.size - inside))
        message = f"an address {address:#x} lies in no section"
        raise DamageError(message)

    def text(self, address: int) -> str:
        data, end, _ = self.read(address, _LONGEST_NAME).partition(b"\0")
        if not end or not data or not data.isascii():
            message = f"no name of a library is at {address:#x}"
            raise DamageError(message)
        return data.decode("ascii")


def read_pe(stream: IO[bytes], *, name: Path | str) -> Pe | None:
    """Read a file's PE headers; None for what is no program or library of Windows.

    Parameters
    ----------
    stream
        The file, open for reading and seekable.
    name
        What it is called in errors.

    Raises
    ------
    HipwrightError
        ``bad-binary`` when it begins as a PE file and its headers or tables cannot be read.
    """
    head = read_at(stream, 0, 64)
    if head[:2] != PE_MAGIC or len(head) < 64:  # noqa: PLR2004 - the size of the DOS header
        return None
    (place,) = struct.unpack_from("<I", head, 60)
    if read_at(stream, place, 4) != b"PE\0\0":
        return None  # a program for DOS, or something that happens to begin so
    with damage_told(name, "a PE"):
        return _read(stream, place + 4)


def _read(stream: IO[bytes], place: int) -> Pe | None:
    machine_id, count, _, _, _, optional_size, flags = struct.unpack("<2H3I2H", read_exactly(stream, place, 20))
    machine = _MACHINES.get(machine_id)
    if machine is None or not flags & _EXECUTABLE:
        return None
    if count > _MOST_SECTIONS:
        message = f"it states {count} sections"
        raise DamageError(message)
    optional = read_exactly(stream, place + 20, optional_size)
    (magic,) = struct.unpack_from("<H", optional)
    if magic == _PE32_PLUS:
        (base,) = struct.unpack_from("<Q", optional, 24)
        tables = 108
    elif magic == _PE32:
        (base,) = struct.unpack_from("<I", optional, 28)
        tables = 92
    else:
        message = f"its optional header begins with {magic:#x}"
        raise DamageError(message)
    (stated,) = struct.unpack_from("<I", optional, tables)
    directories = [
        struct.unpack_from("<2I", optional, tables + 4 + 8 * number)
        for number in range(min(stated, 16, (len(optional) - tables - 4) // 8))
    ]
    sections = tuple(_sections(read_exactly(stream, place + 20 + optional_size, count * _SECTION.size)))
    image = _Image(stream=stream, sections=sections, base=base)

    def table(number: int) -> int:
        return int(directories[number][0]) if number < len(directories) else 0

    code = next((section for section in sections if section.name in {b".hip_fat", b".hip_fatbin"}), None)
    return Pe(
        machine=machine,
        is_library=bool(flags & _DLL),
        imports=_unique(_imports(image, table(_IMPORTS))),
        delay_imports=_unique(_delay_imports(image, table(_DELAY_IMPORTS))),
        exports=_exports(image, table(_EXPORT)),
        device_code=None if code is None else (code.offset, code.size),
    )


def _sections(data: bytes) -> Iterator[_Section]:
    for name, virtual_size, address, raw_size, offset, _ in _SECTION.iter_unpack(data):
        # What is only in memory has no bytes; what is padded to the file's alignment ends with the section.
        yield _Section(
            name=name.rstrip(b"\0"),
            address=address,
            size=min(raw_size, virtual_size) if virtual_size else raw_size,
            offset=offset,
        )


def _imports(image: _Image, address: int) -> Iterator[str]:
    for number in range(_MOST_LIBRARIES if address else 0):
        entry = image.read(address + number * _IMPORT.size, _IMPORT.size)
        names, _, _, library, places = _IMPORT.unpack(entry)
        if not (names or library or places):
            return
        yield image.text(library)
    if address:
        message = f"its table of imports has no end within {_MOST_LIBRARIES} libraries"
        raise DamageError(message)


def _delay_imports(image: _Image, address: int) -> Iterator[str]:
    for number in range(_MOST_LIBRARIES if address else 0):
        attributes, library, *_ = _DELAY_IMPORT.unpack(image.read(address + number * _DELAY_IMPORT.size, _DELAY_IMPORT.size))
        if not library:
            return
        yield image.text(library if attributes & _BY_ADDRESS else library - image.base)
    if address:
        message = f"its table of delayed imports has no end within {_MOST_LIBRARIES} libraries"
        raise DamageError(message)


def _exports(image: _Image, address: int) -> int:
    if not address:
        return 0
    (count,) = struct.unpack_from("<I", image.read(address, 40), 24)
    return int(count)


def _unique(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
