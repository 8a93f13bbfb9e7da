"""What git says of a patch that it refuses: the file, the line of the hunk, and a sentence for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from build_tools.shown import shown

__all__ = ["Refusal", "refusal"]

_FAILED: Final = re.compile(rb"^error: patch failed: (?P<file>.+):(?P<line>\d+)$", re.MULTILINE)
_COMPLAINT: Final = re.compile(rb"^error: (?!patch failed: )(?P<text>.+)$", re.MULTILINE)
_ABOUT: Final = re.compile(rb"(?P<file>.+?): (?:does not exist in index|No such file or directory|patch does not apply)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """What ``git am`` or ``git apply`` complains of first.

    Parameters
    ----------
    what
        The sentence; None when git says nothing that is known.
    file
        The file that it is about, where it says one.
    line
        The line at which the hunk begins that does not fit, as the patch has it.
    others
        Further files with hunks that do not fit, sorted.
    """

    what: str | None = None
    file: bytes | None = None
    line: int | None = None
    others: tuple[bytes, ...] = ()


def refusal(said: bytes) -> Refusal:
    """Return what git complains of in its output.

    >>> refusal(b"error: patch failed: a.c:3").what
    'the hunk for line 3 of a.c does not fit'
    """
    failed = list(_FAILED.finditer(said))
    if failed:
        file, line = failed[0]["file"], int(failed[0]["line"])
        others = tuple(sorted({found["file"] for found in failed} - {file}))
        return Refusal(what=f"the hunk for line {line} of {shown(file)} does not fit", file=file, line=line, others=others)
    complaint = _COMPLAINT.search(said)
    if complaint is None:
        return Refusal()
    about = _ABOUT.match(complaint["text"])
    return Refusal(what=shown(complaint["text"]), file=about["file"] if about is not None else None)
