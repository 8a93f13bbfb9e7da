"""Which patch of a series a commit is: so that its file keeps its name, and its reason and owner stay with it, whatever became of it.

Commits say nothing of files. A commit is the patch that became it; else the one with the same author, date and subject; the same subject;
the same change; the same author and date, and a file in common; or the only one that changes the same files, in the same places. What
fits best goes first, within a module and phase before across them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from build_tools.patches.compare import same_but_for_places
from build_tools.patches.hunks import hunks
from build_tools.patches.mail import parse_mail
from build_tools.patches.sections import sections

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from build_tools.patches.commits import Commit
    from build_tools.patches.hunks import Hunk
    from build_tools.patches.mail import PatchMail
    from build_tools.patches.series import Patch
    from build_tools.sources.phases import Phase
    from build_tools.types import CommitId

__all__ = ["Exported", "match_patches"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """A commit that is to be a patch, in its module and phase, with the bytes of its file."""

    module: str
    phase: Phase
    commit: Commit
    data: bytes


@dataclass(frozen=True, kw_only=True)
class _Side:
    """What is compared of a patch, whether it comes from a file or from a commit."""

    number: int
    place: tuple[str, Phase]
    commit: CommitId | None
    mail: PatchMail
    data: bytes

    @property
    def diff(self) -> bytes:
        """The patch without its message; nothing where it has no diff."""
        first = next(sections(self.data), None)
        return b"" if first is None else b"\n".join(self.data.split(b"\n")[first.line - 1 :])

    @property
    def files(self) -> frozenset[bytes]:
        """The paths that it touches."""
        return frozenset(name for part in sections(self.data) for name in (part.old, part.new) if name is not None)

    @property
    def places(self) -> frozenset[tuple[bytes | None, int | None]]:
        """The lines of the files before that it takes away or adds some next to; where it changes no lines of a file, None for all of it."""
        found: set[tuple[bytes | None, int | None]] = set()
        for part in sections(self.data):
            own: list[int | None] = [number for hunk in hunks(part) for number in _lines(hunk)]
            found |= {(part.old or part.new, number) for number in own or [None]}
        return frozenset(found)

    @property
    def written(self) -> tuple[str, str, float] | None:
        """Who wrote it and when."""
        when = self.mail.when
        return None if when is None or not self.mail.email else (self.mail.author, self.mail.email, when.timestamp())


def _lines(hunk: Hunk) -> Iterator[int]:
    """Yield the lines before that a hunk takes away, and those between which it adds some; its context does not count."""
    number = hunk.old_start
    for line in hunk.lines:
        if line[:1] == b"+":
            yield from (number - 1, number)
        elif line[:1] == b"-":
            yield number
        number += line[:1] in {b" ", b"-", b""}


_Key: TypeAlias = "Callable[[_Side], Hashable | None]"

_SURE: Final[tuple[_Key, ...]] = (
    lambda side: side.commit,
    lambda side: (side.written, side.mail.subject) if side.written is not None and side.mail.subject else None,
    lambda side: side.mail.subject or None,
)
"""What tells a patch wherever it went; None tells nothing."""


def match_patches(held: Sequence[tuple[Patch, CommitId | None]], wanted: Sequence[Exported]) -> tuple[Patch | None, ...]:
    """Return the patch that each commit is, in the order of the commits; None for one that is new.

    Parameters
    ----------
    held
        The patches of the series that the history may hold, in order, each with the commit that it became when it was applied.
    wanted
        The commits, in their order.
    """
    ours = [
        _Side(number=number, place=(patch.module, patch.phase), commit=commit, mail=parse_mail(patch.data), data=patch.data)
        for number, (patch, commit) in enumerate(held)
    ]
    theirs = [
        _Side(number=number, place=(one.module, one.phase), commit=one.commit.id, mail=parse_mail(one.data), data=one.data)
        for number, one in enumerate(wanted)
    ]
    pairing = _Pairing(ours=ours, theirs=theirs, found={})
    for key in _SURE:
        pairing.by_key(_in_place(key))
    pairing.by_content(across=False)
    pairing.by_author()
    pairing.by_files()
    for key in _SURE:
        pairing.by_key(key)
    pairing.by_content(across=True)
    return tuple(held[pairing.found[side.number]][0] if side.number in pairing.found else None for side in theirs)


def _in_place(key: _Key) -> _Key:
    """Return what tells the same of patches of one module and phase only."""

    def narrower(side: _Side) -> Hashable | None:
        value = key(side)
        return None if value is None else (side.place, value)

    return narrower


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pairing:
    """Patches and commits, and which commit was found to be which patch, by their numbers."""

    ours: list[_Side]
    theirs: list[_Side]
    found: dict[int, int]

    def by_key(self, key: _Key) -> None:
        """Pair those for which ``key`` says the same, in their order where it says it of several."""
        left: dict[Hashable, list[_Side]] = {}
        for side in self._our_rest():
            value = key(side)
            if value is not None:
                left.setdefault(value, []).append(side)
        for side in self._their_rest():
            value = key(side)
            same = left.get(value) if value is not None else None
            if same:
                self.found[side.number] = same.pop(0).number

    def by_content(self, *, across: bool) -> None:
        """Pair those that make the same change, wherever its lines lie."""
        for side in self._their_rest():
            diff = side.diff
            for other in self._our_rest():
                if (across or other.place == side.place) and diff and same_but_for_places(diff, other.diff):
                    self.found[side.number] = other.number
                    break

    def by_author(self) -> None:
        """Pair those of one author and date that touch a file in common, within a module and phase: one was amended from the other."""
        for side in self._their_rest():
            for other in self._our_rest():
                same = side.written is not None and (side.place, side.written) == (other.place, other.written)
                if same and side.files & other.files:
                    self.found[side.number] = other.number
                    break

    def by_files(self) -> None:
        """Pair those that alone touch the same files, within a module and phase, and there the same places: of several, nobody can tell.

        Two that touch one large file have nothing in common as long as they change other parts of it.
        """
        ours, theirs = self._our_rest(), self._their_rest()
        for side in theirs:
            key = (side.place, side.files)
            same = [other for other in ours if (other.place, other.files) == key]
            rivals = [other for other in theirs if (other.place, other.files) == key]
            if side.files and len(same) == len(rivals) == 1 and side.places & same[0].places:
                self.found[side.number] = same[0].number

    def _our_rest(self) -> list[_Side]:
        taken = set(self.found.values())
        return [side for side in self.ours if side.number not in taken]

    def _their_rest(self) -> list[_Side]:
        return [side for side in self.theirs if side.number not in self.found]
