"""The lock stage: what was locked earlier or is resolved anew, held against the options, shown, and handed to the chains."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from build_tools import digest
from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.files import write_bytes
from build_tools.locking.choose import PINNED
from build_tools.locking.compare import compare, show_moves
from build_tools.locking.keep import Locked, ensure_locked, lock_in_use, refuse_contradiction, refuse_other_line
from build_tools.locking.manifest import make_manifest, manifest_bytes
from build_tools.locking.packages import require_packages
from build_tools.options.commands import COMMANDS
from build_tools.options.model import OPTIONS
from build_tools.options.render import spelled, to_arguments
from build_tools.patches.lines import faults_of_lines, rule_of
from build_tools.pipeline.companions import told_planned
from build_tools.pipeline.engine import (
    RECEIPT,
    Done,
    Making,
    Work,
    decide,
    imagine,
    input_digest,
    keep_account,
    perform,
    stage_folder,
)
from build_tools.pipeline.report import repeat_line
from build_tools.process import printable
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import plain, read_record, to_json
from build_tools.receipts.stage import LockedResult
from build_tools.rocm.pairs import days_old
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.config.project import Project
    from build_tools.locking.makers import Built
    from build_tools.options.commands import Command
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.lock import LockedProject
    from build_tools.workplace import Workplace

__all__ = ["compare_standing", "lock_chains"]

_BESIDE_DIFF: Final = frozenset(
    {"diff", "lock", "manifest-out", "dry-run", "explain", "work-dir", "cache-dir", "json", "traceback", "wait"}
)
"""The options of the lock command that say nothing of what is to be locked."""
_PLACES: Final = frozenset({"work-dir", "cache-dir"})


def lock_chains(chains: list[Chain], workplace: Workplace, last: Stage, *, built: Built | None = None) -> dict[str, Any]:
    """Lock what no receipt brought, and hold what one brought against the options; return what a document says of the lock.

    Parameters
    ----------
    chains
        The projects on their way; each gets its lock stage as done.
    workplace
        Where and with what.
    last
        The last stage of the command: without a checkout to come, nothing is cloned in full.
    built
        By project, the packages that are wheels of other projects, built before: a lock leaves them out.

    Raises
    ------
    HipwrightError
        What locking raises, with the line that repeats it; ``bad-option-value`` when the manifest cannot be written where it should be.
    """
    _refuse_odd_outputs(workplace)
    packages = last.number >= Stage.PROVISION.number
    for chain in chains:
        if Stage.LOCK in chain.done:
            _judge_received(chain, packages=packages, built=(built or {}).get(chain.project.name, frozenset()))
    wanted = {chain.project.name: chain.project for chain in chains if not chain.done}
    if not wanted:
        return {}
    # Read first: a lock to compare with that is none is told before anything is resolved.
    earlier = None if workplace.settings.diff is None else read_record(workplace.settings.diff, Lock)
    try:
        locked = ensure_locked(list(wanted.values()), workplace, packages=packages, whole=last is not Stage.LOCK, built=built)
    except HipwrightError as error:
        name = next(iter(wanted))
        error.reproduce = error.reproduce or repeat_line(Stage.LOCK, ",".join(wanted), workplace)
        if error.log is None and not workplace.settings.dry_run:
            log = workplace.work_dir / "logs" / name / "lock.log"
            log.unlink(missing_ok=True)
            keep_account(error, log, workplace.runner)
        raise
    for chain in chains:
        if chain.project.name in locked:
            entry = locked[chain.project.name]
            chain.done[Stage.LOCK] = _lock_done(entry, chain)
            chain.locked_before, chain.own_tree = entry.earlier, entry.own
    for project in wanted.values():
        _tell_line(project, locked[project.name].project, workplace)
    if last is Stage.LOCK or any(entry.fresh for entry in locked.values()):
        _show_lock(locked, chains, workplace, built or {})
    lock = Lock(projects={name: entry.project for name, entry in locked.items()})
    return _told(lock, earlier, workplace, stating=_stating(lock, chains, workplace)) if last is Stage.LOCK else {}


def compare_standing(command: Command, workplace: Workplace) -> dict[str, Any]:
    """Say what moved between an earlier lock and the one that stands; nothing is resolved, and no network is asked.

    Raises
    ------
    HipwrightError
        ``option-conflict`` when the command line asks for something to be locked too: no project is named; ``bad-receipt`` when one of
        the two locks cannot be read.
    """
    settings = workplace.settings
    _refuse_odd_outputs(workplace)
    for flag in _asking(command, workplace):
        message = f"--diff without --projects compares with the lock that stands, and {flag} says what to lock"
        raise HipwrightError("option-conflict", message, hint=f"name what is to be locked with --projects, or leave {flag} out")
    earlier = Lock() if settings.diff is None else read_record(settings.diff, Lock)
    return _told(lock_in_use(workplace), earlier, workplace)


def _refuse_odd_outputs(workplace: Workplace) -> None:
    """Refuse a file to be written where something else is: a device or pipe would be replaced, and a folder cannot be."""
    path = workplace.settings.manifest_out
    if path is None:
        return
    message = None
    if path.exists() and not path.is_file():
        message = f"--manifest-out names {path}, which is {'a folder' if path.is_dir() else 'no regular file'}"
    else:
        parent = next((parent for parent in path.parents if parent.exists()), path.parent)
        if not parent.is_dir():
            message = f"--manifest-out names {path}, and {parent} is no folder"
    if message is not None:
        raise HipwrightError("bad-option-value", message, hint="name a file that is there already, or none yet")


def _asking(command: Command, workplace: Workplace) -> list[str]:
    """Return the flags on the command line that ask for something to be locked; settings that stand elsewhere ask for nothing here."""
    asking = [option for option in command.options if option.name not in _BESIDE_DIFF]
    typed = {name for name, origin in workplace.resolved.origins.items() if origin.startswith("command line")}
    names = workplace.resolved.settings
    found = []
    for option in asking:
        if option.per_project:
            projects = [name for name in getattr(names, option.field_name) if f"{option.field_name}.{name}" in typed]
            found += [option.flag.replace("<project>", name) for name in projects]
        elif option.field_name in typed:
            found.append(option.flag)
    return found


def _stating(lock: Lock, chains: list[Chain], workplace: Workplace) -> dict[str, LockedProject]:
    """Return the projects that were locked for their pins: a manifest names them too, whether this run locked them or an earlier one."""
    names = set()
    for project in (chain.project for chain in chains if chain.project.name in lock.projects):
        reason = lock.projects[project.name].sources.reason
        names |= {pin.project for pin in project.pins if reason.startswith(f"{PINNED}{pin.project} at ")}
    names -= lock.projects.keys()
    if workplace.settings.manifest_out is None or not names:
        return {}
    return {name: entry for name, entry in lock_in_use(workplace).projects.items() if name in names}


def _told(
    lock: Lock, earlier: Lock | None, workplace: Workplace, *, stating: Mapping[str, LockedProject] | None = None
) -> dict[str, Any]:
    """Return what the lock command's document says, and do what its options ask for besides: what moved, and a source manifest.

    The manifest has the projects in ``stating`` as well.
    """
    settings = workplace.settings
    document: dict[str, Any] = {"lock": plain(lock)}
    if earlier is not None and settings.diff is not None:
        named = Lock(projects={name: entry for name, entry in earlier.projects.items() if _is_asked(name, lock, workplace)})
        document["moved"] = show_moves(compare(named, lock), settings.diff, workplace.console)
    if settings.manifest_out is not None:
        data = manifest_bytes(make_manifest(Lock(projects={**(stating or {}), **lock.projects})))
        if not settings.dry_run:
            write_bytes(settings.manifest_out, data)
            workplace.console.say(f"the source manifest is {settings.manifest_out}")
    return document


def _is_asked(name: str, lock: Lock, workplace: Workplace) -> bool:
    """Whether a project of an earlier lock counts: all do, unless the command names some."""
    return not workplace.settings.projects or name in lock.projects


def _judge_received(chain: Chain, *, packages: bool, built: frozenset[str]) -> None:
    """Hold a lock that a receipt brought against the options."""
    settings = chain.workplace.settings
    if settings.lock is not None or settings.relock:
        message = f"the lock of {chain.project.name} was handed over by --from-receipt"
        raise HipwrightError("option-conflict", message, hint="give neither --lock nor --relock beside it")
    refuse_contradiction(chain.locked(), chain.project, chain.workplace)
    refuse_other_line(chain.locked(), chain.workplace)
    if packages:
        require_packages(chain.locked(), chain.project, where=chain.done[Stage.LOCK].path, built=built)


def _tell_line(project: Project, entry: LockedProject, workplace: Workplace) -> None:
    """Say that a patch line was asked for, which the lock keeps, and how the ref's own rule counts again."""
    line = entry.requested.line
    if line is None:
        return
    told = f"{project.name}: patch line {line}, asked for by --line, until another one is"
    # Locking anew keeps what was asked for; a ref that is asked for is one that a rule is looked up for.
    if workplace.settings.lock is None and rule_of(project, entry.sources.ref) is not None:
        places = to_arguments(workplace.resolved, COMMANDS["lock"], project=None, omit=set(OPTIONS) - _PLACES)
        words = [*places, "--projects", project.name, *spelled(f"--{project.name}-ref", entry.sources.ref), "--relock"]
        told = f"{told}; back to the rules: {printable([*workplace.nox, '-s', 'lock', '--', *words])}"
    workplace.console.say(told)


def _lock_done(entry: Locked, chain: Chain) -> Done:
    parts = {"inputs": digest.of_value(plain(entry.project))}
    name = chain.project.name

    def make(making: Making) -> LockedResult:
        write_bytes(making.folder / "lock.json", to_json(Lock(projects={name: entry.project})))
        return LockedResult(value=entry.project)

    folder = stage_folder(chain.workplace.work_dir, Stage.LOCK, name, input_digest(Stage.LOCK, name, parts))
    work = Work(stage=Stage.LOCK, project=name, parts=parts, make=make, receipt=folder / RECEIPT, quiet=True)
    if chain.workplace.settings.dry_run:
        receipt = decide(work, chain.workplace).earlier or imagine(work, LockedResult(value=entry.project))
        return Done(
            receipt=receipt, path=work.receipt, state="run" if entry.fresh else "skipped", why=entry.why, seconds=entry.seconds
        )
    done = perform(work, chain.workplace)
    return replace(done, state="run" if entry.fresh else "skipped", why=entry.why, seconds=done.seconds + entry.seconds)


def _aged(version: str) -> str:
    """Return a ROCm version with its age, where its version tells the day: a source that stopped being filled gives an old one."""
    days = days_old(version, today=datetime.now(tz=UTC).date())
    return version if days is None else f"{version}, {counted(days, 'day')} old"


def _show_lock(locked: Mapping[str, Locked], chains: list[Chain], workplace: Workplace, built: Built) -> None:
    rows, notes = [], []
    projects = {chain.project.name: chain.project for chain in chains}
    without_rocm = {chain.project.name for chain in chains if chain.project.sdk == "none"}
    for name, entry in locked.items():
        sources, patches, rocm = entry.project.sources, entry.project.patches, entry.project.rocm
        version = _aged(rocm.version) if rocm else "none" if name in without_rocm else "none yet"
        rows.append((name, sources.ref, sources.commit[:12], patches.line or "none", version, sources.reason))
        notes.append(f"{name}: patches: {patches.reason}" + (f"; ROCm from {rocm.source}" if rocm else ""))
        if name in projects:
            notes += faults_of_lines(projects[name], workplace.external_builds / name).told(name)
    notes += told_planned({name: built[name] for name in locked if name in built}, chains, workplace)
    columns = ("project", "ref", "commit", "patches", "ROCm", "why this one")
    workplace.console.table("Lock", columns, rows, note="\n".join(notes))
