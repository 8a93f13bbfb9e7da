"""Moving a tree to other modules: what a person would lose is asked for in all of them first, and the tree is verified afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.discard import discard
from build_tools.sources.guard import (
    file_line,
    ignored_in_the_way,
    is_replaced,
    link_line,
    local_work,
    own_repositories,
    refuse_locked,
    refuse_unsaved,
    tracked_changes,
)
from build_tools.sources.kept import ways_to_keep
from build_tools.sources.modules import ROOT, Module, again, link_over, markers_of, own_link
from build_tools.sources.move import ModuleMove, Move, carry_out
from build_tools.sources.told import prefix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = ["Arrangement", "Target", "arrange", "verify"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where a module is to stand, and the markers that it gets, by short name."""

    module: Module
    commit: CommitId
    markers: Mapping[str, CommitId]


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrangement:
    """A tree's modules as they are, and as they are to be, parents before children; what is in ``have`` only goes away."""

    tree: Path
    have: Sequence[Module]
    wanted: Mapping[str, Target]

    @property
    def stale(self) -> list[Module]:
        """The modules that the tree loses, or whose place another repository takes."""
        kept = {path: (target.module.entry.name, target.module.git_dir) for path, target in self.wanted.items()}
        return [module for module in self.have if kept.get(module.path) != (module.entry.name, module.git_dir)]

    def targets(self) -> dict[str, CommitId | None]:
        """Return the commit that each present module moves to, None where it goes away."""
        gone = {module.path for module in self.stale}
        return {module.path: None if module.path in gone else self.wanted[module.path].commit for module in self.have}

    def start(self, target: Target) -> CommitId | None:
        """Return the commit whose files a module has in its place; None where its repository is, or was, not in that place."""
        module = target.module
        there = any((one.path, one.git_dir) == (module.path, module.git_dir) for one in self.have)
        there = there and link_over(module) is None and own_link(module) is None and (module.folder / ".git").exists()
        return module.store.head() if there else None

    def staying(self) -> set[str]:
        """Return the modules, by path, that move between commits of ours on one upstream commit, as the root does, in their places."""
        found = set()
        for path in {module.path for module in self.have} - {module.path for module in self.stale}:
            target = self.wanted[path]
            markers = markers_of(target.module)
            same = markers is not None and target.markers.get("upstream", markers.upstream) == markers.upstream
            if same and self.start(target) is not None:
                found.add(path)
        # Where the root goes to another commit of its origin, nothing is where a person put it.
        return found if ROOT in found else set()

    def is_new(self, target: Target) -> bool:
        """Return whether a module has to be put in its place, or told its address, first."""
        return target.module.entry not in [module.entry for module in self.have]


def arrange(plan: Arrangement, *, git: Git, say: Callable[[str], None], discard_local: bool = False, repair: bool = True) -> bool:
    """Move a tree's modules, see that every one stands where it should, and return whether nothing of a person's is left in them.

    Untracked files of modules that stay on their upstream commits stay as well, unless the move writes them: it cannot lose them.

    Parameters
    ----------
    plan
        What is there, and what is wanted; all objects are in the repositories already.
    git
        How git is run.
    say
        Takes one line of talk.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.
    repair
        Whether the ties between work folders and repositories are made anew, also where they should be right.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when a person's changes would be lost, ``locked`` while a git process works in a module, or ``bad-source-tree``
        when the tree is not what was wanted afterwards.
    """
    targets = plan.targets()
    for target in plan.wanted.values():
        refuse_locked(target.module)
    found = _work(plan, targets)
    # With --discard-local all goes; without, what the move cannot lose is none of its business.
    staying = set() if discard_local else plan.staying()
    work = _losses(plan, targets, found, staying)
    busy = {path for path, lines in found.items() if lines}
    _refuse(plan, targets, work, staying, busy, discard_local=discard_local)
    if discard_local:
        hidden = {module.path: ignored_in_the_way(module, targets[module.path]) for module in plan.have if work[module.path]}
        leaving = {path for path, target in targets.items() if target is None}
        discard(plan.tree, plan.have, work, hidden=hidden, leaving=leaving, say=say)
    parts = [
        ModuleMove(
            module=target.module.entry,
            start=plan.start(target),
            target=target.commit,
            markers=dict(target.markers),
            attach=repair or plan.is_new(target),
            stays=path in staying,
        )
        for path, target in plan.wanted.items()
    ]
    move = Move(modules=tuple(parts), stale=tuple(module.entry for module in plan.stale))
    carry_out(plan.tree, move, git=git)
    # A move on the same commits of the origins is one command of git a module, which ends well or fails.
    verify(plan, files=repair)
    return found == work


def verify(plan: Arrangement, *, files: bool) -> None:
    """See that every module stands on its commit, with its ``files`` where asked, and that nothing is left of those that went away.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` that names modules, where their HEAD is, and where it should be.
    """
    lines = []
    for path, target in plan.wanted.items():
        head = target.module.store.head() if (target.module.folder / ".git").exists() else None
        if head != target.commit:
            lines.append(f"{path}: HEAD is {head or 'nowhere'}, and should be {target.commit}")
        elif files:
            lines += tracked_changes(target.module)
    lines += [
        f"{module.path}: its folder is still there"
        for module in plan.stale
        if module.path not in plan.wanted and (module.folder / ".git").exists()
    ]
    if lines:
        message = f"{plan.tree} is not what was checked out"
        where = Where(file=plan.tree, module=lines[0].partition(":")[0])
        raise HipwrightError("bad-source-tree", message, where=where, hint=again(plan.tree), excerpt="\n".join(lines))


def _work(plan: Arrangement, targets: Mapping[str, CommitId | None]) -> dict[str, list[str]]:
    """Return what there is of a person's, by module; a link of theirs is told once, however many modules it hides."""
    found: dict[str, list[str]] = {}
    links: dict[Path, str] = {}
    for module in plan.have:
        lines = local_work(module, target=targets[module.path])
        link, told = link_over(module), link_line(module)
        if link in links:
            lines.remove(links[link])
        elif link is not None and told is not None:
            links[link] = told
        found[module.path] = lines
    for parent, lines in _files_in_place(plan.have).items():
        found[parent] += lines
    for link in links:
        name = shown(link.relative_to(plan.tree).as_posix())
        for module in plan.have:
            above = "" if module.path == ROOT else f"{shown(module.path)}/"
            if not name.startswith(above):
                continue
            inside = name.removeprefix(above)
            same = {f"{word} {prefix_of(module.path)}{inside}" for word in ("untracked", "ignored")}
            found[module.path] = [line for line in found[module.path] if line not in same]
    return found


def _files_in_place(modules: Sequence[Module]) -> dict[str, list[str]]:
    """Return the files of a person's that stand in place of submodules, as lines for people, by the module that has them: the parent."""
    found: dict[str, list[str]] = {}
    for module in modules:
        line = file_line(module)
        if line is not None:
            found.setdefault(str(module.entry.parent), []).append(line)
    return found


def _losses(
    plan: Arrangement, targets: Mapping[str, CommitId | None], found: Mapping[str, list[str]], staying: Collection[str]
) -> dict[str, list[str]]:
    """Return the part of a person's work that the move would lose."""
    lost = {}
    in_place = _files_in_place(plan.have)
    for module in plan.have:
        lines = found[module.path]
        if lines and module.path in staying:
            kept = {*local_work(module, target=targets[module.path], stays=True), *in_place.get(module.path, [])}
            lines = [line for line in lines if line in kept]
        lost[module.path] = lines
    return lost


def _refuse(
    plan: Arrangement,
    targets: Mapping[str, CommitId | None],
    work: Mapping[str, list[str]],
    staying: Collection[str],
    busy: Collection[str],
    *,
    discard_local: bool,
) -> None:
    """Refuse the move when it meets what it must not: all of it is known before anything is dropped or moved."""
    known = {module.path for module in plan.have}
    # Whoever stays, and has nothing of a person's, meets no repository of theirs: git lists those with the rest.
    own = {
        module.path: own_repositories(module, target=targets[module.path], known=known, stays=module.path in staying)
        for module in plan.have
        if module.path not in staying or module.path in busy or is_replaced(module)
    }
    away = "move the repositories of your own that are listed out of the tree, and run the command again"
    if discard_local:
        refuse_unsaved(plan.tree, own, hint=away)
    elif any(own.values()):
        named = {
            path: [line for line in lines if not _is_told(line, own.get(path, []))] + own.get(path, [])
            for path, lines in work.items()
        }
        rest = {
            module: [line for line in work.get(module.path, ()) if not _is_told(line, own.get(module.path, []))]
            for module in plan.have
        }
        refuse_unsaved(plan.tree, named, hint=f"{away}; {ways_to_keep(rest)}" if any(rest.values()) else away)
    else:
        keep = ways_to_keep({module: work.get(module.path, ()) for module in plan.have})
        refuse_unsaved(plan.tree, work, hint=f"{keep}; or add --discard-local, which drops them and keeps a bundle")


def _is_told(line: str, others: list[str]) -> bool:
    return any(other.startswith(f"{line},") for other in others)
