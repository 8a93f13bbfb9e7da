"""``rebase-patches``: carry a patch series to another ref, in a work dir of its own; the person's source tree is only read.

The work dir holds a source tree at the new ref, a copy of the project with the line that grows, and how far the work has come. It goes
when the new line is written, or given up.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from build_tools import digest, files
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError, Where
from build_tools.locking.keep import ensure_locked
from build_tools.patches.applied import read_applied
from build_tools.patches.edit import SeriesText
from build_tools.patches.layout import NAME
from build_tools.patches.lines import checked_line, is_line_name
from build_tools.patches.prove import due_patches
from build_tools.patches.rebase import RebaseState, clear, is_open, read_state, write_state
from build_tools.patches.series import load_series
from build_tools.patches.write import write_series
from build_tools.pipeline.patch_trees import task_line, trees_in_use
from build_tools.pipeline.rebase_end import rules_for, tell_rule
from build_tools.pipeline.rebase_told import FATES, document_of
from build_tools.pipeline.rebase_work import OLD, RebaseWork
from build_tools.sources.modules import load_modules
from build_tools.sources.phases import marked_modules
from build_tools.types import ProjectName, is_commit_id

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.patches.rebase import Fate
    from build_tools.patches.series import Series
    from build_tools.pipeline.chain import Chain
    from build_tools.sources.git import Git
    from build_tools.workplace import Workplace

__all__ = ["line_for", "rebase_patches"]

_VERSION: Final = re.compile(r"v(?=\d)")
_COLUMNS: Final = ("patch", "what would become of it")


def rebase_patches(workplace: Workplace) -> dict[str, Any]:
    """Carry the series of a project to the ref that ``--onto`` names, or go on with that, or give it up; return what was done.

    Raises
    ------
    HipwrightError
        ``rebase-stopped`` at a conflict, with the place where the person solves it; ``rebase-state`` when such work is open already, or
        none is; ``bad-option-value`` and ``option-conflict`` when it is not said what to do; ``stage-missing`` without a source tree that
        has the series; what the source stages raise.
    """
    settings = workplace.settings
    asked = [
        flag for flag, given in (("--onto", settings.onto), ("--continue", settings.go_on), ("--abort", settings.abort)) if given
    ]
    if len(asked) > 1:
        raise HipwrightError("option-conflict", f"{' and '.join(asked)} say different things", hint="give one of them")
    if not asked:
        message = "it is not said which ref the series is to be carried to"
        raise HipwrightError("bad-option-value", message, hint=task_line("rebase-patches", workplace, "--onto", "REF"))
    name = _project(workplace)
    folder = workplace.work_dir / "rebase" / name
    guard = workplace.lock_file(f"rebase-{name}")
    with files.hold(guard, purpose=f"carrying patches of {name}", wait=settings.wait, on_wait=workplace.console.say):
        state = read_state(folder) if not settings.abort else None
        if settings.abort:
            return _give_up(name, folder, workplace)
        if settings.go_on:
            if state is None:
                message = f"no series of {name} is being carried to another ref in {workplace.work_dir}"
                hint = task_line("rebase-patches", workplace, "--projects", name, "--onto", "REF")
                raise HipwrightError("rebase-state", message, hint=hint)
            if settings.dry_run:
                return _tell_standing(state, workplace)
            if state.ending == "written":
                return _clear_away(state, folder, workplace)
            return RebaseWork(chain=_chain(name, workplace), folder=folder).go_on(state)
        if state is not None and state.ending != "written":
            raise _open_already(state, workplace)
        return _begin(_chain(name, workplace), folder, str(settings.onto))


def line_for(ref: str) -> str | None:
    """Return the name of the line that a ref gets when none is named, None where the ref makes no good one.

    >>> line_for("release/2.9"), line_for("v2.9.1"), line_for("nightly")
    ('2.9', '2.9.1', 'nightly')
    """
    if is_commit_id(ref.lower()):
        return None
    name = _VERSION.sub("", ref.rpartition("/")[2], count=1)
    return name if is_line_name(name) else None


def _project(workplace: Workplace) -> ProjectName:
    asked = list(dict.fromkeys(workplace.settings.projects))
    if not asked:
        opened = workplace.work_dir / "rebase"
        # What a run left that was killed before it could note anything can be given up, and not gone on with.
        found = sorted(
            path.name for path in (opened.iterdir() if opened.is_dir() else ()) if workplace.settings.abort or is_open(path)
        )
        onto = workplace.settings.onto is not None
        asked = [chain.project.name for chain in trees_in_use(_without_line(workplace))] if onto else found
        if not onto and not found:
            message = f"no series is being carried to another ref in {workplace.work_dir}"
            raise HipwrightError("rebase-state", message, hint=task_line("rebase-patches", workplace, "--onto", "REF"))
    if len(asked) != 1:
        message = f"one series is carried at a time, and these are meant: {', '.join(asked)}"
        raise HipwrightError("bad-option-value", message, hint="name the project with --projects")
    return ProjectName(load_project(workplace.external_builds, ProjectName(asked[0])).name)


def _without_line(workplace: Workplace) -> Workplace:
    """Return the workplace for the person's own tree: the line that is named is the new one, and so is the origin."""
    settings = replace(workplace.settings, line=None, origin={}, submodule_url={})
    return replace(workplace, resolved=replace(workplace.resolved, settings=settings))


def _chain(name: ProjectName, workplace: Workplace) -> Chain:
    """Return the person's own tree of a project."""
    place = _without_line(workplace)
    place = replace(place, resolved=replace(place.resolved, settings=replace(place.settings, projects=(name,))))
    (chain,) = trees_in_use(place)
    chain.workplace = workplace
    return chain


def _open_already(state: RebaseState, workplace: Workplace) -> HipwrightError:
    where = f", and stopped at {state.stopped.file}" if state.stopped else ""
    message = f"the series of {state.project} is being carried to {state.ref} already{where}"
    words = ("--projects", state.project)
    on, away = (task_line("rebase-patches", workplace, *words, flag) for flag in ("--continue", "--abort"))
    return HipwrightError("rebase-state", message, hint=f"go on: {on}; or give it up: {away}")


def _give_up(name: ProjectName, folder: Path, workplace: Workplace) -> dict[str, Any]:
    if not folder.exists():
        message = f"no series of {name} is being carried to another ref in {workplace.work_dir}"
        raise HipwrightError("rebase-state", message)
    state = None
    with contextlib.suppress(HipwrightError):
        state = read_state(folder)
    if state is not None and state.ending == "written":
        return _clear_away(state, folder, workplace)
    dry = workplace.settings.dry_run
    if not dry:
        clear(folder)
    said = "would be" if dry else "is"
    kept = "no series was changed"
    if state is not None and state.ending == "writing":
        kept = f"it was being written to {_line_of(state, workplace)}, which stays as it is"
    workplace.console.say(f"{name}: carrying the series over {said} given up; {folder} {said} removed, and {kept}")
    if state is None:
        return {"rebase": {"project": name, "state": "given up", "dry_run": dry}}
    return _document(state, "given up", workplace)


def _clear_away(state: RebaseState, folder: Path, workplace: Workplace) -> dict[str, Any]:
    """Remove what a run left that was ended when all was done but this."""
    if not workplace.settings.dry_run:
        clear(folder)
    workplace.console.say(f"{state.project}: the series is carried to {state.ref} already: {_line_of(state, workplace)}")
    return _document(state, "done", workplace)


def _document(state: RebaseState, standing: str, workplace: Workplace, **more: object) -> dict[str, Any]:
    """Return what is told programs of work that this run did not end itself."""
    fates = [(one.file, one.fate, None) for one in state.done]
    dry = workplace.settings.dry_run
    return document_of(state, standing, fates, series=_line_of(state, workplace), dry_run=dry, more=more)


def _line_of(state: RebaseState, workplace: Workplace) -> Path:
    return workplace.external_builds / state.project / "patches" / state.new_line


def _tell_standing(state: RebaseState, workplace: Workplace) -> dict[str, Any]:
    """Tell where the work stands that would go on."""
    at = f"it stopped at {state.stopped.file}" if state.stopped else "it was interrupted"
    workplace.console.say(
        f"{state.project}: {len(state.done)} patches of {state.old_line} are done with on the way to {state.ref}; {at}"
    )
    return _document(state, "open", workplace, stopped=None if state.stopped is None else state.stopped.file)


def _begin(chain: Chain, folder: Path, ref: str) -> dict[str, Any]:
    workplace = chain.workplace
    locked = chain.locked()
    old = locked.patches.line
    if old is None:
        message = f"{chain.project.name} has no patches at {locked.sources.ref}, so there is nothing to carry to {ref}"
        raise HipwrightError("no-line", message)
    series = load_series(chain.folder, old)
    new = _new_line(chain, ref, old)
    git = workplace.origin(chain.project, locked.requested.origin).git
    _has_all(chain, series)
    _warn_of_unsaved(chain, git)
    # Whether the rules can say it is told before the work, and not after it.
    rules_for(chain, ref, old=old, new=new)
    files.remove_tree(folder)
    try:
        place = _apart(chain, folder, old=old, new=new, ref=ref)
        workplace.console.say(f"{chain.project.name}: the line {old} is carried to {ref}, in {folder}; your tree is only read")
        entry = ensure_locked([chain.project], place, packages=False, whole=True)[chain.project.name].project
    except BaseException:
        clear(folder)
        raise
    state = RebaseState(
        project=chain.project.name,
        ref=entry.sources.ref,
        old_line=old,
        new_line=new,
        old_commit=locked.sources.commit,
        digest=series.digest,
        entry=entry,
        commits={one.file: one.commit for one in read_applied(chain.tree).patches if one.commit is not None},
        lenders={module.path: str(module.git_dir) for module in load_modules(chain.tree, git=git)},
    )
    if workplace.settings.dry_run:
        clear(folder)
        return _tell_plan(chain, state, series)
    write_state(folder, state)
    return RebaseWork(chain=chain, folder=folder).go_on(state)


def _new_line(chain: Chain, ref: str, old: str) -> str:
    asked = chain.workplace.settings.line
    new = asked or line_for(ref)
    if new is None:
        message = f"{ref} makes no good name for a patch line"
        raise HipwrightError("bad-option-value", message, hint="name the line: --line NAME")
    checked_line(new, chain.folder)
    if new != old and (chain.folder / "patches" / new).exists():
        message = f"the line {new} is there already, and the series of {old} would take its place"
        hint = "name another line: --line NAME; or the old one, to carry it over in place: " + f"--line {old}"
        raise HipwrightError("bad-option-value", message, where=Where(file=chain.folder / "patches" / new), hint=hint)
    return new


def _has_all(chain: Chain, series: Series) -> None:
    """Refuse a tree that has not every patch of the series as it is on disk: the old commits are what is carried."""
    applied = {one.file: one for one in read_applied(chain.tree).patches}
    platform = chain.workplace.platform
    for patch in series.patches:
        known = applied.get(patch.name)
        if patch.applies_on(platform) and (known is None or known.digest != digest.of_bytes(patch.data)):
            message = f"{chain.tree} does not have {patch.name} as it is on disk"
            command = task_line("apply-patches", chain.workplace, "--projects", chain.project.name)
            hint = f"bring the tree to its series first: {command}"
            raise HipwrightError("stage-missing", message, where=Where(file=patch.file, module=patch.module), hint=hint)


def _warn_of_unsaved(chain: Chain, git: Git) -> None:
    """Say that what a person has put on top of the series is not part of it."""
    modules = marked_modules(chain.tree, git=git, say=chain.workplace.console.say)
    if any(module.store.head() != markers.finished for module, markers in modules.items()):
        command = task_line("save-patches", chain.workplace, "--projects", chain.project.name)
        chain.workplace.console.warn(
            f"{chain.tree} has commits that no series has; they are not carried. To take them along, give this up, and first: {command}"
        )


def _apart(chain: Chain, folder: Path, *, old: str, new: str, ref: str) -> Workplace:
    """Return a workplace with a work dir and a copy of the project of its own, whose new line has no patches yet."""
    workplace = chain.workplace
    own = folder / "clone" / "external-builds" / chain.project.name
    shutil.copytree(chain.folder, own, ignore=lambda at, _names: ["patches"] if at == str(chain.folder) else [], symlinks=True)
    shutil.copytree(chain.folder / "patches" / old, folder / OLD / "patches" / old)
    write_series(own / "patches" / new, {NAME: SeriesText.begin(own / "patches" / new).data})
    origin = {chain.project.name: chain.locked().requested.origin, **workplace.settings.origin}
    settings = replace(
        workplace.settings,
        work_dir=folder,
        projects=(chain.project.name,),
        ref={chain.project.name: ref},
        origin={name: url for name, url in origin.items() if url is not None},
        line=new,
        relock=True,
        dry_run=False,
    )
    return replace(workplace, clone=folder / "clone", resolved=replace(workplace.resolved, settings=settings))


def _tell_plan(chain: Chain, state: RebaseState, series: Series) -> dict[str, Any]:
    """Tell what would be done; what merges make of the patches is known only when they are merged."""
    sources = state.entry.sources
    git = chain.workplace.origin(chain.project, chain.locked().requested.origin).git
    modules = marked_modules(chain.tree, git=git, say=chain.workplace.console.say)
    paths = {".", *(pin.path for pin in sources.submodules)}
    due = {one.file for one in due_patches(series, modules, base_version=sources.base_version) if one.rule == "expired"}
    fates: dict[str, Fate] = {}
    for patch in series.patches:
        if patch.name in due:
            fates[patch.name] = "expired"
        elif patch.module not in paths:
            fates[patch.name] = "no-module"
        elif not patch.applies_on(chain.workplace.platform):
            fates[patch.name] = "other-platform"
        else:
            fates[patch.name] = "carried"
    title = f"{chain.project.name}, line {state.old_line} → {state.new_line}: {state.old_commit[:12]} → {state.ref} ({sources.commit[:12]})"
    tell_rule(chain, state.ref, new=state.new_line)
    rows = [(name, FATES[fate]) for name, fate in fates.items()]
    chain.workplace.console.table(title, _COLUMNS, rows, note="nothing was done")
    planned = [(name, fate, None) for name, fate in fates.items()]
    return document_of(state, "planned", planned, series=_line_of(state, chain.workplace), dry_run=True)
