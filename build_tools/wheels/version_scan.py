"""Find version texts in the files of a wheel, and in their names: as text, and as Windows libraries hold text (UTF-16)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.wheels.opened import copy_member

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from build_tools.wheels.opened import PackedWheel

__all__ = ["BEFORE", "Scan", "files_stating"]

BEFORE: Final = rb"(?<![0-9A-Za-z])(?:[vV]|[rR][oO][cC][mM])?"
"""What may stand right before a version text that is meant: nothing that makes it another one."""

_AFTER: Final = rb"(?![0-9A-Za-z])"
_WIDE_BEFORE: Final = rb"(?<![0-9A-Za-z]\0)(?:[vV]\0|[rR]\0[oO]\0[cC]\0[mM]\0)?"
_WIDE_AFTER: Final = rb"(?![0-9A-Za-z]\0)"
_PREFIX: Final = len("rocm")
_EDGE: Final = 2
"""So many bytes beside a text tell whether it goes on there."""


class Scan:
    """Takes the bytes of a file piece by piece and finds out whether one of some texts stands in them, however they are cut."""

    def __init__(self, words: Collection[str]) -> None:
        self._patterns = _patterns(words)
        self._texts = [text for word in words for text in (word.encode(), word.encode("utf-16-le"))]
        self._longest = 2 * (max(map(len, words)) + _PREFIX)
        self._window, self._is_cut, self._found = b"", False, False

    def write(self, piece: bytes) -> None:
        """Look at the next piece."""
        if self._found:
            return
        window = self._window + piece
        # What ends at the edge may go on in the next piece.
        self._found = self._holds(window, until=len(window) - _EDGE)
        keep = self._longest + 2 * _EDGE
        self._is_cut = self._is_cut or len(window) > keep
        self._window = window[-keep:]

    def found(self) -> bool:
        """Return whether one was there, once all bytes were looked at."""
        return self._found or self._holds(self._window, until=len(self._window))

    def _holds(self, window: bytes, *, until: int) -> bool:
        # Most windows hold none, which a plain search finds out many times as quickly.
        if not any(text in window for text in self._texts):
            return False
        # What begins before was judged in the window before, where all that stands before it was known.
        begin = _EDGE if self._is_cut else 0
        return any(met.end() <= until for pattern in self._patterns for met in pattern.finditer(window, begin))


def files_stating(wheel: PackedWheel, words: Collection[str]) -> list[str]:
    """Return the files of a wheel that have one of some version texts in them or in their names; each is read in pieces.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when a file is damaged.
    """
    return [name for name in wheel.entries if _states(wheel, name, words)]


def _states(wheel: PackedWheel, name: str, words: Collection[str]) -> bool:
    of_name = Scan(words)
    of_name.write(name.encode())
    if of_name.found():
        return True
    scan = Scan(words)
    copy_member(wheel, name, scan)
    return scan.found()


def _patterns(words: Iterable[str]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    longest_first = sorted(words, key=len, reverse=True)
    texts = b"|".join(re.escape(word.encode()) for word in longest_first)
    wide = b"|".join(re.escape(word.encode("utf-16-le")) for word in longest_first)
    return (
        re.compile(BEFORE + rb"(?:" + texts + rb")" + _AFTER),
        re.compile(_WIDE_BEFORE + rb"(?:" + wide + rb")" + _WIDE_AFTER),
    )
