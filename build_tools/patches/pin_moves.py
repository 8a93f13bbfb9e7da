"""Base patches that move submodules: which submodules a tree has once they are applied, and that their origins have the commits.

A base patch may set a submodule's commit, add, remove or rename a submodule, or change its address in ``.gitmodules``. The series is
tried on an index beside the mirror, so no source tree is needed and nothing is left behind.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.patches.conflict import what_failed
from build_tools.patches.hints import drop_line
from build_tools.patches.sections import PinChange, may_move_submodules, pin_changes, sections
from build_tools.patches.upstream import has_result
from build_tools.receipts.lock import SubmodulePin
from build_tools.shown import shown
from build_tools.sources.contents import read_file, submodules
from build_tools.sources.lost import of_submodule
from build_tools.sources.mirror import mirror_of
from build_tools.sources.modules import ROOT, in_tree
from build_tools.sources.parallel import for_each
from build_tools.sources.told import called
from build_tools.sources.urls import submodule_address
from build_tools.types import CommitId, TreeId
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.patches.series import Patch, Series
    from build_tools.receipts.lock import LockedSources
    from build_tools.sources.git import Git, Repository
    from build_tools.types import Platform

__all__ = ["submodule_paths", "submodules_after_base"]

_NO_ADDRESSES: Final[Mapping[str, str]] = {}


def submodule_paths(series: Series, platform: Platform) -> frozenset[str]:
    """Return the paths in the tree at which the base patches of a series may put submodules."""
    found = set()
    for patch in series.patches:
        if patch.phase == "base" and patch.applies_on(platform):
            named = [part.new for part in sections(patch.data) if part.new and (part.is_gitlink or part.is_rename)]
            found |= {in_tree(patch.module, os.fsdecode(name)) for name in named}
    return frozenset(found)


def submodules_after_base(
    series: Series,
    sources: LockedSources,
    *,
    project: str,
    cache: Path,
    git: Git,
    say: Callable[[str], None],
    whole: bool,
    platform: Platform,
    submodule_urls: Mapping[str, str] = _NO_ADDRESSES,
) -> tuple[SubmodulePin, ...]:
    """Return all submodules of a tree, nested ones too, once the base patches of a series are applied, sorted by path.

    A submodule's own base patches add commits of ours on top; what is returned is the commit below them, which its origin has.

    Parameters
    ----------
    series
        The series of the tree's patch line.
    sources
        The exact sources that it applies to.
    project
        The project that they are of.
    cache
        The cache folder; the commits that patches move to are fetched into its mirrors.
    git
        The origin's git.
    say
        Takes one line of talk.
    whole
        Whether commits are fetched with their history, for a checkout that follows.
    platform
        Patches for other platforms do not count.
    submodule_urls
        Addresses that take the place of those in ``.gitmodules``, by the submodule's path in the tree.

    Raises
    ------
    HipwrightError
        ``submodule-commit-missing`` with the patch's file and line when a submodule's origin lacks the commit that a patch moves it to,
        ``patch-conflict`` when a patch of a module whose submodules move does not apply, ``bad-source-tree`` when ``.gitmodules`` cannot
        be used afterwards, or ``origin-unreachable``.
    """
    base = [patch for patch in series.patches if patch.phase == "base" and patch.applies_on(platform)]
    if not any(may_move_submodules(patch.data) for patch in base):
        return sources.submodules
    return _Search(
        series=series,
        sources=sources,
        project=project,
        cache=cache,
        git=git,
        say=say,
        whole=whole,
        platform=platform,
        addresses=submodule_urls,
    ).run()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """A module on the way: where it is, the commit that its parent records, and what says so."""

    path: str
    url: str
    commit: CommitId
    recorded_by: _Found | None = None
    patch: Patch | None = None
    change: PinChange | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Search:
    """One series on one set of sources, level by level: what a moved submodule contains is known only when its commit is here."""

    series: Series
    sources: LockedSources
    project: str
    cache: Path
    git: Git
    say: Callable[[str], None]
    whole: bool
    platform: Platform
    addresses: Mapping[str, str]

    def run(self) -> tuple[SubmodulePin, ...]:
        level = [_Found(path=ROOT, url=self.sources.origin, commit=self.sources.commit)]
        pins: list[SubmodulePin] = []
        while level:
            for_each(self._fetch, level, place=lambda found: found.url)
            level = [child for parent in level for child in self._children(parent)]
            pins += [SubmodulePin(path=child.path, url=child.url, commit=child.commit) for child in level]
        return tuple(sorted(pins, key=lambda pin: pin.path))

    def _repository(self, found: _Found) -> Repository:
        mirror = mirror_of(found.url, cache=self.cache, git=self.git, say=self.say)
        ref = self.sources.full_ref if found.path == ROOT else None
        return mirror.fetch(found.commit, ref=ref) if self.whole else mirror.facts(found.commit, ref)

    def _fetch(self, found: _Found) -> None:
        try:
            self._repository(found)
        except HipwrightError as error:
            if found.recorded_by is None:
                raise
            raise self._lost(found, found.recorded_by, error) from error

    def _lost(self, found: _Found, parent: _Found, error: HipwrightError) -> HipwrightError:
        patch, change = found.patch, found.change
        if error.code.name == "unknown-ref" and patch is not None and change is not None and change.commit == found.commit:
            message = (
                f"{patch.name} moves the submodule {shown(found.path)} to commit {found.commit}, "
                f"which {redact(found.url)} does not have"
            )
            where = Where(file=patch.file, line=change.line, module=found.path)
            hint = "a patch can only name a commit that the submodule's origin has: push it there, or correct the patch"
            return HipwrightError("submodule-commit-missing", message, where=where, hint=hint, excerpt=error.excerpt)
        recorder = f"commit {parent.commit} of {redact(parent.url)} with its base patches"
        return of_submodule(
            error, project=self.project, path=found.path, commit=found.commit, url=found.url, recorded_by=recorder
        )

    def _children(self, parent: _Found) -> list[_Found]:
        repository = self._repository(parent)
        patches = self.series.select("base", parent.path, self.platform)
        if any(may_move_submodules(patch.data) for patch in patches):
            content: CommitId | TreeId = self._patched(repository, parent, patches)
        else:
            content = parent.commit
        changes = {change.path: (patch, change) for patch in patches for change in pin_changes(patch.data)}
        children = []
        for submodule in submodules(repository, content):
            path = in_tree(parent.path, submodule.path)
            patch, change = changes.get(submodule.path.encode(), (None, None))
            children.append(
                _Found(
                    path=path,
                    url=self.addresses.get(path) or submodule_address(parent.url, submodule.url, path=path, project=self.project),
                    commit=submodule.commit,
                    recorded_by=parent,
                    patch=patch,
                    change=change,
                )
            )
        return children

    def _patched(self, repository: Repository, module: _Found, patches: tuple[Patch, ...]) -> TreeId:
        """Return the tree of a module with its base patches; only the files that they change are read."""
        with files.temporary_folder(self.cache, "patched") as scratch:
            env = {"GIT_INDEX_FILE": str(scratch / "index")}
            for part in (section for patch in patches for section in sections(patch.data)):
                if part.old is not None:
                    # A mirror of facts has a file once it was read.
                    read_file(repository, module.commit, os.fsdecode(part.old))
            repository.capture("read-tree", module.commit, env=env)
            for patch in patches:
                apply = ("apply", "--cached", "--whitespace=nowarn")
                done = repository.capture(*apply, "--", patch.file, env=env, check=False)
                if done.returncode != 0 and not self._is_there(repository, patch, env):
                    what, where, hunk = what_failed(patch, done.stderr)
                    message = f"{patch.name} does not apply to {called(module.path)} at commit {module.commit}: {what}"
                    hint = f"change the patch, or drop it: {drop_line(patch.name)}; or choose another ref"
                    excerpt = None if hunk is None else hunk.text.decode("utf-8", "replace")
                    raise HipwrightError("patch-conflict", message, where=where, hint=hint, excerpt=excerpt)
            # A mirror without the contents of all files has those that count.
            return TreeId(repository.text("write-tree", "--missing-ok", env=env))

    def _is_there(self, repository: Repository, patch: Patch, env: Mapping[str, str]) -> bool:
        """Return whether the sources have a patch already: it is left out then, as it is when the series is applied."""
        if has_result(repository, patch, repository.text("write-tree", "--missing-ok", env=env)):
            return True
        arguments = ("apply", "--cached", "--check", "--reverse", "--whitespace=nowarn", "--", patch.file)
        return repository.succeeds(*arguments, env=env)
