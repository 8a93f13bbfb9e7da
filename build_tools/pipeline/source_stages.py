"""The four source stages: checkout, base patches, hipify, hipified patches. They work on one tree, held for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin
from build_tools.errors import HipwrightError
from build_tools.files import hold
from build_tools.hipify.run import hipify
from build_tools.patches.apply import apply_base_patches, apply_hipified_patches
from build_tools.patches.series import load_series
from build_tools.pipeline.engine import Making, Work
from build_tools.pipeline.step import step
from build_tools.receipts.record import plain
from build_tools.receipts.stage import SourceResult, StageReceipt
from build_tools.sources.checkout import checkout
from build_tools.sources.modules import own_folder
from build_tools.sources.phases import step_back
from build_tools.sources.state import read_source_tree, tree_is_intact
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.patches.series import Series
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.values import SourceTree
    from build_tools.sources.git import Git

__all__ = ["SOURCE_STAGES", "run_sources"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bench:
    """The chain whose tree is worked on, and its origin's git."""

    chain: Chain
    git: Git

    def work(self, stage: Stage, parts: Mapping[str, str], make: Callable[[Making], None], after: Stage | None) -> Work:
        """Return a source stage as work: its result is the state of the tree when its function has returned."""
        chain = self.chain

        def make_and_read(making: Making) -> SourceResult:
            make(making)
            return SourceResult(value=self.read())

        def intact(receipt: StageReceipt) -> str | None:
            modules = receipt.result.value.modules if isinstance(receipt.result, SourceResult) else ()
            if modules and tree_is_intact(chain.tree, modules, git=self.git, through=stage):
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

    def read(self) -> SourceTree:
        """Return the tree as it stands."""
        return read_source_tree(self.chain.project.name, locked=self.chain.locked().sources, tree=self.chain.tree, git=self.git)

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

    def with_runner(self, making: Making) -> Git:
        """Return the origin's git, its programs on the stage's account."""
        return replace(self.git, runner=making.runner)

    def made(self, stage: Stage) -> str:
        """Return the digest of the commits that an earlier source stage made."""
        result = self.chain.done[stage].receipt.result
        modules = result.value.modules if isinstance(result, SourceResult) else ()
        name = {Stage.CHECKOUT: "upstream", Stage.BASE_PATCHES: "base", Stage.HIPIFY: "hipified"}[stage]
        return digest.of_value([[module.path, getattr(module, name)] for module in modules])


def _checkout(bench: _Bench) -> Work:
    place, locked = bench.chain.workplace, bench.chain.locked().sources

    def make(making: Making) -> None:
        try:
            checkout(
                locked,
                tree=bench.chain.tree,
                cache=place.cache,
                git=bench.with_runner(making),
                say=place.console.say,
                discard_local=place.settings.discard_local,
            )
        except HipwrightError as error:
            if error.code.name != "unknown-ref" or not isinstance(bench.chain.project.origin, EmbeddedOrigin):
                raise
            message = f"the sources kept beside project.toml are others than when {bench.chain.project.name} was locked"
            hint = "take them back to that state, or lock anew with --relock"
            raise HipwrightError("lock-conflict", message, hint=hint) from error

    parts = {
        "origin": locked.origin,
        "commit": locked.commit,
        "tree": locked.tree,
        "submodules": digest.of_value([plain(pin) for pin in locked.submodules]),
    }
    return bench.work(Stage.CHECKOUT, parts, make, Stage.LOCK)


def _patches(bench: _Bench, stage: Stage, before: Stage, apply: Callable[..., None]) -> Work:
    """Return one of the two patch stages; they differ in what they begin from and in which patches of the series they apply."""
    chain, place = bench.chain, bench.chain.workplace

    def make(making: Making) -> None:
        apply(
            bench.series(),
            tree=chain.tree,
            platform=place.platform,
            git=bench.with_runner(making),
            log=making.log,
            say=place.console.say,
        )

    parts = {"sources": bench.made(before), "patches": chain.locked().patches.digest, "platform": place.platform.value}
    return bench.work(stage, parts, make, before)


def _base_patches(bench: _Bench) -> Work:
    return _patches(bench, Stage.BASE_PATCHES, Stage.CHECKOUT, apply_base_patches)


def _hipified_patches(bench: _Bench) -> Work:
    return _patches(bench, Stage.HIPIFIED_PATCHES, Stage.HIPIFY, apply_hipified_patches)


def _hipify(bench: _Bench) -> Work:
    chain, place = bench.chain, bench.chain.workplace

    def make(making: Making) -> None:
        hipify(
            chain.project,
            tree=chain.tree,
            scratch=place.work_dir / "src",
            python=place.python,
            platform=place.platform,
            git=bench.with_runner(making),
            log=making.log,
            say=place.console.say,
        )

    parts = {
        "sources": bench.made(Stage.BASE_PATCHES),
        "tool": chain.locked().hipify or "none",
        "recipe": digest.of_value(plain(chain.project.hipify)),
    }
    return bench.work(Stage.HIPIFY, parts, make, Stage.BASE_PATCHES)


_PHASES: Final[Mapping[Stage, Literal["upstream", "base", "hipified"]]] = {
    Stage.CHECKOUT: "upstream",
    Stage.BASE_PATCHES: "base",
    Stage.HIPIFY: "hipified",
}

SOURCE_STAGES: Final[Mapping[Stage, Callable[[_Bench], Work]]] = {
    Stage.CHECKOUT: _checkout,
    Stage.BASE_PATCHES: _base_patches,
    Stage.HIPIFY: _hipify,
    Stage.HIPIFIED_PATCHES: _hipified_patches,
}


def run_sources(chain: Chain, stages: Sequence[Stage], git: Git) -> None:
    """Run some source stages of a chain, and note the tree as it stands after the last, a person's changes included.

    Parameters
    ----------
    chain
        The project on its way.
    stages
        Which of the four, in order.
    git
        The origin's git.

    Raises
    ------
    HipwrightError
        What a stage raises.
    """
    place = chain.workplace
    bench = _Bench(chain=chain, git=git)
    purpose = f"the source stages of {chain.project.name}"
    with hold(place.lock_file(f"src-{chain.project.name}"), purpose=purpose, wait=place.settings.wait, on_wait=place.console.say):
        for stage in stages:
            step(chain, SOURCE_STAGES[stage](bench))
        if stages[-1] in _PHASES and not place.settings.dry_run:
            # Whoever ends early wants to work there: a tree that is further on goes back.
            step_back(chain.tree, _PHASES[stages[-1]], git=git, say=place.console.say)
        source = bench.read()
    if source.local is not None:
        place.console.warn(f"{chain.tree} has changes of yours; they are kept, and a build takes them along:")
        for line in source.local.lines:
            place.console.say(f"  {line}")
    last = stages[-1]
    done = chain.done[last]
    chain.done[last] = replace(done, receipt=msgspec.structs.replace(done.receipt, result=SourceResult(value=source)))
