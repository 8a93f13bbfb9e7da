"""The commits that stages make: one per module and phase, recording the submodules' new heads, and the move of the tree onto them.

A commit of ours has a fixed identity, the date of its module's upstream commit, and the trailer ``Hipwright-Phase: base`` or
``hipified``, so the same inputs give the same commit ids on every machine, and such commits are never exported as patches. All commits
are made before the tree moves: when making them fails, nothing has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError, Where
from build_tools.sources.contents import gitlinks
from build_tools.sources.guard import local_work, refuse_unsaved
from build_tools.sources.modules import Markers, Module, again, deepest_first, load_modules, markers_of, temporary_index, within
from build_tools.sources.move import ModuleMove, Move, carry_out, settle
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.sources.git import Git

__all__ = ["TRAILER", "Phase", "commit_phase", "finish", "marked_modules", "record_submodules", "step_back"]

Phase = Literal["base", "hipified"]

TRAILER: Final = "Hipwright-Phase"
"""The trailer that tells our commits from patches."""


def marked_modules(tree: Path, *, git: Git, say: Callable[[str], None]) -> dict[Module, Markers]:
    """Return a tree's modules, parents before children, with their markers; an interrupted move is ended first.

    Raises
    ------
    HipwrightError
        ``stage-missing`` when the tree was never checked out whole, ``bad-source-tree`` when it is none of ours, or ``unsaved-work``.
    """
    load_modules(tree, git=git)
    settle(tree, git=git, say=say)
    found = {}
    for module in load_modules(tree, git=git):
        markers = markers_of(module)
        if markers is None:
            message = f"{module.folder} was not checked out to its end"
            raise HipwrightError("stage-missing", message, where=Where(module=module.path), hint=again(tree))
        found[module] = markers
    return found


def commit_phase(
    tree: Path, modules: Mapping[Module, Markers], trees: Mapping[str, TreeId], *, phase: Phase, subject: str
) -> dict[str, CommitId]:
    """Return each module's commit after a phase, deepest modules first: a commit of ours where content or a submodule's head changed.

    Parameters
    ----------
    tree
        The source tree.
    modules
        Its modules with their markers; the commit before is the marker ``base``.
    trees
        Each module's content after the phase, by path; the submodules' commits in it do not count.
    phase
        The phase, for the trailer.
    subject
        The first line of the commits' messages.
    """
    heads = {module.path: markers.base for module, markers in modules.items()}
    return _commit(tree, modules, heads, trees, phase=phase, subject=subject)


def record_submodules(
    tree: Path, modules: Mapping[Module, Markers], heads: Mapping[str, CommitId], *, phase: Phase, subject: str
) -> dict[str, CommitId]:
    """Return each module's commit once its parent records it: ``heads``, with a commit of ours on top where a submodule's head differs."""
    trees = {module.path: module.store.tree_of(heads[module.path]) for module in modules}
    return _commit(tree, modules, heads, trees, phase=phase, subject=subject)


def finish(
    tree: Path,
    modules: Mapping[Module, Markers],
    commits: Mapping[str, Mapping[str, CommitId]],
    *,
    git: Git,
) -> None:
    """Move the tree onto the commits of a phase and set its markers.

    Nothing moves when the markers that this phase sets stand there already: later phases and a person's work stay on top.

    Parameters
    ----------
    tree
        The source tree.
    modules
        Its modules with the markers that they have now.
    commits
        For each module path the new markers: ``base``, ``hipified`` and ``finished`` after the base patches, fewer later. The tree moves
        to ``finished``.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when moving would lose something of a person's.
    """
    if not _stands(modules, commits):
        _move(tree, modules, commits, git=git)


def step_back(tree: Path, to: Literal["upstream", "base", "hipified"], *, git: Git, say: Callable[[str], None]) -> None:
    """Take a tree back to an earlier phase: what later phases made is gone from it, and their stages make it again.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when moving would lose something of a person's, or as :func:`marked_modules`.
    """
    modules = marked_modules(tree, git=git, say=say)
    commits = {}
    for module, markers in modules.items():
        commit: CommitId = getattr(markers, to)
        later = ("base", "hipified", "finished")
        commits[module.path] = dict.fromkeys(later[{"upstream": 0, "base": 1, "hipified": 2}[to] :], commit)
    if any(markers.finished != commits[module.path]["finished"] for module, markers in modules.items()):
        _move(tree, modules, commits, git=git)


def _move(tree: Path, modules: Mapping[Module, Markers], commits: Mapping[str, Mapping[str, CommitId]], *, git: Git) -> None:
    moved = {module.path: commits[module.path]["finished"] for module in modules}
    refuse_unsaved(tree, {module.path: local_work(module, target=moved[module.path]) for module in modules})
    parts = [
        ModuleMove(
            module=module.entry,
            start=module.store.head(),
            target=moved[module.path],
            markers=dict(commits[module.path]),
            attach=False,
        )
        for module in modules
    ]
    carry_out(tree, Move(modules=tuple(parts)), git=git)


def _stands(modules: Mapping[Module, Markers], commits: Mapping[str, Mapping[str, CommitId]]) -> bool:
    for module, markers in modules.items():
        new = commits[module.path]
        # After base patches, all three new markers are the same commit, and the later two may have gone on since.
        own = "base" if "base" in new else "hipified" if "hipified" in new else "finished"
        if getattr(markers, own) != new[own]:
            return False
        head = module.store.head()
        if head is None or not module.store.is_ancestor(markers.finished, head):
            return False
    return True


def _commit(
    tree: Path,
    modules: Mapping[Module, Markers],
    heads: Mapping[str, CommitId],
    trees: Mapping[str, TreeId],
    *,
    phase: Phase,
    subject: str,
) -> dict[str, CommitId]:
    done: dict[str, CommitId] = {}
    for module in deepest_first(modules):
        children = {within(child): done[child.path] for child in modules if child.entry.parent == module.path}
        content = _with_submodules(tree, module, trees[module.path], children)
        head = heads[module.path]
        if content != module.store.tree_of(head):
            date = module.store.date_of(modules[module].upstream)
            message = f"{subject}\n\n{TRAILER}: {phase}\n"
            head = module.store.commit(content, parent=head, message=message, date=date)
        done[module.path] = head
    return done


def _with_submodules(tree: Path, module: Module, content: TreeId, children: Mapping[str, CommitId]) -> TreeId:
    """Return a tree that records the given commits as its submodules' heads."""
    if not children:
        return content
    recorded = gitlinks(module.store, content)
    wrong = {path: commit for path, commit in children.items() if recorded.get(path.encode()) != commit}
    if not wrong:
        return content
    lines = b"".join(b"160000 %s\t%s\0" % (commit.encode(), path.encode()) for path, commit in wrong.items())
    with temporary_index(tree) as env:
        module.store.capture("read-tree", content, env=env)
        module.store.capture("update-index", "-z", "--index-info", env=env, stdin=lines)
        return TreeId(module.store.text("write-tree", env=env))
