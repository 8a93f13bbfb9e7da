"""Git, shut off from the person's configuration: the same inputs give the same commit ids on every machine.

Nothing is read from the person's or the system's settings (``GIT_CONFIG_GLOBAL`` names a file of ours, git 2.32), and what a
repository's own settings could change is overruled for each process (``GIT_CONFIG_COUNT``, git 2.31). No hooks, no signing, no prompts, no line-end conversion
beyond what the tree's own ``.gitattributes`` say.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.sources.retry import retried
from build_tools.types import CommitId, TreeId, is_commit_id
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.process import Completed, Runner

__all__ = ["EMAIL", "IDENTITY", "MINIMUM", "CommitFacts", "Git", "Repository", "Source"]

IDENTITY: Final = "hipwright"
"""The author and committer of commits that hipwright makes."""

EMAIL: Final = "hipwright@localhost"
"""The address that tells hipwright's commits from a person's."""

MINIMUM: Final = (2, 32)
"""The oldest git that takes the settings which shut the person's out."""

_SETTINGS: Final = (
    ("checkout.workers", "0"),
    ("commit.gpgSign", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.autocrlf", "false"),
    ("core.eol", "lf"),
    ("core.excludesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.longPaths", "true"),
    ("core.safecrlf", "false"),
    # A file of the order that is not there ends git, for commands too that show no difference.
    ("diff.orderFile", "/dev/null"),
    ("fetch.recurseSubmodules", "false"),
    # A small fetch that is cut off would leave commits without their files behind; a pack is there whole or not at all.
    ("fetch.unpackLimit", "1"),
    ("gc.auto", "0"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "120"),
    ("i18n.commitEncoding", "utf-8"),
    ("i18n.logOutputEncoding", "utf-8"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.file.allow", "always"),
    ("protocol.version", "2"),
    ("submodule.recurse", "false"),
)

_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("isolated.gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=30",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_AUTHOR_NAME": IDENTITY,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": IDENTITY,
    "GIT_COMMITTER_EMAIL": EMAIL,
    "LC_ALL": "C",
}

_OFFLINE: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""Keeps git from fetching what a repository of partial history lacks; gits before 2.45 know the second alone."""

_VERSION = re.compile(r"git version (\d+)\.(\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitFacts:
    """What a commit always says: its tree, and its committer date in seconds since 1970."""

    tree: TreeId
    date: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Git:
    """Runs git with a fixed configuration and identity.

    Parameters
    ----------
    runner
        Starts the program.
    redirects
        URL prefixes and where git finds them on this machine (``url.<place>.insteadOf``); for origins that were imported.
    facts
        Trees and committer dates of commits that were seen: they never change, and asking costs a process.
    seen
        What else was read of commits and trees, by its kind and their id; for the same reason.
    pause
        Waits so many seconds before an origin is asked once more.
    """

    runner: Runner
    redirects: Mapping[str, str] = field(default_factory=dict)
    facts: dict[CommitId, CommitFacts] = field(default_factory=dict, repr=False, compare=False)
    seen: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False, compare=False)
    pause: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)

    def redirected(self, redirects: Mapping[str, str]) -> Git:
        """Return the same git that finds further URL prefixes elsewhere."""
        return replace(self, redirects={**self.redirects, **redirects})

    def place_of(self, url: str) -> str:
        """Return where git finds a URL: the URL itself, or what it is redirected to."""
        prefix = max((known for known in self.redirects if url.startswith(known)), key=len, default=None)
        return url if prefix is None else self.redirects[prefix] + url.removeprefix(prefix)

    def kept_place_of(self, url: str) -> str:
        """Return what a repository remembers as the place of a URL: where git finds it, without secrets."""
        return redact(self.place_of(url))

    def environment(self) -> dict[str, str]:
        """Return what git's processes get on top of the runner's environment."""
        pairs = [*_SETTINGS, *((f"url.{place}.insteadOf", prefix) for prefix, place in sorted(self.redirects.items()))]
        environment = {**_ENVIRONMENT, "GIT_CONFIG_COUNT": str(len(pairs))}
        for number, (key, value) in enumerate(pairs):
            environment[f"GIT_CONFIG_KEY_{number}"] = key
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        certificates = self.runner.environment.get("SSL_CERT_FILE")
        if certificates:
            environment["GIT_SSL_CAINFO"] = certificates
        return environment

    def capture(
        self,
        *arguments: str | Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        check: bool = True,
        code: str = "command-failed",
        what: str | None = None,
    ) -> Completed:
        """Run git and return its output as bytes.

        Parameters
        ----------
        arguments
            The subcommand and its arguments.
        cwd
            The folder that it runs in.
        env
            Names added to the fixed environment.
        stdin
            What it reads.
        check
            Whether a non-zero exit is an error.
        code, what
            The error code of such a failure, and what it was about.

        Raises
        ------
        HipwrightError
            ``missing-tool`` without git, or ``code`` with the last lines of stderr.
        """
        return self.runner.capture(
            ["git", *arguments],
            cwd=cwd,
            env={**self.environment(), **(env or {})},
            stdin=stdin,
            check=check,
            code=code,
            what=what or f"git {arguments[0]}",
        )

    def ask(
        self,
        *arguments: str | Path,
        url: str,
        say: Callable[[str], None],
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> Completed:
        """Run git to ask an origin, again where a failure can pass by itself; other failures are returned like a success.

        Parameters
        ----------
        url
            The origin's address, for people.
        say
            Takes one line of talk.
        arguments, cwd, env, stdin
            As for :meth:`capture`.

        Raises
        ------
        HipwrightError
            ``origin-unreachable`` when all attempts failed, ``missing-tool`` without git.
        """

        def attempt() -> Completed:
            return self.capture(*arguments, cwd=cwd, env=env, stdin=stdin, check=False)

        return retried(attempt, url=url, pause=self.pause, say=say)

    def at(self, folder: Path) -> Repository:
        """Return the repository with the work folder ``folder``; repositories around it are never taken for it."""
        return Repository(git=self, folder=folder, git_dir=folder / ".git", work_tree=folder)

    def bare(self, folder: Path) -> Repository:
        """Return the repository ``folder``, used without a work folder."""
        return Repository(git=self, folder=folder, git_dir=folder, work_tree=None)

    def make_bare(self, folder: Path, *, head: str) -> Repository:
        """Make an empty repository without a work folder in ``folder``; its HEAD names the ref ``head``."""
        self.capture("init", "--quiet", "--bare", "--template=", folder, cwd=folder.parent)
        repository = self.bare(folder)
        repository.capture("symbolic-ref", "HEAD", head)
        return repository

    def require(self, *, cwd: Path) -> str:
        """Return git's version; ``cwd`` is any folder that is there.

        Raises
        ------
        HipwrightError
            ``missing-tool`` when there is no git, or one that is too old to shut the person's configuration out.
        """
        if self.runner.find("git") is None:
            raise HipwrightError("missing-tool", "there is no program git", hint="install git")
        text = self.runner.capture(["git", "version"], cwd=cwd).text
        found = _VERSION.match(text)
        if found is None or (int(found[1]), int(found[2])) < MINIMUM:
            wanted = ".".join(str(part) for part in MINIMUM)
            raise HipwrightError("missing-tool", f"{text} is too old; {wanted} or newer is needed", hint="install a newer git")
        return text.removeprefix("git version ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """The origin of a repository in which files are missing until they are read; ``say`` takes one line of talk."""

    url: str
    say: Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """One repository, named by its folders, so that git never looks for another one above it.

    Parameters
    ----------
    git
        How git is run.
    folder
        The folder that git runs in.
    git_dir
        The repository itself: ``.git`` (a folder, or a submodule's file) or a bare repository.
    work_tree
        The work folder; None for a bare repository.
    env
        Names that every process for this repository gets.
    source
        Where :func:`build_tools.sources.partial.bring_objects` gets what it lacks; None for a repository that lacks nothing. git itself
        fetches nothing for one that has a source.
    """

    git: Git
    folder: Path
    git_dir: Path
    work_tree: Path | None
    env: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None

    def with_env(self, env: Mapping[str, str]) -> Repository:
        """Return the same repository with further names in its processes' environment."""
        return replace(self, env={**self.env, **env})

    def environment(self) -> dict[str, str]:
        """Return what git's processes for this repository get."""
        own = {"GIT_DIR": str(self.git_dir)}
        if self.work_tree is not None:
            own["GIT_WORK_TREE"] = str(self.work_tree)
        return {**own, **self.env}

    def capture(
        self,
        *arguments: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        check: bool = True,
        code: str = "command-failed",
        what: str | None = None,
    ) -> Completed:
        """Run git for this repository; parameters and errors as for :meth:`Git.capture`."""
        offline = _OFFLINE if self.source is not None else {}
        whole = {**self.environment(), **offline, **(env or {})}
        label = what or f"git {arguments[0]} in {self.folder}"
        return self.git.capture(*arguments, cwd=self.folder, env=whole, stdin=stdin, check=check, code=code, what=label)

    def ask(
        self,
        *arguments: str | Path,
        url: str,
        say: Callable[[str], None],
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> Completed:
        """Run git for this repository to ask an origin; parameters and errors as for :meth:`Git.ask`."""
        return self.git.ask(*arguments, url=url, say=say, cwd=self.folder, env={**self.environment(), **(env or {})}, stdin=stdin)

    def text(self, *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: bytes | None = None) -> str:
        """Run git and return its output as text without the final newline."""
        return self.capture(*arguments, env=env, stdin=stdin).text

    def records(self, *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: bytes | None = None) -> list[bytes]:
        """Run git and return its NUL-separated output; paths stay bytes."""
        return [part for part in self.capture(*arguments, env=env, stdin=stdin).stdout.split(b"\0") if part]

    def succeeds(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> bool:
        """Run git and return whether it ended well."""
        return self.capture(*arguments, env=env, check=False).returncode == 0

    def has_commit(self, commit: CommitId, *, history: bool = False) -> bool:
        """Return whether the repository holds a commit, with ``history`` all before it as well; no network is asked for it."""
        words = ("rev-list", "--quiet", f"{commit}^{{commit}}", "--") if history else ("cat-file", "-e", f"{commit}^{{commit}}")
        return self.succeeds(*words, env=_OFFLINE)

    def commit_of(self, name: str) -> CommitId | None:
        """Return the commit that a name stands for, or None when there is none."""
        done = self.capture("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
        return CommitId(done.text) if done.returncode == 0 else None

    def kind_of(self, object_id: str) -> str | None:
        """Return what an object is, or stands for if it is a tag: ``commit``, ``tree`` or ``blob``; None when it is not here."""
        done = self.capture("cat-file", "-t", f"{object_id}^{{}}", env=_OFFLINE, check=False)
        return done.text if done.returncode == 0 else None

    def head(self) -> CommitId | None:
        """Return the commit that HEAD stands for, or None when there is none yet."""
        try:
            text = (self.git_dir / "HEAD").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            text = ""
        return CommitId(text) if is_commit_id(text) else self.commit_of("HEAD")

    def tree_of(self, commit: CommitId) -> TreeId:
        """Return a commit's tree."""
        return self._facts(commit).tree

    def date_of(self, commit: CommitId) -> int:
        """Return a commit's committer date in seconds since 1970."""
        return self._facts(commit).date

    def _facts(self, commit: CommitId) -> CommitFacts:
        known = self.git.facts.get(commit)
        if known is None:
            tree, date = self.text("show", "--no-patch", "--format=%T %ct", commit, "--").split()
            known = self.git.facts[commit] = CommitFacts(tree=TreeId(tree), date=int(date))
        return known

    def is_ancestor(self, old: CommitId, new: CommitId) -> bool:
        """Return whether ``old`` is ``new`` or lies in its history."""
        return old == new or self.succeeds("merge-base", "--is-ancestor", old, new)

    def refs(self, prefix: str) -> dict[str, CommitId]:
        """Return the refs below a prefix (``refs/hipwright/``), without the prefix."""
        form = "--format=%(objectname) %(refname) %(tree) %(committerdate:unix)"
        found = {}
        for line in self.text("for-each-ref", form, prefix).splitlines():
            commit, name, *facts = line.split(" ")
            found[name.removeprefix(prefix)] = CommitId(commit)
            if all(facts):
                self.git.facts[CommitId(commit)] = CommitFacts(tree=TreeId(facts[0]), date=int(facts[1]))
        return found

    def set_refs(self, values: Mapping[str, str | None]) -> None:
        """Set refs (full names) all at once; those with no value go away, if they are there."""
        lines = "".join(
            f"delete {name}\0\0" if value is None else f"update {name}\0{value}\0\0" for name, value in sorted(values.items())
        )
        self.capture("update-ref", "--no-deref", "-z", "--stdin", stdin=lines.encode())

    def commit(self, tree: TreeId, *, parent: CommitId, message: str, date: int) -> CommitId:
        """Make a commit of ours: fixed identity, ``date`` (seconds since 1970, UTC) for both dates; nothing moves to it."""
        stamp = f"@{date} +0000"
        env = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        commit = CommitId(self.text("commit-tree", tree, "-p", parent, "-F", "-", env=env, stdin=message.encode()))
        self.git.facts[commit] = CommitFacts(tree=tree, date=date)
        return commit
