"""What a source tree holds as it stands: the stages' commits, and a person's commits and edits on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.values import LocalChanges, ModuleState, SourceTree
from build_tools.shown import shown
from build_tools.sources.assemble import pinned
from build_tools.sources.contents import gitlinks
from build_tools.sources.guard import local_commits
from build_tools.sources.modules import (
    MARKERS,
    ROOT,
    Markers,
    Module,
    again,
    link_over,
    load_modules,
    markers_of,
    own_link,
    refuse_links,
    temporary_index,
)
from build_tools.sources.move import is_moving
from build_tools.sources.parallel import for_each
from build_tools.sources.told import change_word, prefix_of
from build_tools.sources.written import hidden_written, spelled, written_by_hipify
from build_tools.types import Sha256, Stage, TreeId

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.sources.git import Git

    Known: TypeAlias = MutableMapping[str, Markers | None]

__all__ = ["is_checked_out", "read_source_tree", "tree_is_intact", "tree_stands_on"]


def read_source_tree(
    project_name: str, *, locked: LockedSources, tree: Path, git: Git, known: Known | None = None, just_moved: bool = False
) -> SourceTree:
    """Return a tree as it stands: markers and content of every module, and what differs from the stages' last commits.

    Content is read into a temporary index, so the person's own one stays as it is. Ignored files are no part of it, unless hipify wrote them.

    Parameters
    ----------
    project_name
        The project whose tree it is.
    locked
        Its locked sources.
    tree
        The tree.
    git
        How git is run.
    known
        Markers that have been read, and that nothing has changed since; those that it lacks are added.
    just_moved
        Whether a stage has this moment moved all modules onto their last commits, so that nothing else can be there.

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
    refuse_links(modules)
    submodules = {module.path for module in modules}
    marked = []
    # All are asked for first: reading the files of one fails, with less to say, on a damaged one inside it.
    for module, markers in [(module, _markers(module, known)) for module in modules]:
        if markers is None or not (module.folder / ".git").exists():
            message = f"{module.folder} was not checked out to its end"
            raise HipwrightError("stage-missing", message, where=Where(module=module.path), hint=hint)
        marked.append((module, markers))
    contents: dict[str, TreeId] = {}

    def read(one: tuple[Module, Markers]) -> None:
        module, markers = one
        contents[module.path] = module.store.tree_of(markers.finished) if just_moved else _content(tree, module)

    for_each(read, marked)
    states = []
    lines: list[str] = []
    for module, markers in marked:
        content = contents[module.path]
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


def tree_is_intact(tree: Path, expected: Sequence[ModuleState], *, git: Git, through: Stage, known: Known | None = None) -> bool:
    """Return whether a tree still stands on what its stages made, up to and with the stage ``through``.

    True when the tree has exactly the expected modules, their markers up to that stage are the same, no move was interrupted, and HEAD
    contains the stages' last commit. A person's commits and edits on top do not count: :func:`read_source_tree` tells them. ``known`` as
    there.
    """
    if not (tree / ".git").is_dir() or is_moving(tree):
        return False
    try:
        modules = {module.path: module for module in load_modules(tree, git=git)}
    except HipwrightError:
        return False
    if modules.keys() != {state.path for state in expected}:
        return False
    return all(_is_intact(modules[state.path], state, through, known) for state in expected)


def is_checked_out(
    locked: LockedSources,
    modules: Sequence[Module],
    *,
    after_base: Iterable[SubmodulePin] | None = None,
    known: Known | None = None,
) -> bool:
    """Return whether modules stand on the locked commits, with whatever our stages and a person put on top.

    Parameters
    ----------
    locked
        The locked sources.
    modules
        The tree's modules.
    after_base
        The submodules that base patches leave, where they move some: a tree that has those stands on the locked commits as well.
    known
        As for :func:`read_source_tree`.
    """
    right = [pinned(locked, locked.submodules), *([pinned(locked, after_base)] if after_base is not None else [])]
    paths = {module.path for module in modules}
    if not any(pins.keys() == paths for pins in right):
        return False
    found = {}
    for module in modules:
        markers = _markers(module, known)
        head = module.store.head()
        if markers is None or head is None or not _is_in_place(module):
            return False
        if not module.store.is_ancestor(markers.finished, head):
            return False
        found[module.path] = (module.entry.url, markers.upstream)
    return found in right


def tree_stands_on(
    locked: LockedSources, after_base: Iterable[SubmodulePin], *, tree: Path, git: Git, known: Known | None = None
) -> bool:
    """Return whether a tree is checked out, as :func:`is_checked_out` says, and no move of it was interrupted."""
    if not (tree / ".git").is_dir() or is_moving(tree):
        return False
    try:
        return is_checked_out(locked, load_modules(tree, git=git), after_base=after_base, known=known)
    except HipwrightError:
        return False


def _is_in_place(module: Module) -> bool:
    return link_over(module) is None and own_link(module) is None and (module.folder / ".git").exists()


def _markers(module: Module, known: Known | None) -> Markers | None:
    if known is None:
        return markers_of(module)
    if module.path not in known:
        known[module.path] = markers_of(module)
    return known[module.path]


def _is_intact(module: Module, state: ModuleState, through: Stage, known: Known | None) -> bool:
    markers = _markers(module, known)
    if markers is None or not _is_in_place(module):
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
    head = module.store.head()
    hidden = hidden_written(module)
    if head is not None and not hidden and _is_clean(module):
        return module.store.tree_of(head)
    with temporary_index(tree, copy_of=module.git_dir / "index") as env:
        # Fails on a repository inside the tree that has no commit yet.
        what = f"reading the files of {module.folder}"
        module.repository.capture("add", "--all", "--", ".", env=env, code="bad-source-tree", what=what)
        if hidden:
            arguments = ("--force", "--pathspec-from-file=-", "--pathspec-file-nul")
            literal = {**env, "GIT_LITERAL_PATHSPECS": "1"}
            module.repository.capture("add", *arguments, env=literal, stdin=b"\0".join(hidden))
        return TreeId(module.repository.text("write-tree", env=env))


def _is_clean(module: Module) -> bool:
    """Return whether a module's files are exactly those of HEAD: one walk over them, which most trees need no second of."""
    arguments = ("--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames")
    done = module.repository.capture("status", *arguments, check=False)
    return done.returncode == 0 and not done.stdout


def _differences(module: Module, markers: Markers, content: TreeId, submodules: set[str]) -> list[str]:
    store = module.store
    head = store.head()
    place = prefix_of(module.path)
    lines = []
    if head is not None and head != markers.finished:
        if not store.is_ancestor(markers.finished, head):
            lines.append(f"moved {place}HEAD is at {head[:12]}, which is not on top of {markers.finished[:12]}")
        lines += local_commits(module, saved=True) or [f"moved {place}HEAD is at {head[:12]}, and not at {markers.finished[:12]}"]
    start = head or markers.finished
    if content == store.tree_of(start):
        return lines
    # Kept from git's own cleaning until the next stage, for builds of the tree as it is recorded here.
    store.set_refs({f"{MARKERS}content": content})
    records = iter(store.records("diff-tree", "-r", "-z", "--no-renames", f"{start}^{{tree}}", content))
    written = written_by_hipify(module)
    known = {path.removeprefix(f"{module.path}/") if module.path != ROOT else path for path in submodules}
    links = gitlinks(store, content)
    for facts, path in zip(records, records, strict=True):
        name = path.decode("utf-8", "surrogateescape")
        _old_mode, _new_mode, _old, blob, state = facts.split(b" ")
        by_hipify = written.get(spelled(path), "") == (None if state == b"D" else blob.decode())
        if path in links and name not in known:
            lines.append(f"added {place}{shown(path)}, a repository of its own, which builds do not get")
        elif path in links:
            lines.append(f"moved {place}{shown(path)} to {links[path][:12]}")
        else:
            word = "hipified again" if by_hipify else change_word(state)
            lines.append(f"{word} {place}{shown(path)}")
    return lines


def _digest(states: Sequence[ModuleState]) -> Sha256:
    return digest.of_value([[state.path, state.upstream, state.content] for state in states])
