"""Stand-ins for the repositories of a tree that nothing may be written to: what git writes about the tree, it writes into them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools import digest
from build_tools.files import finished_folder, remove_tree
from build_tools.sources.borrow import borrow
from build_tools.sources.git import Repository
from build_tools.sources.modules import Module, ModuleEntry
from build_tools.types import TreeId

if TYPE_CHECKING:
    from build_tools.receipts.values import SourceTree
    from build_tools.sources.git import Git

__all__ = ["read_module", "stored_modules"]


def read_module(folder: Path, *, path: str, url: str, store: Path, git: Git) -> tuple[Module, TreeId]:
    """Return the stand-in of a module, and the tree of the module's files as they stand: untracked ones included, ignored ones not.

    The stand-in is made, or brought up to date: it knows what the module's own index knows of files, and borrows the module's objects.

    Parameters
    ----------
    folder
        The module's work folder, a repository.
    path
        The module's path in the tree.
    url
        Where it was cloned from.
    store
        The folder of the stand-ins.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when git cannot read the files.
    """
    module = _module(folder, path=path, url=url, store=store, git=git)
    own, common = _git_folders(git.at(folder))
    _prepare(module, own, common)
    what = f"reading the files of {folder}"
    # An index in two files would be written back as two, the second one wherever git keeps it.
    module.repository.capture("-c", "core.splitIndex=false", "add", "--all", "--", ".", code="bad-source-tree", what=what)
    # What has not changed is not here. If it could be seen already, git would set the time of objects that it need not write again.
    content = TreeId(module.repository.text("write-tree", "--missing-ok"))
    borrow(module.git_dir, lender=common)
    return module, content


def _prepare(module: Module, own: Path, common: Path) -> None:
    """Make a stand-in that borrows nothing and knows no more, and no less, than the module's own repository says of its files."""
    git_dir = module.git_dir
    if not (git_dir / "HEAD").is_file():
        remove_tree(git_dir.parent)
        with finished_folder(git_dir.parent) as partial:
            module.repository.git.capture("init", "--quiet", "--template=", partial, cwd=partial)
    for name in ("index.lock", "objects/info/alternates", "shallow"):
        (git_dir / name).unlink(missing_ok=True)
    (git_dir / "info").mkdir(exist_ok=True)
    for name in ("info/exclude", "info/attributes"):
        _take(common / name, git_dir / name)
    for shared in own.glob("sharedindex.*"):
        # An index may be the changes against another file, which lies beside it.
        _take(shared, git_dir / shared.name)
    _take(own / "index", git_dir / "index")


def stored_modules(source: SourceTree, *, store: Path, git: Git) -> dict[str, Module]:
    """Return the stand-ins of a tree that was read, by path; nothing on disk is looked at."""
    tree = Path(source.folder)
    return {state.path: _module(tree / state.path, path=state.path, url="", store=store, git=git) for state in source.modules}


def _module(folder: Path, *, path: str, url: str, store: Path, git: Git) -> Module:
    git_dir = store / digest.of_bytes(path.encode("utf-8", "surrogateescape"))[:16] / ".git"
    repository = Repository(git=git, folder=folder, git_dir=git_dir, work_tree=folder)
    return Module(entry=ModuleEntry(path=path, name="", parent=None, url=url), repository=repository)


def _git_folders(repository: Repository) -> tuple[Path, Path]:
    """Return the folder of a repository's own files, and the one of those that its work trees share."""
    if repository.git_dir.is_dir():
        return repository.git_dir, repository.git_dir
    # A submodule's, or that of one of several work trees.
    own, common = (
        repository.folder / os.fsdecode(repository.capture("rev-parse", question).stdout.removesuffix(b"\n"))
        for question in ("--absolute-git-dir", "--git-common-dir")
    )
    return own, common


def _take(source: Path, target: Path) -> None:
    """Copy a file with its time, which git compares with those of the files that an index names; remove the copy of one that is gone."""
    if source.is_file():
        shutil.copy2(source, target)
    else:
        target.unlink(missing_ok=True)
