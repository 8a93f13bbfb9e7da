"""The commits that stages make: one per module and phase, recording the submodules' new heads, and the move of the tree onto them.

A commit of ours has a fixed identity, the date of its module's upstream commit, and the trailer ``Hipwright-Phase: base`` or
``hipified``, so the same inputs give the same commit ids on every machine, and such commits are never exported as patches. All commits
are made before the tree moves: when making them fails, nothing has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError, Where
from build_tools.sources.arrange import Arrangement, Target, arrange
from build_tools.sources.contents import GITLINK, gitlinks
from build_tools.sources.modules import (
    Markers,
    Module,
    again,
    deepest_first,
    load_modules,
    markers_of,
    refuse_links,
    temporary_index,
    within,
)
from build_tools.sources.move import settle
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.sources.git import Git

__all__ = ["TRAILER", "Phase", "commit_phase", "finish", "marked_modules", "record_submodules", "step_back", "with_submodules"]

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
    modules = load_modules(tree, git=git)
    refuse_links(modules)
    for module in modules:
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
    upstream = {module: markers.upstream for module, markers in modules.items()}
    return _commit(tree, upstream, heads, trees, phase=phase, subject=subject)


def record_submodules(
    tree: Path, modules: Mapping[Module, CommitId], heads: Mapping[str, CommitId], *, phase: Phase, subject: str
) -> dict[str, CommitId]:
    """Return each module's commit once its parent records it: ``heads``, with a commit of ours on top where a submodule's head differs.

    ``modules`` come with their upstream commits, which give such commits their dates.
    """
    trees = {module.path: module.store.tree_of(heads[module.path]) for module in modules}
    return _commit(tree, modules, heads, trees, phase=phase, subject=subject)


def finish(
    tree: Path,
    modules: Mapping[Module, Markers],
    commits: Mapping[str, Mapping[str, CommitId]],
    *,
    git: Git,
    say: Callable[[str], None],
    discard_local: bool = False,
) -> bool:
    """Move the tree onto the commits of a phase and set its markers; return whether it moved and nothing else is in it.

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
    say
        Takes one line of talk.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when moving would lose something of a person's.
    """
    return not _stands(modules, commits) and _move(tree, modules, commits, git=git, say=say, discard_local=discard_local)


def step_back(
    tree: Path, to: Literal["base", "hipified"], *, git: Git, say: Callable[[str], None], discard_local: bool = False
) -> None:
    """Take a tree back to an earlier phase: what later phases made is gone from it, and their stages make it again.

    Back to the upstream commits goes :func:`build_tools.sources.checkout.checkout`: base patches may have moved submodules.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when moving would lose something of a person's, or as :func:`marked_modules`.
    """
    modules = marked_modules(tree, git=git, say=say)
    commits = {}
    for module, markers in modules.items():
        commit: CommitId = getattr(markers, to)
        commits[module.path] = dict.fromkeys(("hipified", "finished") if to == "base" else ("finished",), commit)
    if any(markers.finished != commits[module.path]["finished"] for module, markers in modules.items()):
        _move(tree, modules, commits, git=git, say=say, discard_local=discard_local)


def _move(
    tree: Path,
    modules: Mapping[Module, Markers],
    commits: Mapping[str, Mapping[str, CommitId]],
    *,
    git: Git,
    say: Callable[[str], None],
    discard_local: bool,
) -> bool:
    wanted = {
        module.path: Target(module=module, commit=commits[module.path]["finished"], markers=commits[module.path])
        for module in modules
    }
    plan = Arrangement(tree=tree, have=tuple(modules), wanted=wanted)
    return arrange(plan, git=git, say=say, discard_local=discard_local, repair=False)


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
    modules: Mapping[Module, CommitId],
    heads: Mapping[str, CommitId],
    trees: Mapping[str, TreeId],
    *,
    phase: Phase,
    subject: str,
) -> dict[str, CommitId]:
    done: dict[str, CommitId] = {}
    for module in deepest_first(modules):
        children = {within(child): done[child.path] for child in modules if child.entry.parent == module.path}
        content = with_submodules(tree, module, trees[module.path], children)
        head = heads[module.path]
        if content != module.store.tree_of(head):
            date = module.store.date_of(modules[module])
            message = f"{subject}\n\n{TRAILER}: {phase}\n"
            head = module.store.commit(content, parent=head, message=message, date=date)
        done[module.path] = head
    return done


def with_submodules(tree: Path, module: Module, content: TreeId, children: Mapping[str, CommitId]) -> TreeId:
    """Return a tree that records the given commits as its submodules' heads, by their paths in the module."""
    if not children:
        return content
    recorded = gitlinks(module.store, content)
    wrong = {path: commit for path, commit in children.items() if recorded.get(path.encode()) != commit}
    if not wrong:
        return content
    lines = b"".join(b"%s %s\t%s\0" % (GITLINK, commit.encode(), path.encode()) for path, commit in wrong.items())
    with temporary_index(tree) as env:
        module.store.capture("read-tree", content, env=env)
        module.store.capture("update-index", "-z", "--index-info", env=env, stdin=lines)
        return TreeId(module.store.text("write-tree", env=env))
