"""The archive of development files, taken apart: every member is checked, and nothing is written outside of the folder given.

Files come first and links last, so nothing is ever written through a link. A link may lead to a file of the tree, or of the packages
beside it; it is made anew from the checked path, not from the text in the archive.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import stat
import tarfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from ._errors import BadArchiveError
from ._paths import RESERVED, inside

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Tree", "unpack"]

_CHUNK = 1 << 20


@dataclass
class Tree:
    """What archives put into a folder: the paths of files, and where each link leads, from the folder that the tree lies in."""

    files: set[str] = field(default_factory=set)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)


def unpack(archive: Path, into: Path, tree: Tree, *, sha256: str, top: str, siblings: frozenset[str]) -> None:
    """Write an archive's files below a folder, and note its links; what an earlier archive put there stays.

    Parameters
    ----------
    archive
        A ``.tar`` or ``.tar.xz`` whose members all lie below ``top``.
    into
        The folder; it holds nothing but what earlier calls put there.
    tree
        What is there; what is written is added.
    sha256
        The archive's digest, compared when all of it is read; until then nothing may be trusted.
    top
        The first part of each member's name.
    siblings
        The folders beside the tree that links may lead into.

    Raises
    ------
    BadArchiveError
        Naming the member that would leave the folder, is no file, folder or link, or is there twice; for other bytes than ``sha256``.
    """
    before = frozenset(tree.files) | frozenset(tree.links)
    try:
        with archive.open("rb") as raw:
            reader = _Hashing(raw)
            target = _Target(archive=archive, into=into, tree=tree, top=top, siblings=siblings, before=before)
            with tarfile.open(fileobj=cast("BinaryIO", reader), mode="r|xz" if archive.suffix == ".xz" else "r|") as members:
                for member in members:
                    _take(members, member, target)
            reader.finish()
    except (tarfile.TarError, EOFError) as error:
        message = f"{archive} cannot be read: {error}"
        raise BadArchiveError(message) from error
    if reader.digest() != sha256:
        message = f"{archive} is damaged: its sha256 is {reader.digest()}, not {sha256}"
        raise BadArchiveError(message)


@dataclass(frozen=True)
class _Target:
    archive: Path
    into: Path
    tree: Tree
    top: str
    siblings: frozenset[str]
    before: frozenset[str]

    def refuse(self, member: tarfile.TarInfo, why: str) -> BadArchiveError:
        return BadArchiveError(f"{self.archive} is refused: its member {member.name!r} {why}")


def _take(members: tarfile.TarFile, member: tarfile.TarInfo, target: _Target) -> None:
    name = member.name.rstrip("/")
    if not inside(name) or (name != target.top and not name.startswith(f"{target.top}/")):
        raise target.refuse(member, f"does not lie in {target.top}")
    path = name[len(target.top) + 1 :]
    if member.isdir():
        _make_folder(path, member, target)
        return
    if not path or not (member.isreg() or member.issym()):
        raise target.refuse(member, "is no file, folder or link")
    if path.startswith(RESERVED):
        raise target.refuse(member, "has a name that is kept for what is noted of the tree")
    if path in target.before:
        return
    if path in target.tree.links or path in target.tree.files:
        raise target.refuse(member, "is there twice")
    if member.issym():
        target.tree.links[path] = _destination(member, path, target)
        return
    _make_folder(posixpath.dirname(path), member, target)
    source = members.extractfile(member)
    if source is None:
        raise target.refuse(member, "has no bytes")
    with source:
        _write(source, target.into / path, member, target)
    target.tree.files.add(path)


def _make_folder(path: str, member: tarfile.TarInfo, target: _Target) -> None:
    if not path or path in target.tree.folders:
        return
    _make_folder(posixpath.dirname(path), member, target)
    try:
        (target.into / path).mkdir()
    except FileExistsError:
        raise target.refuse(member, f"needs the folder {path}, and there is a file of that name") from None
    target.tree.folders.add(path)


def _write(source: IO[bytes], path: Path, member: tarfile.TarInfo, target: _Target) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o777 if member.mode & stat.S_IXUSR else 0o666)
    except FileExistsError:
        raise target.refuse(member, "has the name of another on this disk, or of a folder") from None
    with os.fdopen(descriptor, "wb") as sink:
        shutil.copyfileobj(source, sink, _CHUNK)


def _destination(member: tarfile.TarInfo, path: str, target: _Target) -> str:
    """Return where a link leads, from the folder that the tree lies in, as its text says it and with no link followed."""
    text = member.linkname
    led = posixpath.normpath(posixpath.join(target.top, posixpath.dirname(path), text))
    first = led.partition("/")[0]
    if text.startswith("/") or not inside(led) or (first != target.top and first not in target.siblings):
        raise target.refuse(member, f"leads to {text!r}, which is no file of the ROCm packages")
    return led


class _Hashing:
    """Reads a file and hashes what is read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self._hash.update(data)
        return data

    def finish(self) -> None:
        """Read what comes after the archive's end."""
        while self.read(_CHUNK):
            pass

    def digest(self) -> str:
        return self._hash.hexdigest()
