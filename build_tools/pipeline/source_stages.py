"""The four source stages: checkout, base patches, hipify, hipified patches. They work on one tree, held for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold
from build_tools.hipify.again import hipify_again
from build_tools.hipify.cache import HipifyCache
from build_tools.hipify.run import Hipifier, hipify
from build_tools.hipify.stale import refuse_stale
from build_tools.patches.applied import note_stage, read_applied
from build_tools.patches.apply import apply_base_patches, apply_hipified_patches
from build_tools.patches.hints import drop_line
from build_tools.patches.saving import forget_saving, settle_saving
from build_tools.patches.series import load_series
from build_tools.pipeline.engine import Making, Work
from build_tools.pipeline.report import force_line
from build_tools.pipeline.source_hints import hinted
from build_tools.pipeline.standing import on_the_way_to
from build_tools.pipeline.step import step
from build_tools.receipts.record import plain
from build_tools.receipts.stage import SourceResult, StageReceipt
from build_tools.sources.assemble import pinned
from build_tools.sources.checkout import bringer_of, checkout
from build_tools.sources.git import Git
from build_tools.sources.mirror import History
from build_tools.sources.modules import Markers, own_folder
from build_tools.sources.phases import step_back
from build_tools.sources.state import read_source_tree, tree_is_intact, tree_stands_on
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.patches.series import Series
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.values import SourceTree
    from build_tools.sources.phases import Phase

__all__ = ["PATCH_STAGES", "SOURCE_STAGES", "refuse_stale_sources", "run_sources"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bench:
    """The chain whose tree is worked on, its origin's git, and the tree's markers as far as they were read since a stage last ran."""

    chain: Chain
    git: Git
    known: dict[str, Markers | None] = field(default_factory=dict)

    def work(self, stage: Stage, parts: Mapping[str, str], make: Callable[[Making], bool | None], after: Stage | None) -> Work:
        """Return a source stage as work: its result is the state of the tree when its function has returned.

        The function says whether it has moved the tree; one that does not know says nothing.
        """
        chain = self.chain

        def make_and_read(making: Making) -> SourceResult:
            try:
                with on_the_way_to(stage, chain.tree, git=self.git):
                    moved = make(making)
            finally:
                self.known.clear()
            return SourceResult(value=self.read(just_moved=bool(moved)))

        def intact(receipt: StageReceipt) -> str | None:
            modules = receipt.result.value.modules if isinstance(receipt.result, SourceResult) else ()
            if stage is Stage.CHECKOUT:
                # Base patches that move submodules leave others than it checked out.
                locked = chain.locked()
                stands = tree_stands_on(
                    locked.sources, locked.patches.submodules, tree=chain.tree, git=self.git, known=self.known
                )
            else:
                stands = bool(modules) and tree_is_intact(chain.tree, modules, git=self.git, through=stage, known=self.known)
            if stands:
                return None
            return "the tree no longer stands on what this stage made"

        return Work(
            stage=stage,
            project=chain.project.name,
            parts=parts,
            make=make_and_read,
            upstream=(chain.done[after],) if after in chain.done else (),
            receipt=own_folder(chain.tree) / f"{stage}.json",
            in_place=True,
            intact=intact,
        )

    def read(self, *, just_moved: bool = False) -> SourceTree:
        """Return the tree as it stands."""
        chain = self.chain
        return read_source_tree(
            chain.project.name,
            locked=chain.locked().sources,
            tree=chain.tree,
            git=self.git,
            known=self.known,
            just_moved=just_moved,
        )

    def series(self) -> Series:
        """Return the locked patch series.

        Raises
        ------
        HipwrightError
            ``lock-conflict`` when the series on disk is another one than the lock names.
        """
        locked = self.chain.locked().patches
        series = load_series(self.chain.folder, locked.line)
        if series.digest != locked.digest:
            message = f"the patch series {locked.line} of {self.chain.project.name} is not the one that is locked"
            raise HipwrightError("lock-conflict", message, hint="make a new lock, or take the series' state that was locked")
        return series

    @property
    def history(self) -> History:
        """How much of the origins' history is fetched."""
        settings = self.chain.workplace.settings
        return History(depth=settings.depth, partial=settings.partial)

    def with_runner(self, making: Making) -> Git:
        """Return the origin's git, its programs on the stage's account."""
        return replace(self.git, runner=making.runner)

    def made(self, stage: Stage) -> str:
        """Return the digest of the commits that an earlier source stage made."""
        if stage is Stage.CHECKOUT:
            sources = self.chain.locked().sources
            commits = {path: commit for path, (_, commit) in pinned(sources, sources.submodules).items()}
            return digest.of_value(sorted(commits.items()))
        result = self.chain.done[stage].receipt.result
        modules = result.value.modules if isinstance(result, SourceResult) else ()
        name = {Stage.BASE_PATCHES: "base", Stage.HIPIFY: "hipified"}[stage]
        return digest.of_value([[module.path, getattr(module, name)] for module in modules])


def _make_tree(bench: _Bench, git: Git, *, bare: bool = False) -> None:
    """Make or move the tree to what is locked; with ``bare``, what later stages put on top goes."""
    chain, place = bench.chain, bench.chain.workplace
    checkout(
        chain.locked().sources,
        project=chain.project,
        after_base=chain.locked().patches.submodules,
        tree=chain.tree,
        cache=place.cache,
        git=git,
        say=place.console.say,
        progress=place.console.progress,
        discard_local=place.settings.discard_local,
        history=bench.history,
        bare=bare,
    )


def _checkout(bench: _Bench) -> Work:
    locked = bench.chain.locked().sources

    def make(making: Making) -> None:
        try:
            _make_tree(bench, bench.with_runner(making))
        except HipwrightError as error:
            if error.code.name not in {"unknown-ref", "submodule-commit-missing"} or not isinstance(
                bench.chain.project.origin, EmbeddedOrigin
            ):
                raise
            message = f"the sources kept beside project.toml are others than when {bench.chain.project.name} was locked"
            hint = "take them back to that state, or lock anew with --relock"
            raise HipwrightError("lock-conflict", message, hint=hint) from error

    parts = {
        "origin": locked.origin,
        "commit": locked.commit,
        "tree": locked.tree,
        "base version": locked.base_version,
        "submodules": digest.of_value([plain(pin) for pin in locked.submodules]),
    }
    return bench.work(Stage.CHECKOUT, parts, make, Stage.LOCK)


def _patches(bench: _Bench, stage: Stage, before: Stage, apply: Callable[..., bool]) -> Work:
    """Return one of the two patch stages; they differ in what they begin from and in which patches of the series they apply."""
    chain, place = bench.chain, bench.chain.workplace

    def make(making: Making) -> bool:
        return apply(
            bench.series(),
            tree=chain.tree,
            platform=place.platform,
            git=bench.with_runner(making),
            log=making.log,
            say=place.console.say,
            discard_local=place.settings.discard_local,
            strict=place.settings.strict,
            three_way=place.settings.three_way,
        )

    parts = {"sources": bench.made(before), "patches": chain.locked().patches.digest, "platform": place.platform.value}
    return bench.work(stage, parts, make, before)


def _base_patches(bench: _Bench) -> Work:
    chain, place = bench.chain, bench.chain.workplace
    locked = chain.locked()

    def apply(series: Series, *, git: Git, **where: Any) -> bool:  # noqa: ANN401 - handed on as it comes
        bringer = bringer_of(
            locked.sources,
            tree=chain.tree,
            cache=place.cache,
            git=git,
            history=bench.history,
            say=place.console.say,
            progress=place.console.progress,
        )
        return apply_base_patches(
            series, locked=locked.sources, after_base=locked.patches.submodules, bringer=bringer, git=git, **where
        )

    return _patches(bench, Stage.BASE_PATCHES, Stage.CHECKOUT, apply)


def _hipified_patches(bench: _Bench) -> Work:
    if bench.chain.workplace.settings.hipify:
        return _patches(bench, Stage.HIPIFIED_PATCHES, Stage.HIPIFY, apply_hipified_patches)

    def apply_none(series: Series, **where: Any) -> bool:  # noqa: ANN401 - handed on as it comes
        return apply_hipified_patches(replace(series, patches=()), **where)

    work = _patches(bench, Stage.HIPIFIED_PATCHES, Stage.HIPIFY, apply_none)
    return replace(work, parts={**work.parts, "patches": "left out"})


def _hipify(bench: _Bench) -> Work:
    chain, place = bench.chain, bench.chain.workplace
    tool = chain.project.hipify if place.settings.hipify else None
    tool_digest = chain.locked().hipify

    def make(making: Making) -> bool:
        git = bench.with_runner(making)
        hipifier = None
        if tool is not None and tool_digest is not None:
            hipifier = Hipifier(
                tool=tool,
                digest=tool_digest,
                kept=HipifyCache(cache=place.cache, git=git, say=place.console.say, history=bench.history),
                scratch=place.work_dir / "src",
                name=f".{chain.tree.name}-hipify",
                python=place.python,
                platform=place.platform,
                git=git,
                log=making.log,
                say=place.console.say,
            )
        elif chain.project.hipify is not None:
            place.console.say(f"{chain.project.name}: hipify and hipified patches are left out")
        forced = Stage.HIPIFY in place.settings.force
        if forced and hipifier and hipify_again(bench.read(), hipifier, git=git, say=place.console.say):
            return False
        discard = place.settings.discard_local
        return hipify(chain.tree, hipifier, git=git, say=place.console.say, again=forced, discard_local=discard)

    parts = {
        "sources": bench.made(Stage.BASE_PATCHES),
        "tool": tool_digest or "none",
        "recipe": digest.of_value(plain(chain.project.hipify)),
    }
    if not place.settings.hipify:
        parts["tool"] = "left out"
    return bench.work(Stage.HIPIFY, parts, make, Stage.BASE_PATCHES)


_PHASES: Final[Mapping[Stage, Literal["base", "hipified"]]] = {
    Stage.BASE_PATCHES: "base",
    Stage.HIPIFY: "hipified",
}

PATCH_STAGES: Final[Mapping[Stage, Phase]] = {Stage.BASE_PATCHES: "base", Stage.HIPIFIED_PATCHES: "hipified"}
"""The stages that apply patches, and which."""

SOURCE_STAGES: Final[Mapping[Stage, Callable[[_Bench], Work]]] = {
    Stage.CHECKOUT: _checkout,
    Stage.BASE_PATCHES: _base_patches,
    Stage.HIPIFY: _hipify,
    Stage.HIPIFIED_PATCHES: _hipified_patches,
}


def _refuse_upstream(chain: Chain, phase: Phase) -> None:
    """Refuse patches that an earlier run has left out because the sources have them.

    Raises
    ------
    HipwrightError
        ``patch-upstream`` that names them.
    """
    patches = read_applied(chain.tree).patches
    names = [patch.file for patch in patches if patch.phase == phase and patch.outcome == "upstream"]
    if names:
        message = f"{chain.project.name} has {', '.join(names)} already"
        raise HipwrightError("patch-upstream", message, where=Where(file=chain.folder), hint=f"drop it: {drop_line(names[0])}")


def refuse_stale_sources(chain: Chain) -> None:
    """Refuse to build sources in which files that hipify read have changed since.

    Raises
    ------
    HipwrightError
        ``stale-hipify`` with the files and the command that runs hipify again.
    """
    place, project = chain.workplace, chain.project
    if project.hipify is None or not place.settings.hipify or project.name in place.settings.dir:
        return
    command = force_line(Stage.HIPIFY, project.name, place)
    refuse_stale(chain.source(), git=Git(runner=place.runner), command=command)


def _end_at(bench: _Bench, stage: Stage) -> None:
    """Leave the tree at the last stage of a run: whoever ends early wants to work there, so one that is further on goes back."""
    tree, place = bench.chain.tree, bench.chain.workplace
    if stage is Stage.HIPIFIED_PATCHES:
        note_stage(tree, stage)
        return
    with on_the_way_to(stage, tree, git=bench.git, last=True):
        if stage is Stage.CHECKOUT:
            _make_tree(bench, bench.git, bare=True)
        else:
            step_back(tree, _PHASES[stage], git=bench.git, say=place.console.say, discard_local=place.settings.discard_local)
    bench.known.clear()


def _digest(chain: Chain) -> str | None:
    """Return the digest of a project's series as it is on disk."""
    return load_series(chain.folder, chain.locked().patches.line).digest


def run_sources(chain: Chain, stages: Sequence[Stage], git: Git, *, saving: bool = False) -> None:
    """Run some source stages of a chain, and note the tree as it stands after the last, a person's changes included.

    Parameters
    ----------
    chain
        The project on its way.
    stages
        Which of the four, in order.
    git
        The origin's git.
    saving
        Whether a save is what moves the tree: its note stays until the tree has moved.

    Raises
    ------
    HipwrightError
        What a stage raises.
    """
    place = chain.workplace
    bench = _Bench(chain=chain, git=git)
    purpose = f"the source stages of {chain.project.name}"
    guard = hold(
        place.lock_file(f"src-{chain.project.name}"), purpose=purpose, wait=place.settings.wait, on_wait=place.console.say
    )
    with guard, hinted(chain, git):
        if not saving:
            settle_saving(chain.tree, series=lambda: _digest(chain), git=git, say=place.console.say)
        for stage in stages:
            step(chain, SOURCE_STAGES[stage](bench))
            if stage in PATCH_STAGES and place.settings.strict:
                _refuse_upstream(chain, PATCH_STAGES[stage])
        if not place.settings.dry_run:
            _end_at(bench, stages[-1])
            forget_saving(chain.tree, git=git, at=stages[-1])
        source = bench.read()
    if source.local is not None:
        if place.settings.discard_local:
            place.console.say(f"{chain.project.name}: nothing had to move, so nothing was discarded")
        place.console.warn(f"{chain.tree} has changes of yours; they are kept, and a build takes them along:")
        for line in source.local.lines:
            place.console.say(f"  {line}")
    last = stages[-1]
    done = chain.done[last]
    chain.done[last] = replace(done, receipt=msgspec.structs.replace(done.receipt, result=SourceResult(value=source)))
