"""Proof that commits survive being patches: the series that is to be written gives the same files, messages and authors again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.errors import HipwrightError, Where
from build_tools.patches.apply import replay
from build_tools.patches.commits import read_commits
from build_tools.patches.layout import PHASES
from build_tools.patches.unsaid import anew
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.contents import GITLINK
from build_tools.sources.modules import within
from build_tools.sources.told import called, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.patches.applied import Applied, AppliedPatch
    from build_tools.patches.apply import Replayed
    from build_tools.patches.commits import Commit
    from build_tools.patches.history import ModuleHistory, Patchable
    from build_tools.patches.series import Series
    from build_tools.sources.modules import Module
    from build_tools.sources.phases import Phase
    from build_tools.types import CommitId, Platform

__all__ = ["prove_saved", "said_already"]

_LINES: Final = 20
_FACTS: Final = 5


def prove_saved(
    series: Series,
    sources: Mapping[str, Patchable],
    histories: Sequence[ModuleHistory],
    phase: Phase,
    *,
    tree: Path,
    platform: Platform,
    log: Path,
    say: Callable[[str], None],
) -> None:
    """Apply a phase of a series beside the tree, and hold every commit against the one that its patch was written from.

    Parameters
    ----------
    series
        The series as it is to be written.
    sources
        The commits that its patches were written from, by file; patches that the history does not hold have none.
    histories
        What the tree's history holds.
    phase
        Which patches.
    tree, platform, log, say
        As for :func:`build_tools.patches.apply.replay`.

    Raises
    ------
    HipwrightError
        ``bad-commit`` that names the commit and what of it does not survive.
    """
    starts = {history.module: history.starts[phase] for history in histories}
    try:
        found = replay(series, phase, starts, tree=tree, platform=platform, log=log, say=say)
    except HipwrightError as error:
        raise _failed(error, sources, histories) from error
    for history in histories:
        made = found[history.module.path]
        _proof(history, phase, made, histories).check(made.patches, sources)


def said_already(
    series: Series,
    applied: Applied,
    histories: Sequence[ModuleHistory],
    *,
    tree: Path,
    platform: Platform,
    log: Path,
) -> Applied | None:
    """Return which commits a series says that the tree was not made from, as a save leaves it that was killed before the tree moved.

    The series is applied beside the tree: its patches must give the first commits of every module and phase. Commits on top of them are
    a person's who has gone on; one that is below the marker ``finished``, or that a patch became, is one that somebody took out of the
    series, which is for nobody to undo.

    Parameters
    ----------
    series
        The series as it is on disk.
    applied
        What the tree was made from.
    histories
        What the tree's history holds.
    tree, platform, log
        As for :func:`build_tools.patches.apply.replay`.

    Returns
    -------
    Applied | None
        The record of a tree that was made from the series; None when the series says anything else.
    """
    known = {one.commit for one in applied.patches}
    phases = [phase for phase in PHASES if all(phase in history.commits for history in histories)]
    found = [one for one in applied.patches if one.phase not in phases]
    for phase in reversed(phases):
        starts = {history.module: history.starts[phase] for history in histories}
        try:
            made = replay(series, phase, starts, tree=tree, platform=platform, log=log, say=lambda _line: None)
            ours = [one for history in histories for one in _said(history, phase, made[history.module.path], histories, known)]
        except HipwrightError:
            return None
        found = [*ours, *found]
    return msgspec.structs.replace(applied, line=series.line, patches=tuple(found))


def _said(
    history: ModuleHistory, phase: Phase, made: Replayed, histories: Sequence[ModuleHistory], known: Collection[CommitId | None]
) -> list[AppliedPatch]:
    """Return a module's patches with the commits of the history that they say; raise where they say others."""
    commits = history.commits[phase]
    there = [one.file for one in made.patches if one.commit is not None]
    sources = dict(zip(there, commits, strict=False))
    above = [one.source.id for one in commits[len(there) :]]
    undone = [one for one in above if one in known or history.module.store.is_ancestor(one, history.markers.finished)]
    if len(sources) < len(there) or undone:
        raise HipwrightError("series-changed", f"the series says other commits of {called(history.module.path)}")
    _proof(history, phase, made, histories).check(made.patches, sources)
    return [
        msgspec.structs.replace(one, commit=sources[one.file].source.id) if one.file in sources else one for one in made.patches
    ]


def _proof(history: ModuleHistory, phase: Phase, made: Replayed, histories: Sequence[ModuleHistory]) -> _Proof:
    module = history.module
    children = {os.fsencode(within(child.module)) for child in histories if child.module.entry.parent == module.path}
    listed = read_commits(module.store, [f"{history.starts[phase]}..{made.head}"]) if made.patches else ()
    return _Proof(module=module, children=frozenset(children), made={commit.id: commit for commit in listed})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Proof:
    """One module: its submodules' paths, whose commits stages record, and the commits that its patches became."""

    module: Module
    children: frozenset[bytes]
    made: Mapping[CommitId, Commit]

    def check(self, patches: Sequence[AppliedPatch], sources: Mapping[str, Patchable]) -> None:
        for patch in patches:
            source = sources.get(patch.file)
            if source is None and patch.commit is None:
                continue
            if source is None:
                message = f"{patch.file}, which was left out before, would be applied now"
                raise HipwrightError("bad-commit", message, where=Where(module=self.module.path))
            if patch.commit is None:
                raise self._lost(source.source, "does nothing that the sources do not do already", ())
            made = self.made[patch.commit]
            lines = list(self._differences(source.source, made))
            if lines:
                raise self._lost(source.source, "does not survive being a patch", lines, made)

    def _differences(self, source: Commit, made: Commit) -> Iterator[str]:
        if (source.name, source.email) != (made.name, made.email):
            yield f"its author comes back as {shown(f'{made.name} <{made.email}>')}"
        if source.when != made.when:
            yield f"its date comes back as {made.when[0]} {made.when[1]}, and was {source.when[0]} {source.when[1]}"
        if source.message.strip(b"\n") != made.message.strip(b"\n"):
            pairs = zip(source.message.split(b"\n"), [*made.message.split(b"\n"), b""], strict=False)
            first = next((line for line, other in pairs if line != other), b"")
            yield f"its message comes back otherwise from the line {shown(first)!r} on"
        if source.tree != made.tree:
            records = iter(self.module.store.records("diff-tree", "-r", "-z", "--no-renames", made.tree, source.tree))
            for facts, path in zip(records, records, strict=True):
                modes = facts[1:].split(b" ", _FACTS - 1)[:2]
                if path not in self.children or modes != [GITLINK, GITLINK]:
                    yield f"{shown(path)} comes back with another content or mode"

    def _lost(self, source: Commit, what: str, lines: Sequence[str], made: Commit | None = None) -> HipwrightError:
        message = f"commit {source.label} of {called(self.module.path)} {what}"
        hint = _anew(self.module, source, made)
        where = Where(file=self.module.folder, module=self.module.path)
        return HipwrightError("bad-commit", message, where=where, hint=hint, excerpt="\n".join(shortened(lines, _LINES)) or None)


def _failed(error: HipwrightError, sources: Mapping[str, Patchable], histories: Sequence[ModuleHistory]) -> HipwrightError:
    """Return the error of a series that does not apply as one about the commit that it was written from."""
    file = str(error.where.file) if error.where is not None and error.where.file is not None else ""
    module = error.where.module if error.where is not None else None
    name = next((name for name in sources if file.endswith(f"/{name}")), None)
    if name is None or module is None:
        return error
    commit = sources[name].source
    its = next(history.module for history in histories if history.module.path == module)
    message = f"commit {commit.label} of {called(module)} does not survive being a patch: {error.message}"
    where = Where(file=its.folder, module=module)
    return HipwrightError("bad-commit", message, where=where, hint=_anew(its, commit, None), log=error.log, excerpt=error.excerpt)


def _anew(module: Module, source: Commit, made: Commit | None) -> str:
    """Return how a commit is made anew so that it survives, by what of it came back otherwise."""
    words = []
    if made is not None and (source.name, source.email) != (made.name, made.email):
        words.append(f"--author={shown(made.name)} <{shown(made.email)}>")
    if made is not None and source.when != made.when:
        words.append("--date=now")
    hint = anew(module, source, *words)
    return hint if words else f"look at it: {printable(['git', '-C', str(module.folder), 'show', source.id])}; {hint}"
