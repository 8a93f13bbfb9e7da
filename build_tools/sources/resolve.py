"""From a ref to exact commits: the origin's commit, the base version of its tree, and every submodule, nested ones too."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedSources, SubmodulePin
from build_tools.sources.base_version import base_version
from build_tools.sources.contents import submodules
from build_tools.sources.lost import no_such_submodule, of_submodule
from build_tools.sources.mirror import Mirror, RemoteRefs, mirror_of, say_nothing
from build_tools.sources.parallel import for_each
from build_tools.sources.urls import submodule_address
from build_tools.types import CommitId, is_commit_id
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.sources.git import Git, Repository
    from build_tools.sources.origin import Origin

__all__ = ["FoundRef", "find_ref", "resolve_sources"]

_SHORT_COMMIT = re.compile(r"^[0-9a-f]{7,39}$")
_NAMED: Final = ("refs/heads/", "refs/tags/")


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRef:
    """A ref at its origin: the name to record, its commit, and its full name when it is a branch or tag."""

    name: str
    commit: CommitId
    full_name: str | None

    @property
    def kind(self) -> Literal["branch", "tag", "commit"] | None:
        """What the name is at the origin; None for one that is gone from there."""
        if self.full_name is not None:
            return "branch" if self.full_name.startswith("refs/heads/") else "tag"
        return "commit" if is_commit_id(self.name) else None


def resolve_sources(
    project: Project,
    *,
    origin: Origin,
    ref: str | None,
    commit: CommitId | None = None,
    reason: str,
    submodule_urls: Mapping[str, str] | None = None,
    patched_paths: Callable[[str], Collection[str]] | None = None,
    cache: Path,
    say: Callable[[str], None],
    progress: Callable[[str, int, int], None] | None = None,
    whole: bool = True,
) -> LockedSources:
    """Return the exact sources of a project.

    Parameters
    ----------
    project
        The project.
    origin
        Its origin; see :func:`build_tools.sources.origin.open_origin`.
    ref
        A branch, a tag or a full commit id; without it and ``commit``, the project's default.
    commit
        An exact commit of the origin, which counts before where ``ref`` stands there now; ``ref`` is recorded beside it.
    reason
        Why this ref, for the lock.
    submodule_urls
        Where submodules are fetched from instead of their recorded addresses, by path; without secrets. As in git, relative addresses of
        their own submodules begin there.
    patched_paths
        Gives, from the name of the ref, the paths at which base patches may put submodules: addresses may be for those too.
    cache
        The cache folder; commits are fetched into its mirrors.
    say
        Takes one line of talk.
    progress
        Takes what is being done to how many of how many.
    whole
        Whether all the history is fetched that a tree needs; without, no more than it takes to answer.

    Raises
    ------
    HipwrightError
        ``unknown-ref`` (names the origin and close refs), ``origin-unreachable``, ``submodule-commit-missing``, ``bad-source-tree``
        when the tree has no base version or its ``.gitmodules`` cannot be used, ``bad-version`` when the base version is none, or
        ``bad-option-value`` when ``submodule_urls`` names a path that is no submodule.
    """
    git = origin.git
    cache.mkdir(parents=True, exist_ok=True)
    git.require(cwd=cache)
    mirror = mirror_of(origin.url, cache=cache, git=git, say=say)
    if commit is None:
        found = find_ref(mirror, ref if ref is not None else project.refs.default or "HEAD")
    else:
        found = _with_commit(mirror, ref, commit)
    repository = _read(mirror, found.commit, found.full_name, whole=whole)
    # The id of an annotated tag stands for its commit.
    found = replace(found, commit=repository.commit_of(found.commit) or found.commit)
    urls = submodule_urls or {}
    parents = _Parents(
        project=project.name,
        urls=urls,
        later=frozenset(patched_paths(found.name)) if urls and patched_paths is not None else frozenset(),
        cache=cache,
        git=git,
        say=say,
        progress=progress,
        whole=whole,
    )
    pins = parents.pins(_Parent(path="", mirror=mirror, repository=repository, commit=found.commit))
    return LockedSources(
        origin=origin.url,
        ref=found.name,
        ref_is=found.kind,
        reason=reason,
        commit=found.commit,
        tree=repository.tree_of(found.commit),
        base_version=base_version(project, repository, found.commit),
        submodules=pins,
        sdist_sha256=origin.sdist_sha256,
    )


def find_ref(mirror: Mirror, ref: str) -> FoundRef:
    """Return the commit that a ref stands for at the origin now: a branch before a tag of the same name, ``HEAD``, or a full commit id.

    Raises
    ------
    HipwrightError
        ``unknown-ref`` or ``origin-unreachable``.
    """
    if is_commit_id(ref.lower()):
        return FoundRef(name=ref.lower(), commit=CommitId(ref.lower()), full_name=None)
    remote = mirror.remote_refs()
    head = remote.head
    if ref == "HEAD" and head is not None and head in remote.commits:
        return FoundRef(name=head.removeprefix("refs/heads/"), commit=remote.commits[head], full_name=head)
    for full in (f"refs/heads/{ref}", f"refs/tags/{ref}", ref):
        if full in remote.commits and (full.startswith("refs/") or full == "HEAD"):
            return FoundRef(name=ref, commit=remote.commits[full], full_name=None if full == "HEAD" else full)
    raise _unknown(mirror, ref, remote)


def _with_commit(mirror: Mirror, ref: str | None, commit: CommitId) -> FoundRef:
    """Return an exact commit with the name that is to be recorded beside it; a branch that is gone is recorded as well."""
    if ref is None or is_commit_id(ref):
        return FoundRef(name=ref or commit, commit=commit, full_name=None)
    full = next((name for name in (f"refs/heads/{ref}", f"refs/tags/{ref}") if name in mirror.remote_refs().commits), None)
    return FoundRef(name=ref, commit=commit, full_name=full)


def _read(mirror: Mirror, commit: CommitId, ref: str | None = None, *, whole: bool) -> Repository:
    """Return a repository that holds a commit: with all its history, or with what it takes to read it."""
    return mirror.fetch(commit, ref=ref) if whole else mirror.facts(commit, ref)


def _unknown(mirror: Mirror, ref: str, remote: RemoteRefs) -> HipwrightError:
    names = {name.removeprefix("refs/heads/").removeprefix("refs/tags/") for name in remote.commits if name.startswith(_NAMED)}
    close = difflib.get_close_matches(ref, sorted(names), n=5, cutoff=0.5)
    message = f"{redact(mirror.url)} has no branch, tag or commit {ref!r}"
    if _SHORT_COMMIT.match(ref.lower()):
        hint = "give a commit with all its 40 digits: servers do not look up shorter ones"
    elif close:
        hint = f"close to it: {', '.join(close)}"
    elif names:
        hint = f"it has, among others: {', '.join(sorted(names)[:10])}"
    else:
        hint = "it has no branches and no tags at all"
    return HipwrightError("unknown-ref", message, hint=hint)


@dataclass(kw_only=True, slots=True)
class _Parent:
    """A repository whose submodules are looked for.

    ``path`` is relative to the root of the tree, empty for the root itself; ``repository`` is there once the commit is.
    """

    path: str
    mirror: Mirror
    commit: CommitId
    repository: Repository | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parents:
    """How submodules are looked for; the parameters are those of :func:`resolve_sources`. ``later`` are paths that patches may add."""

    project: str
    later: frozenset[str]
    urls: Mapping[str, str]
    cache: Path
    git: Git
    say: Callable[[str], None]
    progress: Callable[[str, int, int], None] | None
    whole: bool

    def pins(self, root: _Parent) -> tuple[SubmodulePin, ...]:
        """Return all submodules, level by level: a nested one is known only after its parent's commit is here."""
        pins: list[SubmodulePin] = []
        level = [root]
        while level:
            children = [(parent, child) for parent in level for child in self._children(parent)]
            # Before anything is fetched: whoever names another address does so because the recorded one fails.
            paths = {pin.path for pin in pins} | {child.path for _, child in children}
            self._require_known(paths, root, whole_tree=not children)
            for_each(
                lambda pair: self._fetch(*pair),
                children,
                place=lambda pair: pair[1].mirror.folder,
                told=self._telling(len(pins), len(pins) + len(children)),
            )
            pins += [SubmodulePin(path=child.path, url=child.mirror.url, commit=child.commit) for _, child in children]
            level = [child for _, child in children]
        return tuple(sorted(pins, key=lambda pin: pin.path))

    def _children(self, parent: _Parent) -> list[_Parent]:
        if parent.repository is None:
            return []
        found = []
        for module in submodules(parent.repository, parent.commit):
            path = f"{parent.path}/{module.path}" if parent.path else module.path
            url = self.urls.get(path) or submodule_address(parent.mirror.url, module.url, path=path, project=self.project)
            mirror = mirror_of(url, cache=self.cache, git=self.git, say=self.say, note=self.note)
            found.append(_Parent(path=path, mirror=mirror, commit=module.commit))
        return found

    @property
    def note(self) -> Callable[[str], None] | None:
        """What takes a line for each fetch: nobody, where the progress is told."""
        return None if self.progress is None else say_nothing

    def _telling(self, before: int, total: int) -> Callable[[int], None] | None:
        progress = self.progress
        return None if progress is None else lambda done: progress("submodules read", before + done, total)

    def _fetch(self, parent: _Parent, child: _Parent) -> None:
        try:
            child.repository = _read(child.mirror, child.commit, whole=self.whole)
        except HipwrightError as error:
            recorder = f"commit {parent.commit} of {redact(parent.mirror.url)}"
            url = child.mirror.url
            raise of_submodule(
                error, project=self.project, path=child.path, commit=child.commit, url=url, recorded_by=recorder
            ) from error

    def _require_known(self, paths: set[str], root: _Parent, *, whole_tree: bool) -> None:
        """Refuse an address for a path that is no submodule; while not the whole tree is known, those below one that is may follow."""
        open_ends = self.later if whole_tree else paths | self.later
        for path in self.urls:
            if path in paths | self.later or any(path.startswith(f"{known}/") for known in open_ends):
                continue
            raise no_such_submodule(path, paths, commit=root.commit, origin=root.mirror.url)
