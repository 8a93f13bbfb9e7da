"""The commits of a tree that its patch series is to say, per module and phase, and those that no patch can say.

Which commits are whose follows from the markers: where the tree stands at ``base-patches``, all on top of the upstream commit are base
patches; behind hipify, those up to the marker ``base`` are, and those on top of ``hipified`` are hipified patches. Commits of the stages'
own bear a trailer and are passed by. What a commit says of the heads of the tree's own submodules is bookkeeping, which the stages do
themselves: it is left out of patches.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.patches.commits import Commit, read_commits
from build_tools.patches.unsaid import (
    Refusal,
    is_merge,
    is_nothing,
    is_submodule_move,
    lost_marker,
    refused,
    stage_commit,
    unsaid,
)
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.contents import GITLINK, gitlinks
from build_tools.sources.git import EMAIL
from build_tools.sources.modules import MARKERS, Markers, Module, within
from build_tools.sources.phases import with_submodules
from build_tools.sources.told import called
from build_tools.types import CommitId, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, MutableMapping
    from pathlib import Path

    from build_tools.sources.phases import Phase

__all__ = ["ModuleHistory", "Patchable", "read_histories"]

_ABSENT: Final = b"000000"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patchable:
    """A commit that a patch says: ``source`` as it stands in the history, ``export`` what is written, one without bookkeeping."""

    source: Commit
    export: CommitId


@dataclass(frozen=True, kw_only=True, slots=True)
class ModuleHistory:
    """One module's commits by phase, oldest first; ``starts`` are the commits that each phase's patches begin from.

    ``notes`` are what people are told of commits that become no patch.
    """

    module: Module
    markers: Markers
    head: CommitId
    starts: Mapping[Phase, CommitId]
    commits: Mapping[Phase, tuple[Patchable, ...]]
    notes: tuple[str, ...] = ()


def read_histories(
    tree: Path,
    modules: Mapping[Module, Markers],
    *,
    stands: Stage,
    is_upstream: Callable[[Module, CommitId], bool],
    known: Collection[CommitId],
    until_base: str,
) -> tuple[ModuleHistory, ...]:
    """Return what every module's history holds, parents before children.

    Parameters
    ----------
    tree
        The tree.
    modules
        Its modules, parents before children, with their markers.
    stands
        The stage at which the tree stands: ``base-patches`` or ``hipified-patches``.
    is_upstream
        Says whether a module's origin is known to have a commit.
    known
        Commits that patches of the series became.
    until_base
        The command that checks the tree out up to the base patches, for hints.

    Raises
    ------
    HipwrightError
        ``marker-lost`` when a history does not hold what the stages made; ``bad-commit`` for what no patch can say, with the way out.
    """
    reading = _Reading(tree=tree, modules=modules, stands=stands, is_upstream=is_upstream, known=known, until_base=until_base)
    found = [reading.read(module, markers) for module, markers in modules.items() if not reading.is_gone(module)]
    if reading.refusals:
        raise refused(reading.refusals)
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    """All modules of a tree; ``pins`` are the commits that their parents record for them, where another one than before, None for no more."""

    tree: Path
    modules: Mapping[Module, Markers]
    stands: Stage
    is_upstream: Callable[[Module, CommitId], bool]
    known: Collection[CommitId]
    until_base: str
    pins: dict[str, CommitId | None] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def is_gone(self, module: Module) -> bool:
        """Return whether a module's parent records it no more; what a person has committed in it has no place then.

        Raises
        ------
        HipwrightError
            ``bad-commit`` when there is such a commit.
        """
        parent = module.entry.parent
        above = [path for path, pin in self.pins.items() if pin is None]
        if module.path not in above and parent not in above:
            return False
        self.pins[module.path] = None
        if module.store.head() != self.modules[module].finished:
            message = f"{called(module.path)} has commits of yours, and {called(str(parent))} records it no more"
            back = printable(["git", "-C", str(module.folder), "checkout", "--detach", f"{MARKERS}finished"])
            hint = f"go back to what the stages made there: {back}"
            raise HipwrightError("bad-commit", message, where=Where(file=module.folder, module=module.path), hint=hint)
        return True

    def read(self, module: Module, markers: Markers) -> ModuleHistory:
        """Return a module's history; what no patch can say is noted."""
        head = module.store.head()
        if head is None:
            message = f"{called(module.path)} has no commit"
            raise HipwrightError("marker-lost", message, where=Where(module=module.path))
        upstream = self.pins.get(module.path) or markers.upstream
        spans: dict[Phase, tuple[CommitId, CommitId]] = {"base": (upstream, head)}
        required = {"upstream": upstream}
        if self.stands is not Stage.BASE_PATCHES:
            spans = {"base": (upstream, markers.base), "hipified": (markers.hipified, head)}
            required |= {"base": markers.base, "hipified": markers.hipified}
        for name, commit in required.items():
            if not module.store.is_ancestor(commit, head):
                raise lost_marker(module, name, commit, head, until_base=self.until_base)
        commits: dict[Phase, tuple[Patchable, ...]] = {}
        notes: list[str] = []
        for phase, (start, end) in spans.items():
            commits[phase] = self._patchable(module, phase, start, end, notes)
        starts: dict[Phase, CommitId] = {phase: start for phase, (start, _) in spans.items()}
        return ModuleHistory(module=module, markers=markers, head=head, starts=starts, commits=commits, notes=tuple(notes))

    def _patchable(self, module: Module, phase: Phase, start: CommitId, end: CommitId, notes: list[str]) -> tuple[Patchable, ...]:
        moved = phase == "base" and start != self.modules[module].upstream
        if start == end and not moved:
            return ()
        listed = read_commits(module.store, [f"{start}..{end}"]) if start != end else ()
        children = {os.fsencode(within(child)): child for child in self.modules if child.entry.parent == module.path}
        heads: dict[bytes, CommitId | None] = {}
        if children and (moved or any(_links(commit) for commit in listed)):
            recorded = gitlinks(module.store, start)
            heads = {path: recorded.get(path) for path in children}
        found = []
        for commit in listed:
            made = self._judge(module, commit, phase, children, heads, start=start)
            if made is not None:
                found.append(made)
            elif not commit.is_ours:
                notes.append(f"{called(module.path)}: commit {commit.label} only records submodules' heads: no patch says that")
        if phase == "base":
            self._note_pins(children, heads)
        return tuple(found)

    def _note_pins(self, children: Mapping[bytes, Module], heads: Mapping[bytes, CommitId | None]) -> None:
        for path, pin in heads.items():
            if pin != self.modules[children[path]].upstream:
                self.pins[children[path].path] = pin

    def _judge(
        self,
        module: Module,
        commit: Commit,
        phase: Phase,
        children: Mapping[bytes, Module],
        heads: MutableMapping[bytes, CommitId | None],
        *,
        start: CommitId,
    ) -> Patchable | None:
        """Return what of a commit becomes a patch, None when nothing does; what cannot is noted. ``heads`` are carried on."""
        links = _links(commit)
        refusal = self._refusal(module, commit, links, start=start)
        if refusal is not None:
            self.refusals.append(refusal)
            return None
        if commit.is_ours:
            return None
        before = dict(heads)
        bookkeeping = {path for path in links & children.keys() if self._is_head(children[path], commit, path)}
        real = links - bookkeeping
        if real and phase == "hipified":
            self.refusals.append(is_submodule_move(module, commit, real))
            return None
        for path in real - children.keys():
            self._refuse_foreign(module, commit, path)
        for path in real & children.keys():
            change = commit.changes[path]
            heads[path] = CommitId(change.new) if change.new_mode == GITLINK else None
        if not bookkeeping and not real & children.keys():
            return Patchable(source=commit, export=commit.id)
        if commit.changes.keys() == bookkeeping:
            return None
        return Patchable(source=commit, export=self._without_heads(module, commit, before, heads))

    def _refusal(self, module: Module, commit: Commit, links: Collection[bytes], *, start: CommitId) -> Refusal | None:
        """Return why no patch can say a commit, as far as the commit alone tells."""
        if len(commit.parents) > 1:
            return is_merge(module, commit, start=start)
        if commit.is_ours:
            return stage_commit(module, commit) if commit.changes.keys() - links else None
        if not commit.changes:
            return is_nothing(module, commit)
        # What came out of a patch is in the series already.
        return None if commit.id in self.known else unsaid(module, commit)

    def _is_head(self, child: Module, commit: Commit, path: bytes) -> bool:
        """Return whether what a commit says of a submodule is a commit of ours, or of the person's who made it, and no commit of an origin."""
        value, upstream = CommitId(commit.changes[path].new), self.modules[child].upstream
        if value == upstream or not child.store.has_commit(value):
            return False
        above = ("--max-count=1", "--format=%ce", value, "--not", upstream, "--remotes=origin", "--")
        committer = child.store.text("log", *above)
        return committer in {EMAIL, commit.committed_by} and not self.is_upstream(child, value)

    def _refuse_foreign(self, module: Module, commit: Commit, path: bytes) -> None:
        """Refuse a further submodule whose folder holds another commit than is recorded, or edits: it will be the tree's own."""
        folder = module.folder / os.fsdecode(path)
        if commit.changes[path].new_mode != GITLINK or not (folder / ".git").exists():
            return
        own = module.repository.git.at(folder)
        head = own.head()
        edits = own.records("status", "--porcelain=v1", "-z", "--untracked-files=all")
        if head != commit.changes[path].new or edits:
            what = f"adds the submodule {shown(path)}, whose folder has {'edits' if edits else f'commit {head}'} besides"
            hint = f"go to what is recorded, save, and commit there after the next checkout: {printable(['git', '-C', str(folder), 'status'])}"
            self.refusals.append(Refusal(module=module, commit=commit, what=what, hint=hint))

    def _without_heads(
        self, module: Module, commit: Commit, before: Mapping[bytes, CommitId | None], after: Mapping[bytes, CommitId | None]
    ) -> CommitId:
        """Make a commit that says the same but of submodules' heads, on top of one that says their recorded commits."""
        parent = commit.parents[0]
        trees = []
        for tree, heads in ((module.store.tree_of(parent), before), (commit.tree, after)):
            known = {os.fsdecode(path): pin for path, pin in heads.items() if pin is not None}
            trees.append(with_submodules(self.tree, module, tree, known))
        below = _store(module, replace(commit, tree=trees[0], parents=(parent,)))
        return _store(module, replace(commit, tree=trees[1], parents=(below,)))


def _links(commit: Commit) -> set[bytes]:
    """Return the paths at which a commit changes, adds or removes submodules."""
    return {path for path, change in commit.changes.items() if {change.old_mode, change.new_mode} <= {GITLINK, _ABSENT}}


def _store(module: Module, commit: Commit) -> CommitId:
    parents = b"".join(b"parent %s\n" % parent.encode() for parent in commit.parents)
    raw = b"tree %s\n%sauthor %s\ncommitter %s\n\n%s" % (
        commit.tree.encode(),
        parents,
        commit.author,
        commit.committer,
        commit.message,
    )
    return CommitId(module.store.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw))
