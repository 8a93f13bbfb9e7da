"""Where the hunks of a patch went, in a file that is not the one it was made for.

git looks for the lines that a hunk takes away or leaves as context, and takes the nearest place that has them. In a file with look-alike
places that can be the wrong one. A patch says which contents it was made for; where the file has others, its hunks must fit in one way
only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.patches.hunks import Hunk

__all__ = ["Place", "Placement", "apply_hunks", "fits", "lines_of", "place", "turned"]

_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a hunk lies in a file, counted from 0; ``moved`` is by how many lines it is not where the hunk says, down positive."""

    hunk: Hunk
    at: int
    moved: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """The ways in which a file takes hunks: the places when there is one way; the first hunk with no or several, and where it fits."""

    places: tuple[Place, ...] | None
    hunk: Hunk | None = None
    fits: tuple[int, ...] = ()


def lines_of(data: bytes) -> tuple[bytes, ...]:
    r"""Return a file's lines with their ends, as git counts them.

    >>> lines_of(b"a\r\nb")
    (b'a\r\n', b'b')
    """
    return tuple(_LINE.findall(data))


def fits(hunk: Hunk, lines: Sequence[bytes]) -> tuple[int, ...]:
    """Return all places where a file has the lines that a hunk expects; one without context before or after only fits the file's ends."""
    wanted = hunk.old
    last = len(lines) - len(wanted)
    if last < 0:
        return ()
    # As git has it: a hunk for the first line holds on to the beginning, one without context after its changes to the end.
    first_only = hunk.old_start <= 1
    last_only = _context_after(hunk) == 0
    if first_only and last_only and last != 0:
        return ()
    if first_only or last_only:
        candidates: Sequence[int] = (0,) if first_only else (last,)
    else:
        candidates = range(last + 1)
    return tuple(at for at in candidates if tuple(lines[at : at + len(wanted)]) == wanted)


def place(hunks: Sequence[Hunk], lines: Sequence[bytes], *, own: bool) -> Placement:
    """Find the way in which a file takes hunks, one after the other and without overlap.

    Parameters
    ----------
    hunks
        The hunks of one section, in order.
    lines
        The file's lines.
    own
        Whether the file is the one that the hunks were made for: each belongs where its header says, however many others look the same.
    """
    if own and all(_expected(hunk) in fits(hunk, lines) for hunk in hunks):
        return Placement(places=tuple(_placed(hunk, _expected(hunk)) for hunk in hunks))
    found = [fits(hunk, lines) for hunk in hunks]
    early: list[int] = []
    end = 0
    for hunk, places in zip(hunks, found, strict=True):
        first = next((at for at in places if at >= end), None)
        if first is None:
            return Placement(places=None, hunk=hunk)
        early.append(first)
        end = first + len(hunk.old)
    late: list[int] = []
    start = len(lines)
    for hunk, places in zip(reversed(hunks), reversed(found), strict=True):
        late.append(max(at for at in places if at + len(hunk.old) <= start))
        start = late[-1]
    # The earliest and the latest way to place them all are the same one, or there are several.
    for hunk, places, first, last in zip(hunks, found, early, reversed(late), strict=True):
        if first != last:
            return Placement(places=None, hunk=hunk, fits=places)
    return Placement(places=tuple(_placed(hunk, at) for hunk, at in zip(hunks, early, strict=True)))


def apply_hunks(places: Sequence[Place], lines: Sequence[bytes]) -> bytes:
    """Return a file's bytes with hunks in their places, which are in order."""
    parts: list[bytes] = []
    done = 0
    for one in places:
        parts += [*lines[done : one.at], *one.hunk.new]
        done = one.at + len(one.hunk.old)
    return b"".join([*parts, *lines[done:]])


def turned(hunk: Hunk) -> Hunk:
    """Return the hunk that takes a hunk back."""
    signs = {b"+": b"-", b"-": b"+"}
    lines = tuple(signs.get(line[:1], line[:1]) + line[1:] for line in hunk.lines)
    return type(hunk)(
        line=hunk.line,
        old_start=hunk.new_start,
        old_count=hunk.new_count,
        new_start=hunk.old_start,
        new_count=hunk.old_count,
        header=hunk.header,
        lines=lines,
    )


def _placed(hunk: Hunk, at: int) -> Place:
    return Place(hunk=hunk, at=at, moved=at - _expected(hunk))


def _expected(hunk: Hunk) -> int:
    """Return where a hunk says that it lies, counted from 0; one that takes no lines away stands after the line that it names."""
    return hunk.old_start - 1 if hunk.old_count else hunk.old_start


def _context_after(hunk: Hunk) -> int:
    count = 0
    for line in reversed(hunk.lines):
        if line.startswith(b"\\"):
            continue
        if line[:1] not in {b" ", b""}:
            break
        count += 1
    return count
