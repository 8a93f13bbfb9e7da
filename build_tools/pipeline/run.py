"""Run the stages of projects in order, from one stage until another, and show what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.builds.markers import refuse_conflict_markers
from build_tools.errors import HipwrightError
from build_tools.locking.keep import restore
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.handover import Received, receive
from build_tools.pipeline.lock_stage import lock_chains
from build_tools.pipeline.own_stages import refuse_beside_own, refuse_received, take_own_sources
from build_tools.pipeline.package_stages import PACKAGE_STAGES
from build_tools.pipeline.preflight import look_ahead, prove_build
from build_tools.pipeline.report import document, show_report
from build_tools.pipeline.source_stages import SOURCE_STAGES, refuse_stale_sources, run_sources
from build_tools.pipeline.step import WouldRun, step
from build_tools.sources.git import Git
from build_tools.sources.move import is_moving
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.types import CommitId
    from build_tools.workplace import Workplace

__all__ = ["run_pipeline"]


def run_pipeline(projects: Sequence[Project], *, until: Stage | None, workplace: Workplace) -> dict[str, Any]:
    """Run the stages of some projects; return what was done as plain data.

    Parameters
    ----------
    projects
        The projects, in order.
    until
        The last stage of the command; ``--until`` may name an earlier one.
    workplace
        Where and with what.

    Raises
    ------
    HipwrightError
        Whatever a stage raises, with the line that repeats that stage; ``stage-missing`` when ``--from`` wants an earlier stage done
        that is not.
    """
    settings = workplace.settings
    last = _last_stage(until, settings.until)
    if settings.from_stage is not None and settings.from_stage.number > last.number:
        message = f"--from {settings.from_stage} is later than {last}, where this command ends"
        raise HipwrightError("option-conflict", message)
    targets = wanted_targets(workplace)
    refuse_beside_own(projects, workplace)
    look_ahead(projects, last, workplace)
    chains = [
        Chain(project=project, workplace=workplace, targets=targets, python=python)
        for project in {project.name: project for project in projects}.values()
        for python in settings.python or (None,)
    ]
    _hand_out(receive(settings.from_receipt, workplace), chains)
    for chain in chains:
        refuse_received(chain)
    try:
        more = lock_chains(chains, workplace, last)
        for chain in chains:
            if last is not Stage.LOCK:
                _advance(chain, last)
    except HipwrightError as error:
        if any(chain.done for chain in chains):
            show_report(chains, workplace, failed=True)
        error.document = document(chains)
        raise
    show_report(chains, workplace)
    return {**document(chains), **more}


def _hand_out(received: Received, chains: list[Chain]) -> None:
    """Give each chain the finished stages that were handed over for it.

    Raises
    ------
    HipwrightError
        ``bad-receipt`` when one is of another project, or for another interpreter than the command is.
    """
    for (name, stage, python), done in received.items():
        own = [chain for chain in chains if chain.project.name == name]
        if not own:
            raise HipwrightError("bad-receipt", f"a receipt of {name} was handed over, and this command is not about it")
        fitting = [chain for chain in own if python is None or chain.python_tag == python]
        if not fitting:
            message = f"the receipt of {stage} of {name} is for {python}, and this command is for {', '.join(c.python_tag for c in own)}"
            raise HipwrightError("bad-receipt", message, hint="name the interpreter: --python, such as --python 3.12")
        for chain in fitting:
            chain.done[stage] = done
    for chain in chains:
        chain.done = {stage: chain.done[stage] for stage in Stage if stage in chain.done}


def _last_stage(of_command: Stage | None, asked: Stage | None) -> Stage:
    end = of_command or list(Stage)[-1]
    if asked is not None and asked.number > end.number:
        raise HipwrightError("option-conflict", f"--until {asked} is later than {end}, where this command ends")
    return asked or end


def _advance(chain: Chain, last: Stage) -> None:
    """Bring a chain to its last stage, beginning after what it was handed."""
    done = max((stage.number for stage in chain.done), default=0)
    ahead = [stage for stage in Stage if done < stage.number <= last.number]
    prove_build(chain, ahead)
    try:
        sources = [stage for stage in ahead if stage in SOURCE_STAGES]
        if sources and chain.own_tree is not None:
            take_own_sources(chain, chain.own_tree, sources)
        elif sources:
            _bring_sources(chain, sources)
        if Stage.BUILD in ahead:
            refuse_conflict_markers(chain.tree, chain.project)
            refuse_stale_sources(chain)
        for stage in ahead:
            if stage not in SOURCE_STAGES:
                step(chain, PACKAGE_STAGES[stage](chain))
    except WouldRun:
        found = next(reversed(chain.would_run))
        for stage in ahead[ahead.index(found) + 1 :]:
            chain.would_run[stage] = f"comes after {found}"


def _bring_sources(chain: Chain, stages: Sequence[Stage]) -> None:
    """Run a chain's source stages; the lock entry that this run replaced is put back when they fail before the tree has moved."""
    place = chain.workplace
    stood = _stand(chain)
    try:
        origin = place.origin(chain.project, chain.locked().requested.origin)
        run_sources(chain, stages, origin.git)
    except HipwrightError:
        if chain.locked_before is not None and not is_moving(chain.tree) and _stand(chain) == stood:
            # The tree stays where it is, and a lock that says otherwise would stand in the way of building it.
            restore(chain.locked_before, place)
            place.console.say(f"the lock of {chain.project.name} is as it was before")
        raise


def _stand(chain: Chain) -> CommitId | None:
    """Return the commit that a chain's tree stands on: each stage that moves a tree moves its root."""
    return Git(runner=chain.workplace.runner).at(chain.tree).head() if (chain.tree / ".git").is_dir() else None
