"""Make a wheel from another one: what stays is copied as it lies in the archive, compressed, and only what changes is packed.

A wheel of several GiB is so renamed in the time that copying its file takes, and memory does not grow with it. The wheel that it is made
from is never written to. What is copied is not unpacked: its hash is the one that the old ``RECORD`` states, and whether that is true is
for the checks to judge, of the new wheel as of the old one.
"""

from __future__ import annotations

import hashlib
import io
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.wheels.archive import content_faults, find_content, gap_faults, read_directory, read_member
from build_tools.wheels.metadata import parse_metadata, parse_wheel_fields, render_wheel_fields
from build_tools.wheels.metadata_edit import edit_metadata
from build_tools.wheels.name import parse_wheel_name, wheel_filename
from build_tools.wheels.record import STRONG_HASHES, UNRECORDED, encode_hash, parse_record
from build_tools.wheels.write import Packed, WheelEntry, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from packaging.tags import Tag

    from build_tools.wheels.archive import Member
    from build_tools.wheels.name import WheelName
    from build_tools.wheels.record import RecordRow

__all__ = ["PackedWheel", "Sink", "add_members", "copy_member", "member_bytes", "open_wheel", "rewrite_wheel"]

_ANY_EXECUTE: Final = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_TEXT_LIMIT: Final = 64 << 20
_WRITTEN_ANEW: Final = ("METADATA", "WHEEL", "RECORD", *UNRECORDED)


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
        raise _bad(path, fault.message, fault.member)
    members: dict[str, Member] = {}
    with path.open("rb") as stream:
        for member in directory.members:
            _require_plain(path, member)
            if member.is_folder:
                continue
            if member.name in members:
                raise _bad(path, "the name is there twice", member.name)
            members[member.name] = member
        texts = {text: _text(path, stream, members, f"{name.dist_info}/{text}") for text in ("METADATA", "WHEEL", "RECORD")}
        rows = _rows(path, texts["RECORD"], members, f"{name.dist_info}/RECORD")
        unlisted = {f"{name.dist_info}/{text}" for text in ("RECORD", *UNRECORDED)}
        entries = {
            member.name: WheelEntry(
                name=member.name,
                content=_packed(path, stream, member, rows.get(member.name)),
                executable=bool(member.mode & _ANY_EXECUTE),
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
        raise _bad(wheel.path, "it is not there", member)
    packed = wheel.packed(member)
    with wheel.path.open("rb") as stream:
        stream.seek(packed.begin)
        fault = next(content_faults(stream, packed, sink.write), None)
    if fault is not None:
        raise _bad(wheel.path, fault, member)


def member_bytes(wheel: PackedWheel, member: str, *, limit: int = _TEXT_LIMIT) -> bytes:
    """Return the content of one file of a wheel, proved by its CRC.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when it is not there, has more bytes than ``limit``, or is damaged.
    """
    if member in wheel.entries and wheel.packed(member).size > limit:
        raise _bad(wheel.path, f"it has {wheel.packed(member).size} bytes; more than {limit} are not read", member)
    data = io.BytesIO()
    copy_member(wheel, member, data)
    return data.getvalue()


def rewrite_wheel(
    source: Path | PackedWheel,
    target: Path,
    *,
    version: str | None = None,
    requires: Mapping[str, str | None] | None = None,
    tags: Collection[Tag] = (),
    members: Mapping[str, bytes | Path | WheelEntry | None] | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Path:
    """Write the wheel that another one becomes by some changes into the folder ``target``, and return its path.

    The same wheel and changes give the same bytes: members are sorted, dates and modes are fixed, ``RECORD`` is at the end.

    Parameters
    ----------
    source
        The wheel.
    target
        The folder; made when missing. A file that has the new wheel's name there is replaced at the end, never written to.
    version
        Its new version. The file name, the ``.dist-info`` and ``.data`` folders and ``METADATA`` have it then.
    requires
        For the name of a distribution the version specifier that each requirement on it is to have; None drops them.
    tags
        The tags that it is to have instead of its own.
    members
        Files that are other, or further ones, by their name: bytes, a file, an entry; None takes one away. An executable file stays
        one when it is other.
    jobs
        How many threads compress.
    progress
        Told how many members of how many are written.

    Raises
    ------
    HipwrightError
        What :func:`open_wheel` raises; ``bad-version``; ``bad-wheel`` when a file that is to go is not there, a name cannot be one, or
        the name is of a file that is written anew; ``output-changed`` when the wheel is changed by someone meanwhile.
    """
    old = source if isinstance(source, PackedWheel) else open_wheel(source)
    metadata = edit_metadata(old.metadata, version=_normal(version), requires=requires)
    fields = parse_wheel_fields(old.wheel)
    wheel = render_wheel_fields(replace(fields, tags=frozenset(tags))) if tags else old.wheel
    filename = _new_filename(old.name, _normal(version), tags)
    name = parse_wheel_name(filename)
    entries = {_renamed(entry.name, old.name, name): entry for entry in old.entries.values()}
    for member, change in (members or {}).items():
        _change(entries, member, change, name=name, path=old.path)
    dist_info = name.dist_info
    for text, data, before in (("METADATA", metadata, old.metadata), ("WHEEL", wheel, old.wheel)):
        if data != before:
            entries[f"{dist_info}/{text}"] = WheelEntry(name=f"{dist_info}/{text}", content=data)
    made = target / filename
    write_wheel(
        (replace(entry, name=new) for new, entry in entries.items()),
        dist_info=dist_info,
        wheel=made,
        compress=True,
        jobs=jobs,
        progress=progress,
    )
    return made


def add_members(
    wheel: Path, members: Mapping[str, bytes | Path], *, target: Path | None = None, jobs: int = 1
) -> tuple[Path, tuple[str, ...]]:
    """Make sure that a wheel holds some files; return the wheel, and the names of those that had to be put in.

    A file that is there with other bytes is replaced. Nothing is written when all are there as they should be.

    Parameters
    ----------
    wheel
        The wheel.
    members
        The files by their names.
    target
        The folder that a changed wheel is written to; the wheel's own when None, where it takes the old one's name. Whoever has the old
        one open goes on reading it.
    jobs
        How many threads compress.

    Raises
    ------
    HipwrightError
        What :func:`rewrite_wheel` raises.
    """
    old = open_wheel(wheel)
    lacking = {name: content for name, content in members.items() if not _holds(old, name, content)}
    if not lacking:
        return wheel, ()
    return rewrite_wheel(old, target or wheel.parent, members=lacking, jobs=jobs), tuple(sorted(lacking))


def _holds(wheel: PackedWheel, name: str, content: bytes | Path) -> bool:
    if name not in wheel.entries:
        return False
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    there = wheel.packed(name)
    if there.size != size:
        return False
    digest = hashlib.new(there.algorithm, content) if isinstance(content, bytes) else _file_hash(content, there.algorithm)
    return encode_hash(digest.digest()) == there.hash_value


def _file_hash(path: Path, algorithm: str) -> hashlib._Hash:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm)


def _change(
    entries: dict[str, WheelEntry], member: str, change: bytes | Path | WheelEntry | None, *, name: WheelName, path: Path
) -> None:
    folder, _, text = member.rpartition("/")
    if folder == name.dist_info and text in _WRITTEN_ANEW:
        raise _bad(path, "it is written anew, and cannot be changed as a file", member)
    if (fault := _name_fault(member)) is not None:
        raise _bad(path, fault, member)
    old = entries.get(member)
    if change is None:
        if old is None:
            raise _bad(path, "it is to be taken out, and is not there", member)
        del entries[member]
    elif isinstance(change, WheelEntry):
        entries[member] = change
    else:
        mode = change.stat().st_mode if isinstance(change, Path) else 0
        entries[member] = WheelEntry(
            name=member,
            content=change,
            executable=old.executable if old is not None else bool(mode & _ANY_EXECUTE),
            size=change.stat().st_size if isinstance(change, Path) else None,
        )


def _normal(version: str | None) -> str | None:
    if version is None:
        return None
    try:
        return str(Version(version))
    except InvalidVersion:
        raise HipwrightError("bad-version", f"{version!r} is no version (PEP 440)") from None


def _new_filename(name: WheelName, version: str | None, tags: Collection[Tag]) -> str:
    """Return the new file name; what does not change keeps its spelling."""
    kept = name.filename.removesuffix(".whl").split("-", 2)
    rest = kept[2]
    if tags:
        made = wheel_filename(name=name.distribution, version=version or name.version, tags=tags, build=name.build)
        rest = made.removesuffix(".whl").split("-", 2)[2]
    return f"{kept[0]}-{version or kept[1]}-{rest}.whl"


def _renamed(member: str, old: WheelName, new: WheelName) -> str:
    """Return a file's name in a wheel of another version: two folders are named for it."""
    if old.version == new.version:
        return member
    top, slash, rest = member.partition("/")
    for kind in (".dist-info", ".data"):
        if top == f"{old.distribution}-{old.version}{kind}":
            return f"{new.distribution}-{new.version}{kind}{slash}{rest}"
    return member


def _packed(path: Path, stream: IO[bytes], member: Member, row: RecordRow | None) -> Packed:
    begin, faults = find_content(stream, member)
    if begin is not None:
        faults = (*faults, *gap_faults(stream, member, begin + member.packed))
    if begin is None or faults:
        raise _bad(path, faults[0], member.name)
    if row is not None and row.algorithm in STRONG_HASHES:
        algorithm, value = row.algorithm, row.value
        if row.size is not None and row.size != member.size:
            raise _bad(path, f"RECORD says {row.size} bytes, and there are {member.size}", member.name)
    else:
        algorithm, digest = "sha256", hashlib.sha256()
        faults = read_member(stream, member, digest.update)
        if faults:
            raise _bad(path, faults[0], member.name)
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
            raise _bad(path, f"RECORD line {row.line} lists it, and it is not in the wheel", row.path)
        if row.path in rows:
            raise _bad(path, "RECORD lists it twice", row.path)
        rows[row.path] = row
    rows.pop(own, None)
    return rows


def _require_plain(path: Path, member: Member) -> None:
    fault = _name_fault(member.name.removesuffix("/"))
    if fault is None and stat.S_IFMT(member.mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        fault = "it is a link or a special file, which a wheel cannot hold"
    if fault is not None:
        raise _bad(path, fault, member.name)


def _name_fault(name: str) -> str | None:
    parts = name.split("/")
    if {"", ".", ".."} & set(parts) or "\\" in name or ":" in parts[0] or not name.isprintable():
        return "its name is not that of a file below the place where a wheel is installed"
    return None


def _text(path: Path, stream: IO[bytes], members: Mapping[str, Member], name: str) -> bytes:
    if name not in members:
        raise _bad(path, "it is not there", name)
    return _bytes(path, stream, members[name])


def _bytes(path: Path, stream: IO[bytes], member: Member) -> bytes:
    if member.size > _TEXT_LIMIT:
        raise _bad(path, f"it has {member.size} bytes; more than {_TEXT_LIMIT} are not read", member.name)
    data = bytearray()
    faults = read_member(stream, member, data.extend)
    if faults:
        raise _bad(path, faults[0], member.name)
    return bytes(data)


def _require_agreement(path: Path, name: WheelName, metadata: bytes, wheel: bytes) -> None:
    parsed = parse_metadata(metadata)
    if parsed.project != canonicalize_name(name.distribution) or parsed.version != Version(name.version):
        raise _bad(path, f"METADATA says {parsed.name} {parsed.version}", f"{name.dist_info}/METADATA")
    parse_wheel_fields(wheel)


def _bad(path: Path, message: str, member: str | None) -> HipwrightError:
    name = shown(member) if member is not None else None
    said = f"{path.name}: {name}: {message}" if name is not None else f"{path.name}: {message}"
    return HipwrightError("bad-wheel", said, where=Where(file=path, member=name))
