"""Bringing commits into a tree's own repositories, from the local mirrors of their origins; no work folder changes.

A repository holds as much history as the mirror that it came from. One with all of it stays so, whatever is asked for later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.shown import shown
from build_tools.sources.lost import of_submodule
from build_tools.sources.mirror import ALL_OF_IT, UNBORN, WHOLE, History, Mirror, mirror_of, say_nothing
from build_tools.sources.modules import ROOT, temporary_name
from build_tools.sources.parallel import for_each
from build_tools.sources.partial import bring_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from build_tools.sources.git import Git, Repository
    from build_tools.sources.modules import Module
    from build_tools.types import CommitId

__all__ = ["Bringer"]

_BRANCHES: Final = "+refs/heads/*:refs/remotes/origin/*"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bringer:
    """Where a tree's commits come from, and how much of their history.

    Parameters
    ----------
    tree
        The tree.
    cache
        The cache folder with the mirrors.
    git
        How git is run.
    refs
        Full names of refs that hold commits, by address and commit, where they are known.
    history
        How much history is fetched for repositories that do not have all of it.
    say
        Takes one line of talk.
    progress
        Takes what is being done to how many of how many.
    """

    tree: Path
    cache: Path
    git: Git
    refs: Mapping[tuple[str, CommitId], str]
    history: History = WHOLE
    say: Callable[[str], None]
    progress: Callable[[str, int, int], None] | None = None

    def bring_all(self, wanted: Sequence[tuple[Module, CommitId]], *, before: int, total: int) -> None:
        """Bring commits into several modules, a few at a time; ``before`` of ``total`` modules have theirs already."""
        progress = self.progress
        told = None if progress is None else lambda done: progress("modules brought into the tree", before + done, total)
        for_each(lambda pair: self.bring(*pair), wanted, place=lambda pair: pair[0].entry.url, told=told)

    def bring(self, module: Module, commit: CommitId) -> None:
        """Make a module's repository when it is not there, and bring a commit into it.

        Raises
        ------
        HipwrightError
            ``origin-unreachable``; ``unknown-ref`` when the root's origin lacks the commit, and ``submodule-commit-missing`` when a
            submodule's does.
        """
        try:
            self._bring(module, commit)
        except HipwrightError as error:
            if module.path == ROOT:
                raise
            parent = "the root of the tree" if module.entry.parent in {None, ROOT} else shown(str(module.entry.parent))
            raise of_submodule(
                error,
                project=self.tree.name,
                path=module.path,
                commit=commit,
                url=module.entry.url,
                recorded_by=f"what is locked of {parent}",
            ) from error

    def _bring(self, module: Module, commit: CommitId) -> None:
        url = self.git.kept_place_of(module.entry.url)
        if not (module.git_dir / "HEAD").is_file():
            temporary = temporary_name(self.tree, "clone")
            self.clone(module.entry.url, commit, temporary, whole=self._tree_is_whole())
            module.git_dir.parent.mkdir(parents=True, exist_ok=True)
            (temporary / ".git").rename(module.git_dir)
            files.remove_tree(temporary)
            return
        if module.store.capture("config", "--get", "remote.origin.url", check=False).text != url:
            module.store.capture("remote", "set-url", "origin", url)
        partial = _is_partial(module.store)
        shallow = (module.git_dir / "shallow").exists()
        if not module.store.has_commit(commit, history=shallow):
            history = self.history if partial or shallow else WHOLE
            self._receive(module.store, self._mirror(module.entry.url, commit, history), commit)
        elif partial:
            self._complete(module.store, module.entry.url, commit)

    def clone(self, url: str, commit: CommitId, folder: Path, *, whole: bool = False) -> None:
        """Clone a mirror, sharing its files by hard links where the disk allows, with the real origin recorded.

        ``whole`` is for a module of a tree that has all the history.
        """
        mirror = self._mirror(url, commit, WHOLE if whole else self.history)
        if mirror.history == WHOLE:
            with mirror.held():
                # Asked for by name, hard links must be possible: the cache may lie on another disk.
                arguments = ("--quiet", "--no-checkout", "--template=", "--", mirror.folder, folder)
                self.git.capture("clone", *arguments, cwd=folder.parent)
            repository = self.git.at(folder)
            repository.capture("remote", "set-url", "origin", self.git.kept_place_of(url))
            repository.capture("config", "--remove-section", f"branch.{UNBORN.removeprefix('refs/heads/')}", check=False)
        else:
            self.git.capture("init", "--quiet", "--template=", "--", folder, cwd=folder.parent)
            repository = self.git.at(folder)
            repository.capture("remote", "add", "origin", self.git.kept_place_of(url))
            self._receive(repository, mirror, commit)
        # The mirror's HEAD names no branch; a plain repository's does.
        repository.capture("symbolic-ref", "HEAD", "refs/heads/main")

    def _tree_is_whole(self) -> bool:
        return not (self.tree / ".git" / "shallow").exists() and not _is_partial(self.git.at(self.tree))

    def _receive(self, repository: Repository, mirror: Mirror, commit: CommitId) -> None:
        """Fetch a commit with as much history as a mirror has; a repository of less gets all when the mirror has all."""
        partial = _is_partial(repository) or mirror.history.partial
        amount = mirror.history.options
        if mirror.history == WHOLE and (partial or (repository.git_dir / "shallow").exists()):
            amount = ALL_OF_IT
        arguments = ("--quiet", "--no-tags", "--no-write-fetch-head", *amount, "--", "origin", _BRANCHES, commit)
        self._at(repository, mirror).capture("fetch", *arguments)
        if partial:
            self._complete(repository, mirror.url, commit, mirror)

    def _complete(self, repository: Repository, url: str, commit: CommitId, mirror: Mirror | None = None) -> None:
        """Bring the files of a commit that a repository without earlier files lacks."""
        mirror = mirror or self._mirror(url, commit, self.history)
        bring_files(self._at(repository, mirror), commit, url=url, say=self.say)

    def _at(self, repository: Repository, mirror: Mirror) -> Repository:
        """Return a repository whose git finds the origin in the mirror; what it remembers of the origin stays true."""
        return replace(repository, git=self.git.redirected({self.git.kept_place_of(mirror.url): str(mirror.folder)}))

    def _mirror(self, url: str, commit: CommitId, history: History) -> Mirror:
        mirror = mirror_of(url, cache=self.cache, git=self.git, say=self.say, note=self._note, history=history)
        mirror.fetch(commit, ref=self.refs.get((url, commit)))
        return mirror

    @property
    def _note(self) -> Callable[[str], None] | None:
        return None if self.progress is None else say_nothing


def _is_partial(repository: Repository) -> bool:
    return repository.capture("config", "--get", "remote.origin.promisor", check=False).text == "true"
