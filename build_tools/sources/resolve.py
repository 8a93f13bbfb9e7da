"""From a ref to exact commits: the origin's commit, the base version of its tree, and every submodule, nested ones too."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.receipts.lock import LockedSources, SubmodulePin
from build_tools.sources.contents import entry_at, read_file, submodules
from build_tools.sources.git import shown
from build_tools.sources.mirror import Mirror, RemoteRefs, mirror_of
from build_tools.sources.parallel import for_each
from build_tools.sources.urls import resolve_relative
from build_tools.types import CommitId
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.sources.git import Git, Repository
    from build_tools.sources.origin import Origin

__all__ = ["FoundRef", "find_ref", "resolve_sources"]

_COMMIT = re.compile(r"^[0-9a-f]{40}$")
_SHORT_COMMIT = re.compile(r"^[0-9a-f]{7,39}$")
_PLAIN: Final = (b"100644", b"100755")
_NAMED: Final = ("refs/heads/", "refs/tags/")


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRef:
    """A ref at its origin: the name to record, its commit, and its full name when it is a branch or tag."""

    name: str
    commit: CommitId
    full_name: str | None


def resolve_sources(
    project: Project,
    *,
    origin: Origin,
    ref: str | None,
    reason: str,
    cache: Path,
    say: Callable[[str], None],
) -> LockedSources:
    """Return the exact sources of a project.

    Parameters
    ----------
    project
        The project.
    origin
        Its origin; see :func:`build_tools.sources.origin.open_origin`.
    ref
        A branch, a tag or a full commit id; the project's default when None.
    reason
        Why this ref, for the lock.
    cache
        The cache folder; commits are fetched into its mirrors.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``unknown-ref`` (names the origin and close refs), ``origin-unreachable``, ``submodule-commit-missing``, ``bad-source-tree``
        when the tree has no base version or its ``.gitmodules`` cannot be used, or ``bad-version`` when the base version is none.
    """
    git = origin.git
    cache.mkdir(parents=True, exist_ok=True)
    git.require(cwd=cache)
    mirror = mirror_of(origin.url, cache=cache, git=git, say=say)
    found = find_ref(mirror, ref if ref is not None else project.refs.default)
    repository = mirror.fetch(found.commit, ref=found.full_name)
    return LockedSources(
        origin=origin.url,
        ref=found.name,
        reason=reason,
        commit=found.commit,
        tree=repository.tree_of(found.commit),
        base_version=_base_version(project, repository, found.commit),
        submodules=_submodules(mirror, found.commit, cache=cache, git=git, say=say),
        sdist_sha256=origin.sdist_sha256,
    )


def find_ref(mirror: Mirror, ref: str) -> FoundRef:
    """Return the commit that a ref stands for at the origin now: a branch before a tag of the same name, ``HEAD``, or a full commit id.

    Raises
    ------
    HipwrightError
        ``unknown-ref`` or ``origin-unreachable``.
    """
    if _COMMIT.match(ref):
        return FoundRef(name=ref, commit=CommitId(ref), full_name=None)
    remote = mirror.remote_refs()
    head = remote.head
    if ref == "HEAD" and head is not None and head in remote.commits:
        return FoundRef(name=head.removeprefix("refs/heads/"), commit=remote.commits[head], full_name=head)
    for full in (f"refs/heads/{ref}", f"refs/tags/{ref}", ref):
        if full in remote.commits and (full.startswith("refs/") or full == "HEAD"):
            return FoundRef(name=ref, commit=remote.commits[full], full_name=None if full == "HEAD" else full)
    raise _unknown(mirror, ref, remote)


def _unknown(mirror: Mirror, ref: str, remote: RemoteRefs) -> HipwrightError:
    names = [name.removeprefix("refs/heads/").removeprefix("refs/tags/") for name in remote.commits if name.startswith(_NAMED)]
    close = difflib.get_close_matches(ref, names, n=5, cutoff=0.5)
    message = f"{redact(mirror.url)} has no branch, tag or commit {ref!r}"
    if _SHORT_COMMIT.match(ref):
        hint = "give a commit with all its 40 digits: servers do not look up shorter ones"
    elif close:
        hint = f"close to it: {', '.join(close)}"
    elif names:
        hint = f"it has, among others: {', '.join(sorted(names)[:10])}"
    else:
        hint = "it has no branches and no tags at all"
    return HipwrightError("unknown-ref", message, hint=hint)


def _base_version(project: Project, repository: Repository, commit: CommitId) -> str:
    if project.version.fixed is not None:
        where = Where(file="project.toml", key="version.fixed")
        return _checked(project.version.fixed, f"the version of {project.name}", where)
    name = project.version.file
    if name is None:
        message = f"{project.name} does not say where its version stands"
        raise HipwrightError("bad-data-file", message, where=Where(file="project.toml", key="version"), hint="set file or fixed")
    where = Where(file=name, key=f"commit {commit}")
    entry = entry_at(repository, commit, name)
    data = read_file(repository, commit, name)
    if entry is None or data is None:
        message = f"commit {commit} of {project.name} has no file {name}, which should hold its version"
        raise HipwrightError("bad-source-tree", message, where=where)
    if entry.mode not in _PLAIN:
        message = f"{name} of commit {commit} should hold the version of {project.name}, and is a link"
        raise HipwrightError("bad-source-tree", message, where=where, hint="name the file itself in version.file of project.toml")
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        message = f"{name} of commit {commit} should hold the version of {project.name}, and is no UTF-8 text"
        raise HipwrightError("bad-source-tree", message, where=where) from None
    if not text or len(text.splitlines()) != 1:
        message = f"{name} of commit {commit} should hold one line, the version of {project.name}"
        raise HipwrightError("bad-source-tree", message, where=where)
    return _checked(text, f"{name} of commit {commit} holds the version of {project.name}, which", where)


def _checked(text: str, what: str, where: Where) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise HipwrightError("bad-version", f"{what} is {shown(text)!r}: no version (PEP 440)", where=where) from None
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parent:
    """A repository whose submodules are looked for: ``path`` is relative to the root of the tree, empty for the root itself."""

    path: str
    mirror: Mirror
    commit: CommitId


def _submodules(root: Mirror, commit: CommitId, *, cache: Path, git: Git, say: Callable[[str], None]) -> tuple[SubmodulePin, ...]:
    """Return all submodules, level by level: a nested one is known only after its parent's commit is here."""
    pins: list[SubmodulePin] = []
    level = [_Parent(path="", mirror=root, commit=commit)]
    while level:
        children = []
        for parent in level:
            for module in submodules(parent.mirror.repository, parent.commit):
                url = resolve_relative(parent.mirror.url, module.url)
                path = f"{parent.path}/{module.path}" if parent.path else module.path
                child = _Parent(path=path, mirror=mirror_of(url, cache=cache, git=git, say=say), commit=module.commit)
                children.append((parent, child))
        for_each(lambda pair: _fetch(*pair), children)
        pins += [SubmodulePin(path=child.path, url=child.mirror.url, commit=child.commit) for _, child in children]
        level = [child for _, child in children]
    return tuple(sorted(pins, key=lambda pin: pin.path))


def _fetch(parent: _Parent, child: _Parent) -> None:
    try:
        child.mirror.fetch(child.commit)
    except HipwrightError as error:
        if error.code.name != "unknown-ref":
            raise
        message = (
            f"the submodule {child.path} is recorded at commit {child.commit}, which {redact(child.mirror.url)} does not have; "
            f"commit {parent.commit} of {redact(parent.mirror.url)} records it"
        )
        hint = "trying again will not help unless somebody pushes that commit there; choose another ref"
        where = Where(module=child.path)
        raise HipwrightError("submodule-commit-missing", message, where=where, hint=hint, excerpt=error.excerpt) from error
