"""The one way in which a source tree changes: all its modules move from commit to commit, together.

What a move does is written down first (``moving.json``), so a killed one is carried to its end by the next run; it needs no network and
no cache for that. Whoever moves a tree has asked :mod:`build_tools.sources.guard` before, and has brought all objects into the modules.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import psutil

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.ids import CommitId
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.shown import shown
from build_tools.sources.contents import GITLINK, Entry, entries
from build_tools.sources.discard import discard
from build_tools.sources.guard import LOCKS, local_work, refuse_unsaved, untouched
from build_tools.sources.kept import ways_to_keep
from build_tools.sources.lineends import keep_stored_bytes
from build_tools.sources.modules import (
    MARKERS,
    ROOT,
    Module,
    ModuleEntry,
    again,
    deepest_first,
    load_modules,
    module_at,
    own_folder,
    refuse_links,
    refuse_odd_entries,
    relative_to,
    save_modules,
    status_of,
    sweep,
    temporary_index,
    temporary_name,
)
from build_tools.sources.told import prefix_of
from build_tools.sources.written import take_back

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.sources.git import Git

__all__ = ["ModuleMove", "Move", "carry_out", "is_moving", "settle"]

_JOURNAL: Final = "moving.json"
_GIT_MINUTES: Final = 10
_MARKERS: Final = frozenset({"upstream", "base", "hipified", "finished"})
_ON_TOP: Final[Mapping[str, None]] = dict.fromkeys((f"{MARKERS}content", f"{MARKERS}again"))
"""Refs of what lay on top of the stages' commits: once a module moves, git may clean that away."""


class ModuleMove(Record, frozen=True, kw_only=True):
    """One module's part of a move: from ``start`` (None when it has no commit yet) to ``target``, with its new markers by short name.

    ``attach`` is off when the work folder is known to belong to its repository already. A module that ``stays`` on its upstream commit
    keeps the untracked files that the move does not write.
    """

    module: ModuleEntry
    start: CommitId | None
    target: CommitId
    markers: dict[str, CommitId]
    attach: bool = True
    stays: bool = False


class Move(Record, frozen=True, kw_only=True):
    """A move of a whole tree: the modules that it has afterwards, parents before children, and those that it loses."""

    schema: Literal[1] = 1
    modules: tuple[ModuleMove, ...]
    stale: tuple[ModuleEntry, ...] = ()


def is_moving(tree: Path) -> bool:
    """Return whether a move of the tree was begun and not ended."""
    return (own_folder(tree) / _JOURNAL).is_file()


def carry_out(tree: Path, move: Move, *, git: Git) -> None:
    """Move a tree in which nothing is left of a person's that the move would lose.

    Files that are as hipify wrote them into the work folder are no edits, and go first.
    """
    for module in load_modules(tree, git=git):
        if (module.folder / ".git").exists():
            take_back(module)
    journal = own_folder(tree) / _JOURNAL
    files.write_bytes(journal, to_json(move))
    _carry_out(tree, move, git=git, resumed=False)


def settle(tree: Path, *, git: Git, say: Callable[[str], None], discard_local: bool = False) -> None:
    """Carry a killed run's move to its end, and remove what killed runs left inside the tree's ``.git``.

    With ``discard_local``, changes that the killed move does not explain are named, kept in a bundle, and dropped.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when the tree has changes that the killed move does not explain, or ``bad-source-tree`` when a link stands in a
        submodule's place, or what the tree keeps of the move is damaged.
    """
    sweep(tree)
    if not is_moving(tree):
        return
    move = _read(tree, git)
    say(f"{tree.name}: carrying an interrupted move to its end")
    _wait_for_git(tree)
    modules, stale = _modules(tree, move, git)
    refuse_links([*modules.values(), *stale])
    for module in [*modules.values(), *stale]:
        for lock in (lock for pattern in LOCKS for lock in module.git_dir.glob(pattern)):
            lock.unlink(missing_ok=True)
    parts = {part.module.path: part for part in move.modules}
    leaving = {module.path: module for module in stale if _is_attached(module)}
    work = {path: local_work(module, target=None) for path, module in leaving.items()}
    doomed = tuple(os.fsencode(f"{path}/") for path in work)
    for path, part in parts.items():
        if path not in leaving:
            work[path] = _unexplained(tree, modules[path], part, doomed, stays=part.stays and not discard_local)
    if discard_local:
        present = [*(module for path, module in modules.items() if path not in leaving), *leaving.values()]
        discard(tree, present, work, hidden={}, leaving=leaving, say=say)
    else:
        command = f"nox -s checkout_{tree.name.replace('-', '_')} -- --discard-local"
        keep = ways_to_keep({module: work[module.path] for module in [*modules.values(), *stale] if module.path in work})
        refuse_unsaved(tree, work, hint=f"{keep}; or drop them, which keeps a bundle: {command}")
    _carry_out(tree, move, git=git, resumed=True)


def _read(tree: Path, git: Git) -> Move:
    """Return the move that a tree is in the middle of.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when what the tree keeps of it cannot be followed.
    """
    path = own_folder(tree) / _JOURNAL
    try:
        move = read_record(path, Move, code="bad-source-tree")
        refuse_odd_entries([part.module for part in move.modules], where=path)
        refuse_odd_entries(move.stale, where=path, above=[part.module.path for part in move.modules])
        modules, _ = _modules(tree, move, git)
        for part in move.modules:
            _refuse_odd_part(part, modules[part.module.path], where=path)
    except HipwrightError as error:
        rest = "what the move has changed so far counts as yours then"
        hint = f"move the whole tree away and check out again; or remove {path}, and {again(tree)}: {rest}"
        raise HipwrightError("bad-source-tree", error.message, where=error.where, hint=hint) from error
    return move


def _refuse_odd_part(part: ModuleMove, module: Module, *, where: Path) -> None:
    """Refuse a module's part of a move that names a commit which is not there, or a marker that is none."""
    commits = dict.fromkeys([part.target, *([] if part.start is None else [part.start]), *part.markers.values()])
    lost = [commit for commit in commits if not (module.git_dir.is_dir() and module.store.has_commit(commit))]
    odd = [name for name in part.markers if name not in _MARKERS]
    if lost or odd:
        what = f"{shown(module.path)} has no commit {lost[0]}" if lost else f"{shown(odd[0])} is no marker"
        raise HipwrightError("bad-source-tree", f"{where} is not what it should be: {what}", where=Where(file=where))


def _carry_out(tree: Path, move: Move, *, git: Git, resumed: bool) -> None:
    modules, stale = _modules(tree, move, git)
    for module in deepest_first(stale):
        module.store.set_refs(_ON_TOP)
        _remove(tree, module)
    for part in move.modules:
        module = modules[part.module.path]
        parent = part.module.parent
        if parent is not None and (part.attach or resumed):
            _attach(module, modules[parent])
        # Without a work folder the index tells of files that are not there.
        force = resumed or part.start is None
        try:
            _move_files(module, part, force=force)
        except HipwrightError:
            if part is move.modules[0] and not stale and not force and _is_as_before(module, part):
                (own_folder(tree) / _JOURNAL).unlink()
            raise
        if "upstream" in part.markers:
            keep_stored_bytes(module, part.target)
        # HEAD names the commit itself from then on: a person's branch is left where it is.
        markers = {f"{MARKERS}{name}": commit for name, commit in part.markers.items()}
        module.store.set_refs({"HEAD": part.target, **markers, **_ON_TOP})
    save_modules(tree, [part.module for part in move.modules])
    (own_folder(tree) / _JOURNAL).unlink()


def _is_as_before(module: Module, part: ModuleMove) -> bool:
    """Return whether a move of a module that git refused has changed nothing in it."""
    if module.store.head() != part.start:
        return False
    new = entries(module.store, part.target)
    return all(state == b"??" and path not in new for state, path in status_of(module, ignored=False))


def _modules(tree: Path, move: Move, git: Git) -> tuple[dict[str, Module], list[Module]]:
    found: dict[str, Module] = {}
    for part in move.modules:
        parent = None if part.module.parent is None else found[part.module.parent]
        found[part.module.path] = module_at(tree, part.module, parent=parent, git=git)
    old: dict[str, Module] = {}
    for entry in move.stale:
        # A stale module's parent may be stale too, or stay.
        parent = None if entry.parent is None else old.get(entry.parent) or found.get(entry.parent)
        old[entry.path] = module_at(tree, entry, parent=parent, git=git)
    return found, list(old.values())


def _move_files(module: Module, part: ModuleMove, *, force: bool) -> None:
    """Bring a module's work folder and index to a move's target; without force, files that are not as the start has them stop it."""
    if force:
        module.repository.capture("checkout", "--quiet", "--detach", "--no-recurse-submodules", "--force", part.target, "--")
    elif part.start is not None and part.start != part.target:
        # Quicker than a checkout, which looks at every file first; only that takes files for the same whose times have changed.
        quick = ("read-tree", "-m", "-u", "--no-recurse-submodules", part.start, part.target)
        if not module.repository.succeeds(*quick):
            module.repository.capture("checkout", "--quiet", "--detach", "--no-recurse-submodules", part.target, "--")


def _attach(module: Module, parent: Module) -> None:
    """Make a submodule's work folder belong to its repository, and its parent know it as active, the way git does."""
    module.folder.mkdir(parents=True, exist_ok=True)
    link = module.folder / ".git"
    if not _is_attached(module):
        # What a link leads to is not the tree's.
        if link.is_symlink():
            link.unlink()
        # Not by way of a temporary name, which a killed run would leave in the work folder.
        link.write_bytes(_link(module))
    _configure(module, {"core.worktree": relative_to(module.folder, module.git_dir)})
    section = f"submodule.{module.entry.name}"
    url = module.repository.git.kept_place_of(module.entry.url)
    _configure(parent, {f"{section}.url": url, f"{section}.active": "true"})


def _link(module: Module) -> bytes:
    return os.fsencode(f"gitdir: {relative_to(module.git_dir, module.folder)}\n")


def _is_attached(module: Module) -> bool:
    """Return whether a submodule's work folder belongs to its repository, and not to another one in the same place."""
    link = module.folder / ".git"
    return link.is_file() and not link.is_symlink() and link.read_bytes() == _link(module)


def _configure(module: Module, wanted: Mapping[str, str]) -> None:
    # Sections and variables are listed in lower case, what stands between them as it is: a submodule's name.
    rows = (row.partition(b"\n") for row in module.store.records("config", "--local", "-z", "--list"))
    held = {key: value for key, _, value in rows}
    for key, value in wanted.items():
        if held.get(os.fsencode(_listed(key))) != os.fsencode(value):
            module.store.capture("config", "--local", key, value)


def _listed(key: str) -> str:
    """Return a setting's name as git lists it."""
    section, _, rest = key.partition(".")
    name, dot, variable = rest.rpartition(".")
    return f"{section.lower()}.{name}{dot}{variable.lower()}"


def _remove(tree: Path, module: Module) -> None:
    """Remove a module's work folder, and the folders above it that are empty then; its repository stays, as git keeps it."""
    if (module.folder / ".git").is_file():
        # Renamed first: a half-removed folder would look like untracked files of its parent.
        doomed = temporary_name(tree, "stale")
        module.folder.rename(doomed)
        files.remove_tree(doomed)
    # As git does: a repository whose work folder is gone could not even be fetched from.
    module.store.capture("config", "--local", "--unset", "core.worktree", check=False)
    folder = module.folder.parent
    with contextlib.suppress(OSError):
        while folder != tree and folder.is_relative_to(tree):
            folder.rmdir()
            folder = folder.parent
    parent = tree if module.entry.parent in {None, ROOT} else tree / str(module.entry.parent)
    if (parent / ".git").exists():
        owner = module.repository.git.at(parent)
        owner.capture("config", "--local", "--remove-section", f"submodule.{module.entry.name}", check=False)


def _wait_for_git(tree: Path) -> None:
    """Wait for git processes that a killed run left at work in the tree."""
    running = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.name().startswith("git") and Path(process.cwd()).is_relative_to(tree):
                running.append(process)
    psutil.wait_procs(running, timeout=_GIT_MINUTES * 60)


def _unexplained(tree: Path, module: Module, part: ModuleMove, doomed: tuple[bytes, ...], *, stays: bool) -> list[str]:
    """Return the files that a killed move from ``start`` to ``target`` does not explain: a person changed them meanwhile.

    A file is explained when it has the bytes of either commit, is missing, or is the beginning of the target's file (git was killed
    while it wrote it). So is one that git does not know in a module that stays, unless the target needs its place. Folders in ``doomed``, by path in the tree, are submodules that still have to go, and speak for themselves.
    """
    if not module.folder.is_dir() or not any(module.folder.iterdir()):
        return []
    with temporary_index(tree) as env:
        module.repository.capture("read-tree", part.target, env=env)
        module.repository.capture("add", "--all", "--", ".", env=env)
        now = entries(module.repository, module.repository.text("write-tree", env=env))
    # Where the folder did not belong to the repository, the files may be those of its HEAD all the same.
    start = part.start or module.store.head()
    old = {} if start is None else entries(module.store, start)
    new = entries(module.store, part.target)
    unknown = set(untouched(module, part.target)) if stays else set()
    found = []
    inside = b"" if module.path == ROOT else os.fsencode(f"{module.path}/")
    for path, entry in sorted(now.items()):
        if entry in {new.get(path), old.get(path)} or entry.mode == GITLINK or (inside + path).startswith(doomed):
            continue
        if path in unknown:
            continue
        if path not in new or not _is_beginning(module, path, new[path]):
            found.append(path)
    tracked = set(module.repository.records("ls-files", "-z")) if found else set()
    return [f"{'edited' if path in tracked else 'untracked'} {prefix_of(module.path)}{shown(path)}" for path in found]


def _is_beginning(module: Module, path: bytes, entry: Entry) -> bool:
    file = module.folder / os.fsdecode(path)
    if entry.mode == GITLINK or file.is_symlink() or not file.is_file():
        return False
    name = os.fsdecode(path)
    whole = module.repository.capture("cat-file", "--filters", f"--path={name}", entry.object_id).stdout
    return whole.startswith(file.read_bytes())
