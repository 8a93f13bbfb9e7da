"""One bare mirror per origin below the cache: fetched once, shared by all source trees, safe for two processes at a time."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.types import CommitId
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from build_tools.process import Completed
    from build_tools.sources.git import Git, Repository

__all__ = ["UNBORN", "Mirror", "RemoteRefs", "mirror_of"]

UNBORN: Final = "refs/heads/hipwright-none"
"""What a mirror's HEAD names: no branch, so that clones begin without one."""

_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteRefs:
    """What an origin offers: commits by full ref name (tags as the commits they stand for), and the branch that HEAD names."""

    commits: Mapping[str, CommitId]
    head: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Mirror:
    """The mirror of one origin.

    Parameters
    ----------
    url
        The origin's address.
    repository
        The bare repository below the cache; made by the first fetch.
    say
        Takes one line of talk.
    """

    url: str
    repository: Repository
    say: Callable[[str], None]

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
        done = self.repository.git.capture(*arguments, cwd=self.folder.parent, check=False)
        if done.returncode != 0:
            raise self._unreachable(done)
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
            if not self.repository.has_commit(commit):
                self._fetch(commit, ref)
        return self.repository

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from changing the mirror for the block, and make the mirror when it is not there."""
        lock = self.folder.with_suffix(".lock")
        with files.hold(lock, purpose=f"fetching {redact(self.url)}", wait=True, on_wait=self.say):
            if not self.folder.is_dir():
                with files.finished_folder(self.folder) as partial:
                    self.repository.git.make_bare(partial, head=UNBORN)
            yield

    def _fetch(self, commit: CommitId, ref: str | None) -> None:
        self.say(f"fetching {redact(self.url)}")
        if ref is not None:
            self._fetch_spec(f"+{ref}:{ref}")
            if self.repository.has_commit(commit):
                return
        done = self._fetch_spec(f"+{commit}:refs/hipwright/commits/{commit}")
        if self.repository.has_commit(commit):
            return
        said = done.stderr.decode("utf-8", "replace").strip()
        if "unadvertised object" in said:
            # This server gives no commit by its id alone: everything that it offers is the last try.
            done = self._fetch_spec("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            if self.repository.has_commit(commit):
                return
        # Tells an origin that cannot be read from one that does not have the commit.
        self.remote_refs()
        raise HipwrightError("unknown-ref", f"{redact(self.url)} has no commit {commit}", excerpt=said or None)

    def _fetch_spec(self, *specs: str) -> Completed:
        self._make_room(specs)
        return self.repository.capture(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", self.url, *specs, check=False
        )

    def _make_room(self, specs: tuple[str, ...]) -> None:
        """Drop refs that stand in the way of a new one: ``release`` of an origin that now has ``release/1.0``, and the other way round."""
        held = self.repository.refs("refs/")
        for spec in specs:
            wanted = spec.partition(":")[2].removeprefix("refs/")
            for name in held:
                if name.startswith(f"{wanted}/") or wanted.startswith(f"{name}/"):
                    self.repository.capture("update-ref", "-d", f"refs/{name}")

    def _unreachable(self, done: Completed) -> HipwrightError:
        said = done.stderr.decode("utf-8", "replace").strip()
        message = f"{redact(self.url)} cannot be read"
        hint = "check the address, the network and your access to it"
        return HipwrightError("origin-unreachable", message, hint=hint, excerpt=said[-2000:] or None)


def mirror_of(url: str, *, cache: Path, git: Git, say: Callable[[str], None]) -> Mirror:
    """Return the mirror of an origin; nothing is fetched yet."""
    last = redact(url).rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = f"{_NAME_CHARACTERS.sub('-', last)[:40]}-{digest.of_bytes(url.encode('utf-8', 'surrogateescape'))[:16]}.git"
    return Mirror(url=url, repository=git.bare(cache / "git" / name), say=say)
