"""Applying a series to a source tree: its base patches to the locked commits, its hipified ones to hipify's result.

All is made beside the tree, which moves onto the new commits when all modules' patches are in: a patch that fails has changed nothing.
:func:`replay` is the part that moves nothing and records nothing, for whoever wants to know what a series makes of given commits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.patches.applied import AppliedPatch, note_patches
from build_tools.patches.beside import bench_at
from build_tools.patches.conflict import conflict
from build_tools.patches.hints import drop_line, refresh_line
from build_tools.patches.judge import judge
from build_tools.patches.sections import pin_changes
from build_tools.patches.sound import refuse_broken, refuse_unsound
from build_tools.patches.upstream import same_upstream, upstream_reason
from build_tools.shown import shown
from build_tools.sources.arrange import Arrangement, Target, arrange
from build_tools.sources.assemble import assemble, pinned
from build_tools.sources.contents import GITLINK
from build_tools.sources.modules import deepest_first
from build_tools.sources.phases import finish, marked_modules, record_submodules
from build_tools.sources.told import called

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from build_tools.patches.applied import Outcome
    from build_tools.patches.beside import Bench, Made
    from build_tools.patches.judge import Judgement
    from build_tools.patches.series import Patch, Series
    from build_tools.receipts.lock import LockedSources, SubmodulePin
    from build_tools.sources.bring import Bringer
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Module
    from build_tools.sources.phases import Phase
    from build_tools.types import CommitId, Platform

__all__ = ["Replayed", "apply_base_patches", "apply_hipified_patches", "replay"]

_MOVED: Final = 5
"""How many hunks that lie elsewhere are told of one patch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """What a module comes to: its commit with the phase's patches on top, and each of these as the tree's record has it."""

    head: CommitId
    patches: tuple[AppliedPatch, ...]


def replay(
    series: Series,
    phase: Phase,
    starts: Mapping[Module, CommitId],
    *,
    tree: Path,
    platform: Platform,
    log: Path,
    say: Callable[[str], None],
    strict: bool = False,
    three_way: bool = False,
) -> dict[str, Replayed]:
    """Apply a phase of a series on top of given commits, beside the tree: nothing moves, and nothing is recorded.

    The patches' bytes are those that the series holds, whatever is on disk. The commits' objects are in the modules' repositories
    afterwards, without a name. Commits that record submodules are not made: see :func:`build_tools.sources.phases.record_submodules`.

    Parameters
    ----------
    series
        The series.
    phase
        Which of its patches.
    starts
        The commit of each module that the patches go on top of; all modules of the tree.
    tree
        The source tree, inside whose ``.git`` the work is done.
    platform
        Patches for other platforms are left out, and said so.
    log
        What ``git am`` says is appended here.
    say
        Takes one line of talk.
    strict
        Whether a patch that the sources have already is an error, and not left out.
    three_way
        Whether the error for a patch that does not apply tells what a merge makes of it.

    Returns
    -------
    dict[str, Replayed]
        By the module's path.

    Raises
    ------
    HipwrightError
        ``patch-conflict`` (patch, module, file, hunk), ``patch-misplaced``, with ``strict`` ``patch-upstream``, or ``bad-series`` for a
        module that is not there, a file with several patches, or a hipified patch that moves a submodule.
    """
    work = _Work(tree=tree, series=series, phase=phase, platform=platform, log=log, say=say, strict=strict, three_way=three_way)
    work.check_modules({module.path for module in starts})
    heads = {module.path: work.apply_to(module, start) for module, start in starts.items()}
    patches = work.outcomes()
    return {
        path: Replayed(head=head, patches=tuple(patch for patch in patches if patch.module == path))
        for path, head in heads.items()
    }


def apply_base_patches(
    series: Series,
    *,
    locked: LockedSources,
    after_base: Iterable[SubmodulePin],
    tree: Path,
    platform: Platform,
    bringer: Bringer,
    git: Git,
    log: Path,
    say: Callable[[str], None],
    discard_local: bool = False,
    strict: bool = False,
    three_way: bool = False,
) -> bool:
    """Apply a series' base patches to the locked commits, in every module, and move the tree there; hipify comes after.

    A patch that changes the commit that a module records for a submodule moves that submodule: a parent's patches count first, then its
    submodules stand on what it records, with their own patches on top.

    Parameters
    ----------
    series
        The series of the tree's patch line.
    locked
        The exact sources.
    after_base
        The submodules that the tree must have afterwards, as the lock has them.
    tree
        The source tree.
    platform
        Patches for other platforms are left out, and said so.
    bringer
        Brings the commits of submodules that patches move.
    git
        How git is run.
    log
        What ``git am`` says is appended here.
    say
        Takes one line of talk.
    discard_local
        Whether a person's changes may go; they are named, and kept in a bundle inside the tree's ``.git``.
    strict
        Whether a patch that the sources have already is an error, and not left out.
    three_way
        Whether the error for a patch that does not apply tells what a merge makes of it.

    Returns
    -------
    bool
        Whether the tree moved, and nothing else is in it.

    Raises
    ------
    HipwrightError
        As :func:`replay`; or ``lock-conflict`` when the patches leave other submodules than
        are locked, with everything as before; ``unsaved-work`` when moving the tree would lose something of a person's.
    """
    modules = marked_modules(tree, git=git, say=say)
    work = _Work(tree=tree, series=series, phase="base", platform=platform, log=log, say=say, strict=strict, three_way=three_way)
    found = assemble(
        pinned(locked, after_base),
        tree=tree,
        git=git,
        bringer=bringer,
        stand=work.apply_to,
        mismatch=lambda what: _other_submodules(series, tree, what),
        have={module.path: (module.entry, markers.upstream) for module, markers in modules.items()},
    )
    work.check_modules(found)
    upstream = {one.module: one.upstream for one in found.values()}
    heads = {path: one.head for path, one in found.items()}
    heads = record_submodules(tree, upstream, heads, phase="base", subject="Record the submodules with their base patches")
    same = {(module.path, module.entry, markers.upstream) for module, markers in modules.items()}
    if same == {(path, one.module.entry, one.upstream) for path, one in found.items()}:
        commits = {path: dict.fromkeys(("base", "hipified", "finished"), commit) for path, commit in heads.items()}
        moved = finish(tree, modules, commits, git=git, say=say, discard_local=discard_local)
        work.note()
        return moved
    names = ("upstream", "base", "hipified", "finished")
    wanted = {
        path: Target(
            module=one.module, commit=heads[path], markers=dict.fromkeys(names, heads[path]) | {"upstream": one.upstream}
        )
        for path, one in found.items()
    }
    plan = Arrangement(tree=tree, have=tuple(modules), wanted=wanted)
    moved = arrange(plan, git=git, say=say, discard_local=discard_local, repair=False)
    work.note()
    return moved


def apply_hipified_patches(
    series: Series,
    *,
    tree: Path,
    platform: Platform,
    git: Git,
    log: Path,
    say: Callable[[str], None],
    discard_local: bool = False,
    strict: bool = False,
    three_way: bool = False,
) -> bool:
    """Apply a series' hipified patches to hipify's result, in every module, and move the tree there; as :func:`apply_base_patches`.

    None of them can move a submodule: hipify has read the submodules as they are.
    """
    modules = marked_modules(tree, git=git, say=say)
    work = _Work(
        tree=tree, series=series, phase="hipified", platform=platform, log=log, say=say, strict=strict, three_way=three_way
    )
    work.check_modules({module.path for module in modules})
    heads = {module.path: work.apply_to(module, modules[module].hipified) for module in deepest_first(modules)}
    upstream = {module: markers.upstream for module, markers in modules.items()}
    heads = record_submodules(
        tree, upstream, heads, phase="hipified", subject="Record the submodules with their hipified patches"
    )
    commits = {path: {"finished": commit} for path, commit in heads.items()}
    moved = finish(tree, modules, commits, git=git, say=say, discard_local=discard_local)
    work.note()
    return moved


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    """One phase of one series on one tree; ``found`` is what became of each patch, by its name."""

    tree: Path
    series: Series
    phase: Phase
    platform: Platform
    log: Path
    say: Callable[[str], None]
    strict: bool
    three_way: bool
    found: dict[str, AppliedPatch] = field(default_factory=dict)

    def check_modules(self, paths: Collection[str]) -> None:
        """Refuse patches for modules that the tree does not have, and note those for other platforms."""
        for patch in self.series.patches:
            if patch.phase != self.phase:
                continue
            if not patch.applies_on(self.platform):
                self._say(f"{patch.name} is left out: it is for {', '.join(patch.entry.platforms)} only")
                self._note(patch, "other-platform")
            elif patch.module not in paths:
                message = f"{patch.name} is for the module {patch.module}, which this tree does not have"
                raise HipwrightError("bad-series", message, where=Where(file=patch.file, module=patch.module))

    def apply_to(self, module: Module, start: CommitId) -> CommitId:
        """Return a module's commit with the phase's patches on top of ``start``."""
        pending = self.series.select(self.phase, module.path, self.platform)
        if not pending:
            return start
        for patch in pending:
            refuse_unsound(patch)
        head, count = start, 0
        while pending:
            with bench_at(self.tree, module, head, log=self.log) as bench:
                mailed = bench.mail(pending)
                judged = judge(bench, pending[: len(mailed.made)], mailed.made)
                good = len(judged) - (1 if judged and judged[-1].twice else 0)
                for patch, made, judgement in zip(pending, mailed.made[:good], judged, strict=False):
                    self._applied(patch, made, judgement)
                    head, count = made.commit, count + 1
                if self.phase == "hipified":
                    _refuse_pin_moves(module, pending, mailed.made)
                if good == len(pending):
                    break
                self._left_out(bench, pending[good], head, judged[good] if good < len(judged) else None, mailed.said)
                pending = pending[good + 1 :]
        if count:
            self._say(f"{count} {self.phase} {'patch' if count == 1 else 'patches'} applied to {called(module.path)}")
        return head

    def outcomes(self) -> list[AppliedPatch]:
        """Return what became of the phase's patches, in the order of the series."""
        return [self.found[patch.name] for patch in self.series.patches if patch.name in self.found]

    def note(self) -> None:
        """Note in the tree what it has of the series."""
        note_patches(self.tree, self.phase, self.outcomes(), line=self.series.line)

    def _applied(self, patch: Patch, made: Made, judgement: Judgement) -> None:
        self._note(patch, "offset" if judgement.moved else "applied", made.commit)
        if judgement.moved:
            told = [str(moved) for moved in judgement.moved[:_MOVED]]
            left = len(judgement.moved) - len(told)
            more = f", and {left} more" if left else ""
            self._say(f"{patch.name} is applied with an offset: {', '.join(told)}{more}")
        for file in judgement.edited:
            what = f"makes something else of {shown(file)} than its index line says, so it was changed by hand"
            self._say(f"{patch.name} {what}; to have it written anew: {refresh_line(self.tree.name)}")

    def _left_out(self, bench: Bench, patch: Patch, head: CommitId, judgement: Judgement | None, said: bytes) -> None:
        """Leave out a patch that the sources have already; refuse one for which that cannot be said."""
        if judgement is None:
            reason = upstream_reason(bench, patch, head)
            if reason is None:
                refuse_broken(patch)
                raise conflict(bench, patch, head, said, tree=self.tree, three_way=self.three_way)
        else:
            commit = same_upstream(bench, patch, head)
            if commit is None:
                message = (
                    f"{patch.name} may land in the wrong place of {called(patch.module)}: "
                    "what it does is in the files already, and they have a second place that looks like the one it was made for"
                )
                hint = f"if the sources have it, take it out of the series: {drop_line(patch.name)}; else make it anew"
                raise HipwrightError(
                    "patch-misplaced", message, where=Where(file=patch.file, module=patch.module), hint=hint, log=self.log
                )
            reason = f"commit {commit[:12]} of upstream is the same change"
        drop = f"drop it: {drop_line(patch.name)}"
        if self.strict:
            message = f"{called(patch.module)} has {patch.name} already: {reason}"
            raise HipwrightError("patch-upstream", message, where=Where(file=patch.file, module=patch.module), hint=drop)
        self._say(f"{patch.name} is left out, {called(patch.module)} has it already: {reason}; {drop}")
        self._note(patch, "upstream")

    def _note(self, patch: Patch, outcome: Outcome, commit: CommitId | None = None) -> None:
        self.found[patch.name] = AppliedPatch(
            file=patch.name,
            module=patch.module,
            phase=self.phase,
            digest=digest.of_bytes(patch.data),
            outcome=outcome,
            commit=commit,
        )

    def _say(self, text: str) -> None:
        self.say(f"{self.tree.name}: {text}")


def _refuse_pin_moves(module: Module, patches: Sequence[Patch], made: Sequence[Made]) -> None:
    for patch, commit in zip(patches, made, strict=False):
        if not any(GITLINK in {change.old_mode, change.new_mode} for change in commit.changes.values()):
            continue
        line = next((change.line for change in pin_changes(patch.data)), None)
        message = f"{patch.name} changes the commit of a submodule of {called(module.path)}, which only a base patch can do"
        hint = "hipify has read the submodules as they are: move the patch to the folder base"
        raise HipwrightError("bad-series", message, where=Where(file=patch.file, line=line, module=module.path), hint=hint)


def _other_submodules(series: Series, tree: Path, what: str) -> HipwrightError:
    message = f"the base patches of the line {series.line} leave other submodules in {tree} than are locked: {what}"
    return HipwrightError(
        "lock-conflict", message, where=Where(file=tree), hint=f"to lock it anew: nox -s lock -- --projects {tree.name} --relock"
    )
