"""Rule ``member-names``: every member is one plain file below the place where it is installed, on Linux and on Windows.

What Windows alone cannot have is judged where the tags say that the wheel is for Windows too.
"""

from __future__ import annotations

import collections
import itertools
import re
import stat
from typing import TYPE_CHECKING, Final

from build_tools.checks.name_tree import NameTree
from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.files import is_windows_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.wheels.archive import Member

__all__ = ["RULE", "faults_anywhere"]

_DRIVE: Final = re.compile(r"[A-Za-z]:")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_PART: Final = 255
_LONGEST_PATH: Final = 4096 - 256
"""Bytes that Linux takes for a path, less some for the folder of packages."""

_MOST: Final = 1000
_PRIVILEGED: Final = stat.S_ISUID | stat.S_ISGID


def _judge(subject: Subject) -> Iterator[Problem]:
    on_windows = subject.name is None or any(p == "any" or p.startswith("win") for p in subject.name.platform.split("."))
    yield from _faults(subject.wheel.members, on_windows=on_windows)


def faults_anywhere(subject: Subject) -> Iterator[Problem]:
    """Give what of the members' names no system takes, whatever the wheel says that it is for."""
    yield from _faults(subject.wheel.members, on_windows=False)


def _faults(members: tuple[Member, ...], *, on_windows: bool) -> Iterator[Problem]:
    for member in members:
        fault = (
            _escape(member.name) or _length(member.name) or _kind(member) or (_windows_fault(member.name) if on_windows else None)
        )
        if fault is not None:
            yield Problem(message=fault, member=member.name)
    names = [member.name.rstrip("/") for member in members]
    for name, count in collections.Counter(names).items():
        if count > 1:
            yield Problem(message=f"the name is there {count} times; each installer takes another one", member=name)
    yield from _clashes(members, on_windows=on_windows)


def _escape(name: str) -> str | None:
    if _CONTROL.search(name):
        return "the name has a control character"
    if "\\" in name:
        return "the name has a backslash, which is a separator on Windows alone"
    if name.startswith("/") or _DRIVE.match(name):
        return "the name is absolute"
    parts = name.removesuffix("/").split("/")
    if ".." in parts:
        return "the name leads out of the folder that the wheel is installed in"
    if "" in parts or "." in parts:
        return "the name has an empty part or a part '.'"
    return None


def _length(name: str) -> str | None:
    data = name.rstrip("/").encode("utf-8", "surrogateescape")
    longest = max(map(len, data.split(b"/")))
    if longest > _LONGEST_PART:
        return f"a part of the name has {longest} bytes, and file systems take {_LONGEST_PART}"
    return (
        f"the name has {len(data)} bytes, and Linux takes {_LONGEST_PATH} below a folder" if len(data) > _LONGEST_PATH else None
    )


def _windows_fault(name: str) -> str | None:
    for part in name.rstrip("/").split("/"):
        if not is_windows_name(part):
            return f"Windows cannot have a file or folder {part!r}"
    return None


def _kind(member: Member) -> str | None:
    kind = stat.S_IFMT(member.mode)
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "it is a link or a special file; installers write it as a file that holds the link's text"
    if kind == stat.S_IFDIR and not member.is_folder:
        return "its mode is a folder's, its name a file's"
    if member.mode & _PRIVILEGED:
        return "its mode sets the user or group id"
    if member.is_folder and member.size:
        return "a folder entry has content"
    return None


def _clashes(members: tuple[Member, ...], *, on_windows: bool) -> Iterator[Problem]:
    """Find names that are different in the archive, and one file on a disk."""
    tree = NameTree()
    for member in members:
        tree.add(member.name.rstrip("/") if member.is_folder else member.name, folder=member.is_folder)
    for name in tree.both():
        yield Problem(message="the name is a file's and a folder's too", member=name)
    # A report has no more of them, and each may be long.
    for same in itertools.islice(tree.spelled_twice(), _MOST) if on_windows else ():
        yield Problem(message=f"these names are one file on Windows: {', '.join(same)}", member=same[0])


RULE: Final = Rule(
    name="member-names",
    summary="No member's name is there twice, leads out of the install folder, is too long for a file system, is a link, or is one file with another on Windows.",
    why="A member that leads out of the install folder overwrites other files; one that is there twice, is a link or differs from another in case alone is another file on each system or with each installer.",
    mend="Rename the files in the sources, or leave them out.",
    judge=_judge,
)
