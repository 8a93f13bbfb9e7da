"""Make a wheel from another one: what stays is copied as it lies in the archive, compressed, and only what changes is packed.

A wheel of several GiB is so renamed in the time that copying its file takes, and memory does not grow with it. The wheel that it is made
from is never written to. What is copied is not unpacked: its hash is the one that the old ``RECORD`` states, and whether that is true is
for the checks to judge, of the new wheel as of the old one.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError
from build_tools.wheels.metadata import parse_wheel_fields, render_wheel_fields
from build_tools.wheels.metadata_edit import edit_metadata
from build_tools.wheels.name import parse_wheel_name, wheel_filename
from build_tools.wheels.opened import ANY_EXECUTE, PackedWheel, bad_wheel, name_fault, open_wheel
from build_tools.wheels.record import UNRECORDED, encode_hash
from build_tools.wheels.write import WheelEntry, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from packaging.tags import Tag

    from build_tools.wheels.name import WheelName

__all__ = ["add_members", "rewrite_wheel"]

_WRITTEN_ANEW: Final = ("METADATA", "WHEEL", "RECORD", *UNRECORDED)


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
    wheel = render_wheel_fields(msgspec.structs.replace(fields, tags=frozenset(tags))) if tags else old.wheel
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
        raise bad_wheel(path, "it is written anew, and cannot be changed as a file", member)
    if (fault := name_fault(member)) is not None:
        raise bad_wheel(path, fault, member)
    old = entries.get(member)
    if change is None:
        if old is None:
            raise bad_wheel(path, "it is to be taken out, and is not there", member)
        del entries[member]
    elif isinstance(change, WheelEntry):
        entries[member] = change
    else:
        mode = change.stat().st_mode if isinstance(change, Path) else 0
        entries[member] = WheelEntry(
            name=member,
            content=change,
            executable=old.executable if old is not None else bool(mode & ANY_EXECUTE),
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
