"""What a person has in a source tree that no stage made: only moving a tree can lose it, so moving asks here first."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.contents import GITLINK, entries
from build_tools.sources.git import EMAIL
from build_tools.sources.modules import (
    ROOT,
    Module,
    in_tree,
    link_over,
    markers_of,
    own_link,
    status_of,
    temporary_index,
    tree_of,
)
from build_tools.sources.told import called, change_word, prefix_of, shortened
from build_tools.sources.written import unchanged_since_written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from build_tools.types import CommitId

__all__ = [
    "COMMIT",
    "LOCKS",
    "OPERATIONS",
    "UNDER_WAY",
    "changed_files",
    "file_line",
    "hidden_edits",
    "ignored_in_the_way",
    "is_replaced",
    "link_line",
    "local_commits",
    "local_work",
    "own_link_line",
    "own_repositories",
    "refuse_locked",
    "refuse_unsaved",
    "show_to_git",
    "tracked_changes",
    "unfinished",
    "untouched",
]

OPERATIONS: Final = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick of several commits",
}
"""What git keeps in a repository while it is in the middle of something."""

COMMIT: Final = "commit "
"""How a line begins that tells of a commit of a person's."""

UNDER_WAY: Final = " is under way in "
"""What stands in a line that tells what git is in the middle of."""

_TAKEN_BACK: Final[Mapping[str, tuple[str, ...]]] = {
    "rebase-merge": ("rebase", "--abort"),
    "rebase-apply": ("rebase", "--abort"),
    "MERGE_HEAD": ("merge", "--abort"),
    "CHERRY_PICK_HEAD": ("cherry-pick", "--abort"),
    "REVERT_HEAD": ("revert", "--abort"),
    "sequencer": ("cherry-pick", "--abort"),
}

LOCKS: Final = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/hipwright/*.lock")
"""The files, as patterns, by which git keeps others from what moving a module writes."""

_LINES: Final = 40


def unfinished(module: Module) -> list[tuple[str, str]]:
    """Return what git is in the middle of in a module, each with the command that takes it back, for people."""
    found = []
    for name, what in OPERATIONS.items():
        if (module.git_dir / name).exists():
            words, ending = what, _TAKEN_BACK[name]
            if name == "rebase-apply":
                # git am shares a folder with one sort of rebase.
                mailed = (module.git_dir / name / "applying").exists()
                words, ending = ("git am", ("am", "--abort")) if mailed else ("a rebase", ending)
            if name == "sequencer":
                # It stays when a person commits the one that stopped; while that is under way, the same command ends both.
                if (module.git_dir / "CHERRY_PICK_HEAD").exists() or (module.git_dir / "REVERT_HEAD").exists():
                    continue
                if _reverts(module.git_dir / name):
                    words, ending = "a revert of several commits", ("revert", "--abort")
            found.append((words, printable(["git", "-C", str(module.folder), *ending])))
    return found


def _reverts(sequencer: Path) -> bool:
    """Return whether what git does with several commits is to revert them, by what is left to do."""
    with contextlib.suppress(OSError):
        return (sequencer / "todo").read_bytes().startswith(b"revert")
    return False


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
            lines.append(f"{COMMIT}{prefix_of(module.path)}{commit.decode()} {shown(subject)}")
    return lines


def changed_files(module: Module, *, target: CommitId | None = None, leaves: bool = False, stays: bool = False) -> list[str]:
    """Return a module's edited, added, deleted and untracked files, as lines for people; its submodules speak for themselves.

    Ignored files count where ``target`` has other bytes for them, which git would overwrite without a word, and all of them where the
    module's whole folder ``leaves`` the tree. Untracked ones count in the same way where the module ``stays`` on its upstream commit: what
    git does not know is not moved. Files that are as hipify wrote them do not count.
    """
    lines = []
    hidden = []
    unknown = []
    listed = status_of(module, ignored=leaves or target is not None)
    made = unchanged_since_written(module, listed)
    for state, path in listed:
        if path in made:
            continue
        if state == b"!!":
            hidden.append(path)
        elif state == b"??" and stays:
            unknown.append(path)
        else:
            lines.append(f"{change_word(state)} {prefix_of(module.path)}{shown(path)}")
    edits = hidden_edits(module)
    lines += [f"{word} {prefix_of(module.path)}{shown(path)} (hidden from git by {bit})" for path, (word, bit) in edits.items()]
    for word, paths in (("untracked", unknown), ("ignored", hidden)):
        lost = _in_the_way(module, paths, target) if paths and target is not None else paths
        lines += [f"{word} {prefix_of(module.path)}{shown(path)}" for path in lost]
    return lines


def hidden_edits(module: Module) -> dict[bytes, tuple[str, str]]:
    """Return the files that differ from the index and that git was told not to look at, each with what became of it and what hides it.

    Files that a sparse checkout leaves out are not there, and nothing of a person's.
    """
    bits = {}
    for record in module.repository.records("ls-files", "-v", "-z"):
        state, path = record[:1], record[2:]
        # A small letter says that the file is assumed to be unchanged, S that a sparse checkout leaves it out.
        if state.upper() == b"S":
            bits[path] = "skip-worktree"
        elif state.islower():
            bits[path] = "assume-unchanged"
    there = {path for path, bit in bits.items() if bit != "skip-worktree" or os.path.lexists(module.folder / os.fsdecode(path))}
    if not there:
        return {}
    with temporary_index(tree_of(module), copy_of=module.git_dir / "index") as env:
        show_to_git(module, there, env=env)
        module.repository.capture("update-index", "-q", "--refresh", env=env, check=False)
        records = iter(module.repository.records("diff-files", "-z", "--name-status", "--ignore-submodules=all", env=env))
        found = {path: change_word(state) for state, path in zip(records, records, strict=True)}
    return {path: (word, bits[path]) for path, word in sorted(found.items()) if path in there}


def show_to_git(module: Module, paths: Iterable[bytes], *, env: Mapping[str, str] | None = None) -> None:
    """Let git look at files again that it was told not to look at."""
    lines = b"".join(path + b"\0" for path in sorted(paths))
    for option in ("--no-skip-worktree", "--no-assume-unchanged"):
        module.repository.capture("update-index", option, "-z", "--stdin", stdin=lines, env=env)


def ignored_in_the_way(module: Module, target: CommitId | None) -> list[bytes]:
    """Return the ignored files that moving a module to ``target`` would overwrite; all of them where it goes away (None)."""
    if not module.folder.is_dir() or link_over(module) is not None:
        return []
    listed = status_of(module, ignored=True)
    made = unchanged_since_written(module, listed)
    # A slash ends the name of a repository of a person's own.
    hidden = [path for state, path in listed if state == b"!!" and path not in made and not path.endswith(b"/")]
    return _in_the_way(module, hidden, target) if hidden and target is not None else hidden


def untouched(module: Module, target: CommitId) -> list[bytes]:
    """Return the files that neither git nor a move to ``target`` knows anything of."""
    listed = module.repository.records("ls-files", "-z", "--others", "--exclude-standard")
    return sorted(set(listed) - set(_in_the_way(module, listed, target)))


def tracked_changes(module: Module) -> list[str]:
    """Return a module's edited, added and deleted files, as lines for people; files that git does not know do not count."""
    listed = status_of(module, ignored=False, untracked=False)
    return [f"{change_word(state)} {prefix_of(module.path)}{shown(path)}" for state, path in listed]


def own_repositories(module: Module, *, target: CommitId | None, known: Collection[str], stays: bool = False) -> list[str]:
    """Return the repositories of a person's own in a module's work folder that moving it to ``target`` meets, as lines for people.

    Nothing of ours removes or keeps them, so they can only be moved away. Ignored ones count where the move would overwrite or remove
    them, and so do untracked ones of a module that ``stays`` on its upstream commit; ``known`` are the paths of the tree's own modules.
    """
    if link_over(module) is not None or not (module.folder.is_dir() and any(module.folder.iterdir())):
        return []
    if is_replaced(module):
        return [f"a repository of its own, {shown(module.path)}/"]
    if not (module.folder / ".git").exists():
        return []
    # git lists the files of folders one by one, and ends only those with a slash that it will not look into: repositories.
    listed = [(state, path) for state, path in status_of(module, ignored=True) if path.endswith(b"/")]
    hidden = [path for state, path in listed if state == b"!!" or (stays and state == b"??")]
    found = {path for state, path in listed if state == b"??" and not stays}
    found |= set(hidden if target is None else _in_the_way(module, hidden, target))
    for record in module.repository.records("ls-files", "-z", "--stage"):
        facts, _, path = record.partition(b"\t")
        if facts.startswith(GITLINK) and (module.folder / os.fsdecode(path) / ".git").exists():
            found.add(path + b"/")
    own = [path for path in sorted(found) if in_tree(module.path, os.fsdecode(path).rstrip("/")) not in known]
    return [f"untracked {prefix_of(module.path)}{shown(path)}, a repository of its own" for path in own]


def is_replaced(module: Module) -> bool:
    """Return whether a repository of a person's own stands in a submodule's place."""
    link = module.folder / ".git"
    return module.path != ROOT and link.is_dir() and not link.is_symlink()


def link_line(module: Module) -> str | None:
    """Return what people are told of a link of theirs that stands in a module's place or above it, or None when there is none."""
    link = link_over(module)
    if link is None:
        return None
    return _told_link(module, link)


def own_link_line(module: Module) -> str | None:
    """Return what people are told of a link of theirs by which a submodule names its repository, or None when there is none."""
    link = own_link(module)
    return None if link is None else _told_link(module, link)


def _told_link(module: Module, link: Path) -> str:
    return f"{shown(link.relative_to(tree_of(module)).as_posix())} is a link of yours to {shown(str(link.readlink()))}"


def file_line(module: Module) -> str | None:
    """Return what people are told of a file of theirs that stands in a submodule's place, or None when there is none.

    git shows it in the parent alone, as a change of the submodule, which is not asked for there.
    """
    if module.path == ROOT or link_over(module) is not None or module.folder.is_dir() or not os.path.lexists(module.folder):
        return None
    return f"{shown(module.path)} is a file of yours in place of the submodule"


def refuse_locked(module: Module) -> None:
    """Refuse to go on while another git process works in a module.

    Raises
    ------
    HipwrightError
        ``locked`` with the file that says so, which a git that died leaves behind as well.
    """
    for lock in (lock for pattern in LOCKS for lock in module.git_dir.glob(pattern)):
        message = f"a git process is at work in {module.folder}, or died there: {lock} exists"
        remove = printable(["rm", str(lock)])
        raise HipwrightError("locked", message, hint=f"wait for it to end; when no git is running there: {remove}")


def local_work(module: Module, *, target: CommitId | None, stays: bool = False) -> list[str]:
    """Return all that moving a module to ``target`` (None: removing it from the tree) would lose, as lines for people.

    A module that ``stays`` on its upstream commit loses no untracked files but those that the target writes.

    Raises
    ------
    HipwrightError
        ``locked`` when another git process is at work in the module, or died there.
    """
    refuse_locked(module)
    found = [f"{what}{UNDER_WAY}{called(module.path)}" for what, _ in unfinished(module)]
    found += local_commits(module, saved=False)
    link, own = link_line(module), own_link_line(module)
    found += [line for line in (link, own) if line is not None]
    if link is None and module.folder.is_dir() and any(module.folder.iterdir()):
        found += changed_files(module, target=target, leaves=target is None, stays=stays)
    return found


def refuse_unsaved(tree: Path, work: Mapping[str, Iterable[str]], *, hint: str) -> None:
    """Refuse to move a tree when there is something to lose; ``hint`` is the way out.

    Raises
    ------
    HipwrightError
        ``unsaved-work`` with the list.
    """
    lines = [line for module in work.values() for line in module]
    if not lines:
        return
    modules = [path for path, found in work.items() if found]
    message = f"moving {tree} would lose {counted(len(lines), 'change')} of yours"
    raise HipwrightError(
        "unsaved-work",
        message,
        where=Where(file=tree, module=", ".join(modules)),
        hint=hint,
        excerpt="\n".join(shortened(lines, _LINES)),
    )


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


def _slashes(path: bytes) -> list[int]:
    return [index for index, byte in enumerate(path) if byte == ord("/")]
