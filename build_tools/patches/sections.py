"""What a patch file says of each file that it changes, read the way git writes it: headers, names in C-style quotes, submodule commits."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PinChange", "Section", "pin_changes", "sections", "unquoted"]

_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
_ESCAPED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_GITLINK: Final = re.compile(rb"(?:index [0-9a-f]+\.\.[0-9a-f]+|(?:new|deleted) file mode|(?:old|new) mode) 160000")
_COMMIT: Final = re.compile(rb"(?P<sign>[+-])Subproject commit (?P<commit>[0-9a-f]{40})")
_NOWHERE: Final = b"/dev/null"


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """The part of a patch file for one file: the line where it begins, counted from 1, the file's names, and all its lines."""

    line: int
    old: bytes | None
    new: bytes | None
    lines: tuple[bytes, ...]

    @property
    def is_rename(self) -> bool:
        """Whether the section gives a file another name."""
        return self.old is not None and self.new is not None and self.old != self.new

    @property
    def is_gitlink(self) -> bool:
        """Whether the section is for a submodule; a mere rename does not tell."""
        return any(_GITLINK.fullmatch(line) for line in _head(self.lines))


@dataclass(frozen=True, kw_only=True, slots=True)
class PinChange:
    """A submodule's commit that a patch sets (None: the submodule goes away), by path in its repository, and the line that says it."""

    path: bytes
    commit: CommitId | None
    line: int


def sections(data: bytes) -> Iterator[Section]:
    """Yield the sections of a patch file, in order."""
    lines = data.split(b"\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(b"diff --git ")]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        own = tuple(lines[start:end])
        yield Section(line=start + 1, old=_name(own, b"--- ", b"rename from "), new=_name(own, b"+++ ", b"rename to "), lines=own)


def pin_changes(data: bytes) -> tuple[PinChange, ...]:
    """Return the submodule commits that a patch file sets, in order."""
    found = []
    for section in sections(data):
        if not section.is_gitlink:
            continue
        said = {}
        for number, line in enumerate(section.lines):
            match = _COMMIT.fullmatch(line)
            if match is not None:
                said[match["sign"]] = (CommitId(match["commit"].decode()), section.line + number)
        if b"+" in said and section.new is not None:
            commit, line_number = said[b"+"]
            found.append(PinChange(path=section.new, commit=commit, line=line_number))
        elif b"-" in said and section.old is not None:
            found.append(PinChange(path=section.old, commit=None, line=said[b"-"][1]))
    return tuple(found)


def unquoted(name: bytes) -> bytes:
    """Return a file name of a patch as it is on disk: git writes unusual ones in C-style quotes."""
    if not name.startswith(b'"'):
        return name
    inside = name[1:].removesuffix(b'"')
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 8)]) if found[1] else _ESCAPED.get(found[2], found[2]), inside)


def _head(lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return a section's lines before its first hunk."""
    for number, line in enumerate(lines):
        if line.startswith((b"@@ ", b"GIT binary patch")):
            return lines[:number]
    return lines


def _name(lines: tuple[bytes, ...], mark: bytes, rename: bytes) -> bytes | None:
    for line in _head(lines):
        if line.startswith(rename):
            return unquoted(line.removeprefix(rename))
        if line.startswith(mark):
            # A tab ends a name that has spaces.
            name = unquoted(line.removeprefix(mark).split(b"\t")[0])
            return None if name == _NOWHERE else name[2:]
    return None
