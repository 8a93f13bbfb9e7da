"""Checkout: a source tree that is exactly what the lock says, in every module, made from local mirrors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.sources.contents import submodules
from build_tools.sources.discard import drop, keep
from build_tools.sources.guard import local_work, own_repositories, refuse_unsaved
from build_tools.sources.mirror import UNBORN, Mirror, mirror_of
from build_tools.sources.modules import (
    ROOT,
    Module,
    ModuleEntry,
    load_modules,
    markers_of,
    module_at,
    save_modules,
    temporary_name,
)
from build_tools.sources.move import ModuleMove, Move, carry_out, settle
from build_tools.sources.parallel import for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.sources.git import Git
    from build_tools.types import CommitId

__all__ = ["checkout", "is_checked_out"]


def checkout(
    locked: LockedSources,
    *,
    tree: Path,
    cache: Path,
    git: Git,
    say: Callable[[str], None],
    discard_local: bool = False,
) -> None:
    """Make the source tree, or move it, to exactly the locked commits; all markers of all modules name them then.

    A tree that stands on the locked commits, with whatever patches and work on top, is left as it is.

    Parameters
    ----------
    locked
        The exact sources.
    tree
        The tree's folder; made when it is not there.
    cache
        The cache folder with the mirrors.
    git
        The origin's git; see :func:`build_tools.sources.origin.open_origin`.
    say
        Takes one line of talk.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.

    Raises
    ------
    HipwrightError
        ``unsaved-work``, ``origin-unreachable``, ``unknown-ref``, ``submodule-commit-missing``, or ``bad-source-tree`` when the folder
        holds something else.
    """
    work = _Checkout(locked=locked, tree=tree, cache=cache, git=git, say=say)
    tree.parent.mkdir(parents=True, exist_ok=True)
    git.require(cwd=tree.parent)
    if not tree.exists() or (tree.is_dir() and not any(tree.iterdir())):
        work.make_root()
    if not (tree / ".git").is_dir():
        message = f"{tree} is there already and is no git repository of its own"
        raise HipwrightError(
            "bad-source-tree", message, where=Where(file=tree), hint="move it away and check out again, or name another folder"
        )
    load_modules(tree, git=git)
    settle(tree, git=git, say=say)
    have = load_modules(tree, git=git)
    if not is_checked_out(locked, have):
        work.move(have, discard_local=discard_local)


def is_checked_out(locked: LockedSources, modules: tuple[Module, ...]) -> bool:
    """Return whether a tree stands on the locked commits, in every module, with whatever our stages and a person put on top."""
    pins = {pin.path: (pin.url, pin.commit) for pin in locked.submodules} | {ROOT: (locked.origin, locked.commit)}
    if {module.path for module in modules} != pins.keys():
        return False
    for module in modules:
        markers = markers_of(module)
        if markers is None or (module.entry.url, markers.upstream) != pins[module.path]:
            return False
        head = module.store.head()
        if head is None or not (module.folder / ".git").exists() or not module.store.is_ancestor(markers.finished, head):
            return False
    return True


def _is_told(line: str, others: list[str]) -> bool:
    return any(other.startswith(f"{line},") for other in others)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Checkout:
    """One checkout: what is wanted, where, and from where."""

    locked: LockedSources
    tree: Path
    cache: Path
    git: Git
    say: Callable[[str], None]

    def make_root(self) -> None:
        """Make the root's repository, without files yet; the folder appears when it is whole."""
        entry = ModuleEntry(path=ROOT, name="", parent=None, url=self.locked.origin)
        with files.finished_folder(self.tree) as partial:
            self._clone(entry.url, self.locked.commit, partial)
            save_modules(partial, [entry])

    def move(self, have: tuple[Module, ...], *, discard_local: bool) -> None:
        """Bring all objects, ask whether there is something to lose, and move."""
        wanted = self._prepare()
        kept = {path: (module.entry.name, module.git_dir) for path, (module, _) in wanted.items()}
        stale = [module for module in have if kept.get(module.path) != (module.entry.name, module.git_dir)]
        targets: dict[str, CommitId | None] = {path: commit for path, (_, commit) in wanted.items()}
        targets |= {module.path: None for module in stale}
        work = {module.path: local_work(module, target=targets[module.path]) for module in have}
        self._refuse(have, targets, work, discard_local=discard_local)
        if discard_local:
            changed = [module for module in have if work[module.path]]
            # All are kept before any is dropped: what cannot be kept stops the whole.
            for module in changed:
                keep(self.tree, module, work[module.path], say=self.say)
            for module in changed:
                drop(module)
        parts = [
            ModuleMove(
                module=module.entry,
                start=module.store.head() if (module.folder / ".git").exists() else None,
                target=commit,
                markers=dict.fromkeys(("upstream", "base", "hipified", "finished"), commit),
            )
            for module, commit in wanted.values()
        ]
        overwrite = discard_local and any(work.values())
        move = Move(modules=tuple(parts), stale=tuple(module.entry for module in stale), overwrite=overwrite)
        carry_out(self.tree, move, git=self.git)

    def _refuse(
        self,
        have: tuple[Module, ...],
        targets: Mapping[str, CommitId | None],
        work: Mapping[str, list[str]],
        *,
        discard_local: bool,
    ) -> None:
        """Refuse the move when it meets what it must not: all of it is known before anything is dropped or moved."""
        known = {module.path for module in have}
        own = {module.path: own_repositories(module, target=targets[module.path], known=known) for module in have}
        away = "move the repositories of your own that are listed out of the tree, and run the command again"
        if discard_local:
            refuse_unsaved(self.tree, own, hint=away)
        elif any(own.values()):
            named = {path: [line for line in lines if not _is_told(line, own[path])] + own[path] for path, lines in work.items()}
            refuse_unsaved(self.tree, named, hint=f"{away}; push or save the rest elsewhere, if there is any")
        else:
            refuse_unsaved(self.tree, work, way_out="; or add --discard-local, which drops them and keeps a bundle")

    def _prepare(self) -> dict[str, tuple[Module, CommitId]]:
        """Bring every module's repository and objects to where they belong, parents first; no work folder changes."""
        pins = {pin.path: pin for pin in self.locked.submodules}
        root = module_at(
            self.tree, ModuleEntry(path=ROOT, name="", parent=None, url=self.locked.origin), parent=None, git=self.git
        )
        self._bring(root, self.locked.commit)
        wanted = {ROOT: (root, self.locked.commit)}
        level = [root]
        while level:
            children = [child for parent in level for child in self._children(parent, wanted[parent.path][1], pins)]
            for_each(lambda child: self._bring(child, pins[child.path].commit), children)
            wanted |= {child.path: (child, pins[child.path].commit) for child in children}
            level = children
        return wanted

    def _children(self, parent: Module, commit: CommitId, pins: Mapping[str, SubmodulePin]) -> list[Module]:
        found = []
        for submodule in submodules(parent.store, commit):
            path = submodule.path if parent.path == ROOT else f"{parent.path}/{submodule.path}"
            pin = pins.get(path)
            if pin is None or pin.commit != submodule.commit:
                message = f"commit {commit} records the submodule {path} at {submodule.commit}, and the lock does not"
                raise HipwrightError("bad-source-tree", message, where=Where(module=path))
            entry = ModuleEntry(path=path, name=submodule.name, parent=parent.path, url=pin.url)
            found.append(module_at(self.tree, entry, parent=parent, git=self.git))
        return found

    def _bring(self, module: Module, commit: CommitId) -> None:
        """Make a module's repository when it is not there, and bring a commit into it."""
        url = self.git.place_of(module.entry.url)
        if not (module.git_dir / "HEAD").is_file():
            temporary = temporary_name(self.tree, "clone")
            self._clone(module.entry.url, commit, temporary)
            module.git_dir.parent.mkdir(parents=True, exist_ok=True)
            (temporary / ".git").rename(module.git_dir)
            files.remove_tree(temporary)
        elif module.store.capture("config", "--get", "remote.origin.url", check=False).text != url:
            module.store.capture("remote", "set-url", "origin", url)
        if not module.store.has_commit(commit):
            mirror = self._mirror(module.entry.url, commit)
            arguments = (
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--",
                mirror.folder,
                "+refs/heads/*:refs/remotes/origin/*",
            )
            module.store.capture("fetch", *arguments, commit)

    def _clone(self, url: str, commit: CommitId, folder: Path) -> None:
        """Clone a mirror, sharing its files by hard links where the disk allows, with the real origin recorded."""
        mirror = self._mirror(url, commit)
        with mirror.held():
            arguments = ("--quiet", "--no-checkout", "--local", "--template=", "--", mirror.folder, folder)
            self.git.capture("clone", *arguments, cwd=folder.parent)
        repository = self.git.at(folder)
        repository.capture("remote", "set-url", "origin", self.git.place_of(url))
        # The mirror's HEAD names no branch; a plain repository's does.
        repository.capture("symbolic-ref", "HEAD", "refs/heads/main")
        repository.capture("config", "--remove-section", f"branch.{UNBORN.removeprefix('refs/heads/')}", check=False)

    def _mirror(self, url: str, commit: CommitId) -> Mirror:
        mirror = mirror_of(url, cache=self.cache, git=self.git, say=self.say)
        ref = f"refs/heads/{self.locked.ref}" if (url, commit) == (self.locked.origin, self.locked.commit) else None
        mirror.fetch(commit, ref=ref)
        return mirror
