"""Prove that two ELF files differ in nothing but where they look for libraries.

A tool that makes room for a longer run path moves the string table, and what stood beside it, to a place of its own. So what is loaded is
compared by its address in memory, and what was moved by its section: all bytes have to be the same but those of the dynamic section, of
the run path's own text, and the numbers of sections in symbols.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["differences"]

_DAMAGE: Final = (
    *(ELFError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError),
    *(OverflowError, MemoryError, OSError, UnicodeDecodeError, RecursionError),
)
"""What pyelftools lets through of its parsers and of its reading at damaged places."""

_CHUNK: Final = 1 << 22
_HEADER: Final = 64
_NO_BITS: Final = "SHT_NOBITS"
_ALLOCATED: Final = 0x2
_FREE: Final = frozenset({".dynamic", ".shstrtab"})
_SYMBOLS: Final = frozenset({".dynsym", ".symtab"})
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_SECTION_SYMBOL: Final = 3
_RUN_PATHS: Final = frozenset({"DT_RPATH", "DT_RUNPATH"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    name: str
    address: int
    offset: int
    size: int
    has_bits: bool
    is_loaded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Image:
    """A file: its bytes, its sections by name and number, and the address, size and place of what is loaded."""

    data: mmap.mmap
    sections: Mapping[tuple[str, int], _Section]
    loads: tuple[tuple[int, int, int, int, int], ...]
    headers: tuple[int, int]
    run_paths: tuple[tuple[int, int], ...]

    def at(self, address: int, size: int) -> int | None:
        """Return the place of what is loaded to an address; None where the file has not all of it."""
        return next(
            (
                place + address - start
                for start, has, place, *_ in self.loads
                if start <= address <= address + size <= start + has
            ),
            None,
        )

    def of(self, section: _Section) -> bytes:
        return self.data[section.offset : section.offset + section.size]


def differences(before: Path, after: Path) -> tuple[str, ...]:
    """Return what else differs between a file and what became of it when its run path was set; a few words each.

    Both are 64-bit ELF files; one whose sections cannot be read differs.
    """
    with (
        before.open("rb") as one,
        after.open("rb") as other,
        mmap.mmap(one.fileno(), 0, access=mmap.ACCESS_READ) as first,
        mmap.mmap(other.fileno(), 0, access=mmap.ACCESS_READ) as second,
    ):
        try:
            return tuple(_compare(_image(first, ELFFile(one)), _image(second, ELFFile(other))))
        except _DAMAGE as error:
            return (f"its sections cannot be read: {error}",)


def _image(data: mmap.mmap, elf: Any) -> _Image:  # noqa: ANN401 - pyelftools is untyped
    counted: dict[str, int] = {}
    sections = {}
    ordered = sorted(elf.iter_sections(), key=lambda one: (one["sh_addr"], one.name)) if elf.num_sections() else []
    for each in ordered:
        counted[each.name] = number = counted.get(each.name, 0) + 1
        sections[each.name, number] = _Section(
            name=each.name,
            address=each["sh_addr"],
            offset=each["sh_offset"],
            size=each["sh_size"],
            has_bits=each["sh_type"] not in {_NO_BITS, "SHT_NULL"},
            is_loaded=bool(each["sh_flags"] & _ALLOCATED),
        )
    segments = [each for each in elf.iter_segments() if each["p_type"] == "PT_LOAD"]
    loads = tuple((each["p_vaddr"], each["p_filesz"], each["p_offset"], each["p_memsz"], each["p_flags"]) for each in segments)
    head = elf.header["e_phoff"], elf.header["e_phoff"] + elf.header["e_phnum"] * elf.header["e_phentsize"]
    dynamic = next((each for each in elf.iter_segments() if each["p_type"] == "PT_DYNAMIC"), None)
    texts = [
        (tag.entry.d_val, len(tag.rpath if tag.entry.d_tag == "DT_RPATH" else tag.runpath))
        for tag in (dynamic.iter_tags() if dynamic is not None else ())
        if tag.entry.d_tag in _RUN_PATHS
    ]
    return _Image(data=data, sections=sections, loads=loads, headers=head, run_paths=tuple(texts))


def _compare(before: _Image, after: _Image) -> Iterator[str]:
    moved = []
    for key, old in before.sections.items():
        new = after.sections.get(key)
        if new is None:
            yield f"the section {old.name} is gone"
            continue
        if old.is_loaded and old.address != new.address:
            moved.append(old.address)
        if old.has_bits:
            yield from _of_section(before, old, after, new)
    yield from (f"there is a section {name}" for name, number in after.sections if (name, number) not in before.sections)
    free = _free(before, after)
    for start, has, _, size, flags in before.loads:
        if any(start <= address < start + size for address in moved):
            continue  # what stays of it may lie elsewhere too; its sections were compared
        if not any(low <= start and start + size <= low + whole and flags == mode for low, _, _, whole, mode in after.loads):
            yield f"what is loaded to {start:#x} is loaded otherwise"
        elif not all(_same_memory(before, after, *each) for each in _without((start, start + has), free)):
            yield f"what is loaded to {start:#x} is other"


def _of_section(before: _Image, old: _Section, after: _Image, new: _Section) -> Iterator[str]:
    if new.is_loaded and after.at(new.address, new.size) != new.offset:
        yield f"the section {old.name} is not loaded from where it is"
    if old.name in _FREE:
        return
    if old.name in _SYMBOLS or old.name == ".dynstr":
        one, other = before.of(old), after.of(new)
        if old.name == ".dynstr":
            one, other = _masked(one, before.run_paths), _masked(other[: len(one)], before.run_paths)
        same = one == other if old.name == ".dynstr" else _same_symbols(one, other)
    else:
        same = old.size == new.size and _same_bytes(before, old.offset, after, new.offset, old.size)
    if not same:
        yield f"the section {old.name} has other content"


def _masked(text: bytes, places: Iterable[tuple[int, int]]) -> bytes:
    masked = bytearray(text)
    for start, size in places:
        masked[start : start + size] = bytes(size)
    return bytes(masked)


def _same_symbols(one: bytes, other: bytes) -> bool:
    """Compare symbol tables but for the numbers of sections, and the addresses of sections that were moved."""
    if len(one) != len(other) or len(one) % _SYMBOL.size:
        return False
    for old, new in zip(_SYMBOL.iter_unpack(one), _SYMBOL.iter_unpack(other), strict=True):
        if old != new and (old[:3], old[5]) != (new[:3], new[5]):
            return False
        if old[4] != new[4] and old[1] & 0xF != _SECTION_SYMBOL:
            return False
    return True


def _free(before: _Image, after: _Image) -> list[tuple[int, int]]:
    """Return the ranges of addresses whose bytes may differ: headers, and what is compared by its section or not at all.

    Headers may be written to where nothing was; were a section there, its bytes would tell.
    """
    ranges = [(start, start + _HEADER) for start, _, place, *_ in before.loads if place == 0]
    for image in (before, after):
        first, last = image.headers
        ranges += [
            (first - place + start, last - place + start) for start, has, place, *_ in image.loads if place <= first < place + has
        ]
    ranges += [
        (old.address, old.address + old.size)
        for old in before.sections.values()
        if old.is_loaded and (old.name in _FREE or old.name in _SYMBOLS or old.name == ".dynstr")
    ]
    return sorted(ranges)


def _without(whole: tuple[int, int], ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start, end = whole
    for begin, stop in ranges:
        if begin > start:
            yield start, min(begin, end)
        start = max(start, stop)
        if start >= end:
            return
    if start < end:
        yield start, end


def _same_memory(before: _Image, after: _Image, begin: int, end: int) -> bool:
    one, other = before.at(begin, end - begin), after.at(begin, end - begin)
    return one is not None and other is not None and _same_bytes(before, one, after, other, end - begin)


def _same_bytes(before: _Image, one: int, after: _Image, other: int, size: int) -> bool:
    return all(
        before.data[one + done : one + min(done + _CHUNK, size)] == after.data[other + done : other + min(done + _CHUNK, size)]
        for done in range(0, size, _CHUNK)
    )
