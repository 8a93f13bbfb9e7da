"""The hunks of a patch file: where each lies in the file and in the sources, its lines before and after, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.patches.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.patches.sections import Section

__all__ = ["Hunk", "HunkReading", "end_of_hunk", "hunks", "read_hunks"]

_HEADER: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)", re.DOTALL)
_HEAD: Final = (
    b"diff --git ",
    b"index ",
    b"old mode ",
    b"new mode ",
    b"deleted file mode ",
    b"new file mode ",
    b"copy from ",
    b"copy to ",
    b"rename from ",
    b"rename to ",
    b"similarity index ",
    b"dissimilarity index ",
    b"--- ",
    b"+++ ",
)
_CONTENT: Final = (b" ", b"+", b"-")
_NO_NEWLINE: Final = b"\\"
_SIGNATURE: Final = b"-- "
_BINARY: Final = b"GIT binary patch"
_BINARY_PART: Final = re.compile(rb"(?:literal|delta) \d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """One hunk.

    Parameters
    ----------
    line
        The line of the patch file with its header, counted from 1.
    old_start, old_count, new_start, new_count
        What the header says: which lines of the file it is for, before and after.
    header
        The header's line.
    lines
        Its lines, each with its leading character, the marks of a missing final newline among them.
    """

    line: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    header: bytes
    lines: tuple[bytes, ...]

    @property
    def old(self) -> tuple[bytes, ...]:
        """The file's lines that the hunk takes the place of, context included, each with its line end."""
        return self._side(b"-")

    @property
    def new(self) -> tuple[bytes, ...]:
        """The lines that it leaves there."""
        return self._side(b"+")

    @property
    def text(self) -> bytes:
        """The hunk as the patch file has it, header included."""
        return b"\n".join((self.header, *self.lines))

    def _side(self, sign: bytes) -> tuple[bytes, ...]:
        kept: list[bytes] = []
        ours = False
        for line in self.lines:
            if line.startswith(_NO_NEWLINE):
                if ours:
                    kept[-1] = kept[-1].removesuffix(b"\n")
                continue
            # git reads an empty line as an empty line of context.
            ours = line[:1] in {b" ", sign, b""}
            if ours:
                kept.append(line[1:] + b"\n")
        return tuple(kept)


@dataclass(frozen=True, kw_only=True, slots=True)
class HunkReading:
    """All hunks of a section, what is wrong with them, and how many of the section's lines are header, hunks or binary data."""

    hunks: tuple[Hunk, ...]
    faults: tuple[Fault, ...]
    length: int


def hunks(section: Section) -> tuple[Hunk, ...]:
    """Return the hunks of a section of a patch that git takes; none for one that only renames, changes a mode, or is binary."""
    return read_hunks(section).hunks


def read_hunks(section: Section, *, is_last: bool = False) -> HunkReading:
    """Read the hunks of a section as git does, by the counts of their headers, and note where the lines say otherwise.

    Parameters
    ----------
    section
        The section.
    is_last
        Whether the patch file ends with it: what follows the last line end is no line then.
    """
    lines = section.lines[:-1] if is_last and not section.lines[-1] else section.lines
    reader = _Reader(lines=lines, first=section.line)
    at = _length_of_head(lines)
    if at < len(lines) and lines[at].rstrip(b"\r") == _BINARY:
        return HunkReading(hunks=(), faults=(), length=_length_of_binary(lines, at + 1))
    found: list[Hunk] = []
    faults: list[Fault] = []
    while at < len(lines) and lines[at].startswith(b"@@"):
        header = _HEADER.fullmatch(lines[at])
        if header is None:
            message = "this hunk header cannot be read: it says no '@@ -line,count +line,count @@'"
            faults.append(Fault(rule="hunk-header", line=section.line + at, message=message))
            at = reader.extent(at + 1)
            continue
        counts = int(header[2] or 1), int(header[4] or 1)
        end = reader.consume(at + 1, counts)
        faults += reader.faults(at, end, counts)
        found.append(
            Hunk(
                line=section.line + at,
                old_start=int(header[1]),
                old_count=counts[0],
                new_start=int(header[3]),
                new_count=counts[1],
                header=lines[at],
                lines=lines[at + 1 : end],
            )
        )
        at = reader.extent(end)
    return HunkReading(hunks=tuple(found), faults=tuple(faults), length=at)


def end_of_hunk(lines: tuple[bytes, ...], start: int) -> int | None:
    """Return where a hunk ends whose header is at ``start``, by the counts that this says; None when it cannot be read."""
    header = _HEADER.fullmatch(lines[start])
    if header is None:
        return None
    return _Reader(lines=lines, first=1).consume(start + 1, (int(header[2] or 1), int(header[4] or 1)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """The lines of a section, and the number of the first in the patch file."""

    lines: tuple[bytes, ...]
    first: int

    def consume(self, start: int, counts: tuple[int, int]) -> int:
        """Return where a hunk ends that begins at ``start``: at its counts, or earlier where something else comes."""
        old, new = counts
        at = start
        while at < len(self.lines) and (old > 0 or new > 0):
            sign = self.lines[at][:1]
            if sign not in {b" ", b"+", b"-", b"", _NO_NEWLINE}:
                # A blank line of a CR LF file whose space was cut off; git refuses it, and the rest of the hunk is told better with it.
                if self.lines[at] != b"\r":
                    break
                sign = b""
            if (sign == b"+" and new == 0) or (sign == b"-" and old == 0):
                break
            old -= sign in {b" ", b"-", b""}
            new -= sign in {b" ", b"+", b""}
            at += 1
        if at < len(self.lines) and self.lines[at].startswith(_NO_NEWLINE):
            at += 1
        return at

    def extent(self, start: int) -> int:
        """Return where the lines end that look like a hunk's."""
        at = start
        while at < len(self.lines) and self.lines[at].startswith((*_CONTENT, _NO_NEWLINE)) and not self._is_signature(at):
            at += 1
        return at

    def faults(self, header: int, end: int, counts: tuple[int, int]) -> list[Fault]:
        """Return what is wrong with the hunk between its header and its end."""
        found = []
        for number in range(header + 1, end):
            if self.lines[number] in {b"", b"\r"}:
                message = "a blank line of context has lost its leading space, which an editor or a mail program cut off"
                hint = "begin the line with a space"
                found.append(Fault(rule="hunk-line", line=self.first + number, message=message, hint=hint))
        own = self.lines[header + 1 : self.extent(end)]
        old = sum(line[:1] in {b" ", b"-", b"", b"\r"} for line in own)
        new = sum(line[:1] in {b" ", b"+", b"", b"\r"} for line in own)
        if (old, new) != counts:
            message = f"the hunk header says {counts[0]} lines before and {counts[1]} after, and {old} and {new} follow"
            hint = "a hunk that was edited by hand needs its header edited too, or the file is cut short"
            found.append(Fault(rule="hunk-count", line=self.first + header, message=message, hint=hint))
        return found

    def _is_signature(self, at: int) -> bool:
        """Return whether a line is the one before the version of git with which a mail of it ends."""
        rest = [line for line in self.lines[at + 1 :] if line]
        return self.lines[at] == _SIGNATURE and len(rest) <= 1 and not any(line.startswith(_CONTENT) for line in rest)


def _length_of_head(lines: Sequence[bytes]) -> int:
    at = 0
    while at < len(lines) and lines[at].startswith(_HEAD):
        at += 1
    return at


def _length_of_binary(lines: Sequence[bytes], start: int) -> int:
    """Return where binary data ends: one or two parts, each with a blank line after it."""
    at = start
    while at < len(lines) and _BINARY_PART.fullmatch(lines[at].rstrip(b"\r")):
        while at < len(lines) and lines[at].rstrip(b"\r"):
            at += 1
        at += 1
    return min(at, len(lines))
