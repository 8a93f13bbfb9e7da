"""Unpack an artifact's archive: what would leave its folder, or lies where its manifest lists no base, is refused before it is written.

The target is a fresh folder that nothing else writes into, so a table of what was made so far tells everything about it: a member is
only ever written below folders that this module made, never through a link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import shutil
import tarfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from build_tools.files import free_space, is_windows_name
from build_tools.rocm.artifacts.catalog import MANIFEST
from build_tools.rocm.artifacts.mark import MARK
from build_tools.rocm.artifacts.tarstream import LARGEST_HEADER, PIECE, Forward, bad_archive, members, open_tar
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.errors import HipwrightError

__all__ = ["Unpacked", "unpack_artifact"]

_MOST_LINKS: Final = 40
"""How many links one path may lead through, as on Linux."""
_DEEPEST: Final = 100
"""How many folders a file may lie in."""
_LONGEST: Final = 255
"""How many bytes a name may have, as on Linux; Windows counts otherwise and allows no more."""
_SHOWN: Final = 80
_LARGEST_MESSAGE: Final = 300
_NO_NAME: Final = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})
"""What a system says of a name that it cannot hold."""
_RESERVE: Final = 256 << 20
"""What stays free on the disk, in bytes."""
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

Kind = Literal["folder", "file", "link"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unpacked:
    """What an archive held: how many files and links, the bytes of the files, and by path the size of each file and what each link says."""

    files: int
    size: int
    held: dict[str, int | str]


@dataclass(kw_only=True, slots=True)
class _Entry:
    """Something that was made; ``goal`` is what a link says, ``size`` a file's bytes."""

    path: str
    kind: Kind
    goal: str = ""
    size: int = 0


def unpack_artifact(archive: Path, target: Path, *, platform: Platform, on_member: Callable[[], None] = lambda: None) -> Unpacked:
    """Unpack an archive into an empty folder, where nobody else writes meanwhile. After an error the folder holds what was made so far.

    Files get the permissions of any new file, executable where the archive says so; owners, times and special bits are not taken over.

    Parameters
    ----------
    archive
        A ``.tar.zst`` or ``.tar.xz`` whose first member is the manifest.
    target
        The folder.
    platform
        The system that it is unpacked on: Windows refuses some names, and takes two that differ in case for one.
    on_member
        Called before each member; what it raises ends the unpacking.

    Raises
    ------
    HipwrightError
        ``bad-archive`` when the archive is broken or cut short, lacks its manifest, or has a member that is below none of its bases, leads
        out of the folder, is there twice, or is no file, folder or link; ``disk-space`` when what it says it holds would fill the disk.
    """
    with contextlib.ExitStack() as stack:
        packed = stack.enter_context(archive.open("rb"))
        source = open_tar(archive, packed)
        writer = _Writer(archive=archive, target=target, source=source, platform=platform)
        try:
            for member in members(archive, source):
                on_member()
                writer.take(member)
        except OSError as error:
            if error.errno not in _NO_NAME:
                raise
            raise bad_archive(archive, f"this system has no such name: {error}"[:_LARGEST_MESSAGE]) from error
        writer.finish()
        held = {
            entry.path: entry.goal if entry.kind == "link" else entry.size
            for entry in writer.made.values()
            if entry.kind != "folder"
        }
        return Unpacked(files=writer.files, size=writer.size, held=held)


@dataclass(kw_only=True)
class _Writer:
    """Writes members into the folder; ``made`` has what is there by path, in one case where the system tells none apart."""

    archive: Path
    target: Path
    source: Forward
    platform: Platform
    bases: tuple[str, ...] | None = None
    files: int = 0
    size: int = 0
    room: int = 0
    made: dict[str, _Entry] = field(default_factory=dict)

    def take(self, member: tarfile.TarInfo) -> None:
        """Write a member."""
        path = self._path(member.name)
        if self.bases is None:
            if not path and member.isdir():
                return
            self.bases = self._manifest(member, path)
            return
        if not path or self._is_above(path):
            if not member.isdir():
                raise self._refused(path or ".", "is no folder, and files lie below it")
            self._folder(path)
            return
        if self._base(path) is None:
            raise self._refused(path, f"is below no folder that {MANIFEST} lists")
        if member.isdir():
            self._folder(path)
        elif member.issym():
            self._link(path, member.linkname)
        elif member.islnk():
            self._hard_link(path, member.linkname)
        elif member.issparse() or not member.isreg():
            raise self._refused(path, "is no file, folder or link")
        else:
            self._file(path, member.size, executable=bool(member.mode & 0o111))

    def finish(self) -> None:
        """Prove what only the whole tells: there was a manifest, and no link leads out of its base, through others either."""
        if self.bases is None:
            raise bad_archive(self.archive, f"it has no {MANIFEST}")
        for entry in self.made.values():
            if entry.kind == "link":
                self._prove_link(entry)

    def _manifest(self, member: tarfile.TarInfo, path: str) -> tuple[str, ...]:
        if path != MANIFEST or not member.isreg() or member.issparse():
            raise bad_archive(self.archive, f"its first member is {member.name!r}, not the file {MANIFEST}")
        if member.size > LARGEST_HEADER:
            raise bad_archive(self.archive, f"its {MANIFEST} has {member.size} bytes")
        try:
            data = self.source.read(member.size)
            text = data.decode()
        except (tarfile.ReadError, UnicodeDecodeError) as error:
            raise bad_archive(self.archive, f"its {MANIFEST} cannot be read: {error}") from error
        if len(data) < member.size:
            raise bad_archive(self.archive, "it is cut short")
        bases = dict.fromkeys(self._path(line.strip()) for line in text.splitlines() if line.strip())
        if "" in bases or MANIFEST in bases:
            raise bad_archive(self.archive, f"its {MANIFEST} lists what is no folder of files")
        self._new(MANIFEST, "file", size=len(data))
        (self.target / MANIFEST).write_bytes(data)
        return tuple(bases)

    def _path(self, name: str) -> str:
        """Return a member's path in the folder, empty for the folder itself."""
        if name.startswith("/") or "\\" in name or not name.isprintable():
            raise self._refused(name, "is absolute, or has a character that no member's name should have")
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if ".." in parts:
            raise self._refused(name, "leads out of its folder")
        if len(parts) > _DEEPEST or any(len(os.fsencode(part)) > _LONGEST for part in parts):
            raise self._refused(f"{name[:_SHOWN]}…", "has a longer name than a system holds")
        if parts[:1] == [MARK]:
            raise self._refused(name, "has the name that hipwright gives its mark")
        if self.platform is Platform.WINDOWS and not all(map(is_windows_name, parts)):
            raise self._refused(name, "has a name that Windows refuses")
        return "/".join(parts)

    def _is_above(self, path: str) -> bool:
        return any(base == path or base.startswith(f"{path}/") for base in self.bases or ())

    def _base(self, path: str) -> str | None:
        """Return the innermost base that a path is below."""
        found = [base for base in self.bases or () if path.startswith(f"{base}/")]
        return max(found, key=len, default=None)

    def _key(self, path: str) -> str:
        return path.casefold() if self.platform is Platform.WINDOWS else path

    def _new(self, path: str, kind: Kind, *, goal: str = "", size: int = 0) -> None:
        """Note what is about to be made, below folders that this archive made."""
        parent = posixpath.dirname(path)
        if parent:
            self._folder(parent)
        there = self.made.setdefault(self._key(path), entry := _Entry(path=path, kind=kind, goal=goal, size=size))
        if there is not entry:
            also = "" if there.path == path else f" (as {there.path!r}, the same to Windows)"
            raise self._refused(path, f"is there twice{also}")
        if kind != "folder":
            self.files += 1

    def _folder(self, path: str) -> None:
        """Make a folder and those above it, where they are not there yet."""
        if not path:
            return
        there = self.made.get(self._key(path))
        if there is None:
            self._new(path, "folder")
            (self.target / path).mkdir()
        elif there.kind != "folder" or there.path != path:
            raise self._refused(
                path, f"is a folder where a {there.kind} is already" if there.path == path else "differs only in case"
            )

    def _file(self, path: str, size: int, *, executable: bool) -> None:
        self._new(path, "file", size=size)
        self._reserve(size)
        self.size += size
        place = os.open(self.target / path, _FLAGS, 0o777 if executable else 0o666)
        try:
            left = size
            while left:
                try:
                    piece = self.source.some(min(left, PIECE))
                except tarfile.ReadError as error:
                    raise bad_archive(self.archive, str(error)) from error
                if not piece:
                    raise bad_archive(self.archive, f"it is cut short in {path}")
                left -= len(piece)
                view = memoryview(piece)
                while view:
                    view = view[os.write(place, view) :]
        finally:
            os.close(place)

    def _reserve(self, size: int) -> None:
        """Prove that the disk has room before something is written; asked of it again after as much as was free for certain."""
        if size > self.room:
            free_space(self.target, size + _RESERVE, option="--output-dir")
            self.room = (shutil.disk_usage(self.target).free - _RESERVE) // 4
        self.room -= size

    def _link(self, path: str, goal: str) -> None:
        if not goal or goal.startswith("/") or "\\" in goal or not goal.isprintable() or goal[1:2] == ":":
            raise self._refused(path, f"is a link to {goal!r}, which is no place below its base")
        self._new(path, "link", goal=goal)
        (self.target / path).symlink_to(goal)

    def _hard_link(self, path: str, goal: str) -> None:
        there = self.made.get(self._key(self._path(goal)))
        if there is None or there.kind != "file" or there.path == MANIFEST:
            raise self._refused(path, f"is a hard link to {goal!r}, which is no file that came before")
        self._new(path, "file", size=there.size)
        first, second = self.target / there.path, self.target / path
        try:
            second.hardlink_to(first)
        except OSError:
            # A disk that has no hard links, or has enough of them on this file.
            self._reserve(first.stat().st_size)
            shutil.copy(first, second)

    def _prove_link(self, link: _Entry) -> None:
        """Follow a link as the system would: every step of it stays below the link's base."""
        base = self._base(link.path) or ""
        place = posixpath.dirname(link.path)
        waiting = link.goal.split("/")[::-1]
        followed = 1
        while waiting:
            part = waiting.pop()
            if part in {"", "."}:
                continue
            place = posixpath.dirname(place) if part == ".." else f"{place}/{part}"
            if place != base and not place.startswith(f"{base}/"):
                raise self._refused(link.path, f"is a link to {link.goal!r}, which leads out of {base}")
            there = self.made.get(self._key(place))
            if there is not None and there.kind == "link":
                followed += 1
                if followed > _MOST_LINKS:
                    raise self._refused(link.path, "is a link that leads round in a circle")
                waiting += there.goal.split("/")[::-1]
                place = posixpath.dirname(there.path)

    def _refused(self, path: str, reason: str) -> HipwrightError:
        return bad_archive(self.archive, f"its member {path!r} {reason}", member=path)
