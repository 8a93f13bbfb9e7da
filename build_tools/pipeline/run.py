"""Run the stages of projects in order, from one stage until another, and show what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.builds.markers import refuse_conflict_markers
from build_tools.config.project import load_project, project_names
from build_tools.errors import HipwrightError
from build_tools.locking.keep import restore
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.bundling import refuse_bundling
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.companions import find_built_before, planned
from build_tools.pipeline.develop import develop, refuse_beside_develop
from build_tools.pipeline.dist_folder import put_wheels, refuse_dist_folder
from build_tools.pipeline.handover import Received, receive
from build_tools.pipeline.job_summary import job_summary
from build_tools.pipeline.lock_stage import lock_chains
from build_tools.pipeline.order import built_before, in_build_order
from build_tools.pipeline.own_stages import refuse_beside_own, refuse_received, take_own_sources
from build_tools.pipeline.package_stages import PACKAGE_STAGES
from build_tools.pipeline.preflight import look_ahead, prove_build
from build_tools.pipeline.report import document, show_report
from build_tools.pipeline.ruling_out import left, rule_out
from build_tools.pipeline.source_stages import SOURCE_STAGES, refuse_stale_sources, run_sources
from build_tools.pipeline.step import WouldRun, step
from build_tools.sources.git import Git
from build_tools.sources.move import is_moving
from build_tools.types import ProjectName, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.receipts.values import SourceTree
    from build_tools.types import CommitId, GfxTarget
    from build_tools.workplace import Workplace

__all__ = ["bring_tree", "run_chains", "run_pipeline"]


def run_pipeline(projects: Sequence[Project], *, until: Stage | None, workplace: Workplace) -> dict[str, Any]:
    """Run the stages of some projects; return what was done as plain data.

    Parameters and errors are those of :func:`run_chains`.
    """
    chains, more = run_chains(projects, until=until, workplace=workplace)
    show_report(chains, workplace)
    _summarise(chains, workplace)
    developed = [chain.developed for chain in chains if chain.developed is not None]
    return {**document(chains), **more, **({"develop": developed} if developed else {})}


def run_chains(projects: Sequence[Project], *, until: Stage | None, workplace: Workplace) -> tuple[list[Chain], dict[str, Any]]:
    """Run the stages of some projects; return them with what was done, and what locking says beside.

    Parameters
    ----------
    projects
        The projects, in any order: each is built after those whose wheels it is built with.
    until
        The last stage of the command; ``--until`` may name an earlier one.
    workplace
        Where and with what.

    Raises
    ------
    HipwrightError
        Whatever a stage raises, with the line that repeats that stage; ``stage-missing`` when ``--from`` wants an earlier stage done
        that is not; ``not-supported`` when the support table rules out all that is left.
    """
    settings = workplace.settings
    last = _last_stage(until, settings.until)
    if settings.from_stage is not None and settings.from_stage.number > last.number:
        message = f"--from {settings.from_stage} is later than {last}, where this command ends"
        raise HipwrightError("option-conflict", message)
    targets = {project.name: _targets_of(project, workplace) for project in projects}
    refuse_beside_own(projects, workplace)
    refuse_beside_develop(workplace)
    refuse_bundling(projects, last, workplace)
    refuse_dist_folder(projects, last, workplace)
    look_ahead(projects, last, workplace)
    chains = [
        Chain(project=project, workplace=workplace, targets=targets[project.name], python=python)
        for project in in_build_order(projects, workplace.external_builds)
        for python in settings.python or (None,)
    ]
    received = receive(settings.from_receipt, workplace, projects=[project.name for project in projects])
    _hand_out(received, chains)
    for chain in chains:
        refuse_received(chain)
    try:
        builds = last.number >= Stage.PROVISION.number
        if builds:
            rule_out(chains)
        going = left(chains)
        # Only what is built is left out of a lock.
        built = planned(going, received, workplace)
        more = lock_chains(going, workplace, last, built=built)
        if builds:
            # The lock says which torch it is.
            rule_out(chains)
        for chain in left(chains):
            if last is not Stage.LOCK and chain.ruled_out is None:
                chain.promised = tuple(file for other in chains if other.promotion_plan for file in other.index().files)
                _advance(chain, last, chains, received)
                # A wheel that was built before may say what no lock does, and others may need this project's own.
                rule_out(chains if builds else ())
        left(chains)
    except HipwrightError as error:
        if any(chain.done for chain in chains):
            show_report(chains, workplace, failed=True)
            _summarise(chains, workplace)
        error.document = document(chains)
        raise
    return chains, more


def _summarise(chains: list[Chain], workplace: Workplace) -> None:
    if not workplace.settings.dry_run:
        workplace.console.summarise(job_summary(chains, workplace))


def bring_tree(chain: Chain) -> SourceTree:
    """Return the source tree of a chain; where its wheels were handed over without it, the locked commit is checked out.

    Raises
    ------
    HipwrightError
        What the source stages raise; ``stage-missing`` when the chain has no lock either.
    """
    if Stage.HIPIFIED_PATCHES not in chain.done:
        chain.locked()
        beside = Chain(project=chain.project, workplace=chain.workplace, targets=chain.targets, python=chain.python)
        beside.done[Stage.LOCK] = chain.done[Stage.LOCK]
        _bring_sources(beside, list(SOURCE_STAGES))
        return beside.source()
    return chain.source()


def _targets_of(project: Project, workplace: Workplace) -> tuple[GfxTarget, ...]:
    """Return the GPU targets that are wanted of a project; where its own variable names them, that is told."""
    targets = wanted_targets(workplace, project.name)
    if project.name in workplace.settings.own_gfx:
        origin = workplace.resolved.origin(f"own_gfx.{project.name}")
        workplace.console.say(f"{project.name} is built for {', '.join(targets)}: {origin}, read for this project alone")
    return targets


def _hand_out(received: Received, chains: list[Chain]) -> None:
    """Give each chain the finished stages that were handed over for it.

    Raises
    ------
    HipwrightError
        ``bad-receipt`` when one is of another project, or for another interpreter than the command is.
    """
    beside = _may_go_beside(chains, received, chains[0].workplace) if chains else set()
    for (name, stage, python), done in received.items():
        own = [chain for chain in chains if chain.project.name == name]
        if not own and name in beside:
            continue
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


def _may_go_beside(chains: Sequence[Chain], received: Received, workplace: Workplace) -> set[str]:
    """Return the projects, other than the command's own, whose receipts are of use: wheels that those are built with, or these again."""
    needed = [chain.project for chain in chains]
    names: set[str] = set()
    known = set(project_names(workplace.external_builds)) & {name for name, _, _ in received}
    handed = [load_project(workplace.external_builds, ProjectName(name)) for name in sorted(known)]
    while needed:
        project = needed.pop()
        fresh = [other for other in built_before(project, handed) if other.name not in names]
        names |= {other.name for other in fresh}
        needed += fresh
    return names


def _advance(chain: Chain, last: Stage, chains: Sequence[Chain], received: Received) -> None:
    """Bring a chain to its last stage, beginning after what it was handed."""
    done = max((stage.number for stage in chain.done), default=0)
    ahead = [stage for stage in Stage if done < stage.number <= last.number]
    prove_build(chain, ahead)
    if Stage.BUILD in chain.done:
        put_wheels(chain)
    try:
        sources = [stage for stage in ahead if stage in SOURCE_STAGES]
        if sources and chain.own_tree is not None:
            take_own_sources(chain, chain.own_tree, sources)
        elif sources:
            _bring_sources(chain, sources)
        if Stage.BUILD in ahead:
            refuse_conflict_markers(chain.tree, chain.project)
            refuse_stale_sources(chain)
        if last.number >= Stage.PROVISION.number:
            chain.before = find_built_before(chain, chains, received)
            rule_out([chain])
            if chain.ruled_out is not None:
                return
        _make_packages(chain, [stage for stage in ahead if stage not in SOURCE_STAGES])
    except WouldRun:
        found = next(reversed(chain.would_run))
        for stage in ahead[ahead.index(found) + 1 :]:
            chain.would_run[stage] = f"comes after {found}"
        if Stage.BUILD in chain.would_run and not chain.workplace.settings.develop:
            put_wheels(chain)


def _make_packages(chain: Chain, stages: Sequence[Stage]) -> None:
    """Run a chain's stages after its sources, or build in the tree itself, after which there is nothing to run."""
    if chain.workplace.settings.develop and Stage.BUILD in stages:
        develop(chain)
        return
    for stage in stages:
        step(chain, PACKAGE_STAGES[stage](chain))
        if stage is Stage.BUILD:
            put_wheels(chain)


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
