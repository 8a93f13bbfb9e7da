"""What a patch file says of each file that it changes, read the way git writes it: headers, names in C-style quotes, submodule commits."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PinChange", "Section", "may_move_submodules", "pin_changes", "sections", "unfit_name", "unquoted"]

_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))", re.DOTALL)
_ESCAPED: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_GITLINK: Final = re.compile(rb"(?:index [0-9a-f]+\.\.[0-9a-f]+|(?:new|deleted) file mode|(?:old|new) mode) 160000")
_COMMIT: Final = re.compile(rb"(?P<sign>[+-])Subproject commit (?P<commit>[0-9a-f]{40})")
_GIT_FOLDER: Final = frozenset({b".git", b"git~1"})
"""What git's own folder is called; Windows has a short name for it, and drops dots and spaces at the end."""

_NOWHERE: Final = b"/dev/null"
_HEADER: Final = b"diff --git "
_INDEX: Final = re.compile(rb"index (?P<old>[0-9a-f]+)\.\.(?P<new>[0-9a-f]+)(?: [0-7]{6})?")
_MODE: Final = re.compile(rb"(?:new file mode|new mode|index [0-9a-f]+\.\.[0-9a-f]+) (?P<mode>[0-7]{6})")
_WHOLE: Final = 40
"""As many digits as an object's id has."""


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
    def is_copy(self) -> bool:
        """Whether the section leaves the file with the old name where it is."""
        return any(line.startswith(b"copy from ") for line in _head(self.lines))

    @property
    def objects(self) -> tuple[str, str] | None:
        """The ids of the file's contents before and after, as the ``index`` line has them in full; only zeros where there is no file."""
        found = next(filter(None, map(_INDEX.fullmatch, _head(self.lines))), None)
        if found is None or not len(found["old"]) == len(found["new"]) == _WHOLE:
            return None
        return found["old"].decode(), found["new"].decode()

    @property
    def mode(self) -> bytes | None:
        """The file's mode afterwards, where the section says it."""
        found = next(filter(None, map(_MODE.fullmatch, _head(self.lines))), None)
        return found["mode"] if found is not None else None

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
    starts = [number for number, line in enumerate(lines) if line.startswith(_HEADER)]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        own = tuple(lines[start:end])
        yield Section(
            line=start + 1,
            old=_name(own, b"--- ", (b"rename from ", b"copy from "), b"new file mode "),
            new=_name(own, b"+++ ", (b"rename to ", b"copy to "), b"deleted file mode "),
            lines=own,
        )


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


def may_move_submodules(data: bytes) -> bool:
    """Return whether a patch file may change which submodules there are, at which commits, or where they come from.

    A submodule that gets another path, and stays at its commit, looks as a file does whose contents stay.
    """
    return any(
        part.is_gitlink or (part.is_rename and part.mode is None) or b".gitmodules" in {part.old, part.new}
        for part in sections(data)
    )


def unfit_name(name: bytes) -> bool:
    """Return whether a file's name leads out of its repository, or into git's own files, on some system.

    >>> unfit_name(b"../x"), unfit_name(b"a/.GIT/config"), unfit_name(b"a/..x")
    (True, True, False)
    """
    return any(part in {b"", b".", b".."} or part.lower().rstrip(b" .") in _GIT_FOLDER for part in name.split(b"/"))


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


def _name(lines: tuple[bytes, ...], mark: bytes, renames: tuple[bytes, ...], absent: bytes) -> bytes | None:
    head = _head(lines)
    for line in head:
        for rename in renames:
            if line.startswith(rename):
                return unquoted(line.removeprefix(rename))
        if line.startswith(mark):
            # A tab ends a name that has spaces.
            name = unquoted(line.removeprefix(mark).split(b"\t")[0])
            return None if name == _NOWHERE else name[2:]
    # Without hunks the first line alone has the name.
    return None if any(line.startswith(absent) for line in head) else _same_name(lines[0].removeprefix(_HEADER))


def _same_name(both: bytes) -> bytes | None:
    """Return the name that stands twice in ``a/name b/name``, which may have spaces; None where the two differ."""
    first, second = both[: len(both) // 2], both[len(both) // 2 + 1 :]
    name = unquoted(first)[2:]
    return name if name and unquoted(second)[2:] == name else None
