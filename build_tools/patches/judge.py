"""Judging what ``git am`` made of a patch: as it was meant, at other lines, or in a place that may be the wrong one.

A patch says, in its ``index`` lines, which contents it was made for and which come of it. Where a commit has these, there is nothing to
judge. Elsewhere each hunk must fit in one way only, and give what git made; see :mod:`build_tools.patches.placement`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.patches.hunks import Hunk, hunks
from build_tools.patches.placement import Place, Placement, apply_hunks, fits, lines_of, place, turned
from build_tools.patches.sections import sections
from build_tools.shown import shown
from build_tools.sources.contents import entry_at, read_blobs
from build_tools.sources.told import called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.patches.beside import Bench, Made
    from build_tools.patches.sections import Section
    from build_tools.patches.series import Patch

__all__ = ["Judgement", "Moved", "judge"]

_PLACES: Final = 8
"""How many places that a hunk fits are told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """A hunk that lies elsewhere than its patch says: the file, the hunk's number in it, counted from 1, and by how many lines."""

    file: bytes
    number: int
    lines: int

    def __str__(self) -> str:
        count = abs(self.lines)
        way = "down" if self.lines > 0 else "up"
        return f"hunk {self.number} of {shown(self.file)} lies {counted(count, 'line')} further {way}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What of a patch is to be told.

    Parameters
    ----------
    moved
        The hunks that moved.
    edited
        The files of which it makes something else than its ``index`` lines say, though they are those that it was made for.
    twice
        Whether the files had all of its results before it went in.
    """

    moved: tuple[Moved, ...] = ()
    edited: tuple[bytes, ...] = ()
    twice: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Drifted:
    """A section of a patch for a file that has other contents than the patch was made for, or gets others than it says.

    ``own`` tells that it has those that the patch was made for. Where something else comes of it than the patch says, somebody has changed a
    hunk by hand, its place perhaps too: what its header says counts as little as in a file of other contents.
    """

    section: Section
    file: bytes
    hunks: tuple[Hunk, ...]
    old: str
    new: str
    own: bool


def judge(bench: Bench, patches: Sequence[Patch], made: Sequence[Made]) -> list[Judgement]:
    """Judge the commits that patches became, one for each, up to and with the first that was in the files already.

    Raises
    ------
    HipwrightError
        ``patch-misplaced`` with patch, module, file, hunk, and the places that it fits.
    """
    drifted = [_drifted(bench, patch, commit) for patch, commit in zip(patches, made, strict=True)]
    ids = [name for parts in drifted for part in parts if part.hunks for name in (part.old, part.new)]
    contents = read_blobs(bench.repository, ids)
    found = []
    for patch, parts in zip(patches, drifted, strict=True):
        judgement = _judge(bench, patch, parts, contents)
        found.append(judgement)
        if judgement.twice:
            break
    return found


def _judge(bench: Bench, patch: Patch, parts: Sequence[_Drifted], contents: dict[str, bytes]) -> Judgement:
    # Where all that a patch does is there before it went in, it has found a place that only looks like its own.
    twice = bool(parts) and len(parts) == len(list(sections(patch.data))) and all(_is_there(part, contents) for part in parts)
    if twice:
        return Judgement(twice=True)
    moved: list[Moved] = []
    for part in parts:
        if not part.hunks:
            continue
        lines = lines_of(contents.get(part.old, b""))
        placement = place(part.hunks, lines, own=False)
        if placement.places is None or apply_hunks(placement.places, lines) != contents.get(part.new, b""):
            raise _misplaced(bench, patch, part, placement)
        moved += [_moved(part.file, number, one) for number, one in enumerate(placement.places, start=1) if one.moved]
    return Judgement(moved=tuple(moved), edited=tuple(part.file for part in parts if part.own))


def _moved(file: bytes, number: int, one: Place) -> Moved:
    return Moved(file=file, number=number, lines=one.moved)


def _is_there(part: _Drifted, contents: dict[str, bytes]) -> bool:
    lines = lines_of(contents.get(part.old, b""))
    return not part.own and bool(part.hunks) and all(fits(turned(hunk), lines) for hunk in part.hunks)


def _drifted(bench: Bench, patch: Patch, made: Made) -> list[_Drifted]:
    """Return the sections of a patch for files that are not the ones it was made for."""
    found = []
    for section in sections(patch.data):
        if section.is_gitlink:
            # git takes only the very commit that the patch names.
            continue
        before = made.changes.get(section.old) if section.old is not None else None
        after = made.changes.get(section.new) if section.new is not None else None
        old = before.old if before is not None else ""
        new = after.new if after is not None else ""
        if section.is_copy and section.old is not None:
            source = entry_at(bench.repository, made.parent, os.fsdecode(section.old))
            old = source.object_id if source is not None else ""
        said = section.objects
        same_before = said is not None and (section.old is None or said[0] == old)
        same_after = said is not None and (section.new is None or said[1] == new)
        if same_before and same_after:
            continue
        file = section.new or section.old or b""
        if said is None and section.old is None:
            # A file that comes anew has no other place.
            continue
        found.append(_Drifted(section=section, file=file, hunks=hunks(section), old=old, new=new, own=same_before))
    return found


def _misplaced(bench: Bench, patch: Patch, part: _Drifted, placement: Placement) -> HipwrightError:
    hunk = placement.hunk or part.hunks[0]
    file = shown(part.file)
    if placement.fits:
        places = ", ".join(str(at + 1) for at in placement.fits[:_PLACES])
        left = len(placement.fits) - _PLACES
        more = f" and {left} more" if left > 0 else ""
        what = f"its hunk for line {hunk.old_start} of {file} fits {len(placement.fits)} places, at lines {places}{more}"
    else:
        what = f"its hunk for line {hunk.old_start} of {file} only fits lines that another hunk takes, or that stand before it"
    made_for = part.section.objects
    if part.own:
        why = f"its index line says that something else comes of {file}"
    else:
        why = (
            f"{file} is not the one it was made for" if made_for is not None else f"it does not say for which {file} it was made"
        )
    message = f"{patch.name} may land in the wrong place of {called(bench.module.path)}: {why}, and {what}"
    hint = "apply it by hand where it belongs in the tree, commit, and save: invoke save-patches; or drop it from the series"
    where = Where(file=patch.file, line=hunk.line, module=bench.module.path, member=file)
    excerpt = hunk.text.decode("utf-8", "replace")
    return HipwrightError("patch-misplaced", message, where=where, hint=hint, log=bench.log, excerpt=excerpt)
