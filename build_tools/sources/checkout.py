"""Checkout: a source tree that is exactly what the lock says, in every module, made from local mirrors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.arrange import Arrangement, Target, arrange, verify
from build_tools.sources.assemble import assemble, pinned, unpatched
from build_tools.sources.base_version import base_version
from build_tools.sources.bring import Bringer
from build_tools.sources.mirror import WHOLE, History
from build_tools.sources.modules import ROOT, Module, ModuleEntry, load_modules, markers_of, save_modules
from build_tools.sources.move import is_moving, settle
from build_tools.sources.state import is_checked_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.sources.git import Git, Repository

__all__ = ["bringer_of", "checkout"]

_FILLED: Final = ".git"


def checkout(
    locked: LockedSources,
    *,
    project: Project | None = None,
    after_base: Iterable[SubmodulePin] | None = None,
    tree: Path,
    cache: Path,
    git: Git,
    say: Callable[[str], None],
    progress: Callable[[str, int, int], None] | None = None,
    discard_local: bool = False,
    history: History = WHOLE,
    bare: bool = False,
) -> None:
    """Make the source tree, or move it, to exactly the locked commits; all markers of all modules name them then.

    A tree that stands on the locked commits, with whatever patches and work on top, is left as it is.

    Parameters
    ----------
    locked
        The exact sources.
    project
        The project, when the locked base version is to be held against the one that the commit says.
    after_base
        The submodules that the base patches leave, where they move some: a tree that has those stands on the locked commits as well.
    tree
        The tree's folder; made when it is not there.
    cache
        The cache folder with the mirrors.
    git
        The origin's git; see :func:`build_tools.sources.origin.open_origin`.
    say
        Takes one line of talk.
    progress
        Takes what is being done to how many of how many.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.
    history
        How much history is fetched, where it is not there yet.
    bare
        Whether what later stages put on top goes as well, and submodules that they moved go back.

    Raises
    ------
    HipwrightError
        ``unsaved-work``, ``origin-unreachable``, ``unknown-ref``, ``submodule-commit-missing``, or ``bad-source-tree`` when the folder
        holds something else, or the commit has another tree, base version or submodule than the lock says.
    """
    bringer = bringer_of(locked, tree=tree, cache=cache, git=git, history=history, say=say, progress=progress)
    work = _Checkout(locked=locked, project=project, tree=tree, git=git, bringer=bringer, say=say)
    tree.parent.mkdir(parents=True, exist_ok=True)
    git.require(cwd=tree.parent)
    if not tree.exists() or _is_empty(tree):
        work.make_root()
    if not (tree / ".git").is_dir():
        message = f"{tree} is there already and is no git repository of its own"
        raise HipwrightError(
            "bad-source-tree", message, where=Where(file=tree), hint="move it away and check out again, or name another folder"
        )
    for left_over in tree.glob(f"{_FILLED}.partial-*"):
        files.remove_tree(left_over)
    load_modules(tree, git=git)
    resumed = is_moving(tree)
    settle(tree, git=git, say=say, discard_local=discard_local)
    have = load_modules(tree, git=git)
    stands = _is_bare(locked, have) if bare else is_checked_out(locked, have, after_base=after_base)
    if not stands:
        work.move(have, discard_local=discard_local)
    else:
        work.judge(git.at(tree))
        if resumed:
            verify(_as_it_stands(tree, have), files=True)


def bringer_of(
    locked: LockedSources,
    *,
    tree: Path,
    cache: Path,
    git: Git,
    history: History,
    say: Callable[[str], None],
    progress: Callable[[str, int, int], None] | None = None,
) -> Bringer:
    """Return what brings the commits of a tree's modules, from the mirrors of their origins."""
    refs = {} if locked.full_ref is None else {(locked.origin, locked.commit): locked.full_ref}
    return Bringer(tree=tree, cache=cache, git=git, refs=refs, history=history, say=say, progress=progress)


def _is_bare(locked: LockedSources, modules: tuple[Module, ...]) -> bool:
    """Return whether a tree stands on the locked commits and no stage has put anything on top."""
    if not is_checked_out(locked, modules):
        return False
    markers = [markers_of(module) for module in modules]
    return all(one is not None and one.finished == one.upstream for one in markers)


def _as_it_stands(tree: Path, have: tuple[Module, ...]) -> Arrangement:
    """Return the arrangement that a tree's markers tell."""
    wanted = {}
    for module in have:
        markers = markers_of(module)
        if markers is not None:
            wanted[module.path] = Target(module=module, commit=markers.finished, markers={})
    return Arrangement(tree=tree, have=have, wanted=wanted)


def _is_empty(tree: Path) -> bool:
    """Return whether nothing is in a folder, but for what a run left that was killed while it made a repository there."""
    return tree.is_dir() and all(path.name.startswith(f"{_FILLED}.partial-") for path in tree.iterdir())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Checkout:
    """One checkout: what is wanted, where, and from where."""

    locked: LockedSources
    project: Project | None
    tree: Path
    git: Git
    bringer: Bringer
    say: Callable[[str], None]

    def make_root(self) -> None:
        """Make the root's repository, without files yet; it appears when it is whole."""
        entry = ModuleEntry(path=ROOT, name="", parent=None, url=self.locked.origin)
        if not self.tree.exists():
            with files.finished_folder(self.tree) as partial:
                self.bringer.clone(entry.url, self.locked.commit, partial)
                save_modules(partial, [entry])
            return
        # A folder that is there may be a mount, or lie in one that is not ours to write: it is filled and not replaced.
        with files.temporary_folder(self.tree, _FILLED) as partial:
            self.bringer.clone(entry.url, self.locked.commit, partial)
            save_modules(partial, [entry])
            (partial / ".git").rename(self.tree / ".git")

    def move(self, have: tuple[Module, ...], *, discard_local: bool) -> None:
        """Bring all objects, ask whether there is something to lose, and move."""
        assembled = assemble(
            pinned(self.locked, self.locked.submodules),
            tree=self.tree,
            git=self.git,
            bringer=self.bringer,
            stand=unpatched,
            mismatch=self._mismatch,
            have={},
        )
        self.judge(assembled[ROOT].module.store)
        wanted = {
            path: Target(
                module=found.module,
                commit=found.head,
                markers=dict.fromkeys(("upstream", "base", "hipified", "finished"), found.head),
            )
            for path, found in assembled.items()
        }
        plan = Arrangement(tree=self.tree, have=have, wanted=wanted)
        arrange(plan, git=self.git, say=self.say, discard_local=discard_local)

    def judge(self, repository: Repository) -> None:
        """Refuse a lock that says another tree or base version than the commit has: wheels would get a version that is not theirs."""
        commit = self.locked.commit
        tree = repository.tree_of(commit)
        if tree != self.locked.tree:
            raise self._mismatch(f"its tree is {tree}, and the lock says {self.locked.tree}")
        version = None if self.project is None else base_version(self.project, repository, commit)
        if version not in {None, self.locked.base_version}:
            raise self._mismatch(f"its base version is {version}, and the lock says {self.locked.base_version}")

    def _mismatch(self, what: str) -> HipwrightError:
        message = f"commit {self.locked.commit} of {shown(self.locked.origin)} and the lock differ: {what}"
        hint = f"to lock it anew: nox -s lock -- --projects {self.tree.name} --relock"
        return HipwrightError("bad-source-tree", message, where=Where(file=self.tree), hint=hint)
