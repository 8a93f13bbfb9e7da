"""Picking one commit of a patch onto other sources: ``git cherry-pick`` in a work tree, three ways merged, and what a person makes of it.

The merge knows the file as it was for the patch, since the old commits' objects are at hand. What it cannot decide is left in the work
tree, as git leaves it, with the person.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError, Where
from build_tools.patches.sections import unquoted
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.told import shortened
from build_tools.types import CommitId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.sources.git import Repository
    from build_tools.sources.modules import Module

__all__ = ["Solution", "add_line", "conflicting_files", "marks_left", "pick", "put_back", "solution", "unsolved"]

_SETTINGS: Final = ("merge.conflictStyle=diff3", "rerere.enabled=false", "merge.renames=true", "core.editor=true")
_OPEN: Final = "CHERRY_PICK_HEAD"
_LEFT_OVER: Final = re.compile(rb"(?P<place>.+:\d+): leftover conflict marker")
_MARK: Final = re.compile(rb"(?:<{7,} HEAD(?=$|:)|\|{7,} parent of |>{7,} [0-9a-f]{7,} \().*")
"""What git writes around the two sides of a merge; a file's attributes may make the marks longer."""

_NAME: Final = b"+++ "
_MOST: Final = 10

Solution = Literal["solved", "upstream", "given-up"]
"""What a person made of a conflict: a commit, nothing that is left to change, or no commit at all."""


def pick(module: Module, commit: CommitId) -> CommitId | None:
    """Put a commit's change on top of a module's HEAD, in its work tree; return the new commit, or None when nothing was left to change.

    Raises
    ------
    HipwrightError
        ``rebase-stopped`` with the files where the merge needs a person, which are left in the work tree; ``command-failed`` when git
        cannot do it for another reason, with everything as before.
    """
    repository = module.repository
    words = [word for setting in _SETTINGS for word in ("-c", setting)]
    done = repository.capture(*words, "cherry-pick", commit, check=False)
    if done.returncode == 0:
        return CommitId(repository.text("rev-parse", "HEAD"))
    files = conflicting_files(module)
    if files:
        names = ", ".join(shortened([shown(name) for name in files], _MOST))
        raise HipwrightError("rebase-stopped", f"it conflicts in {names}", where=Where(module=module.path))
    if _is_open(module) and _index_is(repository, "HEAD"):
        repository.capture("cherry-pick", "--quit")
        return None
    said = done.stderr.decode("utf-8", "replace").strip()
    if _is_open(module):
        repository.capture("cherry-pick", "--abort", check=False)
    raise HipwrightError("command-failed", f"git cannot pick commit {commit} in {module.folder}", excerpt=said or None)


def conflicting_files(module: Module) -> list[bytes]:
    """Return the files of a module that wait for a person's merge."""
    records = module.repository.records("ls-files", "--unmerged", "-z")
    return list(dict.fromkeys(record.partition(b"\t")[2] for record in records))


def add_line(module: Module, names: Sequence[bytes]) -> str:
    """Return the command that puts files of a module into its index, for hints.

    Files below an ignored folder are added by force only. Names that cannot be pasted, and very many, are left to git to find.
    """
    git = ["git", "-C", os.fspath(module.folder), "add"]
    texts = [os.fsdecode(name) for name in names]
    if len(texts) > _MOST or any(text != shown(text) or text.startswith(":") for text in texts):
        return printable([*git, "--all"])
    return printable([*git, "--force", "--", *texts])


def unsolved(module: Module) -> list[str]:
    """Return what a person has still to do before a conflict counts as solved, as lines for people; nothing when it is."""
    names = conflicting_files(module)
    if names:
        lines = [f"still in conflict: {shown(name)}" for name in names]
        return [*shortened(lines, _MOST), f"mark as solved: {add_line(module, names)}"]
    changed = [
        record[3:]
        for record in module.repository.records(
            "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"
        )
        if record[1:2] != b" "
    ]
    if changed:
        lines = [f"in no commit: {shown(name)}" for name in changed]
        return [*shortened(lines, _MOST), f"take them along: {add_line(module, changed)}; or take them back"]
    checked = module.repository.capture("diff", "--cached", "--check", "--no-color", check=False).stdout
    left = [f"a mark of the conflict is left: {shown(found['place'])}" for found in _LEFT_OVER.finditer(checked)]
    commit = printable(["git", "-C", os.fspath(module.folder), "commit"])
    meant = [f"where such a line is meant, make the commit yourself: {commit}"] if left else []
    return [*shortened(left, _MOST), *meant]


def marks_left(module: Module, head: CommitId, *, meant: bytes) -> list[str]:
    """Return the lines of a merge's marks that a person's commits have brought into files, as lines for people.

    Parameters
    ----------
    module
        The module.
    head
        The commit that it stood on.
    meant
        The patch: marks that it brings itself are no left-overs.
    """
    wanted = {line.removeprefix(b"+").rstrip() for line in meant.split(b"\n") if line.startswith(b"+")}
    options = (
        "--unified=0",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--dst-prefix=",
        "--ignore-submodules",
    )
    told = module.repository.capture("diff", *options, head, "HEAD", "--").stdout.split(b"\n")
    found, name = [], b""
    for line in told:
        if line.startswith(_NAME):
            name = unquoted(line.removeprefix(_NAME).split(b"\t")[0])
        elif line.startswith(b"+") and _MARK.fullmatch(line[1:].rstrip()) and line[1:].rstrip() not in wanted:
            found.append(f"a mark of the conflict is in the commit: {shown(name)}: {shown(line[1:].rstrip())}")
    return shortened(found, _MOST)


def solution(module: Module, commit: CommitId | None, head: CommitId) -> tuple[Solution, CommitId | None]:
    """Return what a person has made of a conflict in a work tree in which nothing is left to do, and the commit that holds it.

    Where no commit is to hold it, the work tree stays as it is until the caller has noted that, and :func:`put_back` follows: a run that is
    killed in between finds the same again.

    Parameters
    ----------
    module
        The module.
    commit
        The commit that was to be picked; what the person added to the index becomes one with its author, date and message. None for a
        patch that there was no commit of: an empty commit leaves it out.
    head
        The commit that the module stood on.

    Raises
    ------
    HipwrightError
        ``bad-commit`` when the person made something else than one commit on top of that; ``rebase-stopped`` when there is none, and no
        commit was to be picked.
    """
    repository = module.repository
    now = CommitId(repository.text("rev-parse", "HEAD"))
    if commit is not None and _is_open(module) and now == head:
        if _index_is(repository, "HEAD"):
            return "upstream", None
        words = ("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--allow-empty-message", "-C", commit)
        repository.capture(*words)
        return "solved", CommitId(repository.text("rev-parse", "HEAD"))
    if now == head:
        if commit is None:
            raise HipwrightError(
                "rebase-stopped", f"no commit of yours is on top of {head[:12]}", where=Where(module=module.path)
            )
        return "given-up", None
    parents = repository.text("rev-list", "--parents", "--max-count=1", now).split()[1:]
    if parents != [head] or _is_open(module):
        message = f"{module.folder} stands on {now[:12]}, which is not one commit on top of {head[:12]}"
        back = printable(["git", "-C", os.fspath(module.folder), "reset", "--soft", head])
        raise HipwrightError(
            "bad-commit", message, where=Where(module=module.path), hint=f"make one commit of your changes: {back}"
        )
    if repository.tree_of(now) == repository.tree_of(head):
        return "upstream" if commit is not None else "given-up", None
    return "solved", now


def put_back(module: Module, commit: CommitId) -> None:
    """Bring a module's work tree to a commit; what an interrupted run left in it goes."""
    repository = module.repository
    if _is_open(module):
        repository.capture("cherry-pick", "--quit", check=False)
    if repository.head() != commit or module.repository.records("status", "--porcelain=v1", "-z", "--ignore-submodules=all"):
        repository.capture("reset", "--quiet", "--hard", commit)


def _is_open(module: Module) -> bool:
    return (module.git_dir / _OPEN).exists()


def _index_is(repository: Repository, commit: str) -> bool:
    return repository.succeeds("diff-index", "--quiet", "--cached", "--ignore-submodules=none", commit, "--")
