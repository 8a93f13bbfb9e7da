"""Resolve what a run needs into a lock, and keep it in the work dir."""

from __future__ import annotations

import contextlib
import functools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, write_bytes
from build_tools.locking.choose import Chooser, Stating
from build_tools.locking.manifest import read_manifest
from build_tools.locking.own import lock_own_tree
from build_tools.locking.packages import incomplete, names_a_source, require_packages, with_packages
from build_tools.locking.requests import FLAGS, OWNED_SOURCE, ROCM_PLACES, asked_for, flag_of, is_locked_to, laid_over, locked_to
from build_tools.locking.resolve import recipe_of, resolve, with_series_of_today
from build_tools.options.commands import COMMANDS
from build_tools.options.render import spelled, to_arguments
from build_tools.process import printable
from build_tools.receipts.lock import Lock, LockedProject, Requested
from build_tools.receipts.record import read_record, to_json
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.locking.makers import Built
    from build_tools.locking.manifest import Manifest
    from build_tools.sources.own import OwnTree
    from build_tools.types import ProjectName
    from build_tools.workplace import Workplace

__all__ = ["Locked", "ensure_locked", "lock_in_use", "refuse_contradiction", "refuse_other_line", "restore"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Locked:
    """A locked project, and whether this run resolved it (with the reason, in so many seconds) or found it.

    ``earlier`` is the entry that it took the place of, ``own`` the tree of the person's own that it was made from.
    """

    project: LockedProject
    fresh: bool
    why: str
    seconds: float = 0.0
    earlier: LockedProject | None = None
    own: OwnTree | None = None


def ensure_locked(
    projects: Sequence[Project], workplace: Workplace, *, packages: bool, whole: bool, built: Built | None = None
) -> dict[str, Locked]:
    """Return the lock entries of projects: those that the lock has, and newly resolved ones, which are added to it.

    Nobody is waited for while all entries stand; otherwise each project is held while it is resolved, the lock only while it is
    written. A project whose pins lie in another project's tree needs that one's entry: it is locked first, and returned too.

    Parameters
    ----------
    projects
        The projects that the command needs; no other entry is touched.
    workplace
        Where the lock lies; ``--lock FILE`` takes its place and is never written.
    packages
        Whether the command needs package files; without, they are locked only where their source is named.
    whole
        Whether a checkout is to come, so that what is fetched is fetched with its history.
    built
        By project, the packages that are wheels of other projects, built before: they are not locked.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` when an option contradicts an entry, or a given lock lacks what is needed; ``bad-manifest`` when a source
        manifest says nothing of the projects; what resolving raises.
    """
    if workplace.settings.lock is not None:
        return _from_given(workplace.settings.lock, projects, workplace, packages=packages, built=built or {})
    manifest = read_manifest(workplace)
    if manifest is not None:
        _refuse_foreign(manifest, projects, workplace)
    if manifest is not None and manifest.passed_by:
        workplace.console.warn(f"the source manifest names what means nothing here: {', '.join(manifest.passed_by)}")
    # Of less than the whole history, what a tree needs is fetched when it is made.
    whole = whole and workplace.settings.depth is None and not workplace.settings.partial
    named = {project.name for project in projects}
    locking = _Locking(workplace=workplace, packages=packages, whole=whole, named=named, built=built or {})
    for project in projects:
        locking.lock(project)
    return locking.found


def _refuse_foreign(manifest: Manifest, projects: Sequence[Project], workplace: Workplace) -> None:
    """Refuse a source manifest that says nothing of what is to be locked: the person means another file, or other projects."""
    settings = workplace.settings
    count = {project.name for project in projects} | {pin.project for project in projects for pin in project.pins}
    says_rocm = manifest.rocm_version is not None and bool(
        settings.rocm_find_links or settings.rocm_index_url or settings.rocm_run_id
    )
    if settings.manifest is None or says_rocm or count & set(manifest.projects):
        return
    named = redact(settings.manifest)
    names = " and ".join(project.name for project in projects)
    message = f"{named} says nothing of {names}; it has {', '.join(sorted(manifest.projects)) or 'none of the projects here'}"
    raise HipwrightError(
        "bad-manifest", message, where=Where(file=named), hint="name its projects with --projects, or leave out --manifest"
    )


def lock_in_use(workplace: Workplace) -> Lock:
    """Return the whole lock that commands here use: the one that ``--lock`` names, else the work dir's.

    Raises
    ------
    HipwrightError
        ``stage-missing`` when the work dir has none; ``bad-receipt`` when it cannot be read.
    """
    path = workplace.settings.lock or _own(workplace)
    if path == _own(workplace) and not path.exists():
        hint = "lock something first, or name a lock with --lock"
        raise HipwrightError("stage-missing", f"nothing is locked in {workplace.work_dir}", where=Where(file=path), hint=hint)
    return _read(path) if path == _own(workplace) else read_record(path, Lock)


def refuse_contradiction(entry: LockedProject, project: Project, workplace: Workplace) -> None:
    """Refuse options, and a recipe, that say another thing than what is locked.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` that names both values and the command that locks anew.
    """
    if entry.recipe != recipe_of(project):
        message = f"project.toml of {entry.name} says another origin, version, hipify tool or packages than when it was locked"
        raise HipwrightError("lock-conflict", message, hint=f"to lock it anew: {_relock_line(entry, workplace)}")
    asked = asked_for(entry.name, workplace)
    for field_name in Requested.__struct_fields__:
        value = getattr(asked, field_name)
        if not value or is_locked_to(entry, field_name, value) or _counts_for_nothing(field_name, entry, project):
            continue
        stands = next(iter(locked_to(entry, field_name)), None) or "what was there without it"
        flag = flag_of(field_name, entry.name, workplace)
        message = f"{flag} says {_words(value)}, and {entry.name} is locked to {_words(stands)}"
        raise HipwrightError("lock-conflict", message, hint=f"to lock it anew: {_relock_line(entry, workplace)}")


def refuse_other_line(entry: LockedProject, workplace: Workplace) -> None:
    """Refuse a patch line that is asked for beside a lock that says another one and is not to be changed.

    Raises
    ------
    HipwrightError
        ``lock-conflict``.
    """
    line = workplace.settings.line
    if line is not None and line != entry.patches.line:
        message = f"--line says {line}, and {entry.name} is locked to {entry.patches.line or 'no patches'}"
        raise HipwrightError("lock-conflict", message, hint=f"to lock it anew: {_relock_line(entry, workplace)}")


def _counts_for_nothing(field_name: str, entry: LockedProject, project: Project) -> bool:
    """Whether an option that says another thing decides nothing for an entry: packages that it does not have, a type beside a source."""
    if (field_name.startswith("rocm") or field_name in {"artifact_group", "release_type"}) and entry.rocm is None:
        return True
    if field_name in OWNED_SOURCE and not entry.owned:
        return True
    named = any(getattr(entry.requested, place) for place in ROCM_PLACES) or project.rocm.embedded
    return field_name == "release_type" and bool(named)


@dataclass(frozen=True, kw_only=True)
class _Locking:
    """One command's locking: every project is locked once, those first whose trees pin others; ``open`` are those under way."""

    workplace: Workplace
    packages: bool
    whole: bool
    named: set[str]
    built: Built = field(default_factory=dict)
    found: dict[str, Locked] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def lock(self, project: Project) -> Locked:
        """Return a project's entry: as it stands, or resolved anew and added to the lock."""
        known = self.found.get(project.name)
        if known is not None:
            return known
        if project.name in self.open:
            circle = " → ".join([*self.open[self.open.index(project.name) :], project.name])
            where = Where(file=self.workplace.external_builds / project.name / "project.toml", key="pins")
            raise HipwrightError("bad-data-file", f"the pins of projects go in a circle: {circle}", where=where)
        self.open.append(project.name)
        locked = self._lock(project)
        self.open.remove(project.name)
        # Those that state pins were put in before.
        self.found[project.name] = locked
        return locked

    @functools.cached_property
    def chooser(self) -> Chooser:
        """What chooses refs, one for the whole command."""
        return Chooser(workplace=self.workplace, stating=self._stating)

    def _stating(self, name: ProjectName) -> Stating:
        """Return a project that states pins: by its entry, whatever else this command does with it."""
        project = load_project(self.workplace.external_builds, name)
        return Stating(project=project, entry=self.lock(project).project)

    def _relocks(self, project: Project) -> bool:
        """Whether a project is to be resolved anew: ``--relock`` touches those alone that the command names."""
        return self.workplace.settings.relock and project.name in self.named

    def _needs_packages(self, project: Project) -> bool:
        return self.packages and project.name in self.named

    def _lock(self, project: Project) -> Locked:
        place, path = self.workplace, _own(self.workplace)
        began = time.monotonic()
        if project.name in place.settings.dir:
            known = None if self._relocks(project) else _read(path).projects.get(project.name)
            entry, own = lock_own_tree(
                project, place, known=known, packages=self._needs_packages(project), built=self._built(project)
            )
            return Locked(project=entry, fresh=True, why="a tree of your own", seconds=time.monotonic() - began, own=own)
        standing = self._standing(_read(path).projects.get(project.name), project)
        if standing is not None:
            return standing
        with self._held(project):
            earlier = _read(path).projects.get(project.name)
            # Another run may have locked it while this one waited.
            standing = self._standing(earlier, project)
            if standing is not None:
                return standing
            if earlier is not None and not self._relocks(project):
                with place.console.group(f"lock the packages of {project.name}"):
                    entry, why = (
                        with_packages(self._of_today(earlier, project), project, place, built=self._built(project)),
                        "its packages were not locked yet",
                    )
            else:
                with place.console.group(f"lock {project.name}"):
                    entry = resolve(project, earlier, place, chooser=self.chooser, whole=self.whole, line=self._line(project))
                    if self._needs_packages(project) or names_a_source(
                        project, entry.requested, place, built=self._built(project)
                    ):
                        entry = with_packages(entry, project, place, built=self._built(project))
                why = "--relock" if self._relocks(project) else self._why_new(project)
            _write(path, entry, place)
        return Locked(project=entry, fresh=True, why=why, seconds=time.monotonic() - began, earlier=earlier)

    def _why_new(self, project: Project) -> str:
        return "the work dir had not locked it" if project.name in self.named else "its tree pins what this command locks"

    def _held(self, project: Project) -> AbstractContextManager[None]:
        """Keep other runs from locking the same project for the block; a dry run changes nothing, and so takes no turn."""
        place = self.workplace
        if place.settings.dry_run:
            return contextlib.nullcontext()
        guard = place.lock_file(f"lock-{project.name}")
        return hold(guard, purpose=f"locking {project.name}", wait=place.settings.wait, on_wait=place.console.say)

    def _standing(self, entry: LockedProject | None, project: Project) -> Locked | None:
        """Return what an entry stands for when it is all that is needed; None when there is something to resolve."""
        if entry is None or self._relocks(project):
            return None
        refuse_contradiction(entry, project, self.workplace)
        if self._needs_packages(project) and incomplete(entry, project, self.workplace, built=self._built(project)):
            return None
        why = "locked earlier in this work dir"
        if project.name not in self.named:
            return Locked(project=entry, fresh=False, why=why)
        today = self._of_today(entry, project)
        if today is entry:
            return Locked(project=entry, fresh=False, why=why)
        _write(_own(self.workplace), today, self.workplace)
        # What was asked for now goes again when it cannot be followed.
        earlier = None if today.requested == entry.requested else entry
        why = f"{why}, with the patch series of today: {today.patches.reason}"
        return Locked(project=today, fresh=False, why=why, earlier=earlier)

    def _of_today(self, entry: LockedProject, project: Project) -> LockedProject:
        return with_series_of_today(entry, project, self.workplace, whole=self.whole, line=self._line(project))

    def _built(self, project: Project) -> frozenset[str]:
        return self.built.get(project.name, frozenset())

    def _line(self, project: Project) -> str | None:
        """Return the patch line that is asked for: of those projects alone that the command names."""
        return self.workplace.settings.line if project.name in self.named else None


def restore(entry: LockedProject, workplace: Workplace) -> None:
    """Put back the entry that a new one took the place of, when the new one could not be followed."""
    _write(_own(workplace), entry, workplace)


def _own(workplace: Workplace) -> Path:
    """Return where the work dir's own lock lies."""
    return workplace.work_dir / "lock.json"


def _read(path: Path) -> Lock:
    """Return the work dir's lock, an empty one where there is none."""
    if not path.exists():
        return Lock()
    try:
        return read_record(path, Lock)
    except HipwrightError as error:
        aside = printable(["mv", str(path), str(path.with_name(f"{path.name}.broken"))])
        hint = f"move it away, and lock again what you need: {aside}"
        raise HipwrightError(error.code.name, error.message, where=error.where, hint=hint) from error


def _write(path: Path, entry: LockedProject, workplace: Workplace) -> None:
    """Put one entry into the lock; the others stay as they are now."""
    if workplace.settings.dry_run:
        return
    with hold(workplace.lock_file("lock"), purpose="writing the lock", wait=True, on_wait=workplace.console.say):
        write_bytes(path, to_json(Lock(projects={**_read(path).projects, entry.name: entry})))


def _from_given(
    path: Path, projects: Sequence[Project], workplace: Workplace, *, packages: bool, built: Built
) -> dict[str, Locked]:
    settings = workplace.settings
    for given, flag, does in (
        (settings.relock, "--relock", "resolves anew"),
        (settings.manifest, "--manifest", "says it otherwise"),
    ):
        if given:
            message = f"--lock uses a lock as it is, and {flag} {does}"
            raise HipwrightError("option-conflict", message, hint="give one of them")
    lock = read_record(path, Lock)
    found = {}
    for project in projects:
        entry = lock.projects.get(project.name)
        if project.name in settings.dir:
            entry, own = lock_own_tree(project, workplace, known=entry, packages=False)
            found[project.name] = Locked(project=entry, fresh=True, why="a tree of your own", own=own)
            continue
        if entry is None:
            message = f"the lock has no project {project.name}; it has {', '.join(sorted(lock.projects)) or 'none'}"
            raise HipwrightError("lock-conflict", message, where=Where(file=path))
        refuse_contradiction(entry, project, workplace)
        refuse_other_line(entry, workplace)
        if packages:
            require_packages(entry, project, where=path, built=built.get(project.name, frozenset()))
        found[project.name] = Locked(project=entry, fresh=False, why=f"from {path}")
    return found


def _relock_line(entry: LockedProject, workplace: Workplace) -> str:
    """Return the command that locks a project anew with all that was and is asked for it."""
    command = COMMANDS["lock"]
    omit = [field.replace("_", "-") for field in Requested.__struct_fields__]
    words = to_arguments(workplace.resolved, command, project=entry.name, extra={"projects": entry.name}, omit=omit)
    asked = asked_for(entry.name, workplace)
    merged = laid_over(asked, entry.requested)
    for field_name, template in FLAGS.items():
        value = getattr(merged, field_name)
        # What a source manifest says is not typed again: the manifest is, or locking anew goes on from it.
        of_manifest = flag_of(field_name, entry.name, workplace) == "--manifest" and value == getattr(asked, field_name)
        if of_manifest or (field_name == "ref" and merged.commit is not None):
            continue
        for text in value if isinstance(value, tuple) else [value] if value else []:
            words += spelled(template.format(name=entry.name), text)
    return printable([*workplace.nox, "-s", command.name, "--", *words, "--relock"])


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
