"""What a person has in a source tree that no stage made: only moving a tree can lose it, so moving asks here first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.sources.contents import entries
from build_tools.sources.git import EMAIL, shown
from build_tools.sources.modules import ROOT, Module, markers_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from build_tools.types import CommitId

__all__ = ["OPERATIONS", "changed_files", "local_commits", "local_work", "own_repositories", "refuse_unsaved"]

OPERATIONS: Final = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}
"""What git keeps in a repository while it is in the middle of something."""

_LINES: Final = 40


def local_commits(module: Module, *, saved: bool) -> list[str]:
    """Return the commits in the history of HEAD that no stage made, as lines for people.

    Parameters
    ----------
    module
        The module.
    saved
        Whether commits count that a tag or a branch of the origin holds as well: they cannot be lost, but they are built.
    """
    repository = module.store
    head = repository.head()
    markers = markers_of(module)
    if head is None or (markers is not None and head == markers.finished):
        return []
    known = () if markers is None else (markers.upstream, markers.base, markers.hipified, markers.finished)
    elsewhere = () if saved else ("--remotes=origin", "--tags")
    arguments = ("log", "-z", "--format=%h%x1f%ce%x1f%s", head, "--not", *elsewhere, *known, "--")
    lines = []
    for record in repository.records(*arguments):
        commit, email, subject = record.split(b"\x1f", 2)
        if email != EMAIL.encode():
            lines.append(f"commit {_prefix(module)}{commit.decode()} {shown(subject)}")
    return lines


def changed_files(module: Module, *, target: CommitId | None = None) -> list[str]:
    """Return a module's edited, added, deleted and untracked files, as lines for people; its submodules speak for themselves.

    Ignored files count where ``target`` has other bytes for them: git would overwrite those without a word.
    """
    lines = []
    hidden = []
    for state, path in _status(module, ignored=target is not None):
        if state == b"!!":
            hidden.append(path)
        else:
            lines.append(f"{_word(state)} {_prefix(module)}{shown(path)}")
    if target is not None and hidden:
        lines += [f"ignored {_prefix(module)}{shown(path)}" for path in _in_the_way(module, hidden, target)]
    return lines


def own_repositories(module: Module, *, target: CommitId | None, known: Collection[str]) -> list[str]:
    """Return the repositories of a person's own in a module's work folder that moving it to ``target`` meets, as lines for people.

    Nothing of ours removes or keeps them, so they can only be moved away. Ignored ones count where the move would overwrite or remove
    them; ``known`` are the paths of the tree's own modules.
    """
    if not (module.folder.is_dir() and any(module.folder.iterdir())):
        return []
    link = module.folder / ".git"
    if module.path != ROOT and link.is_dir() and not link.is_symlink():
        return [f"a repository of its own, {shown(module.path)}/"]
    if not link.exists():
        return []
    # git lists the files of folders one by one, and ends only those with a slash that it will not look into: repositories.
    listed = [(state, path) for state, path in _status(module, ignored=True) if path.endswith(b"/")]
    hidden = [path for state, path in listed if state == b"!!"]
    found = {path for state, path in listed if state == b"??"}
    found |= set(hidden if target is None else _in_the_way(module, hidden, target))
    for record in module.repository.records("ls-files", "-z", "--stage"):
        facts, _, path = record.partition(b"\t")
        if facts.startswith(b"160000 ") and (module.folder / os.fsdecode(path) / ".git").exists():
            found.add(path + b"/")
    inside = "" if module.path == ROOT else f"{module.path}/"
    own = [path for path in sorted(found) if inside + os.fsdecode(path).rstrip("/") not in known]
    return [f"untracked {_prefix(module)}{shown(path)}, a repository of its own" for path in own]


def local_work(module: Module, *, target: CommitId | None) -> list[str]:
    """Return all that moving a module to ``target`` (None: removing it from the tree) would lose, as lines for people.

    Raises
    ------
    HipwrightError
        ``locked`` when another git process is at work in the module, or died there.
    """
    lock = module.git_dir / "index.lock"
    if lock.exists():
        message = f"a git process is at work in {module.folder}, or died there: {lock} exists"
        raise HipwrightError("locked", message, hint="wait for it to end; remove that file when no git is running there")
    found = [
        f"unfinished {_prefix(module)}{what} is under way"
        for name, what in OPERATIONS.items()
        if (module.git_dir / name).exists()
    ]
    found += local_commits(module, saved=False)
    if module.folder.is_dir() and any(module.folder.iterdir()):
        found += changed_files(module, target=target)
    return found


def refuse_unsaved(tree: Path, work: Mapping[str, Iterable[str]], *, way_out: str = "", hint: str | None = None) -> None:
    """Refuse to move a tree when there is something to lose; ``way_out`` is a further one that the caller knows, ``hint`` the only one.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` with the list.
    """
    lines = [line for module in work.values() for line in module]
    if not lines:
        return
    shortened = lines[:_LINES] + ([f"and {len(lines) - _LINES} more"] if len(lines) > _LINES else [])
    modules = [path for path, found in work.items() if found]
    message = f"moving {tree} would lose {len(lines)} change{'s' if len(lines) != 1 else ''} of yours"
    raise HipwrightError(
        "unsaved-work",
        message,
        where=Where(file=tree, module=", ".join(modules)),
        hint=hint or f"push or save them elsewhere, take them out of the tree, and run the command again{way_out}",
        excerpt="\n".join(shortened),
    )


def _status(module: Module, *, ignored: bool) -> list[tuple[bytes, bytes]]:
    """Return the state and the path of each file of a module that is not as its HEAD and index have it."""
    which = "traditional" if ignored else "no"
    arguments = ("-z", "--untracked-files=all", f"--ignored={which}", "--ignore-submodules=all", "--no-renames")
    return [(record[:2], record[3:]) for record in module.repository.records("status", "--porcelain=v1", *arguments)]


def _in_the_way(module: Module, ignored: list[bytes], target: CommitId) -> list[bytes]:
    wanted = entries(module.store, target)
    folders = {path[:end] for path in wanted for end in _slashes(path)}
    found = []
    for path in ignored:
        clash = path.rstrip(b"/") in folders or any(path[:end] in wanted for end in _slashes(path))
        if path in wanted:
            done = module.repository.capture("hash-object", "--", os.fsdecode(path), check=False)
            clash = done.text != wanted[path].object_id
        if clash:
            found.append(path)
    return found


def _word(state: bytes) -> str:
    if state == b"??":
        return "untracked"
    if b"D" in state:
        return "deleted"
    return "added" if b"A" in state else "edited"


def _slashes(path: bytes) -> list[int]:
    return [index for index, byte in enumerate(path) if byte == ord("/")]


def _prefix(module: Module) -> str:
    return "" if module.path == ROOT else f"{shown(module.path)}: "
