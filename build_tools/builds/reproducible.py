"""Two wheels that should be equal: where they differ first, and in what."""

from __future__ import annotations

import itertools
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from build_tools import digest
from build_tools.shown import shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Difference", "first_difference"]

_BLOCK: Final = 1 << 20
_AROUND: Final = 40
_TEXT: Final = frozenset(bytes(range(32, 127))) | frozenset(b"\t\r\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Where two wheels differ first: the member, None for the archive around them, and what about it."""

    member: str | None
    what: str


def first_difference(first: Path, second: Path) -> Difference | None:
    """Return where two wheels differ first, in the order of the first one; None when all their bytes are equal.

    ``RECORD`` differs whenever a member does, so it comes last.
    """
    if first.name != second.name:
        return Difference(member=None, what=f"the first is {first.name}, the second {second.name}")
    if digest.of_file(first) == digest.of_file(second):
        return None
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as other:
        ours, theirs = ({info.filename: info for info in archive.infolist()} for archive in (one, other))
        names = sorted(ours, key=lambda name: name.endswith(".dist-info/RECORD"))
        # One after another: the first is wanted, and contents are read for it.
        found = itertools.chain(
            (_in_content(one, other, name) for name in names if name in theirs),
            (Difference(member=name, what="only the first build has it") for name in names if name not in theirs),
            (Difference(member=name, what="only the second build has it") for name in theirs if name not in ours),
            (_in_entry(ours[name], theirs[name]) for name in names if name in theirs),
            (_in_order(list(ours), list(theirs)),),
        )
        around = Difference(member=None, what="members are equal, and the archives around them are not")
        return next((difference for difference in found if difference is not None), around)


def _in_entry(here: zipfile.ZipInfo, there: zipfile.ZipInfo) -> Difference | None:
    for what, left, right in (
        ("date", here.date_time, there.date_time),
        ("mode", oct(here.external_attr >> 16), oct(there.external_attr >> 16)),
        ("compressed size", here.compress_size, there.compress_size),
    ):
        if left != right:
            return Difference(member=here.filename, what=f"its {what} is {left} in the first, {right} in the second")
    return None


def _in_order(ours: list[str], theirs: list[str]) -> Difference | None:
    for place, (here, there) in enumerate(zip(ours, theirs, strict=False), 1):
        if here != there:
            return Difference(member=here, what=f"it is number {place} in the first, where the second has {there}")
    return None


def _in_content(one: zipfile.ZipFile, other: zipfile.ZipFile, name: str) -> Difference | None:
    size, size_there = one.getinfo(name).file_size, other.getinfo(name).file_size
    if size == size_there and one.getinfo(name).CRC == other.getinfo(name).CRC:
        return None
    with one.open(name) as left, other.open(name) as right:
        found = _first_offset(left, right)
    sizes = f"{size} and {size_there} bytes" if size != size_there else f"{size} bytes"
    if found is None:
        return Difference(member=name, what=f"{sizes}, equal as far as both go")
    offset, line, before, after = found
    if set(before) | set(after) <= _TEXT:
        return Difference(member=name, what=f"{sizes}, line {line}: {shown(before.decode())!r} and {shown(after.decode())!r}")
    return Difference(member=name, what=f"{sizes}, first at offset {offset}: {before[:16].hex(' ')} and {after[:16].hex(' ')}")


def _first_offset(left: IO[bytes], right: IO[bytes]) -> tuple[int, int, bytes, bytes] | None:
    """Return the offset and line of the first difference, and the bytes around it: of the line in text, from the offset in others."""
    passed, lines = 0, 1
    while True:
        here, there = left.read(_BLOCK), right.read(_BLOCK)
        if here != there:
            at = next(
                (place for place, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there))
            )
            start = max(here.rfind(b"\n", 0, at) + 1, at - _AROUND)
            before, after = (block[start : at + _AROUND].split(b"\n")[0] for block in (here, there))
            if not set(before) | set(after) <= _TEXT:
                before, after = here[at : at + _AROUND], there[at : at + _AROUND]
            return passed + at, lines + here.count(b"\n", 0, at), before, after
        if not here:
            return None
        passed += len(here)
        lines += here.count(b"\n")
