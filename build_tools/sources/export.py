"""Copies of a source tree for builds and tools: the files as they stand, in repositories whose HEAD is the upstream commit.

So ``git rev-parse HEAD`` in a build names a commit that exists upstream. The copies borrow the tree's objects, so they are quick to make
and small; they must not outlive the tree. Those of a tree of the person's own borrow from what stands in for it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.sources.borrow import borrow
from build_tools.sources.modules import ROOT, Module, again, load_modules
from build_tools.sources.ownstore import stored_modules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.receipts.values import SourceTree
    from build_tools.sources.git import Git, Repository
    from build_tools.types import CommitId, TreeId

__all__ = ["ModuleCopy", "copy_modules", "links_as_files", "materialise", "refresh"]

_LINK: Final = b"120000 "
"""What ``git ls-files --stage`` begins the line of a link with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModuleCopy:
    """What a copy of a module holds: HEAD, and the files of ``content``."""

    module: Module
    head: CommitId
    content: TreeId | CommitId


def materialise(source: SourceTree, target: Path, *, git: Git) -> None:
    """Copy a source tree as it was read, all modules, into ``target``; the tree itself is not touched.

    Parameters
    ----------
    source
        The tree; see :func:`build_tools.sources.state.read_source_tree`.
    target
        A folder that is empty or not there.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the tree is not there any more, or no longer has a recorded module or content.
    """
    copy_modules(_copies(source, git=git), target, git=git)


def refresh(source: SourceTree, target: Path, *, git: Git) -> None:
    """Bring an earlier copy of a source tree to what the tree was read as; files that are right already keep their times.

    What a build has made in the copy beside the sources stays. Sources that the build changed get the tree's text again, and files that
    the tree no longer has go.

    Parameters
    ----------
    source, git
        As for :func:`materialise`.
    target
        A copy that :func:`materialise` made, of a tree with the same modules.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` as :func:`materialise`, and when ``target`` is no such copy; ``command-failed`` when a file of the build is in
        the way of one of the tree.
    """
    copies = _copies(source, git=git)
    for copy in copies:
        folder = target if copy.module.path == ROOT else target / copy.module.path
        if not (folder / ".git").is_dir():
            message = f"{target} is no copy of {source.folder}"
            raise HipwrightError("bad-source-tree", message, where=Where(module=copy.module.path))
        repository = git.at(folder)
        # A run that was killed may have left its lock.
        (folder / ".git" / "index.lock").unlink(missing_ok=True)
        borrow(folder / ".git", lender=copy.module.git_dir)
        repository.capture("update-ref", "--no-deref", "HEAD", copy.head)
        repository.capture("read-tree", "--reset", "-u", copy.content)


def links_as_files(source: SourceTree, target: Path, *, git: Git) -> tuple[str, ...]:
    """Return the links of a copy that its file system cannot hold, for which git writes their targets into files.

    Git finds that out when it makes a repository (``core.symlinks``); Windows lets links be made in its developer mode.
    """
    if git.at(target).capture("config", "--bool", "core.symlinks", check=False).text != "false":
        return ()
    names = []
    for module in source.modules:
        folder = target if module.path == ROOT else target / module.path
        lines = git.at(folder).records("ls-files", "-z", "--stage")
        found = [os.fsdecode(line.partition(b"\t")[2]) for line in lines if line.startswith(_LINK)]
        names += [name if module.path == ROOT else f"{module.path}/{name}" for name in found]
    return tuple(names)


def _copies(source: SourceTree, *, git: Git) -> list[ModuleCopy]:
    tree = Path(source.folder)
    if source.store is not None:
        modules = stored_modules(source, store=Path(source.store), git=git)
    else:
        modules = {module.path: module for module in load_modules(tree, git=git)}
    copies = []
    for state in source.modules:
        module = modules.get(state.path)
        if module is None or not module.git_dir.is_dir() or not module.store.succeeds("cat-file", "-e", state.content):
            message = f"{source.folder} no longer holds what was recorded for its module {state.path}"
            hint = again(tree) if source.store is None else "run the command again"
            raise HipwrightError("bad-source-tree", message, where=Where(module=state.path), hint=hint)
        copies.append(ModuleCopy(module=module, head=state.upstream, content=state.content))
    return copies


def copy_modules(copies: Iterable[ModuleCopy], target: Path, *, git: Git) -> dict[str, Repository]:
    """Write modules, parents before children, into ``target``, and return the copies' repositories by path."""
    made = {}
    for copy in copies:
        folder = target if copy.module.path == ROOT else target / copy.module.path
        folder.mkdir(parents=True, exist_ok=True)
        git.capture("init", "--quiet", "--template=", folder, cwd=folder)
        repository = git.at(folder)
        borrow(folder / ".git", lender=copy.module.git_dir)
        repository.capture("update-ref", "--no-deref", "HEAD", copy.head)
        repository.capture("read-tree", copy.content)
        repository.capture("checkout-index", "--all", "--force", "--index")
        made[copy.module.path] = repository
    return made
