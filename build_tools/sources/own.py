"""A source tree of a person's own: looked at, read as it stands, and never written to.

git needs a place for the index and the objects that come of reading files. For each module of such a tree that is a repository of ours
in the *store*, a folder of the work dir: it borrows the objects of the module's own repository and works on the module's files, so
whatever git writes, it writes there. Builds copy out of the store as they copy out of the trees that hipwright makes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.process import printable
from build_tools.receipts.lock import LockedSources, SubmodulePin
from build_tools.receipts.values import LocalChanges, ModuleState, SourceTree
from build_tools.shown import shown
from build_tools.sources.base_version import version_in
from build_tools.sources.contents import entry_at, gitlinks, read_file, submodules
from build_tools.sources.modules import ROOT, in_tree
from build_tools.sources.ownstore import read_module
from build_tools.sources.told import change_word, prefix_of, shortened
from build_tools.sources.urls import file_url, resolve_relative
from build_tools.types import CommitId, TreeId
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.sources.git import Git, Repository
    from build_tools.sources.modules import Module

__all__ = ["Looked", "OwnTree", "read_own_tree"]

_BUILD_FILES: Final = ("pyproject.toml", "setup.py")
_WITH_FILES: Final = "a repository with its files"
_SHORT_IDS: Final = "a repository with SHA-1 ids"
_MOST: Final = 20
_TAGS: Final = "refs/tags/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """One thing that a tree has to have: what it is, where it was looked for, and whether it is there."""

    what: str
    where: str
    found: bool

    def __str__(self) -> str:
        return f"{'found' if self.found else 'missing'}: {self.what}: {self.where}"


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnTree:
    """A tree of a person's own as it stands: what builds take of it, what a lock says of it, and what was looked for."""

    source: SourceTree
    sources: LockedSources
    looked: tuple[Looked, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """One module as it was read: its stand-in, its HEAD, the newest commit of its history that is not the person's alone, its files."""

    module: Module
    repository: Repository
    head: CommitId
    upstream: CommitId
    content: TreeId
    lines: tuple[str, ...]


def read_own_tree(project: Project, folder: Path, *, store: Path, git: Git) -> OwnTree:
    """Return a tree of a person's own as it stands, once everything is there that a build of it needs.

    Parameters
    ----------
    project
        The project that it is to be the sources of.
    folder
        The tree.
    store
        A folder of the work dir for what git writes; whoever calls holds it.
    git
        How git is run.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when it lacks something, with all that was looked for and where.
    """
    looking = _Looking(project=project, folder=folder, store=store, git=git)
    looking.look()
    missing = [row for row in looking.rows if not row.found]
    if missing:
        message = f"{folder} cannot be taken for the sources of {project.name}: it lacks {_joined([row.what for row in missing])}"
        raise HipwrightError(
            "bad-source-tree",
            message,
            where=Where(file=folder),
            hint=looking.hint(missing[0].what),
            excerpt="\n".join(map(str, looking.rows)),
        )
    root = looking.read[0]
    lines = tuple(line for read in looking.read for line in read.lines)
    states = tuple(_state(read) for read in looking.read)
    rows = [[state.path, state.upstream, state.content] for state in states]
    return OwnTree(
        source=SourceTree(
            project=project.name,
            folder=str(folder),
            upstream=root.upstream,
            upstream_date=root.repository.date_of(root.upstream),
            base_version=looking.version,
            modules=states,
            local=LocalChanges(digest=digest.of_value(rows), lines=lines) if lines else None,
            store=str(store),
        ),
        sources=_locked(root, looking),
        looked=tuple(looking.rows),
    )


def _state(read: _Read) -> ModuleState:
    return ModuleState(
        path=read.module.path,
        upstream=read.upstream,
        base=read.upstream,
        hipified=read.upstream,
        expected=read.head,
        content=read.content,
    )


def _locked(root: _Read, looking: _Looking) -> LockedSources:
    branch = root.repository.capture("symbolic-ref", "--quiet", "--short", "HEAD", check=False)
    return LockedSources(
        origin=root.module.entry.url,
        ref=branch.text if branch.returncode == 0 else root.head,
        ref_is="branch" if branch.returncode == 0 else "commit",
        reason="a tree of your own",
        commit=root.head,
        tree=root.repository.tree_of(root.head),
        base_version=looking.version,
        submodules=tuple(
            sorted(
                (
                    SubmodulePin(path=read.module.path, url=read.module.entry.url, commit=read.head)
                    for read in looking.read
                    if read.module.path != ROOT
                ),
                key=lambda pin: pin.path,
            )
        ),
    )


class _Looking:
    """One look at a tree: the rows of what was looked for, and the modules that were read."""

    def __init__(self, *, project: Project, folder: Path, store: Path, git: Git) -> None:
        self.project = project
        self.folder = folder
        self.store = store
        self.git = git
        self.rows: list[Looked] = []
        self.read: list[_Read] = []
        self.version = ""

    def look(self) -> None:
        """Look for everything, whatever is missing."""
        folder = self.folder
        if not self._see("a folder", folder, found=folder.is_dir()):
            return
        self.git.require(cwd=folder)
        if self._see_repository() and self._see_form():
            self._look_into(folder, path=ROOT, address="")
        content = self.read[0] if self.read else None
        names = [name for name in _BUILD_FILES if (folder / name).is_file()]
        self._see_file("what builds it", " or ".join(_BUILD_FILES), names[0] if names else None, content)
        name = self.project.version.file
        if name is not None:
            found = self._see_file("its version", name, name if (folder / name).is_file() else None, content)
            if found and content is not None:
                self._read_version(name, content)
        elif self.project.version.fixed is not None:
            self.version = self.project.version.fixed
        if len(self.read) > 1 and not any(row.what.startswith("the submodule ") for row in self.rows):
            self._see("all submodules", f"{len(self.read) - 1} checked out in {folder}", found=True)

    def hint(self, what: str) -> str:
        """Return what to do about the first thing that is missing."""
        at = ["git", "-C", str(self.folder)]
        if what == "a folder":
            return f"name the folder of the tree: --{self.project.name}-dir DIR"
        if what == _WITH_FILES:
            return f"clone it, and name the clone: {printable(['git', 'clone', '--recurse-submodules', str(self.folder), 'DIR'])}"
        if what == _SHORT_IDS:
            return f"clone {self.project.name} from its origin, and name the clone: --{self.project.name}-dir DIR"
        if what == "a repository of its own" and (around := self._around()) is not None:
            return f"name the repository: --{self.project.name}-dir {printable([str(around)])}"
        if what == "a repository of its own" and self.folder == self.folder.parent:
            return f"name the folder of the tree: --{self.project.name}-dir DIR"
        if what == "a repository of its own":
            commands = ([*at, "init"], [*at, "add", "--all"], [*at, "commit", "--message", "Sources"])
            return f"make it one: {', then '.join(map(printable, commands))}"
        if what == "a commit":
            return f"make one: {printable([*at, 'commit', '--message', 'Sources'])}"
        if what.startswith("the submodule "):
            return f"check them out: {printable([*at, 'submodule', 'update', '--init', '--recursive'])}"
        return f"name a complete tree of {self.project.name}: --{self.project.name}-dir DIR"

    def _see_repository(self) -> bool:
        """Note whether the folder is the top of a repository, and what it is otherwise."""
        folder, what = self.folder, "a repository of its own"
        if (folder / ".git").exists():
            return self._see(what, folder / ".git", found=True)
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            return self._see(_WITH_FILES, f"{folder}, which is bare: it holds no files to build", found=False)
        around = self._around()
        where = folder / ".git" if around is None else f"{folder / '.git'}; the repository is {around}"
        return self._see(what, where, found=False)

    def _see_form(self) -> bool:
        """Note a repository whose ids are of the longer kind; nothing is said of the usual one."""
        form = self.git.at(self.folder).capture("rev-parse", "--show-object-format", check=False)
        if form.returncode != 0 or form.text == "sha1":
            return True
        return self._see(_SHORT_IDS, f"{self.folder}, which has {form.text} ids; those are not read", found=False)

    def _around(self) -> Path | None:
        """Return the folder around this one that is a repository; None without one."""
        return next((parent for parent in self.folder.parents if (parent / ".git").exists()), None)

    def _see(self, what: str, where: object, *, found: bool) -> bool:
        self.rows.append(Looked(what=what, where=shown(str(where)), found=found))
        return found

    def _see_file(self, what: str, names: str, name: str | None, content: _Read | None) -> bool:
        """Note a file; one that git ignores is on disk, and no copy of the tree gets it."""
        if name is None:
            return self._see(what, f"{names} in {self.folder}", found=False)
        if content is not None and entry_at(content.module.repository, content.content, name) is None:
            return self._see(what, f"{self.folder / name}, which git ignores, so that builds do not get it", found=False)
        return self._see(what, self.folder / name, found=True)

    def _read_version(self, name: str, content: _Read) -> None:
        data = read_file(content.module.repository, CommitId(content.content), name) or b""
        file = self.folder / name
        try:
            self.version = version_in(self.project, data, told=str(file), where=Where(file=file))
        except HipwrightError as error:
            del self.rows[-1]
            self._see("its version", error.message, found=False)

    def _look_into(self, folder: Path, *, path: str, address: str, recorded: CommitId | None = None) -> None:
        """Read a module and, below it, its submodules as its HEAD records them; ``recorded`` is what upstream's parent records of it."""
        repository = self.git.at(folder)
        head = repository.head()
        if head is None:
            what = "a commit" if path == ROOT else f"the submodule {shown(path)}"
            self._see(what, f"HEAD of {folder}", found=False)
            return
        if path == ROOT:
            self._see("a commit", f"{head} at {folder}", found=True)
        url = _remote_of(repository) or address or file_url(folder)
        module, content = read_module(folder, path=path, url=url, store=self.store, git=self.git)
        known = _known_elsewhere(repository, recorded)
        upstream, commits = _upstream_of(repository, head, known, place=prefix_of(path))
        pins = gitlinks(repository, upstream) if upstream is not None else {}
        children = submodules(repository, head)
        edits = tuple(_edits(module, head, content, {child.path for child in children}))
        self.read.append(
            _Read(
                module=module,
                repository=repository,
                head=head,
                upstream=upstream or head,
                content=content,
                lines=(*commits, *edits),
            )
        )
        for child in children:
            inner = in_tree(path, child.path)
            if (folder / child.path / ".git").exists():
                pin = pins.get(child.path.encode())
                self._look_into(folder / child.path, path=inner, address=redact(resolve_relative(url, child.url)), recorded=pin)
            else:
                self._see(f"the submodule {shown(inner)}", f"{folder / child.path}, which is not checked out", found=False)


def _remote_of(repository: Repository) -> str | None:
    """Return the address that a repository was cloned from: that of ``origin``, else of its first remote."""
    names = repository.text("remote").splitlines()
    if not names:
        return None
    name = "origin" if "origin" in names else names[0]
    url = repository.capture("config", "--get", f"remote.{name}.url", check=False).text
    return redact(url) if url else None


def _known_elsewhere(repository: Repository, recorded: CommitId | None) -> tuple[str, ...]:
    """Return what names the commits that others have too: remote branches, fetched tags, and ``recorded``.

    A tag counts only where a remote's fetch refspec names it, as ``git clone --depth=1 --branch=TAG`` leaves it: any other one may be the
    person's alone, and whether it was ever pushed is not known here. What ``git submodule update`` fetches by commit, no ref holds.
    """
    records = repository.capture("config", "-z", "--get-regexp", r"^remote\..*\.fetch$", check=False).stdout.split(b"\0")
    fetched = {os.fsdecode(record.partition(b"\n")[2].rpartition(b":")[2]) for record in records}
    names = sorted(name for name in fetched if name.startswith(_TAGS))
    held = [repository.commit_of(name) for name in [*names, *([recorded] if recorded is not None else [])]]
    return ("--not", "--remotes", *(commit for commit in held if commit is not None))


def _upstream_of(
    repository: Repository, head: CommitId, known: tuple[str, ...], *, place: str
) -> tuple[CommitId | None, list[str]]:
    """Return the newest commit that is known elsewhere too, along first parents, and the person's own ones as lines.

    Where there is none, others have none of the history.
    """
    count = int(repository.text("rev-list", "--count", head, *known, "--"))
    if count == 0:
        return head, []
    listed = repository.text("rev-list", "--first-parent", "--boundary", head, *known, "--").splitlines()
    newest = next((line.removeprefix("-") for line in listed if line.startswith("-")), None)
    if newest is None:
        return None, [f"commit {place}{head[:12]}, of a history that no remote branch holds"]
    arguments = ("log", "-z", f"--max-count={_MOST}", "--format=%h %s", head, *known, "--")
    subjects = [shown(record) for record in repository.records(*arguments)]
    return CommitId(newest), [f"commit {place}{line}" for line in shortened(subjects, _MOST, total=count)]


def _edits(module: Module, head: CommitId, content: TreeId, known: set[str]) -> Iterator[str]:
    """Return what differs between HEAD and the files as they stand, as lines for people."""
    store = module.repository
    if content == store.tree_of(head):
        return
    place = prefix_of(module.path)
    links = gitlinks(store, content)
    records = iter(store.records("diff-tree", "-r", "-z", "--no-renames", "--name-status", f"{head}^{{tree}}", content))
    for state, path in zip(records, records, strict=True):
        if path not in links:
            yield f"{change_word(state)} {place}{shown(path)}"
        elif path.decode("utf-8", "surrogateescape") in known:
            yield f"moved {place}{shown(path)} to {links[path][:12]}"
        else:
            yield f"added {place}{shown(path)}, a repository of its own, which builds do not get"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
