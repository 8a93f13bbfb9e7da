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
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.contents import Entry, entries
from build_tools.sources.git import shown
from build_tools.sources.guard import refuse_unsaved
from build_tools.sources.lineends import keep_stored_bytes
from build_tools.sources.modules import (
    MARKERS,
    ROOT,
    Module,
    ModuleEntry,
    deepest_first,
    module_at,
    own_folder,
    relative_to,
    save_modules,
    sweep,
    temporary_index,
    temporary_name,
)
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.sources.git import Git

__all__ = ["ModuleMove", "Move", "carry_out", "is_moving", "settle"]

_JOURNAL: Final = "moving.json"
_LOCKS: Final = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/hipwright/*.lock")
_GIT_MINUTES: Final = 10


class ModuleMove(Record, frozen=True, kw_only=True):
    """One module's part of a move: from ``start`` (None when it has no commit yet) to ``target``, with its new markers by short name.

    ``attach`` is off when the work folder is known to belong to its repository already.
    """

    module: ModuleEntry
    start: CommitId | None
    target: CommitId
    markers: dict[str, CommitId]
    attach: bool = True


class Move(Record, frozen=True, kw_only=True):
    """A move of a whole tree: the modules that it has afterwards, parents before children, and those that it loses."""

    schema: Literal[1] = 1
    modules: tuple[ModuleMove, ...]
    stale: tuple[ModuleEntry, ...] = ()
    overwrite: bool = False


def is_moving(tree: Path) -> bool:
    """Return whether a move of the tree was begun and not ended."""
    return (own_folder(tree) / _JOURNAL).is_file()


def carry_out(tree: Path, move: Move, *, git: Git) -> None:
    """Move a tree.

    With ``move.overwrite`` the edits of tracked files are overwritten: the caller has kept them.
    """
    journal = own_folder(tree) / _JOURNAL
    files.write_bytes(journal, to_json(move))
    _carry_out(tree, move, git=git, resumed=False)


def settle(tree: Path, *, git: Git, say: Callable[[str], None]) -> None:
    """Carry a killed run's move to its end, and remove what killed runs left inside the tree's ``.git``.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` when the tree has changes that the killed move does not explain.
    """
    own = own_folder(tree)
    sweep(tree)
    if not is_moving(tree):
        return
    move = read_record(own / _JOURNAL, Move, code="bad-source-tree")
    say(f"{tree.name}: carrying an interrupted move to its end")
    _wait_for_git(tree)
    modules, _ = _modules(tree, move, git)
    for module in modules.values():
        for pattern in _LOCKS:
            for lock in module.git_dir.glob(pattern):
                lock.unlink(missing_ok=True)
    if not move.overwrite:
        parts = {part.module.path: part for part in move.modules}
        refuse_unsaved(tree, {path: _unexplained(tree, modules[path], part) for path, part in parts.items()})
    _carry_out(tree, move, git=git, resumed=True)


def _carry_out(tree: Path, move: Move, *, git: Git, resumed: bool) -> None:
    modules, stale = _modules(tree, move, git)
    for module in deepest_first(stale):
        _remove(tree, module)
    for part in move.modules:
        module = modules[part.module.path]
        parent = part.module.parent
        if parent is not None and (part.attach or resumed):
            _attach(module, modules[parent])
        if resumed or move.overwrite or part.start != part.target:
            # Without a work folder the index tells of files that are not there.
            force = ("--force",) if resumed or move.overwrite or part.start is None else ()
            module.repository.capture("checkout", "--quiet", "--detach", "--no-recurse-submodules", *force, part.target, "--")
        else:
            _detach(module, part.target)
        if "upstream" in part.markers:
            keep_stored_bytes(module, part.target)
        module.store.set_refs({f"{MARKERS}{name}": commit for name, commit in part.markers.items()})
    save_modules(tree, [part.module for part in move.modules])
    (own_folder(tree) / _JOURNAL).unlink()


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


def _detach(module: Module, commit: CommitId) -> None:
    """Leave a person's branch that stands at the right commit already: HEAD names the commit itself."""
    if module.store.succeeds("symbolic-ref", "--quiet", "HEAD"):
        module.store.capture("update-ref", "--no-deref", "HEAD", commit)


def _attach(module: Module, parent: Module) -> None:
    """Make a submodule's work folder belong to its repository, and its parent know it as active, the way git does."""
    module.folder.mkdir(parents=True, exist_ok=True)
    link = module.folder / ".git"
    text = f"gitdir: {relative_to(module.git_dir, module.folder)}\n"
    if not link.is_file() or os.fsencode(text) != link.read_bytes():
        # Not by way of a temporary name, which a killed run would leave in the work folder.
        link.write_bytes(os.fsencode(text))
    _configure(module, {"core.worktree": relative_to(module.folder, module.git_dir)})
    section = f"submodule.{module.entry.name}"
    url = module.repository.git.place_of(module.entry.url)
    _configure(parent, {f"{section}.url": url, f"{section}.active": "true"})


def _configure(module: Module, wanted: Mapping[str, str]) -> None:
    for key, value in wanted.items():
        held = module.store.capture("config", "--local", "-z", "--get", key, check=False).stdout
        if held != os.fsencode(f"{value}\0"):
            module.store.capture("config", "--local", key, value)


def _remove(tree: Path, module: Module) -> None:
    """Remove a module's work folder, and the folders above it that are empty then; its repository stays, as git keeps it."""
    if (module.folder / ".git").is_file():
        # Renamed first: a half-removed folder would look like untracked files of its parent.
        doomed = temporary_name(tree, "stale")
        module.folder.rename(doomed)
        files.remove_tree(doomed)
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


def _unexplained(tree: Path, module: Module, part: ModuleMove) -> list[str]:
    """Return the files that a killed move from ``start`` to ``target`` does not explain: a person changed them meanwhile.

    A file is explained when it has the bytes of either commit, is missing, or is the beginning of the target's file (git was killed
    while it wrote it).
    """
    if not (module.folder / ".git").exists():
        return []
    with temporary_index(tree) as env:
        module.repository.capture("read-tree", part.target, env=env)
        module.repository.capture("add", "--all", "--", ".", env=env)
        now = entries(module.repository, module.repository.text("write-tree", env=env))
    old = {} if part.start is None else entries(module.store, part.start)
    new = entries(module.store, part.target)
    lines = []
    for path, entry in sorted(now.items()):
        if entry in {new.get(path), old.get(path)} or entry.mode == b"160000":
            continue
        if path not in new or not _is_beginning(module, path, new[path]):
            place = "" if module.path == ROOT else f"{shown(module.path)}: "
            lines.append(f"edited {place}{shown(path)}")
    return lines


def _is_beginning(module: Module, path: bytes, entry: Entry) -> bool:
    file = module.folder / os.fsdecode(path)
    if file.is_symlink() or not file.is_file():
        return False
    name = os.fsdecode(path)
    whole = module.repository.capture("cat-file", "--filters", f"--path={name}", entry.object_id).stdout
    return whole.startswith(file.read_bytes())
