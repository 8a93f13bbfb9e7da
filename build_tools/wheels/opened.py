"""Read a wheel that others are made from: what its archive holds, where each file lies in it, compressed, and the hash that each has."""

from __future__ import annotations

import hashlib
import io
import stat
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, Protocol

from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.wheels.archive import content_faults, find_framed, read_directory, read_member
from build_tools.wheels.metadata import parse_metadata, parse_wheel_fields
from build_tools.wheels.name import parse_wheel_name
from build_tools.wheels.record import STRONG_HASHES, UNRECORDED, encode_hash, parse_record
from build_tools.wheels.write import Packed, WheelEntry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.wheels.archive import Member
    from build_tools.wheels.name import WheelName
    from build_tools.wheels.record import RecordRow

__all__ = ["ANY_EXECUTE", "PackedWheel", "Sink", "bad_wheel", "copy_member", "member_bytes", "name_fault", "open_wheel"]

ANY_EXECUTE: Final = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
"""The bits of a mode by which a file is executable for anybody."""

_TEXT_LIMIT: Final = 64 << 20


class Sink(Protocol):
    """What bytes are written to, piece by piece."""

    def write(self, piece: bytes, /) -> object:
        """Take the next piece."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PackedWheel:
    """A wheel, ready to be copied from: its name, its files as they lie in the archive, and its metadata.

    ``entries`` has every file but ``RECORD`` and its signatures, by its name; their contents are all :class:`Packed`.
    """

    path: Path
    name: WheelName
    entries: Mapping[str, WheelEntry]
    metadata: bytes
    wheel: bytes

    @property
    def dist_info(self) -> str:
        """The folder of metadata."""
        return self.name.dist_info

    def packed(self, member: str) -> Packed:
        """Return how a file lies in the archive."""
        content = self.entries[member].content
        if not isinstance(content, Packed):
            raise TypeError(member)
        return content


def open_wheel(path: Path) -> PackedWheel:
    """Read a wheel's directory, headers, ``RECORD`` and metadata.

    A file that ``RECORD`` does not list, or lists by a weak hash, is unpacked once for its hash.

    Raises
    ------
    HipwrightError
        ``no-wheel``; ``bad-wheel`` naming the member and what is wrong: an archive that readers see differently, a name that leads
        elsewhere or is there twice, a ``RECORD`` that lists what is not there, metadata that disagrees with the file name.
    """
    if not path.is_file():
        raise HipwrightError("no-wheel", f"there is no wheel {path}", where=Where(file=path))
    name = parse_wheel_name(path.name)
    directory = read_directory(path)
    if directory.faults:
        fault = directory.faults[0]
        raise bad_wheel(path, fault.message, fault.member)
    members: dict[str, Member] = {}
    with path.open("rb") as stream:
        for member in directory.members:
            _require_plain(path, member)
            if member.is_folder:
                continue
            if member.name in members:
                raise bad_wheel(path, "the name is there twice", member.name)
            members[member.name] = member
        texts = {text: _text(path, stream, members, f"{name.dist_info}/{text}") for text in ("METADATA", "WHEEL", "RECORD")}
        rows = _rows(path, texts["RECORD"], members, f"{name.dist_info}/RECORD")
        unlisted = {f"{name.dist_info}/{text}" for text in ("RECORD", *UNRECORDED)}
        entries = {
            member.name: WheelEntry(
                name=member.name,
                content=_packed(path, stream, member, rows.get(member.name)),
                executable=bool(member.mode & ANY_EXECUTE),
            )
            for member in sorted(members.values(), key=lambda one: one.offset)
            if member.name not in unlisted
        }
    _require_agreement(path, name, texts["METADATA"], texts["WHEEL"])
    return PackedWheel(path=path, name=name, entries=entries, metadata=texts["METADATA"], wheel=texts["WHEEL"])


def copy_member(wheel: PackedWheel, member: str, sink: Sink) -> None:
    """Unpack one file of a wheel into an open file, or what else takes bytes, proved by its CRC.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when it is not there, or is damaged.
    """
    if member not in wheel.entries:
        raise bad_wheel(wheel.path, "it is not there", member)
    packed = wheel.packed(member)
    with wheel.path.open("rb") as stream:
        stream.seek(packed.begin)
        fault = next(content_faults(stream, packed, sink.write), None)
    if fault is not None:
        raise bad_wheel(wheel.path, fault, member)


def member_bytes(wheel: PackedWheel, member: str, *, limit: int = _TEXT_LIMIT) -> bytes:
    """Return the content of one file of a wheel, proved by its CRC.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when it is not there, has more bytes than ``limit``, or is damaged.
    """
    if member in wheel.entries and wheel.packed(member).size > limit:
        raise bad_wheel(wheel.path, f"it has {wheel.packed(member).size} bytes; more than {limit} are not read", member)
    data = io.BytesIO()
    copy_member(wheel, member, data)
    return data.getvalue()


def name_fault(name: str) -> str | None:
    """Return what is wrong with the name of a wheel's file; None when it leads to a place below that of the wheel."""
    parts = name.split("/")
    if {"", ".", ".."} & set(parts) or "\\" in name or ":" in parts[0] or not name.isprintable():
        return "its name is not that of a file below the place where a wheel is installed"
    return None


def bad_wheel(path: Path, message: str, member: str | None) -> HipwrightError:
    """Return the failure ``bad-wheel`` about a wheel's file, or with None about the wheel."""
    name = shown(member) if member is not None else None
    said = f"{path.name}: {name}: {message}" if name is not None else f"{path.name}: {message}"
    return HipwrightError("bad-wheel", said, where=Where(file=path, member=name))


def _packed(path: Path, stream: IO[bytes], member: Member, row: RecordRow | None) -> Packed:
    begin, faults = find_framed(stream, member)
    if begin is None or faults:
        raise bad_wheel(path, faults[0], member.name)
    if row is not None and row.algorithm in STRONG_HASHES:
        algorithm, value = row.algorithm, row.value
        if row.size is not None and row.size != member.size:
            raise bad_wheel(path, f"RECORD says {row.size} bytes, and there are {member.size}", member.name)
    else:
        algorithm, digest = "sha256", hashlib.sha256()
        faults = read_member(stream, member, digest.update)
        if faults:
            raise bad_wheel(path, faults[0], member.name)
        value = encode_hash(digest.digest())
    return Packed(
        archive=path,
        begin=begin,
        packed=member.packed,
        size=member.size,
        crc=member.crc,
        method=member.method,
        algorithm=algorithm,
        hash_value=value,
    )


def _rows(path: Path, record: bytes, members: Mapping[str, Member], own: str) -> dict[str, RecordRow]:
    rows: dict[str, RecordRow] = {}
    for row in parse_record(record):
        if row.path not in members:
            raise bad_wheel(path, f"RECORD line {row.line} lists it, and it is not in the wheel", row.path)
        if row.path in rows:
            raise bad_wheel(path, "RECORD lists it twice", row.path)
        rows[row.path] = row
    rows.pop(own, None)
    return rows


def _require_plain(path: Path, member: Member) -> None:
    fault = name_fault(member.name.removesuffix("/"))
    if fault is None and stat.S_IFMT(member.mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        fault = "it is a link or a special file, which a wheel cannot hold"
    if fault is not None:
        raise bad_wheel(path, fault, member.name)


def _text(path: Path, stream: IO[bytes], members: Mapping[str, Member], name: str) -> bytes:
    if name not in members:
        raise bad_wheel(path, "it is not there", name)
    return _bytes(path, stream, members[name])


def _bytes(path: Path, stream: IO[bytes], member: Member) -> bytes:
    if member.size > _TEXT_LIMIT:
        raise bad_wheel(path, f"it has {member.size} bytes; more than {_TEXT_LIMIT} are not read", member.name)
    data = bytearray()
    faults = read_member(stream, member, data.extend)
    if faults:
        raise bad_wheel(path, faults[0], member.name)
    return bytes(data)


def _require_agreement(path: Path, name: WheelName, metadata: bytes, wheel: bytes) -> None:
    parsed = parse_metadata(metadata)
    if parsed.project != canonicalize_name(name.distribution) or parsed.version != Version(name.version):
        raise bad_wheel(path, f"METADATA says {parsed.name} {parsed.version}", f"{name.dist_info}/METADATA")
    parse_wheel_fields(wheel)
