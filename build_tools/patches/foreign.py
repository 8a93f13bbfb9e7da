"""The diff of a patch that others keep, read as ``git apply`` reads it: by the counts of its hunks, whatever stands between the files' parts.

``git apply`` passes over what it does not take for a diff: in a patch of many parts that loses lines without a word. So each line that
looks like one of a diff, and belongs to no hunk, is a fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.patches.fault import Fault
from build_tools.patches.hunks import end_of_hunk, read_hunks
from build_tools.patches.mail import is_mail_start
from build_tools.patches.sections import Section, unfit_name, unquoted
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ForeignDiff", "begins_diff", "read_foreign"]

_NOWHERE: Final = b"/dev/null"
_OLD: Final = b"--- "
_NEW: Final = b"+++ "
_HUNK: Final = b"@@"
_GIT: Final = b"diff --git "
_HEAD: Final = (
    b"index ",
    b"old mode ",
    b"new mode ",
    b"deleted file mode ",
    b"new file mode ",
    b"copy from ",
    b"rename from ",
    b"similarity index ",
    b"dissimilarity index ",
)
_NAMES: Final = (b"rename from ", b"rename to ", b"copy from ", b"copy to ")
_BINARY: Final = (b"Binary files ", b"Files ")
_MOST: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignDiff:
    """The parts of a diff that have hunks, and what is wrong with it; lines are those of the patch file."""

    sections: tuple[Section, ...]
    faults: tuple[Fault, ...]


def begins_diff(lines: Sequence[bytes], at: int) -> bool:
    """Return whether a diff begins at a line, and not a sentence that looks like one: what belongs to a diff's header follows."""
    line, following = lines[at], lines[at + 1] if at + 1 < len(lines) else b""
    if line.startswith(_GIT):
        return following.startswith((*_HEAD, _OLD))
    if line.startswith(b"diff -"):
        return following.startswith((_OLD, *_BINARY))
    if line.startswith(b"Index: "):
        return following.startswith((b"=====", _OLD))
    return line.startswith(_OLD) and following.startswith(_NEW)


def read_foreign(diff: bytes, *, line: int, strip: int) -> ForeignDiff:
    """Read a diff.

    Parameters
    ----------
    diff
        Its bytes.
    line
        The line of the patch file at which it begins.
    strip
        How many folders are taken off the names of files.
    """
    lines = tuple(diff.removesuffix(b"\n").split(b"\n"))
    found: list[Section] = []
    faults: list[Fault] = []
    at = 0
    is_message = False
    while at < len(lines):
        if lines[at].startswith(_OLD) and at + 1 < len(lines) and lines[at + 1].startswith(_NEW):
            old, new = (_stripped(text[len(_OLD) :], strip) for text in lines[at : at + 2])
            section = Section(line=line + at, old=old, new=new, lines=_hunks_from(lines, at))
            found.append(section)
            faults += _faults(section)
            at += len(section.lines)
            is_message = False
            rest = _like_hunk(lines, at)
            if rest:
                message = "the hunk above has all lines that its header says, and more follow, which git passes over"
                faults.append(Fault(rule="hunk-count", line=line + at, message=f"{message}: {shown(lines[at])[:_MOST]}"))
                at += rest
            continue
        # A mail that follows has a message of its own, up to its diff.
        is_message = (is_message or is_mail_start(lines[at])) and not begins_diff(lines, at)
        if not is_message:
            faults += _stray(lines, at, line=line, strip=strip)
        at += 1
    return ForeignDiff(sections=tuple(found), faults=tuple(faults))


def _hunks_from(lines: tuple[bytes, ...], start: int) -> tuple[bytes, ...]:
    """Return the lines of a part for one file: its header, and its hunks with as many lines as their headers say."""
    end = start + 2
    while end < len(lines) and lines[end].startswith(_HUNK):
        following = end_of_hunk(lines, end)
        if following is None:
            return lines[start : end + 1]
        end = following
    return lines[start:end]


def _faults(section: Section) -> Iterator[Fault]:
    reading = read_hunks(section)
    # git takes a blank line for one of context whose space was cut off.
    yield from (fault for fault in reading.faults if fault.rule != "hunk-line")
    if not reading.hunks and not reading.faults:
        yield Fault(rule="hunk-count", line=section.line, message="no hunk follows, and git passes over it")
    yield from _outside([section.old, section.new], section.line)


def _outside(names: Sequence[bytes | None], line: int) -> Iterator[Fault]:
    for name in dict.fromkeys(names):
        if name is not None and unfit_name(name):
            message = f"{shown(name)} leads out of the sources, or into git's own folder"
            yield Fault(rule="outside", line=line, message=message)


def _like_hunk(lines: Sequence[bytes], start: int) -> int:
    """Return how many lines look like ones of the hunk before."""
    at = start
    while at < len(lines) and lines[at].startswith((b"+", b"-", b" ", b"\\")) and not _ends_hunk(lines, at):
        at += 1
    return at - start


def _ends_hunk(lines: Sequence[bytes], at: int) -> bool:
    return lines[at].rstrip() in {b"--", b"---", b""} or begins_diff(lines, at)


def _stray(lines: Sequence[bytes], at: int, *, line: int, strip: int) -> Iterator[Fault]:
    text = lines[at]
    following = lines[at + 1] if at + 1 < len(lines) else b""
    what = None
    if text.startswith(_BINARY) and text.rstrip().endswith(b" differ"):
        what = "the contents of this binary file are not in the patch"
    elif text.startswith(b"*** ") and following.startswith(_OLD):
        what = "this is a context diff, and git reads unified ones"
    elif text.startswith((b"+", b"-", _HUNK)) and not _ends_hunk(lines, at):
        what = "this looks like a line of a diff, belongs to no hunk, and git passes over it"
    if what is not None:
        yield Fault(rule="stray-text", line=line + at, message=f"{what}: {shown(text)[:_MOST]}")
    for mark in _NAMES:
        if text.startswith(mark):
            yield from _outside([_without_tops(unquoted(text.removeprefix(mark)), strip - 1)], line + at)


def _stripped(name: bytes, strip: int) -> bytes | None:
    """Return a file's name of a diff's header without the folders that are taken off."""
    plain = unquoted(name.split(b"\t")[0].rstrip())
    return None if plain == _NOWHERE else _without_tops(plain, strip)


def _without_tops(name: bytes, strip: int) -> bytes:
    return b"/".join([part for part in name.split(b"/") if part][max(strip, 0) :])
