"""Find folders of a machine in the contents of members, text and binary, while they are read for their hashes.

A path is looked for by its first separator, which the search of the standard library jumps to; so all places together cost one look at
each byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.wheels.archive import Member

__all__ = ["PATHS", "Hit", "PathProbe"]

PATHS: Final = "leaked-paths"

_SEAM: Final = 256
_BEFORE: Final = 40
_AFTER: Final = 120
_HEAD: Final = 8192
_MOST: Final = 10
"""So many places are told of one member."""

_END: Final = rb"(?=[^A-Za-z0-9_.+@-]|\Z)"
_PART: Final = rb"[A-Za-z0-9_.@-]{1,64}"
_POSIX: Final = (
    rb"opt/rocm(?:-[0-9.]+)?(?:/[A-Za-z0-9_]+)?" + _END,
    rb"home/" + _PART + rb"/",
    rb"Users/(?!Shared/)" + _PART + rb"/",
    rb"tmp/pip-[a-z-]+-" + _PART,
    rb"__w/" + _PART + rb"/",
)
_WINDOWS: Final = (rb"[\\/]{1,2}[Uu]sers[\\/]{1,2}(?!Public[\\/])" + _PART + rb"[\\/]",)
_WORD: Final = re.compile(rb"[\w.%$}~)-]\Z")
"""What stands before the first separator of a path that is relative, or an address's."""

_PRINTED: Final = re.compile(rb"[\x20-\x7e]*")
_PRINTED_BEFORE: Final = re.compile(rb"[\x20-\x7e]*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A place that a member names: how often, the text around the first, whether it is one of the build, and whether the member is binary."""

    place: str
    text: str
    count: int
    built: bool
    binary: bool


class PathProbe:
    """Looks for the folders of a build, and for folders that no wheel should name, in every member."""

    name = PATHS

    def __init__(self, places: Iterable[str], *, windows: bool = True) -> None:
        """Take absolute folders of the machine that built the wheel, and whether to look for paths of Windows too."""
        known = sorted({place.rstrip("/\\") for place in places} - {""}, key=lambda place: (-len(place), place))
        own = [re.escape(place.encode()) + _END for place in known if place.startswith("/") and len(place) > 1]
        tails = _tails(place for place in known if place[1:2] == ":" and len(place) > 3)  # noqa: PLR2004 - more than a drive
        self._built = re.compile(b"|".join(own + [b":" + tail for tail in tails]) or rb"(?!)")
        posix = re.compile(b"/(?:" + b"|".join([place.removeprefix(b"/") for place in own] + list(_POSIX)) + b")")
        drives = re.compile(b":(?:" + b"|".join(tails + list(_WINDOWS)) + b")")
        self._patterns = (posix, drives) if windows else (posix,)

    def begin(self, member: Member) -> _PathWatcher | None:
        """Look at every file that has something in it."""
        return None if member.is_folder or not member.size else _PathWatcher(self._patterns, self._built)


def _tails(windows: Iterable[str]) -> list[bytes]:
    """Return patterns of Windows paths from behind the drive's colon, with either separator, doubled or not."""
    return [
        rb"[\\/]{1,2}" + rb"[\\/]{1,2}".join(re.escape(p.encode()) for p in re.split(r"[\\/]", place)[1:]) + _END
        for place in windows
    ]


class _PathWatcher:
    """Sees one member; what lies across two pieces is seen where they meet."""

    __slots__ = ("_built", "_counts", "_first", "_patterns", "_tail", "_texts")

    def __init__(self, patterns: tuple[re.Pattern[bytes], ...], built: re.Pattern[bytes]) -> None:
        self._patterns = patterns
        self._built = built
        self._first: bytes | None = None
        self._tail = b""
        self._texts: dict[bytes, bytes] = {}
        self._counts: dict[bytes, int] = {}

    def feed(self, piece: bytes) -> None:
        """Look at the next piece."""
        if self._first is None:
            self._first = piece
        else:
            self._search(self._tail + piece[:_SEAM], crossing=len(self._tail))
        self._search(piece, crossing=None)
        self._tail = piece[-_SEAM:] if len(piece) >= _SEAM else (self._tail + piece)[-_SEAM:]

    def end(self) -> tuple[Hit, ...] | None:
        """Return the places that were found, in the order of their names."""
        if not self._texts:
            return None
        binary = b"\0" in (self._first or b"")[:_HEAD]
        return tuple(
            Hit(
                place=place.decode("utf-8", "replace"),
                text=text.decode("ascii", "replace").strip(),
                count=self._counts[place],
                built=self._built.match(place) is not None,
                binary=binary,
            )
            for place, text in sorted(self._texts.items())
        )

    def _search(self, data: bytes, *, crossing: int | None) -> None:
        for pattern in self._patterns:
            for found in pattern.finditer(data):
                start, end = found.span()
                if crossing is not None and not start < crossing < end:
                    continue
                place = found[0]
                if place.startswith(b"/") and _is_inside(data[max(0, start - 2) : start]):
                    continue
                if place not in self._texts:
                    if len(self._texts) == _MOST:
                        continue
                    self._texts[place] = _around(data, start, end)
                self._counts[place] = self._counts.get(place, 0) + 1


def _is_inside(before: bytes) -> bool:
    """Return whether what stands before a separator makes it the middle of a path; an option of a compiler does not."""
    return _WORD.search(before) is not None and before not in {b"-I", b"-L"}


def _around(data: bytes, start: int, end: int) -> bytes:
    before = _PRINTED_BEFORE.search(data[max(0, start - _BEFORE) : start])
    after = _PRINTED.match(data[end : end + _AFTER])
    return (before[0] if before else b"") + data[start:end] + (after[0] if after else b"")
