"""What a source tree holds as it stands: the stages' commits, and a person's commits and edits on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.values import LocalChanges, ModuleState, SourceTree
from build_tools.sources.contents import gitlinks
from build_tools.sources.git import shown
from build_tools.sources.guard import local_commits
from build_tools.sources.modules import MARKERS, ROOT, Markers, Module, again, load_modules, markers_of, temporary_index
from build_tools.sources.move import is_moving
from build_tools.types import Sha256, Stage, TreeId

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.lock import LockedSources
    from build_tools.sources.git import Git

__all__ = ["read_source_tree", "tree_is_intact"]

_WORDS = {b"A": "added", b"D": "deleted"}


def read_source_tree(project_name: str, *, locked: LockedSources, tree: Path, git: Git) -> SourceTree:
    """Return a tree as it stands: markers and content of every module, and what differs from the stages' last commits.

    Content is read into a temporary index, so the person's own one stays as it is. Ignored files are no part of it.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the tree is none of ours, or ``stage-missing`` when a stage was interrupted in it.
    """
    modules = load_modules(tree, git=git)
    hint = again(tree)
    if is_moving(tree):
        message = f"{tree} was left in the middle of a move"
        raise HipwrightError("stage-missing", message, where=Where(file=tree), hint=hint)
    states = []
    lines: list[str] = []
    submodules = {module.path for module in modules}
    # All are asked for first: reading the files of one fails, with less to say, on a damaged one inside it.
    for module, markers in [(module, markers_of(module)) for module in modules]:
        if markers is None or not (module.folder / ".git").exists():
            message = f"{module.folder} was not checked out to its end"
            raise HipwrightError("stage-missing", message, where=Where(module=module.path), hint=hint)
        content = _content(tree, module)
        states.append(
            ModuleState(
                path=module.path,
                upstream=markers.upstream,
                base=markers.base,
                hipified=markers.hipified,
                expected=markers.finished,
                content=content,
            )
        )
        lines += _differences(module, markers, content, submodules)
    return SourceTree(
        project=project_name,
        folder=str(tree),
        upstream=states[0].upstream,
        upstream_date=modules[0].store.date_of(states[0].upstream),
        base_version=locked.base_version,
        modules=tuple(states),
        local=LocalChanges(digest=_digest(states), lines=tuple(lines)) if lines else None,
    )


def tree_is_intact(tree: Path, expected: Sequence[ModuleState], *, git: Git, through: Stage) -> bool:
    """Return whether a tree still stands on what its stages made, up to and with the stage ``through``.

    True when the tree has exactly the expected modules, their markers up to that stage are the same, no move was interrupted, and HEAD
    contains the stages' last commit. A person's commits and edits on top do not count: :func:`read_source_tree` tells them.
    """
    if not (tree / ".git").is_dir() or is_moving(tree):
        return False
    try:
        modules = {module.path: module for module in load_modules(tree, git=git)}
    except HipwrightError:
        return False
    if modules.keys() != {state.path for state in expected}:
        return False
    return all(_is_intact(modules[state.path], state, through) for state in expected)


def _is_intact(module: Module, state: ModuleState, through: Stage) -> bool:
    markers = markers_of(module)
    if markers is None or not (module.folder / ".git").exists():
        return False
    pairs = {
        Stage.CHECKOUT: (markers.upstream, state.upstream),
        Stage.BASE_PATCHES: (markers.base, state.base),
        Stage.HIPIFY: (markers.hipified, state.hipified),
        Stage.HIPIFIED_PATCHES: (markers.finished, state.expected),
    }
    if any(now != then for now, then in list(pairs.values())[: list(pairs).index(through) + 1]):
        return False
    head = module.store.head()
    return head is not None and module.store.is_ancestor(markers.finished, head)


def _content(tree: Path, module: Module) -> TreeId:
    with temporary_index(tree, copy_of=module.git_dir / "index") as env:
        # Fails on a repository inside the tree that has no commit yet.
        what = f"reading the files of {module.folder}"
        module.repository.capture("add", "--all", "--", ".", env=env, code="bad-source-tree", what=what)
        return TreeId(module.repository.text("write-tree", env=env))


def _differences(module: Module, markers: Markers, content: TreeId, submodules: set[str]) -> list[str]:
    store = module.store
    head = store.head()
    place = "" if module.path == ROOT else f"{shown(module.path)}: "
    lines = []
    if head is not None and head != markers.finished:
        if not store.is_ancestor(markers.finished, head):
            lines.append(f"moved {place}HEAD is at {head[:12]}, which is not on top of {markers.finished[:12]}")
        lines += local_commits(module, saved=True) or [f"moved {place}HEAD is at {head[:12]}, and not at {markers.finished[:12]}"]
    if content == store.tree_of(markers.finished):
        return lines
    if head is None or content != store.tree_of(head):
        # Kept from git's own cleaning until the next stage, for builds of the tree as it is recorded here.
        store.set_refs({f"{MARKERS}content": content})
    start = head or markers.finished
    records = iter(store.records("diff-tree", "-r", "-z", "--no-renames", "--name-status", f"{start}^{{tree}}", content))
    known = {path.removeprefix(f"{module.path}/") if module.path != ROOT else path for path in submodules}
    links = gitlinks(store, content)
    for state, path in zip(records, records, strict=True):
        name = path.decode("utf-8", "surrogateescape")
        if path in links and name not in known:
            lines.append(f"added {place}{shown(path)}, a repository of its own, which builds do not get")
        elif path in links:
            lines.append(f"moved {place}{shown(path)} to {links[path][:12]}")
        else:
            lines.append(f"{_WORDS.get(state, 'edited')} {place}{shown(path)}")
    return lines


def _digest(states: Sequence[ModuleState]) -> Sha256:
    return digest.of_value([[state.path, state.upstream, state.content] for state in states])
