"""Bare mirrors of origins below the cache: fetched once, shared by all source trees, safe for two processes at a time.

An origin has one mirror for each amount of history that was asked for. What a mirror of less than the whole history holds entirely, a ref
of it says (``refs/hipwright/commits/<commit>``): a killed fetch leaves commits behind whose parents or files are not there.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.sources.git import Source
from build_tools.sources.partial import bring_files
from build_tools.sources.retry import unreachable
from build_tools.types import CommitId
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.process import Completed
    from build_tools.sources.git import Git, Repository

__all__ = ["ALL_OF_IT", "UNBORN", "WHOLE", "History", "Mirror", "RemoteRefs", "mirror_of", "say_nothing"]

UNBORN: Final = "refs/heads/hipwright-none"
"""What a mirror's HEAD names: no branch, so that clones begin without one."""

_COMMITS: Final = "refs/hipwright/commits/"
_FETCHED: Final = "refs/hipwright/fetched/"
_NO_PART: Final = ("does not support shallow", "unadvertised object")
"""What git says of servers that give the history as a whole only: plain file servers, and old ones that take no commit's id."""

ALL_OF_IT: Final = (f"--depth={2**31 - 1}", "--no-filter")
"""What a fetch is told that makes a repository of less history whole: a depth that git takes for all."""

_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_PLAIN: Final = ("--quiet", "--no-tags", "--no-write-fetch-head")
_LEFT_OVERS: Final = (
    "*.lock",
    "refs/**/*.lock",
    "objects/pack/tmp_*",
    "objects/tmp_objdir-*",
    "objects/incoming-*",
    "objects/??/tmp_obj_*",
)
"""What a git that was killed leaves in a repository; the locks would stop the next one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """How much of an origin's history a mirror holds.

    Parameters
    ----------
    depth
        How many commits of each branch; None for all.
    partial
        Whether the contents of earlier files are left out.
    files
        Whether a commit is brought with all its files; without, each is fetched when it is read.
    """

    depth: int | None = None
    partial: bool = False
    files: bool = True

    @property
    def suffix(self) -> str:
        """What tells a mirror of this amount from the others of its origin; nothing for the whole history."""
        if not self.files:
            return ".facts"
        return (f".depth-{self.depth}" if self.depth else "") + (".partial" if self.partial else "")

    @property
    def options(self) -> tuple[str, ...]:
        """What git's fetch is told.

        An origin may be shallow itself. A whole mirror of it is as shallow, and the others ask for a depth always; see
        :mod:`build_tools.sources.partial`.
        """
        if self.depth is None and not self.partial:
            return ("--update-shallow",)
        return (f"--depth={self.depth}" if self.depth else ALL_OF_IT[0], "--filter=blob:none" if self.partial else "--no-filter")


WHOLE: Final = History()

_FACTS: Final = History(depth=1, partial=True, files=False)
"""What it takes to say which submodules a commit has, and to read a few of its files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteRefs:
    """What an origin offers: commits by full ref name (tags as the commits they stand for), and the branch that HEAD names."""

    commits: Mapping[str, CommitId]
    head: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mirror:
    """A mirror of one origin.

    Parameters
    ----------
    url
        The origin's address.
    repository
        The bare repository below the cache; made by the first fetch.
    say
        Takes one line of talk.
    note
        Takes the line that says what is being fetched; ``say`` when None.
    history
        How much of the history it holds.
    """

    url: str
    repository: Repository
    say: Callable[[str], None]
    note: Callable[[str], None] | None = None
    history: History = WHOLE

    @property
    def folder(self) -> Path:
        """The bare repository's folder."""
        return self.repository.folder

    def remote_refs(self) -> RemoteRefs:
        """Return what the origin offers now.

        Raises
        ------
        HipwrightError
            ``origin-unreachable``.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        arguments = ("ls-remote", "--symref", "--", self.url)
        done = self.repository.git.ask(*arguments, url=self.url, say=self.say, cwd=self.folder.parent)
        if done.returncode != 0:
            raise unreachable(self.url, done.stderr.decode("utf-8", "replace"))
        commits: dict[str, CommitId] = {}
        head = None
        for line in done.stdout.decode("utf-8", "surrogateescape").splitlines():
            value, _, name = line.partition("\t")
            if not value.startswith("ref: "):
                # The commit of an annotated tag is listed after the tag itself, as name^{}.
                commits[name.removesuffix("^{}")] = CommitId(value)
            elif name == "HEAD":
                head = value.removeprefix("ref: ")
        return RemoteRefs(commits=commits, head=head)

    def fetch(self, commit: CommitId, *, ref: str | None = None) -> Repository:
        """Bring a commit with its history into the mirror, if it is not there yet, and return the mirror's repository.

        Parameters
        ----------
        commit
            The full commit id.
        ref
            The full name of the branch or tag that holds it, when it is known.

        Raises
        ------
        HipwrightError
            ``origin-unreachable``, or ``unknown-ref`` when the origin can be read and does not have the commit.
        """
        with self.held():
            if not self._has(commit):
                self._fetch(commit, ref)
        return self.repository

    def facts(self, commit: CommitId, ref: str | None = None) -> Repository:
        """Return a repository in which a commit's submodules and files can be read, without its history where that is not here yet.

        It is for reading what the commit holds, with :mod:`build_tools.sources.contents`: files come over the network when they are read.

        Parameters
        ----------
        commit, ref
            As for :meth:`fetch`.

        Raises
        ------
        HipwrightError
            As :meth:`fetch`.
        """
        whole = self.with_history(WHOLE)
        if whole.folder.is_dir() and whole.repository.has_commit(commit):
            return whole.repository
        try:
            return self.with_history(_FACTS).fetch(commit, ref=ref)
        except _WholeOnlyError:
            return whole.fetch(commit, ref=ref)

    def with_history(self, history: History) -> Mirror:
        """Return the mirror of the same origin that holds another amount of history."""
        folder = self.folder.with_name(f"{self.folder.name.removesuffix(f'{self.history.suffix}.git')}{history.suffix}.git")
        source = None if history.files else Source(url=self.url, say=self.say)
        repository = replace(self.repository.git.bare(folder), source=source)
        return replace(self, repository=repository, history=history)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from changing the mirror for the block, and make the mirror when it is not there."""
        lock = self.folder.with_suffix(".lock")
        with files.hold(lock, purpose=f"fetching {redact(self.url)}", wait=True, on_wait=self.say):
            if not self.folder.is_dir():
                with files.finished_folder(self.folder) as partial:
                    made = self.repository.git.make_bare(partial, head=UNBORN)
                    if self.history.partial:
                        # Only a remote with a name can be asked for the rest later.
                        made.capture("config", "remote.origin.url", self.url)
            yield

    def _has(self, commit: CommitId) -> bool:
        if self.history == WHOLE:
            return self.repository.has_commit(commit)
        return self.repository.succeeds("rev-parse", "--verify", "--quiet", f"{_COMMITS}{commit}")

    def _holds(self, commit: CommitId) -> bool:
        """Return whether the last fetch brought a commit: the commit alone may be there from one that was killed."""
        return self.repository.has_commit(commit, history=self.history != WHOLE)

    def _fetch(self, commit: CommitId, ref: str | None) -> None:
        (self.note or self.say)(f"fetching {redact(self.url)}")
        for pattern in _LEFT_OVERS:
            for left_over in self.folder.glob(pattern):
                files.remove_tree(left_over)
        self._fetch_commit(commit, ref)
        if self.history == WHOLE:
            return
        if self.history.partial and self.history.files:
            bring_files(self.repository, commit, url=self.url, say=self.say)
        self.repository.set_refs({f"{_COMMITS}{commit}": commit})

    def _fetch_commit(self, commit: CommitId, ref: str | None) -> None:
        by_name = f"+{ref}:{ref}" if ref is not None else None
        if by_name is not None and self.history.files:
            self._fetch_spec(by_name)
            if self._holds(commit):
                return
        done = self._fetch_spec(f"+{commit}:{_COMMITS if self.history == WHOLE else _FETCHED}{commit}")
        if self._holds(commit):
            return
        kind = self.repository.kind_of(commit)
        if kind in {"tree", "blob"}:
            named = f"{ref} of {redact(self.url)} is" if ref is not None else f"{commit} of {redact(self.url)} is"
            hint = "sources are checked out from commits: name a branch, another tag or a commit"
            raise HipwrightError("unknown-ref", f"{named} a {kind}, not a commit", hint=hint)
        said = done.stderr.decode("utf-8", "replace").strip()
        if self.history != WHOLE and any(words in said for words in _NO_PART):
            message = f"{redact(self.url)} gives its history as a whole only"
            raise _WholeOnlyError("origin-unreachable", message, hint="leave out --depth and --partial", excerpt=said)
        if "unadvertised object" in said:
            # This server gives no commit by its id alone: everything that it offers is the last try.
            done = self._fetch_spec("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            if self._holds(commit):
                return
        # Tells an origin that cannot be read from one that does not have the commit.
        self.remote_refs()
        raise HipwrightError("unknown-ref", f"{redact(self.url)} has no commit {commit}", excerpt=said or None)

    def _fetch_spec(self, *specs: str) -> Completed:
        self._make_room(specs)
        place = "origin" if self.history.partial else self.url
        return self.repository.ask("fetch", *_PLAIN, *self.history.options, "--", place, *specs, url=self.url, say=self.say)

    def _make_room(self, specs: tuple[str, ...]) -> None:
        """Drop refs that stand in the way of a new one: ``release`` of an origin that now has ``release/1.0``, and the other way round."""
        held = self.repository.refs("refs/")
        for spec in specs:
            wanted = spec.partition(":")[2].removeprefix("refs/")
            for name in held:
                if name.startswith(f"{wanted}/") or wanted.startswith(f"{name}/"):
                    self.repository.capture("update-ref", "-d", f"refs/{name}")


class _WholeOnlyError(HipwrightError):
    """An origin gives no part of its history."""


def say_nothing(_line: str) -> None:
    """Say nothing of what a mirror does: its progress is told another way, or nothing is fetched."""


def mirror_of(
    url: str,
    *,
    cache: Path,
    git: Git,
    say: Callable[[str], None],
    note: Callable[[str], None] | None = None,
    history: History = WHOLE,
) -> Mirror:
    """Return the mirror of an origin; nothing is fetched yet."""
    # Servers take an address with .git or a slash at its end for one without: both have one mirror.
    plain = url.rstrip("/")
    plain = plain if plain.endswith("/.git") else plain.removesuffix(".git")
    last = redact(plain).rpartition("/")[2].removesuffix(".git")
    name = f"{_NAME_CHARACTERS.sub('-', last)[:40]}-{digest.of_bytes(plain.encode('utf-8', 'surrogateescape'))[:16]}.git"
    whole = Mirror(url=url, repository=git.bare(cache / "git" / name), say=say, note=note)
    return whole if history == WHOLE else whole.with_history(history)
