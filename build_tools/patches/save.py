"""From a tree's commits to the files of its series: what is to be written, what is to go, and what stays as it is to the byte.

Nothing is written here: the plan says all of it, so that it can be proved and shown before a file changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.patches.compare import Change, change_between, same_but_for_places
from build_tools.patches.entries import entry_of, in_order, with_kept
from build_tools.patches.export import export
from build_tools.patches.hunks import hunks
from build_tools.patches.layout import NAME, PHASES, fresh_name, module_folder
from build_tools.patches.mail import parse_mail
from build_tools.patches.match import Exported, match_patches
from build_tools.patches.sections import sections
from build_tools.shown import shown
from build_tools.sources.modules import temporary_name
from build_tools.sources.told import shortened
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.patches.applied import Applied, AppliedPatch
    from build_tools.patches.edit import SeriesText
    from build_tools.patches.history import ModuleHistory, Patchable
    from build_tools.patches.series import Patch, PatchEntry, Series
    from build_tools.sources.phases import Phase
    from build_tools.types import Platform

__all__ = ["MovedHunk", "Saved", "SavedPatch", "plan_series", "refuse_changed_series", "refuse_moved"]

_Became = Change | Literal["added", "moved", "removed"]
"""``moved``: into another module or phase."""

_NAMES: Final = 3
"""How many patches are named of those to which the same happened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MovedHunk:
    """A hunk that would be written for another line than the one that its patch says."""

    file: str
    path: bytes
    old: int
    new: int

    def __str__(self) -> str:
        return f"{self.file}: {shown(self.path)}, line {self.old} → {self.new}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedPatch:
    """One patch of the series that changes: its file, what becomes of it, and what it was called before."""

    file: str
    change: _Became
    subject: str = ""
    was: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """A series as it is to be.

    Parameters
    ----------
    files
        Bytes by name as the series has them, its list included, of what is written; None for what goes away.
    patches
        What changes.
    moved
        The hunks that are written for other lines than before.
    careless
        Those of them whose patches had been applied elsewhere than they say.
    sources
        By file the commit that it says, of all that the history holds.
    """

    files: Mapping[str, bytes | None]
    patches: tuple[SavedPatch, ...]
    moved: tuple[MovedHunk, ...]
    careless: tuple[MovedHunk, ...]
    sources: Mapping[str, Patchable]


def refuse_changed_series(series: Series, applied: Applied, *, stands: Stage, platform: Platform, restore: str) -> None:
    """Refuse to save over a series that was changed since the tree was made from it: what was changed there would be lost.

    Parameters
    ----------
    series
        The series as it is on disk.
    applied
        What the tree has of it.
    stands
        The stage at which the tree stands.
    platform
        What the tree is for: a patch that the series says to be for other ones may not be in it, and the other way round.
    restore
        What makes the tree anew from the series, for the hint.

    Raises
    ------
    HipwrightError
        ``series-changed`` with the list.
    """
    phases = PHASES if stands is Stage.HIPIFIED_PATCHES else PHASES[:1]
    ours = [patch for patch in series.patches if patch.phase in phases]
    known = {one.file: one for one in applied.patches if one.phase in phases}
    anew = f"make the tree anew from the series: {restore}"
    # A ref that had no patches may get a line meanwhile: nothing of it can be undone.
    if applied.line != series.line and (ours or known):
        had = f"the patch line {applied.line}" if applied.line else "no patches"
        message = f"the tree was made with {had}, and its ref has the line {series.line}"
        raise HipwrightError("series-changed", message, hint=anew)
    names = {patch.name for patch in ours}
    added = [patch.name for patch in ours if patch.name not in known]
    gone = [name for name in known if name not in names]
    edited = [patch.name for patch in ours if patch.name in known and known[patch.name].digest != digest.of_bytes(patch.data)]
    applies = {patch.name: patch.applies_on(platform) for patch in ours}
    turned = [name for name, one in known.items() if applies.get(name) is (one.outcome == "other-platform")]
    moved = []
    for place in sorted({(patch.module, patch.phase) for patch in ours}):
        now = [patch.name for patch in ours if (patch.module, patch.phase) == place and patch.name in known]
        then = [one.file for one in known.values() if (one.module, one.phase) == place and one.file in now]
        moved += [f"{module_folder(place[0])}/{place[1]}"] if now != then else []
    kinds = {
        "added": added,
        "edited": edited,
        "not in it any more": gone,
        "for other platforms": turned,
        "in another order": moved,
    }
    lines = [f"{kind}: {', '.join(shortened(found, _NAMES))}" for kind, found in kinds.items() if found]
    if not lines:
        return
    message = f"the patch line {series.line} was changed since the tree was made from it, and saving would undo that"
    if not (edited or gone or turned or moved):
        message = f"the patch line {series.line} has patches that the tree was made without"
    hint = anew if added else f"take the change back with git, or {anew}"
    raise HipwrightError("series-changed", message, hint=hint, excerpt="\n".join(lines))


def refuse_moved(saved: Saved, *, refresh: str) -> None:
    """Refuse to write a patch that was applied elsewhere than it says as if it had been made for that place.

    Raises
    ------
    HipwrightError
        ``moved-hunks`` with file, old and new line of each hunk; ``refresh`` is the command that writes them all the same.
    """
    if not saved.careless:
        return
    count = len({one.file for one in saved.careless})
    which = "a patch that was" if count == 1 else f"{count} patches that were"
    message = f"saving would write hunks of {which} applied at other lines as if made for those"
    hint = f"look at each hunk, whether it is where it belongs; if all are: {refresh}"
    where = Where(file=saved.careless[0].file)
    raise HipwrightError("moved-hunks", message, where=where, hint=hint, excerpt="\n".join(map(str, saved.careless)))


def plan_series(
    series: Series,
    text: SeriesText,
    applied: Applied,
    histories: Sequence[ModuleHistory],
    *,
    tree: Path,
    refresh: bool,
) -> Saved:
    """Return what a tree's history makes of its series.

    Parameters
    ----------
    series
        The series as the tree was made from it.
    text
        Its list.
    applied
        Which commits its patches became.
    histories
        What the tree's history holds.
    tree
        The tree, for scratch folders.
    refresh
        Whether files of unchanged commits are written anew as well.

    Raises
    ------
    HipwrightError
        What exporting commits raises.
    """
    known = {one.file: one for one in applied.patches}
    held = [(patch, known[patch.name].commit) for patch in series.patches if _is_held(patch, known, histories)]
    wanted = _wanted(held, histories, tree=tree, refresh=refresh)
    found = match_patches(held, wanted)
    return _Planning(series=series, text=text, known=known, wanted=wanted, found=found, refresh=refresh).plan(
        {id(patch) for patch, _ in held},
        [one for history in histories for phase in PHASES for one in history.commits.get(phase, ())],
    )


def _is_held(patch: Patch, known: Mapping[str, AppliedPatch], histories: Iterable[ModuleHistory]) -> bool:
    """Return whether the history should hold a patch: it was applied, in a phase that the tree stands behind."""
    phases = {phase for history in histories for phase in history.commits}
    return patch.phase in phases and patch.name in known and known[patch.name].commit is not None


def _wanted(
    held: Sequence[tuple[Patch, object]], histories: Sequence[ModuleHistory], *, tree: Path, refresh: bool
) -> list[Exported]:
    """Return what the commits are as patches; a commit that a patch of the series became is that patch, as long as nobody wants it anew."""
    became = {} if refresh else {(patch.module, patch.phase, commit): patch.data for patch, commit in held}
    wanted = []
    for history in histories:
        path = history.module.path
        commits = [(phase, one) for phase in PHASES for one in history.commits.get(phase, ())]
        fresh = [one.export for phase, one in commits if (path, phase, one.source.id) not in became]
        exported = export(history.module.store, fresh, scratch=temporary_name(tree, "export")) if fresh else {}
        for phase, one in commits:
            data = became.get((path, phase, one.source.id)) or exported[one.export]
            wanted.append(Exported(module=path, phase=phase, commit=one.source, data=data))
    return wanted


@dataclass(frozen=True, kw_only=True, slots=True)
class _Planning:
    """The commits in order, and which patch each was found to be."""

    series: Series
    text: SeriesText
    known: Mapping[str, AppliedPatch]
    wanted: Sequence[Exported]
    found: Sequence[Patch | None]
    refresh: bool

    def plan(self, held: set[int], sources: Sequence[Patchable]) -> Saved:
        files: dict[str, bytes | None] = {}
        rows: list[SavedPatch] = []
        moved: list[MovedHunk] = []
        careless: list[MovedHunk] = []
        names = self._names()
        text = self.text
        kept = {id(patch) for patch in self.found if patch is not None}
        for patch in self.series.patches:
            if id(patch) in held and id(patch) not in kept:
                files[patch.name] = None
                text = text.remove(patch.name)
                rows.append(SavedPatch(file=patch.name, change="removed"))
        for name, one, match in zip(names, self.wanted, self.found, strict=True):
            if match is None:
                files[name] = one.data
                text = text.add(self._entry(one, name, held))
                rows.append(SavedPatch(file=name, change="added", subject=one.commit.subject))
                continue
            data, elsewhere = self._data(match, one)
            moved += _moved(match, data)
            careless += _moved(match, data) if elsewhere else []
            if name != match.name:
                files[match.name] = None
                text = text.rename(match.name, name)
                rows.append(SavedPatch(file=name, change="moved", subject=one.commit.subject, was=match.name))
            elif data != match.data:
                change = change_between(match.data, data)
                rows.append(SavedPatch(file=name, change=change, subject=one.commit.subject))
            if name != match.name or data != match.data:
                files[name] = data
        text = text.reorder(self._order(names, held))
        if text.entries != self.text.entries:
            files[NAME] = text.data
        return Saved(
            files=files,
            patches=tuple(rows),
            moved=tuple(moved),
            careless=tuple(careless),
            sources=dict(zip(names, sources, strict=True)),
        )

    def _data(self, patch: Patch, one: Exported) -> tuple[bytes, bool]:
        """Return the bytes of a patch's file, and whether the patch had been applied elsewhere than it says."""
        elsewhere = self.known[patch.name].outcome == "offset" and not self.refresh
        if elsewhere and same_but_for_places(patch.data, one.data):
            # What it says is still what it does.
            return patch.data, False
        return one.data, elsewhere

    def _entry(self, one: Exported, name: str, held: set[int]) -> PatchEntry:
        """Return what a series says of a further patch: of one that it has in another phase too, what it says there."""
        entry, mail = entry_of(one.commit, name), parse_mail(one.data)
        for patch in self.series.patches:
            other = parse_mail(patch.data)
            same = (other.author, other.email, other.when, other.subject) == (mail.author, mail.email, mail.when, mail.subject)
            if id(patch) not in held and patch.module == one.module and same and mail.when is not None:
                said = patch.entry
                return msgspec.structs.replace(
                    entry, why=said.why, upstream=said.upstream, owner=said.owner, added=said.added, drop_when=said.drop_when
                )
        return entry

    def _names(self) -> list[str]:
        """Return the file of each commit: that of its patch, in the folder of its module and phase, or a further one."""
        taken = {patch.name for patch in self.series.patches}
        names = []
        for one, patch in zip(self.wanted, self.found, strict=True):
            if patch is not None and (patch.module, patch.phase) == (one.module, one.phase):
                names.append(patch.name)
                continue
            name = "" if patch is None else f"{module_folder(one.module)}/{one.phase}/{PurePosixPath(patch.name).name}"
            if not name or name.casefold() in {other.casefold() for other in taken}:
                name = fresh_name(one.module, one.phase, one.commit.subject, taken)
            taken.add(name)
            names.append(name)
        return names

    def _order(self, names: Sequence[str], held: set[int]) -> list[str]:
        before = [(patch.name, (patch.module, patch.phase)) for patch in self.series.patches]
        kept = frozenset(patch.name for patch in self.series.patches if id(patch) not in held)
        history: dict[tuple[str, Phase], list[str]] = {group: [] for _, group in before}
        for name, one in zip(names, self.wanted, strict=True):
            history.setdefault((one.module, one.phase), []).append(name)
        groups = {
            group: with_kept([name for name, where in before if where == group], own, kept) for group, own in history.items()
        }
        return in_order(before, groups)


def _moved(patch: Patch, data: bytes) -> Iterator[MovedHunk]:
    """Yield the hunks that are in both states of a patch, at other lines."""
    if data == patch.data:
        return
    later: dict[tuple[bytes | None, tuple[bytes, ...]], list[int]] = {}
    for part in sections(data):
        for hunk in hunks(part):
            later.setdefault((part.new or part.old, hunk.lines), []).append(hunk.old_start)
    for part in sections(patch.data):
        path = part.new or part.old or b""
        for hunk in hunks(part):
            places = later.get((path, hunk.lines))
            if places and (place := places.pop(0)) != hunk.old_start:
                yield MovedHunk(file=patch.name, path=path, old=hunk.old_start, new=place)
