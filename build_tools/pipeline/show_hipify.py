"""What hipify did on the sources of two locks: the source stages run in a work dir of their own, which goes when all is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from build_tools import files
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError, Where
from build_tools.hipify.compare import ModuleComparison, compare_outputs, outputs_of
from build_tools.hipify.record import read_tree_record
from build_tools.hipify.run import hipify_digest
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.engine import RECEIPT, Done, Work, imagine
from build_tools.pipeline.source_stages import run_sources
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import plain, read_record
from build_tools.receipts.stage import LockedResult
from build_tools.shown import shown
from build_tools.sources.contents import entries
from build_tools.sources.phases import marked_modules
from build_tools.sources.told import called
from build_tools.types import ProjectName, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.hipify.compare import Outputs
    from build_tools.hipify.record import HipifyRecord
    from build_tools.receipts.lock import LockedProject, LockedSources
    from build_tools.workplace import Workplace

__all__ = ["show_hipify"]

_STAGES = (Stage.CHECKOUT, Stage.BASE_PATCHES, Stage.HIPIFY)


def show_hipify(workplace: Workplace) -> dict[str, Any]:
    """Compare what hipify did between two locks; show it, and return it as plain data.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when no lock is named, or more than two; ``lock-conflict`` when a lock lacks a project that is asked for, or
        is of another patch series or hipify tool than those on disk; and what the source stages raise.
    """
    old, new = _locks(workplace)
    projects = [load_project(workplace.external_builds, ProjectName(name)) for name in _names(old, new, workplace)]
    lock_file = workplace.lock_file("show-hipify")
    place = _apart(workplace)
    document = {}
    with files.hold(lock_file, purpose="comparing what hipify did", wait=workplace.settings.wait, on_wait=workplace.console.say):
        try:
            for project in projects:
                if project.hipify is None:
                    workplace.console.say(f"{project.name} has no hipify tool")
                    continue
                document[project.name] = _compare(project, (old, new), place)
        finally:
            files.remove_tree(place.work_dir)
    return {"hipify": document}


def _locks(workplace: Workplace) -> tuple[Lock, Lock]:
    paths = workplace.settings.paths
    if len(paths) not in {1, 2}:
        message = f"{len(paths) or 'no'} locks are named, and one or two can be compared"
        raise HipwrightError("bad-option-value", message, hint="invoke show-hipify OLD.json [NEW.json]")
    later = paths[1] if len(paths) > 1 else workplace.work_dir / "lock.json"
    if len(paths) == 1 and not later.exists():
        message = f"the work dir {workplace.work_dir} has no lock to compare {paths[0]} with"
        raise HipwrightError("stage-missing", message, hint="name the later lock too, or make one: nox -s lock")
    return read_record(paths[0], Lock), read_record(later, Lock)


def _names(old: Lock, new: Lock, workplace: Workplace) -> list[str]:
    both = sorted(old.projects.keys() & new.projects.keys())
    asked = list(workplace.settings.projects)
    for name in asked:
        if name not in both:
            which, lock = ("earlier", old) if name not in old.projects else ("later", new)
            message = f"the {which} lock has no project {name}; it has {', '.join(sorted(lock.projects)) or 'none'}"
            raise HipwrightError("lock-conflict", message)
    if not both:
        told = " and ".join(", ".join(sorted(lock.projects)) or "none" for lock in (old, new))
        raise HipwrightError("lock-conflict", f"the two locks have no project in common: {told}")
    for name in sorted((old.projects.keys() ^ new.projects.keys()) if not asked else ()):
        workplace.console.say(f"only the {'earlier' if name in old.projects else 'later'} lock has {name}: left out")
    return asked or both


def _apart(workplace: Workplace) -> Workplace:
    """Return a workplace with a work dir of its own inside the work dir, and the same cache."""
    settings = replace(workplace.settings, work_dir=workplace.work_dir / "show-hipify")
    return replace(workplace, resolved=replace(workplace.resolved, settings=settings))


def _compare(project: Project, locks: tuple[Lock, Lock], place: Workplace) -> dict[str, Any]:
    console = place.console
    locked = [lock.projects[project.name] for lock in locks]
    entries_of = [entry.sources for entry in locked]
    title = f"hipify of {project.name}: {' → '.join(f'{sources.ref} ({sources.commit[:12]})' for sources in entries_of)}"
    if locked[0].hipify is not None and _gives_hipify(locked[0]) == _gives_hipify(locked[1]):
        console.say(f"{title}: the same, as both locks have the same commits, patch series and tool")
        return _document(entries_of, (locked[0].hipify, locked[1].hipify), ())
    (old, before), (new, after) = [_make(project, entry, place) for entry in locked]
    parts = compare_outputs(before, after)
    rows = [row for part in parts for row in _rows(part)]
    notes = [_counts(part) for part in parts]
    if old.tool != new.tool:
        notes.append(f"the tool is another one: {_tool_words(old)} → {_tool_words(new)}")
    if rows:
        console.table(title, ("module", "file", "what"), rows, note="\n".join(notes))
    else:
        console.say("\n".join([f"{title}: the same", *notes]))
    return _document(entries_of, (old.tool, new.tool), parts)


def _document(
    sources: Sequence[LockedSources], tools: tuple[str | None, str | None], parts: Sequence[ModuleComparison]
) -> dict[str, Any]:
    return {
        "from": sources[0].commit,
        "to": sources[1].commit,
        "tool": {"from": tools[0], "to": tools[1]},
        "modules": [plain(part) for part in parts],
    }


def _gives_hipify(entry: LockedProject) -> tuple[object, ...]:
    """Return all of a locked project that hipify's result follows from."""
    sources = entry.sources
    return sources.origin, sources.commit, sources.submodules, entry.patches, entry.hipify


def _make(project: Project, entry: LockedProject, place: Workplace) -> tuple[HipifyRecord, Outputs]:
    """Run the source stages, and return the record of hipify's run and what came of it."""
    chain = Chain(project=project, workplace=place, targets=())
    origin = place.origin(project, entry.requested.origin)
    work = Work(
        stage=Stage.LOCK,
        project=project.name,
        parts={},
        make=lambda _making: LockedResult(value=entry),
        receipt=place.work_dir / RECEIPT,
    )
    receipt = imagine(work, LockedResult(value=entry))
    chain.done[Stage.LOCK] = Done(receipt=receipt, path=work.receipt, state="received", why="", seconds=0.0)
    run_sources(chain, _STAGES[:1], origin.git)
    if hipify_digest(project, locked=entry.sources, cache=place.cache, git=origin.git) != entry.hipify:
        message = f"project.toml of {project.name} says another hipify tool than when it was locked"
        raise HipwrightError("lock-conflict", message, where=Where(file=chain.folder / "project.toml", key="hipify"))
    run_sources(chain, _STAGES[1:], origin.git)
    record = read_tree_record(chain.tree)
    if record is None:
        raise HipwrightError("bad-source-tree", f"hipify left no record in {chain.tree}", where=Where(file=chain.tree))
    modules = marked_modules(chain.tree, git=origin.git, say=place.console.say)
    results = {module.path: entries(module.store, markers.hipified) for module, markers in modules.items()}
    return record.record, outputs_of(record.record, results)


def _rows(part: ModuleComparison) -> list[tuple[str, str, str]]:
    where = called(part.path)
    words = [("added", part.added), ("changed", part.changed), ("gone", part.gone)]
    return [(where, shown(path), word) for word, paths in words for path in paths]


def _tool_words(record: HipifyRecord) -> str:
    version = f"{record.generation}, " if record.generation else ""
    return f"{version}{record.tool[:12]}"


def _counts(part: ModuleComparison) -> str:
    where = called(part.path)
    return f"{where}: {len(part.added)} added, {len(part.changed)} changed, {len(part.gone)} gone"
