"""Sources kept as plain files beside ``project.toml``, turned into git repositories on first use.

``repository.toml`` in the folder names repositories; the first is the project's origin. Each branch is one commit that holds the files of
its folders, later folders laid over earlier ones, and the submodules it lists (recorded with a relative address, ``../<name>.git``). Each
repository has an identity and a date that never change, so the same bytes give the same commit ids on every machine. A file is
executable when it begins with ``#!``: not every file system keeps that bit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from build_tools import digest, files
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.contents import is_git_folder
from build_tools.sources.fastimport import Branch, FileContent, make_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = ["DESCRIPTION", "EmbeddedBranch", "EmbeddedRepository", "EmbeddedSources", "EmbeddedSubmodule", "import_embedded"]

DESCRIPTION: Final = "repository.toml"
"""The file that says what the folder's files are."""

_FORMAT: Final = 1
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    pass


class EmbeddedSubmodule(_Table, frozen=True, kw_only=True):
    """A submodule of a branch: where it lies, and which branch of which of these repositories it is."""

    path: NonEmpty
    repository: Name
    branch: NonEmpty


class EmbeddedBranch(_Table, frozen=True, kw_only=True):
    """A branch: one commit with the files of ``folders``, later ones laid over earlier ones."""

    name: NonEmpty
    folders: Annotated[tuple[NonEmpty, ...], msgspec.Meta(min_length=1)]
    submodule: tuple[EmbeddedSubmodule, ...] = ()


class EmbeddedRepository(_Table, frozen=True, kw_only=True):
    """A repository of one or more branches; HEAD is the first."""

    name: Name
    branch: Annotated[tuple[EmbeddedBranch, ...], msgspec.Meta(min_length=1)]


class EmbeddedSources(_Table, frozen=True, kw_only=True):
    """``repository.toml``: the repositories, the origin first; ``date`` is the date of every commit."""

    schema: Literal[1] = 1
    date: datetime = datetime(2025, 1, 1, tzinfo=UTC)
    repository: Annotated[tuple[EmbeddedRepository, ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    """The description and the files of all folders that it names, by folder and path."""

    folder: Path
    sources: EmbeddedSources
    contents: Mapping[str, Mapping[bytes, FileContent]]

    @property
    def date(self) -> int:
        date = self.sources.date
        return int(date.replace(tzinfo=date.tzinfo or UTC).timestamp())

    def bad(self, message: str, key: str | None = None) -> HipwrightError:
        return _bad(self.folder, message, key)


def import_embedded(folder: Path, *, cache: Path, git: Git, say: Callable[[str], None]) -> tuple[Path, str]:
    """Return the folder below ``cache`` that holds the bare repositories (``<name>.git``), made if need be, and the origin's name.

    The folder is named by the digest of all that goes in; it is there whole or not at all, and two processes may ask at once.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when ``repository.toml`` does not fit its model, names folders, repositories or branches that are not there, or
        its submodules go in a circle, or has names and paths that git refuses, or when the folder holds what git cannot hold.
    """
    sources = load_toml(folder / DESCRIPTION, EmbeddedSources)
    wanted = sorted({name for repository in sources.repository for branch in repository.branch for name in branch.folders})
    work = _Work(folder=folder, sources=sources, contents={name: _read_folder(folder, name) for name in wanted})
    origin = sources.repository[0].name
    target = cache / "embedded" / _digest(work)[:16]
    if target.is_dir():
        return target, origin
    cache.mkdir(parents=True, exist_ok=True)
    _check_names(work, cache=cache, git=git)
    with files.hold(target.with_suffix(".lock"), purpose=f"importing {folder}", wait=True, on_wait=say):
        if not target.is_dir():
            with files.finished_folder(target) as partial:
                _make_all(work, partial, git)
    return target, origin


def _digest(work: _Work) -> str:
    rows = [
        [name, path.decode("utf-8", "backslashreplace"), content.mode, digest.of_bytes(content.data)]
        for name, listed in sorted(work.contents.items())
        for path, content in sorted(listed.items())
    ]
    return digest.of_value([_FORMAT, msgspec.to_builtins(work.sources), rows])


def _bad(folder: Path, message: str, key: str | None = None) -> HipwrightError:
    return HipwrightError("bad-data-file", message, where=Where(file=folder / DESCRIPTION, key=key))


def _read_folder(folder: Path, name: str) -> dict[bytes, FileContent]:
    top = folder / name
    inside = not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts
    if not inside or not top.is_dir():
        raise _bad(folder, f"there is no folder {name!r} beside {DESCRIPTION}")
    found = {}
    for path in sorted(top.rglob("*")):
        relative = path.relative_to(top)
        if "__pycache__" in relative.parts:
            continue
        if any(is_git_folder(part) for part in relative.parts):
            raise _cannot_hold(path, "git keeps its own there")
        if path.is_symlink():
            found[_spelled(relative)] = FileContent(mode="120000", data=_spelled(path.readlink()))
        elif path.is_file():
            try:
                data = path.read_bytes()
            except OSError as error:
                raise _cannot_hold(path, f"it cannot be read: {error.strerror}") from error
            found[_spelled(relative)] = FileContent(mode="100755" if data.startswith(b"#!") else "100644", data=data)
        elif not path.is_dir():
            raise _cannot_hold(path, "it is no file, link or folder")
    if not found:
        raise _bad(folder, f"the folder {name!r} holds no files")
    return found


def _cannot_hold(path: Path, why: str) -> HipwrightError:
    message = f"{shown(_spelled(path))} cannot be part of a repository: {why}"
    return HipwrightError("bad-data-file", message, where=Where(file=path), hint="take it out of the folder")


def _check_names(work: _Work, *, cache: Path, git: Git) -> None:
    """Refuse branches and submodule paths that git would refuse later, or hold under another name than the description says."""
    if work.date < 0:
        raise work.bad("commits cannot be older than 1970", "date")
    for repository in work.sources.repository:
        if repository.name.endswith("\n"):
            # The model's pattern, which is also the schema's, lets it pass.
            raise work.bad(f"{shown(repository.name)!r} is no name for a repository", "repository")
        names: set[str] = set()
        for branch in repository.branch:
            key = f"repository {repository.name}, branch {shown(branch.name)}"
            plain = _CONTROL.search(branch.name) is None and not branch.name.startswith("-")
            arguments = ("check-ref-format", f"refs/heads/{branch.name}")
            if not plain or git.capture(*arguments, cwd=cache, check=False).returncode != 0:
                raise work.bad(f"{shown(branch.name)!r} is no name for a branch", key)
            if branch.name in names:
                raise work.bad(f"two branches of {repository.name!r} are called {branch.name!r}", key)
            for other in names:
                if other.startswith(f"{branch.name}/") or branch.name.startswith(f"{other}/"):
                    raise work.bad(f"git cannot hold the branches {other!r} and {branch.name!r} together", key)
            names.add(branch.name)
            _check_paths(work, branch, key)


def _check_paths(work: _Work, branch: EmbeddedBranch, key: str) -> None:
    """Refuse paths that cannot lie beside each other: files of laid-over folders, and submodules."""
    taken = {path for name in branch.folders for path in work.contents[name]}
    for submodule in branch.submodule:
        parts = submodule.path.split("/")
        inner = f"{key}, submodule {shown(submodule.path)}"
        if _CONTROL.search(submodule.path) or any(part in {"", ".", ".."} or is_git_folder(part) for part in parts):
            raise work.bad(f"{shown(submodule.path)!r} is no path for a submodule", inner)
        path = submodule.path.encode()
        if path in taken:
            raise work.bad(f"something else lies at {shown(path)!r} too", inner)
        taken.add(path)
    if branch.submodule and b".gitmodules" in taken:
        raise work.bad(".gitmodules is written from the table of submodules, and a folder holds one too", key)
    for path in sorted(taken):
        above = next((path[:end] for end, byte in enumerate(path) if byte == ord("/") and path[:end] in taken), None)
        if above is not None:
            raise work.bad(f"{shown(above)!r} cannot be there together with {shown(path)!r}", key)


def _spelled(path: Path) -> bytes:
    return path.as_posix().encode("utf-8", "surrogateescape")


def _make_all(work: _Work, target: Path, git: Git) -> None:
    """Make the repositories, those that others have as submodules first."""
    done: dict[str, dict[str, CommitId]] = {}
    waiting = {repository.name: repository for repository in work.sources.repository}
    if len(waiting) != len(work.sources.repository):
        raise work.bad("two repositories have the same name")
    while waiting:
        ready = [repository for repository in waiting.values() if _needs(repository) <= done.keys()]
        if not ready:
            missing = {name for repository in waiting.values() for name in _needs(repository)} - waiting.keys() - done.keys()
            named = ", ".join(sorted(missing or waiting))
            key = _first_entry(waiting.values(), missing or waiting.keys())
            raise work.bad(f"no repository is called {named}" if missing else f"submodules go in a circle: {named}", key)
        for repository in ready:
            branches = tuple(_branch(work, branch, f"{repository.name} {branch.name}", done) for branch in repository.branch)
            done[repository.name] = make_repository(target / f"{repository.name}.git", branches, git=git)
            del waiting[repository.name]


def _first_entry(repositories: Iterable[EmbeddedRepository], names: Collection[str]) -> str | None:
    """Return the first submodule, as a key, that is one of the named repositories."""
    keys = (
        f"repository {repository.name}, branch {shown(branch.name)}, submodule {shown(submodule.path)}"
        for repository in repositories
        for branch in repository.branch
        for submodule in branch.submodule
        if submodule.repository in names
    )
    return next(keys, None)


def _needs(repository: EmbeddedRepository) -> set[str]:
    return {submodule.repository for branch in repository.branch for submodule in branch.submodule}


def _branch(work: _Work, branch: EmbeddedBranch, message: str, done: Mapping[str, Mapping[str, CommitId]]) -> Branch:
    whole: dict[bytes, FileContent] = {}
    for name in branch.folders:
        whole.update(work.contents[name])
    modules = []
    for submodule in branch.submodule:
        commit = done[submodule.repository].get(submodule.branch)
        if commit is None:
            key = f"repository {message.partition(' ')[0]}, branch {shown(branch.name)}, submodule {shown(submodule.path)}"
            raise work.bad(f"the repository {submodule.repository!r} has no branch {submodule.branch!r}", key)
        whole[submodule.path.encode()] = FileContent(mode="160000", data=commit.encode())
        path = submodule.path.replace("\\", "\\\\").replace('"', '\\"')
        modules.append(f'[submodule "{path}"]\n\tpath = "{path}"\n\turl = ../{submodule.repository}.git\n')
    if modules:
        whole[b".gitmodules"] = FileContent(mode="100644", data="".join(modules).encode())
    return Branch(name=branch.name, message=message, date=work.date, files=whole)
