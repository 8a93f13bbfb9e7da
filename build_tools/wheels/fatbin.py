"""Fat binaries: the bundles of code for several GPU targets that a HIP compiler puts into a library, walked by the sizes that they record.

A section holds one bundle for each file that was compiled, one after the other with room between for alignment. A plain bundle begins
with ``__CLANG_OFFLOAD_BUNDLE__``, a compressed one with ``CCOB`` (LLVM: "Clang Offload Bundler"; the compressed header has had three
versions). Nothing is looked for inside of code: kernels hold any bytes.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

import zstandard

from build_tools.wheels.binary_read import DamageError, read_at
from build_tools.wheels.code_object import HEADER_SIZE, target_of_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BUNDLE_MAGICS", "Bundle", "read_bundles"]

_PLAIN: Final = b"__CLANG_OFFLOAD_BUNDLE__"
_PACKED: Final = b"CCOB"
BUNDLE_MAGICS: Final = (_PLAIN, _PACKED)
"""What a bundle begins with."""

_ID: Final = re.compile(r"[a-z0-9]+-.*?-(?P<target>gfx[0-9a-f]+(?:-[0-9]+)*(?:-generic)?(?::[a-z]+[+-])*|amdgcnspirv)?")
_HOST: Final = re.compile(r"host-.*")
_WINDOW: Final = 1 << 16
_MOST_ENTRIES: Final = 4096
_LONGEST_ID: Final = 4096
_MOST_BUNDLES: Final = 1 << 17
_LARGEST_TABLE: Final = 1 << 22
"""The bytes of a compressed bundle that are unpacked for its table at most: what it holds is not of interest."""

_SIP: Final = 512
"""Bytes that are unpacked at once: deflate makes half a megabyte of them at most, Zstandard 16 MiB."""

_BOMB_SIZE: Final = 256 << 20
_BOMB_RATIO: Final = 200
"""Code for GPUs shrinks to a tenth or a thirtieth; what shrinks beyond this measure, and is large, is no code."""

_ZLIB, _ZSTD = 0, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """One bundle: where it begins in its section, the targets that it has code for, and whether it is compressed.

    ``empty`` are targets that it names and has no code for.
    """

    offset: int
    targets: tuple[str, ...]
    compressed: bool = False
    empty: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class _Unpacked:
    """How much of one section was unpacked, and to how much: a bomb may lie in many small parts."""

    packed: int = 0
    made: int = 0

    def add(self, packed: int, made: int) -> None:
        self.packed += packed
        self.made += made
        if self.made > max(_BOMB_SIZE, _BOMB_RATIO * self.packed):
            message = f"{self.packed} compressed bytes make {self.made}, and more is not read"
            raise DamageError(message)


def read_bundles(stream: IO[bytes], start: int, size: int) -> tuple[tuple[Bundle, ...], str | None]:
    """Return the bundles in a part of a file, and what is wrong there: None where all of it was read.

    Parameters
    ----------
    stream
        The file, seekable.
    start, size
        The part, in bytes.
    """
    found: list[Bundle] = []
    end = stream.seek(0, os.SEEK_END)
    cut = start + size > end
    size = max(0, min(size, end - start))

    def at(place: int, length: int) -> bytes:
        return read_at(stream, start + place, max(0, min(length, size - place)))

    place, unpacked = 0, _Unpacked()
    try:
        while (begin := _next(at, place, size)) is not None:
            place = begin
            if len(found) >= _MOST_BUNDLES:
                return tuple(found), f"it has more than {_MOST_BUNDLES} bundles"
            bundle, place = _plain(at, place, size) if at(place, len(_PLAIN)) == _PLAIN else _packed(at, place, size, unpacked)
            found.append(bundle)
    except (DamageError, struct.error) as error:
        return tuple(found), f"the bundle at {place:#x} of its GPU code cannot be read: {error}"
    return tuple(found), "the place for its GPU code reaches beyond the end of the file" if cut else None


def _next(at: Callable[[int, int], bytes], place: int, size: int) -> int | None:
    """Return where the next bundle begins, past the zeros of alignment; None at the end."""
    while place < size:
        window = at(place, _WINDOW)
        if not window:
            return None
        rest = window.lstrip(b"\0")
        if rest:
            place += len(window) - len(rest)
            head = at(place, len(_PLAIN))
            if not head.startswith(BUNDLE_MAGICS):
                message = f"what stands there begins with {head[:8]!r}"
                raise DamageError(message)
            return place
        place += len(window)
    return None


def _plain(at: Callable[[int, int], bytes], place: int, size: int) -> tuple[Bundle, int]:
    targets: list[str] = []
    empty: list[str] = []
    end = len(_PLAIN)
    for offset, length, name in _table(lambda begin, count: at(place + begin, count)):
        end = max(end, offset + length)
        if place + end > size:
            message = f"it states {length} bytes for {name}, and ends before"
            raise DamageError(message)
        target = _target(name)
        if target is not None:
            (targets if length and _is_code(at(place + offset, HEADER_SIZE), target) else empty).append(target)
    return Bundle(offset=place, targets=tuple(targets), empty=tuple(empty)), place + end


def _is_code(head: bytes, target: str) -> bool:
    """Tell whether code is for the target that it is filed under; what is no code object may be of any kind."""
    stated = target_of_code(head)
    return stated is None or stated == "?" or stated.split(":")[0] == target.split(":", maxsplit=1)[0]


def _table(at: Callable[[int, int], bytes]) -> Iterator[tuple[int, int, str]]:
    """Give place, size and id of each entry of a plain bundle."""
    place = len(_PLAIN)
    (count,) = struct.unpack("<Q", at(place, 8))
    if count > _MOST_ENTRIES:
        message = f"it states {count} entries"
        raise DamageError(message)
    place += 8
    for _ in range(count):
        offset, length, name_length = struct.unpack("<3Q", at(place, 24))
        name = at(place + 24, min(name_length, _LONGEST_ID))
        if len(name) < name_length or not name.isascii():
            message = "the id of an entry is cut off, or is no text"
            raise DamageError(message)
        place += 24 + name_length
        yield offset, length, name.decode("ascii")


def _target(name: str) -> str | None:
    """Return the target that an entry's id names, in the order of its features; None for the host's part."""
    if _HOST.fullmatch(name):
        return None
    found = _ID.fullmatch(name)
    if found is None:
        message = f"{name!r} is no id of an entry"
        raise DamageError(message)
    if found["target"] is None:
        return None
    base, *features = found["target"].split(":")
    return ":".join((base, *sorted(features)))


def _packed(at: Callable[[int, int], bytes], place: int, size: int, unpacked: _Unpacked) -> tuple[Bundle, int]:
    version, method = struct.unpack("<2H", at(place + 4, 4))
    match version:
        case 1:
            total, head = None, 20
        case 2:
            (total,), head = struct.unpack("<I", at(place + 8, 4)), 24
        case 3:
            (total,), head = struct.unpack("<Q", at(place + 8, 8)), 32
        case _:
            message = f"its compressed form has the version {version}"
            raise DamageError(message)
    if total is not None and (total < head or place + total > size):
        message = f"it states {total} bytes, and {size - place} are left"
        raise DamageError(message)
    limit = size if total is None else place + total
    # The first version does not say how long it is: its end is found where the compressed data end.
    table, end = _unpack(at, place + head, limit, method, whole=total is None, unpacked=unpacked)
    if not table.startswith(_PLAIN):
        message = "what was compressed is no bundle"
        raise DamageError(message)
    names = [
        (length, target)
        for _, length, name in _table(lambda begin, count: table[begin : begin + count])
        if (target := _target(name))
    ]
    bundle = Bundle(
        offset=place,
        targets=tuple(target for length, target in names if length),
        compressed=True,
        empty=tuple(target for length, target in names if not length),
    )
    return bundle, end if total is None else place + total


def _unpack(
    at: Callable[[int, int], bytes], place: int, limit: int, method: int, *, whole: bool, unpacked: _Unpacked
) -> tuple[bytes, int]:
    """Return the beginning of what is compressed, and where the compressed data end if ``whole`` asks for that."""
    if method not in {_ZLIB, _ZSTD}:
        message = f"it is compressed by method {method}"
        raise DamageError(message)
    data = bytearray()
    reader = zlib.decompressobj() if method == _ZLIB else zstandard.ZstdDecompressor().decompressobj()
    while place < limit:
        piece = at(place, min(_SIP, limit - place))
        place += len(piece)
        try:
            out = reader.decompress(piece)
        except (zlib.error, zstandard.ZstdError) as error:
            message = f"its compressed data are damaged: {error}"
            raise DamageError(message) from None
        unpacked.add(len(piece), len(out))
        data += out[: _LARGEST_TABLE - len(data)]
        if reader.eof:
            return bytes(data), place - len(reader.unused_data)
        if not piece or (not whole and len(data) >= _WINDOW):
            break
    if whole:
        message = "its compressed data have no end"
        raise DamageError(message)
    return bytes(data), place
