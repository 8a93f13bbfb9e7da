"""The repositories of a source tree: the root and its submodules, where git itself would keep them, and our markers in each.

The root's repository is ``<tree>/.git``; a submodule's is ``modules/<name>`` in its parent's, with a ``.git`` file in its work folder.
Markers are refs below ``refs/hipwright/``: ``upstream`` (the locked commit), ``base`` (with the base patches), ``hipified`` (hipify's
result) and ``finished`` (the last commit that a stage made). Every module has all four after every stage.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.shown import shown
from build_tools.sources.git import Repository

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = [
    "MARKERS",
    "OWN_FOLDER",
    "ROOT",
    "Markers",
    "Module",
    "ModuleEntry",
    "again",
    "deepest_first",
    "in_tree",
    "link_over",
    "load_modules",
    "markers_of",
    "module_at",
    "own_folder",
    "own_link",
    "refuse_links",
    "refuse_odd_entries",
    "relative_to",
    "save_modules",
    "status_of",
    "sweep",
    "temporary_index",
    "temporary_name",
    "tree_of",
    "within",
]

MARKERS: Final = "refs/hipwright/"
"""Where our refs live in each module."""

OWN_FOLDER: Final = "hipwright"
"""The folder inside the root's ``.git`` where what we keep about a tree lies."""

_HEAD: Final = re.compile(rb"(?:ref:\s*)?refs/|[0-9a-f]{40}")
_AWAY: Final = "move the whole tree away and check out again; nothing in it was changed, so what is yours stays in what you moved"

_LIST: Final = "modules.json"
_TEMPORARY: Final = "temporary-"
ROOT: Final = "."
"""The root's path in lists of modules."""


class ModuleEntry(Record, frozen=True, kw_only=True):
    """One module as the tree's own list keeps it: ``path`` from the root of the tree (``.`` for the root), ``name`` as git knows it."""

    path: str
    name: str
    parent: str | None
    url: str


class ModuleList(Record, frozen=True, kw_only=True):
    """The modules of a tree, parents before children."""

    schema: Literal[1] = 1
    modules: tuple[ModuleEntry, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Module:
    """One module of a tree, with its repository; equal only to itself."""

    entry: ModuleEntry
    repository: Repository

    @property
    def path(self) -> str:
        """The module's path from the root of the tree; ``.`` for the root."""
        return self.entry.path

    @property
    def folder(self) -> Path:
        """The module's work folder."""
        return self.repository.folder

    @property
    def git_dir(self) -> Path:
        """The repository's own folder, which is there even when the work folder is not."""
        return self.repository.git_dir

    @property
    def store(self) -> Repository:
        """The repository for what needs no work folder."""
        # Named as its own work folder: git refuses even to read its settings while the one that they name is not there.
        return Repository(git=self.repository.git, folder=self.git_dir, git_dir=self.git_dir, work_tree=self.git_dir)


@dataclass(frozen=True, kw_only=True, slots=True)
class Markers:
    """Our markers in one module."""

    upstream: CommitId
    base: CommitId
    hipified: CommitId
    finished: CommitId


def again(tree: Path) -> str:
    """Return the hint for a tree that is not as its stages left it: the command that makes it whole."""
    return f"run nox -s checkout_{tree.name.replace('-', '_')} again"


def own_folder(tree: Path) -> Path:
    """Return the folder inside a tree's ``.git`` where what we keep about it lies."""
    return tree / ".git" / OWN_FOLDER


def module_at(tree: Path, entry: ModuleEntry, *, parent: Module | None, git: Git) -> Module:
    """Return the module that an entry describes; nothing on disk is looked at."""
    if parent is None:
        return Module(entry=entry, repository=git.at(tree))
    folder = tree / entry.path
    git_dir = parent.git_dir / "modules" / entry.name
    return Module(entry=entry, repository=Repository(git=git, folder=folder, git_dir=git_dir, work_tree=folder))


def load_modules(tree: Path, *, git: Git) -> tuple[Module, ...]:
    """Return the modules of a tree that we made, parents before children.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when we did not make the tree, its list cannot be read, or a repository in it is damaged.
    """
    path = own_folder(tree) / _LIST
    if not path.is_file():
        message = f"{tree} is no source tree that hipwright checked out: it has no {path.relative_to(tree)}"
        raise HipwrightError("bad-source-tree", message, where=Where(file=tree), hint=_AWAY)
    try:
        listed = read_record(path, ModuleList, code="bad-source-tree").modules
        refuse_odd_entries(listed, where=path)
    except HipwrightError as error:
        raise HipwrightError("bad-source-tree", error.message, where=error.where, hint=_AWAY) from error
    found: dict[str, Module] = {}
    for entry in listed:
        parent = None if entry.parent is None else found[entry.parent]
        module = module_at(tree, entry, parent=parent, git=git)
        wrong = _wrong(module.git_dir)
        if wrong is not None:
            raise _damaged(module, f"{module.git_dir} {wrong}")
        found[entry.path] = module
    return tuple(found.values())


def tree_of(module: Module) -> Path:
    """Return the tree that a module belongs to."""
    return module.folder if module.path == ROOT else module.folder.parents[len(PurePosixPath(module.path).parts) - 1]


def link_over(module: Module) -> Path | None:
    """Return the symbolic link that stands in a module's place or above it in the tree: what lies behind it is not the tree's."""
    if module.path == ROOT:
        return None
    place = tree_of(module)
    for part in PurePosixPath(module.path).parts:
        place /= part
        if place.is_symlink():
            return place
    return None


def own_link(module: Module) -> Path | None:
    """Return the symbolic link that stands where a submodule's work folder names its repository: what it leads to is not the tree's."""
    link = module.folder / ".git"
    return link if module.path != ROOT and link_over(module) is None and link.is_symlink() else None


def refuse_links(modules: Iterable[Module]) -> None:
    """Refuse to read modules behind symbolic links, and those that name their repository by one.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` that names the link.
    """
    for module in modules:
        link = link_over(module) or own_link(module)
        if link is not None:
            message = f"{link} is a link to {link.readlink()}, where the tree has the submodule {module.path}"
            hint = f"move the link away, and {again(tree_of(module))}"
            raise HipwrightError("bad-source-tree", message, where=Where(file=link, module=module.path), hint=hint)


def refuse_odd_entries(entries: Iterable[ModuleEntry], *, where: Path, above: Collection[str] = ()) -> None:
    """Refuse a list of modules that no tree can have: it was damaged, and following it would lead out of the tree.

    Parameters
    ----------
    entries
        The list, parents before children, the root first.
    where
        The file that has it.
    above
        The paths of modules that it goes on from; it has no root of its own then.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` that says what is wrong with it.
    """
    seen = set(above)
    rooted = bool(above)
    for entry in entries:
        if not rooted:
            wrong = None if (entry.path, entry.parent) == (ROOT, None) else "it does not begin with the root"
        elif entry.path in seen and not above:
            wrong = f"it has {shown(entry.path)} twice"
        elif not _is_inside(entry.path):
            wrong = f"{shown(entry.path)} is no path of a submodule"
        elif not _is_inside(entry.name):
            wrong = f"{shown(entry.name)} is no name of a submodule"
        elif entry.parent not in seen or not (entry.parent == ROOT or entry.path.startswith(f"{entry.parent}/")):
            wrong = f"{shown(entry.path)} does not lie in a module before it"
        else:
            wrong = None
        if wrong is not None:
            raise HipwrightError("bad-source-tree", f"{where} is not what it should be: {wrong}", where=Where(file=where))
        rooted = True
        seen.add(entry.path)
    if not rooted:
        raise HipwrightError("bad-source-tree", f"{where} is not what it should be: it has no modules", where=Where(file=where))


def _is_inside(text: str) -> bool:
    """Return whether a path, or a name that becomes one, leads to a place below where it starts."""
    path = PurePosixPath(text)
    return bool(path.parts) and not path.is_absolute() and not {"..", ".git"} & set(path.parts) and "\0" not in text


def save_modules(tree: Path, entries: Iterable[ModuleEntry]) -> None:
    """Write the list of a tree's modules, parents before children."""
    files.write_bytes(own_folder(tree) / _LIST, to_json(ModuleList(modules=tuple(entries))))


def markers_of(module: Module) -> Markers | None:
    """Return a module's markers, or None when a stage has not set them all.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when git cannot read the repository, or what a marker names is gone from it.
    """
    try:
        refs: Mapping[str, CommitId] = module.store.refs(MARKERS)
    except HipwrightError as error:
        if error.code.name != "command-failed":
            raise
        raise _damaged(module, f"git cannot read {module.git_dir}", excerpt=error.excerpt) from error
    if not {"upstream", "base", "hipified", "finished"} <= refs.keys():
        return None
    return Markers(upstream=refs["upstream"], base=refs["base"], hipified=refs["hipified"], finished=refs["finished"])


def _wrong(git_dir: Path) -> str | None:
    """Return what is wrong with a repository, so that git would take it for none, or None."""
    if not git_dir.is_dir():
        return "is not there"
    for name in ("objects", "refs"):
        if not (git_dir / name).is_dir():
            return f"has no usable {name}"
    try:
        head = os.fsencode((git_dir / "HEAD").readlink()) if (git_dir / "HEAD").is_symlink() else (git_dir / "HEAD").read_bytes()
    except OSError:
        head = b""
    return None if _HEAD.match(head) else "has no usable HEAD"


def _damaged(module: Module, what: str, *, excerpt: str | None = None) -> HipwrightError:
    message = f"the repository of {module.folder} is damaged: {what}"
    return HipwrightError("bad-source-tree", message, where=Where(file=module.folder), hint=_AWAY, excerpt=excerpt)


def deepest_first(modules: Iterable[Module]) -> list[Module]:
    """Return modules so that every one comes before its parent, otherwise sorted by path."""
    return sorted(modules, key=lambda module: (-_depth(module), module.path))


def within(module: Module) -> str:
    """Return a submodule's path as its parent's commits have it."""
    parent = module.entry.parent
    return module.path if parent in {None, ROOT} else module.path.removeprefix(f"{parent}/")


def in_tree(module: str, path: str) -> str:
    """Return a path in a module, which is named by its own, as one from the root of the tree."""
    return path if module == ROOT else f"{module}/{path}"


def status_of(module: Module, *, ignored: bool, untracked: bool = True) -> list[tuple[bytes, bytes]]:
    """Return the state and the path of each file of a module that is not as its HEAD and index have it."""
    which = ("--untracked-files=all" if untracked else "--untracked-files=no", f"--ignored={'traditional' if ignored else 'no'}")
    arguments = ("-z", *which, "--ignore-submodules=all", "--no-renames")
    return [(record[:2], record[3:]) for record in module.repository.records("status", "--porcelain=v1", *arguments)]


def _depth(module: Module) -> int:
    return 0 if module.path == ROOT else 1 + module.path.count("/")


def relative_to(target: Path, start: Path) -> str:
    """Return ``target`` as a path from ``start`` with forward slashes, as git writes such paths."""
    return os.path.relpath(target, start).replace(os.sep, "/")


def temporary_name(tree: Path, purpose: str) -> Path:
    """Return a fresh name inside a tree's ``.git``; what a killed run leaves under such names, :func:`sweep` removes."""
    own_folder(tree).mkdir(exist_ok=True)
    return own_folder(tree) / f"{_TEMPORARY}{purpose}-{secrets.token_hex(4)}"


@contextlib.contextmanager
def temporary_index(tree: Path, copy_of: Path | None = None) -> Iterator[dict[str, str]]:
    """Give the environment that makes git use an index of its own for the block, so that the person's stays as it is.

    Parameters
    ----------
    tree
        The tree.
    copy_of
        An index to begin with: what it knows of files on disk need not be read again. Its time goes with it, because git doubts entries
        that are no older than their index.
    """
    index = temporary_name(tree, "index")
    try:
        if copy_of is not None and copy_of.is_file():
            shutil.copy2(copy_of, index)
        yield {"GIT_INDEX_FILE": str(index)}
    finally:
        index.unlink(missing_ok=True)


def sweep(tree: Path) -> None:
    """Remove what killed runs left under temporary names inside a tree's ``.git``."""
    for left_over in own_folder(tree).glob(f"{_TEMPORARY}*"):
        files.remove_tree(left_over)
