"""A save that has written a series and has not yet brought the tree onto it: noted, so that nothing of a person's is lost when it ends there.

Before the tree takes the commits of a clean checkout, a person's own are let go: the marker ``finished`` says that they are in the
series. That is true only as long as the series on disk says them, and until the tree has moved. The note tells what the markers and
heads were, and keeps the commits by a ref.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError
from build_tools.files import write_bytes
from build_tools.patches.applied import Applied, note_all
from build_tools.receipts.ids import CommitId, Sha256
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.arrange import Arrangement, Target, arrange
from build_tools.sources.kept import kept_by_tag
from build_tools.sources.modules import MARKERS, Markers, Module, ModuleEntry, module_at, own_folder
from build_tools.sources.phases import marked_modules
from build_tools.sources.told import called

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.sources.git import Git
    from build_tools.types import Stage

__all__ = ["forget_saving", "let_go", "settle_saving", "take_back"]

_NAME: Final = "saving.json"
_FINISHED: Final = f"{MARKERS}finished"
_SAVED: Final = f"{MARKERS}saved"
"""The ref that keeps a module's head while a save is under way."""


class _Left(Record, frozen=True, kw_only=True):
    """One module before the tree moved: its head, and its markers."""

    entry: ModuleEntry
    head: CommitId
    upstream: CommitId
    base: CommitId
    hipified: CommitId
    finished: CommitId

    def is_at(self, markers: Markers | None) -> bool:
        """Return whether a module's markers are these, with its commits let go or not."""
        others = (self.upstream, self.base, self.hipified)
        return (
            markers is not None
            and (markers.upstream, markers.base, markers.hipified) == others
            and markers.finished in {self.finished, self.head}
        )


class _Saving(Record, frozen=True, kw_only=True):
    """A save under way: the digest of the series that it has written, and the tree as it was."""

    schema: Literal[1] = 1
    series: Sha256
    applied: Applied
    modules: tuple[_Left, ...]


def let_go(tree: Path, modules: Mapping[Module, Markers], *, series: Sha256, applied: Applied) -> None:
    """Note that the stages' commits include all that modules have, so that moving on from it loses nothing.

    Parameters
    ----------
    tree
        The tree.
    modules
        Its modules, parents before children, with their markers.
    series
        The digest of the series on disk, which says their commits.
    applied
        What the tree has of the series before.
    """
    heads = {module: module.store.head() or markers.finished for module, markers in modules.items()}
    left = [
        _Left(
            entry=module.entry,
            head=heads[module],
            upstream=markers.upstream,
            base=markers.base,
            hipified=markers.hipified,
            finished=markers.finished,
        )
        for module, markers in modules.items()
    ]
    write_bytes(own_folder(tree) / _NAME, to_json(_Saving(series=series, applied=applied, modules=tuple(left))))
    for module, markers in modules.items():
        if heads[module] != markers.finished:
            module.store.set_refs({_FINISHED: heads[module], _SAVED: heads[module]})


def settle_saving(
    tree: Path, *, series: Callable[[], str | None], git: Git, say: Callable[[str], None], resume: bool = False
) -> None:
    """Give a person back the commits that an ended save had let go, where the series on disk does not say them any more.

    Parameters
    ----------
    tree
        The tree; there may be none.
    series
        Returns the digest of the series on disk; asked for only where there is a note.
    git
        How git is run.
    say
        Takes one line of talk.
    resume
        Whether a save is what comes next: it begins from the commits as they were also where the series says them.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` for a note that cannot be read, and what reading the series raises.
    """
    note = _read(tree)
    if note is None:
        return
    if series() != note.series:
        say(f"the save in {tree} that was ended is taken back: the series is not the one that it wrote")
        take_back(tree, git=git, say=say)
    elif resume:
        take_back(tree, git=git, say=say, tags=False)


def take_back(tree: Path, *, git: Git, say: Callable[[str], None], tags: bool = True) -> None:
    """Bring a tree back to where it stood before a save let its commits go; does nothing where there is no note.

    Where a person has worked in the meantime on a tree that had moved, it stays, and ``tags`` keep the commits, unless the series does.
    """
    note = _read(tree)
    if note is None:
        return
    have = marked_modules(tree, git=git, say=say)
    left = _modules(tree, note, git)
    if _has_moved(note, have):
        wanted = {
            one.entry.path: Target(
                module=module,
                commit=one.head,
                markers={"upstream": one.upstream, "base": one.base, "hipified": one.hipified, "finished": one.head},
            )
            for module, one in left.items()
        }
        try:
            arrange(Arrangement(tree=tree, have=tuple(have), wanted=wanted), git=git, say=say, repair=False)
        except HipwrightError as error:
            if error.code.name != "unsaved-work":
                raise
            for module, one in left.items():
                if tags and one.head != one.finished:
                    tag, _ = kept_by_tag(module)
                    module.store.set_refs({f"refs/tags/{tag}": one.head})
                    say(f"{called(module.path)} has work of yours besides: the commits of the save are kept in the tag {tag}")
            forget_saving(tree, git=git)
            return
    note_all(tree, note.applied)
    for module, one in left.items():
        module.store.set_refs({_FINISHED: one.finished})
    forget_saving(tree, git=git)


def forget_saving(tree: Path, *, git: Git, at: Stage | None = None) -> None:
    """Note that a save has come to its end; where a run has ended ``at`` an earlier stage than the save began from, it has not."""
    note = _read(tree)
    if note is None:
        return
    stood = note.applied.stands
    if at is not None and stood is not None and at.number < stood.number:
        return
    (own_folder(tree) / _NAME).unlink()
    for module in _modules(tree, note, git):
        if module.git_dir.is_dir():
            module.store.set_refs({_SAVED: None})


def _read(tree: Path) -> _Saving | None:
    path = own_folder(tree) / _NAME
    return read_record(path, _Saving, code="bad-source-tree") if path.is_file() else None


def _modules(tree: Path, note: _Saving, git: Git) -> dict[Module, _Left]:
    found: dict[str, Module] = {}
    for one in note.modules:
        parent = None if one.entry.parent is None else found[one.entry.parent]
        found[one.entry.path] = module_at(tree, one.entry, parent=parent, git=git)
    return {found[one.entry.path]: one for one in note.modules}


def _has_moved(note: _Saving, have: Mapping[Module, Markers]) -> bool:
    """Return whether stages have moved a tree since."""
    there = {module.entry: markers for module, markers in have.items()}
    left = {one.entry: one for one in note.modules}
    return there.keys() != left.keys() or not all(one.is_at(there[entry]) for entry, one in left.items())
