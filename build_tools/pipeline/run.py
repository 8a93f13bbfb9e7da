"""Run the stages of projects in order, from one stage until another, and show what came of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.files import write_bytes
from build_tools.locking import Locked, ensure_locked, refuse_contradiction, require_packages, restore
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.engine import RECEIPT, Done, Making, Work, imagine, input_digest, keep_account, perform, stage_folder
from build_tools.pipeline.handover import Received, receive
from build_tools.pipeline.package_stages import PACKAGE_STAGES
from build_tools.pipeline.preflight import look_ahead, prove_build, wanted_targets
from build_tools.pipeline.report import document, repeat_line, show_report
from build_tools.pipeline.source_stages import SOURCE_STAGES, run_sources
from build_tools.pipeline.step import WouldRun, step
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import plain, to_json
from build_tools.receipts.stage import LockedResult
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.workplace import Workplace

__all__ = ["run_pipeline"]

ORDER: Final = tuple(Stage)


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
    if settings.from_stage is not None and ORDER.index(settings.from_stage) > ORDER.index(last):
        message = f"--from {settings.from_stage} is later than {last}, where this command ends"
        raise HipwrightError("option-conflict", message)
    targets = wanted_targets(workplace)
    look_ahead(projects, last, workplace)
    chains = [
        Chain(project=project, workplace=workplace, targets=targets, python=python)
        for project in {project.name: project for project in projects}.values()
        for python in settings.python or (None,)
    ]
    _hand_out(receive(settings.from_receipt, workplace), chains)
    try:
        _lock(chains, workplace, last)
        for chain in chains:
            if last is not Stage.LOCK:
                _advance(chain, last)
    except HipwrightError as error:
        if any(chain.done for chain in chains):
            show_report(chains, workplace, failed=True)
        error.document = document(chains)
        raise
    show_report(chains, workplace)
    return document(chains)


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
        chain.done = {stage: chain.done[stage] for stage in ORDER if stage in chain.done}


def _last_stage(of_command: Stage | None, asked: Stage | None) -> Stage:
    end = of_command or ORDER[-1]
    if asked is not None and ORDER.index(asked) > ORDER.index(end):
        raise HipwrightError("option-conflict", f"--until {asked} is later than {end}, where this command ends")
    return asked or end


def _lock(chains: list[Chain], workplace: Workplace, last: Stage) -> None:
    """Lock what no receipt brought, and hold what one brought against the options; show the lock when something was resolved anew."""
    packages = ORDER.index(last) >= ORDER.index(Stage.PROVISION)
    for chain in chains:
        if Stage.LOCK in chain.done:
            _judge_received(chain, packages=packages)
    wanted = {chain.project.name: chain.project for chain in chains if not chain.done}
    if not wanted:
        return
    try:
        locked = ensure_locked(list(wanted.values()), workplace, packages=packages)
    except HipwrightError as error:
        name = next(iter(wanted))
        error.reproduce = error.reproduce or repeat_line(Stage.LOCK, name, workplace)
        if error.log is None and not workplace.settings.dry_run:
            log = workplace.work_dir / "logs" / name / "lock.log"
            log.unlink(missing_ok=True)
            keep_account(error, log, workplace.runner)
        raise
    for chain in chains:
        if chain.project.name in locked:
            entry = locked[chain.project.name]
            chain.done[Stage.LOCK] = _lock_done(entry, chain)
            chain.locked_before = entry.earlier
    if any(entry.fresh for entry in locked.values()):
        _show_lock(locked, chains, workplace)


def _judge_received(chain: Chain, *, packages: bool) -> None:
    """Hold a lock that a receipt brought against the options."""
    settings = chain.workplace.settings
    if settings.lock is not None or settings.relock:
        message = f"the lock of {chain.project.name} was handed over by --from-receipt"
        raise HipwrightError("option-conflict", message, hint="give neither --lock nor --relock beside it")
    refuse_contradiction(chain.locked(), chain.project, chain.workplace)
    if packages:
        require_packages(chain.locked(), chain.project, where=chain.done[Stage.LOCK].path)


def _lock_done(entry: Locked, chain: Chain) -> Done:
    parts = {"inputs": digest.of_value(plain(entry.project))}
    name = chain.project.name

    def make(making: Making) -> LockedResult:
        write_bytes(making.folder / "lock.json", to_json(Lock(projects={name: entry.project})))
        return LockedResult(value=entry.project)

    folder = stage_folder(chain.workplace.work_dir, Stage.LOCK, name, input_digest(Stage.LOCK, name, parts))
    work = Work(stage=Stage.LOCK, project=name, parts=parts, make=make, receipt=folder / RECEIPT, quiet=True)
    if chain.workplace.settings.dry_run:
        receipt = imagine(work, LockedResult(value=entry.project))
        return Done(
            receipt=receipt, path=work.receipt, state="run" if entry.fresh else "skipped", why=entry.why, seconds=entry.seconds
        )
    done = perform(work, chain.workplace)
    return replace(done, state="run" if entry.fresh else "skipped", why=entry.why, seconds=done.seconds + entry.seconds)


def _show_lock(locked: dict[str, Locked], chains: list[Chain], workplace: Workplace) -> None:
    rows = []
    needs_rocm = {chain.project.name: chain.project.sdk == "rocm" for chain in chains}
    for name, entry in locked.items():
        sources, rocm = entry.project.sources, entry.project.rocm
        rocm_words = f"{rocm.version} from {rocm.source}" if rocm else "none yet" if needs_rocm[name] else "none"
        patches = f"{entry.project.patches.line or 'none'}: {entry.project.patches.reason}"
        rows.append((name, sources.ref, sources.commit[:12], sources.reason, patches, rocm_words))
    workplace.console.table("Lock", ("project", "ref", "commit", "why this one", "patches", "ROCm"), rows)


def _advance(chain: Chain, last: Stage) -> None:
    """Bring a chain to its last stage, beginning after what it was handed."""
    begin = max((ORDER.index(stage) for stage in chain.done), default=0) + 1
    ahead = [stage for stage in ORDER[begin:] if ORDER.index(stage) <= ORDER.index(last)]
    prove_build(chain, ahead)
    try:
        sources = [stage for stage in ahead if stage in SOURCE_STAGES]
        if sources:
            origin = chain.workplace.origin(chain.project, chain.locked().requested.origin)
            run_sources(chain, sources, origin.git)
        for stage in ahead:
            if stage not in SOURCE_STAGES:
                step(chain, PACKAGE_STAGES[stage](chain))
    except HipwrightError as error:
        if error.code.name == "unsaved-work" and chain.locked_before is not None:
            # The tree stays where it is, and a lock that says otherwise would stand in the way of building it.
            restore(chain.locked_before, chain.workplace)
            chain.workplace.console.say(f"the lock of {chain.project.name} is as it was before")
        raise
    except WouldRun:
        found = next(reversed(chain.would_run))
        for stage in ahead[ahead.index(found) + 1 :]:
            chain.would_run[stage] = f"comes after {found}"
