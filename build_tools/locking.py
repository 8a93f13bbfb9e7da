"""Resolve what a run needs into a lock, and keep it in the work dir."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from packaging.utils import canonicalize_name, parse_wheel_filename

from build_tools import digest
from build_tools.config.channels import load_channels
from build_tools.environments.interpreter import supported_tags
from build_tools.environments.listing import PackageSource
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, write_bytes
from build_tools.hipify.run import hipify_digest
from build_tools.options.commands import COMMANDS
from build_tools.options.render import spelled, to_arguments
from build_tools.patches.series import lock_patches
from build_tools.process import printable
from build_tools.receipts.lock import Lock, LockedFile, LockedProject, LockedRocm, Requested
from build_tools.receipts.record import plain, read_record, to_json
from build_tools.rocm.source import rocm_source
from build_tools.sources.resolve import resolve_sources
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from packaging.tags import Tag

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["Locked", "ensure_locked", "fitting", "refuse_contradiction", "require_packages", "restore"]

_FLAGS: Final = {
    "ref": "--{name}-ref",
    "origin": "--{name}-origin",
    "rocm_find_links": "--rocm-find-links",
    "rocm_index_url": "--rocm-index-url",
    "rocm_version": "--rocm-version",
    "release_type": "--release-type",
    "find_links": "--find-links",
    "index_url": "--index-url",
}
_ROCM_SOURCE: Final = ("rocm_find_links", "rocm_index_url", "release_type")
_OWNED_SOURCE: Final = ("find_links", "index_url")


@dataclass(frozen=True, kw_only=True, slots=True)
class Locked:
    """A locked project, and whether this run resolved it (with the reason, in so many seconds) or found it.

    ``earlier`` is the entry that it took the place of.
    """

    project: LockedProject
    fresh: bool
    why: str
    seconds: float = 0.0
    earlier: LockedProject | None = None


def ensure_locked(projects: Sequence[Project], workplace: Workplace, *, packages: bool) -> dict[str, Locked]:
    """Return the lock entries of projects: those that the lock has, and newly resolved ones, which are added to it.

    Nobody is waited for while all entries stand; otherwise each project is held while it is resolved, the lock only while it is
    written.

    Parameters
    ----------
    projects
        The projects that the command needs; no other entry is touched.
    workplace
        Where the lock lies; ``--lock FILE`` takes its place and is never written.
    packages
        Whether the command needs package files; without, they are locked only where their source is named.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` when an option contradicts an entry, or a given lock lacks what is needed; what resolving raises.
    """
    if workplace.settings.lock is not None:
        return _from_given(workplace.settings.lock, projects, workplace, packages=packages)
    return {project.name: _lock_one(project, workplace, packages=packages) for project in projects}


def refuse_contradiction(entry: LockedProject, project: Project, workplace: Workplace) -> None:
    """Refuse options, and a recipe, that say another thing than what is locked.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` that names both values and the command that locks anew.
    """
    if entry.recipe != _recipe(project):
        message = f"project.toml of {entry.name} says another origin, version, hipify tool or packages than when it was locked"
        raise HipwrightError("lock-conflict", message, hint=f"to lock it anew: {_relock_line(entry, workplace)}")
    asked = _asked(entry.name, workplace)
    for field in Requested.__struct_fields__:
        value = getattr(asked, field)
        if not value or value == getattr(entry.requested, field) or value in _also_right(entry, field):
            continue
        if (field.startswith("rocm") or field == "release_type") and entry.rocm is None:
            continue
        if field in _OWNED_SOURCE and not entry.owned:
            continue
        if field == "release_type" and (
            entry.requested.rocm_find_links or entry.requested.rocm_index_url or project.rocm.embedded
        ):
            continue
        stands = getattr(entry.requested, field) or next(iter(_also_right(entry, field)), None) or "what was there without it"
        flag = _FLAGS[field].format(name=entry.name)
        message = f"{flag} says {_words(value)}, and {entry.name} is locked to {_words(stands)}"
        raise HipwrightError("lock-conflict", message, hint=f"to lock it anew: {_relock_line(entry, workplace)}")


def require_packages(entry: LockedProject, project: Project, *, where: Path | str) -> None:
    """Refuse a lock that was handed over without the package files that a command needs.

    Raises
    ------
    HipwrightError
        ``lock-conflict``.
    """
    if _lacks_packages(entry, project):
        message = f"the lock names no package files for {project.name}, and this command needs them"
        hint = "make a lock with their source named: nox -s lock -- --rocm-find-links DIR or --rocm-index-url URL"
        raise HipwrightError("lock-conflict", message, where=Where(file=where), hint=hint)


def fitting(entry: LockedProject, interpreter: Interpreter) -> LockedProject:
    """Return a lock entry with only the package files that fit an interpreter: a lock for several holds files for each.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` when a package has files, and none for this interpreter.
    """
    gaps = _gaps(entry, interpreter)
    if gaps:
        message = f"the lock has no file of {', '.join(gaps)} for Python {interpreter.version}"
        raise HipwrightError("lock-conflict", message, hint="lock anew for this interpreter: --python and --relock together")
    tags = frozenset(supported_tags(interpreter))
    rocm = entry.rocm and msgspec.structs.replace(entry.rocm, files=_fit(entry.rocm.files, tags))
    return msgspec.structs.replace(entry, rocm=rocm, owned=_fit(entry.owned, tags))


def _lock_one(project: Project, workplace: Workplace, *, packages: bool) -> Locked:
    settings, path = workplace.settings, workplace.work_dir / "lock.json"
    began = time.monotonic()
    standing = _standing(_read(path).projects.get(project.name), project, workplace, packages=packages)
    if standing is not None:
        return standing
    guard = workplace.lock_file(f"lock-{project.name}")
    with hold(guard, purpose=f"locking {project.name}", wait=settings.wait, on_wait=workplace.console.say):
        earlier = _read(path).projects.get(project.name)
        # Another run may have locked it while this one waited.
        standing = _standing(earlier, project, workplace, packages=packages)
        if standing is not None:
            return standing
        if earlier is not None and not settings.relock:
            with workplace.console.group(f"lock the packages of {project.name}"):
                entry, why = _with_packages(earlier, project, workplace), "its packages were not locked yet"
        else:
            with workplace.console.group(f"lock {project.name}"):
                entry = _resolve(project, earlier, workplace)
                if packages or _names_a_source(project, entry.requested):
                    entry = _with_packages(entry, project, workplace)
            why = "--relock" if settings.relock else "the work dir had not locked it"
        _write(path, entry, workplace)
    return Locked(project=entry, fresh=True, why=why, seconds=time.monotonic() - began, earlier=earlier)


def _standing(entry: LockedProject | None, project: Project, workplace: Workplace, *, packages: bool) -> Locked | None:
    """Return what an entry stands for when it is all that is needed; None when there is something to resolve."""
    if entry is None or workplace.settings.relock:
        return None
    refuse_contradiction(entry, project, workplace)
    if packages and _incomplete(entry, project, workplace):
        return None
    return _with_series_of_today(entry, project, workplace, workplace.work_dir / "lock.json")


def restore(entry: LockedProject, workplace: Workplace) -> None:
    """Put back the entry that a new one took the place of, when the new one could not be followed."""
    _write(workplace.work_dir / "lock.json", entry, workplace)


def _read(path: Path) -> Lock:
    return read_record(path, Lock) if path.exists() else Lock()


def _write(path: Path, entry: LockedProject, workplace: Workplace) -> None:
    """Put one entry into the lock; the others stay as they are now."""
    if workplace.settings.dry_run:
        return
    with hold(workplace.lock_file("lock"), purpose="writing the lock", wait=True, on_wait=workplace.console.say):
        write_bytes(path, to_json(Lock(projects={**_read(path).projects, entry.name: entry})))


def _with_series_of_today(entry: LockedProject, project: Project, workplace: Workplace, path: Path) -> Locked:
    """Return an entry with the patch series as it is on disk: it is this clone's own, and no network is asked for it."""
    patches = lock_patches(project, entry.sources.ref, folder=workplace.external_builds / project.name)
    if patches == entry.patches:
        return Locked(project=entry, fresh=False, why="locked earlier in this work dir")
    entry = msgspec.structs.replace(entry, patches=patches)
    _write(path, entry, workplace)
    return Locked(project=entry, fresh=False, why="locked earlier in this work dir, with the patch series of today")


def _from_given(path: Path, projects: Sequence[Project], workplace: Workplace, *, packages: bool) -> dict[str, Locked]:
    lock = read_record(path, Lock)
    if workplace.settings.relock:
        message = "--lock uses a lock as it is, and --relock resolves anew"
        raise HipwrightError("option-conflict", message, hint="give one of them")
    found = {}
    for project in projects:
        entry = lock.projects.get(project.name)
        if entry is None:
            message = f"the lock has no project {project.name}; it has {', '.join(sorted(lock.projects)) or 'none'}"
            raise HipwrightError("lock-conflict", message, where=Where(file=path))
        refuse_contradiction(entry, project, workplace)
        if packages:
            require_packages(entry, project, where=path)
        found[project.name] = Locked(project=entry, fresh=False, why=f"from {path}")
    return found


def _resolve(project: Project, earlier: LockedProject | None, workplace: Workplace) -> LockedProject:
    """Resolve the sources of a project; what was asked for earlier, and is not asked otherwise now, still counts."""
    name = project.name
    asked = _asked(name, workplace)
    requested = _over(asked, earlier.requested) if earlier is not None else asked
    if asked.ref:
        reason = f"asked for by {workplace.resolved.origin(f'ref.{name}')}"
    else:
        reason = "asked for when it was locked first" if requested.ref else "the default of its project.toml"
    origin = workplace.origin(project, requested.origin)
    sources = resolve_sources(
        project, origin=origin, ref=requested.ref, reason=reason, cache=workplace.cache, say=workplace.console.say
    )
    return LockedProject(
        name=name,
        requested=requested,
        recipe=_recipe(project),
        sources=sources,
        patches=lock_patches(project, sources.ref, folder=workplace.external_builds / name),
        hipify=hipify_digest(project, locked=sources, cache=workplace.cache, git=origin.git),
        rocm=None,
    )


def _recipe(project: Project) -> Sha256:
    """Return the digest of what locking reads of ``project.toml``."""
    rows = (project.origin, project.version, project.hipify, project.sdk, project.rocm, project.build.owned_requires)
    return digest.of_value([plain(row) for row in rows])


def _with_packages(entry: LockedProject, project: Project, workplace: Workplace) -> LockedProject:
    """Return an entry with package files for all target interpreters; versions that are locked already stay."""
    requested = _over(_asked(project.name, workplace), entry.requested)
    return msgspec.structs.replace(
        entry,
        requested=requested,
        rocm=_rocm(project, requested, entry.rocm, workplace),
        owned=_owned(project, requested, entry.owned, workplace),
    )


def _rocm(project: Project, requested: Requested, known: LockedRocm | None, workplace: Workplace) -> LockedRocm | None:
    if project.sdk == "none":
        return None
    source = rocm_source(
        project,
        workplace.external_builds / project.name,
        find_links=_unredacted(workplace.settings.rocm_find_links, requested.rocm_find_links),
        index_url=_unredacted((workplace.settings.rocm_index_url,), (requested.rocm_index_url,))[0],
        release_type=requested.release_type,
        cache=workplace.cache,
        say=workplace.console.say,
    )
    extras = f"[{','.join(project.rocm.extras)}]" if project.rocm.extras else ""
    version = known.version if known else requested.rocm_version
    exact = f"=={version}" if version else ""
    files = _files((f"{project.rocm.requirement}{extras}{exact}",), source, known.files if known else (), workplace)
    chosen = next(file.version for file in files if file.distribution == canonicalize_name(project.rocm.requirement))
    return LockedRocm(source=source.describe(), version=chosen, files=files)


def _owned(project: Project, requested: Requested, known: tuple[LockedFile, ...], workplace: Workplace) -> tuple[LockedFile, ...]:
    wanted = project.build.owned_requires
    if not wanted:
        return ()
    settings = workplace.settings
    source = PackageSource(
        find_links=_unredacted(settings.find_links, requested.find_links),
        index_url=_unredacted((settings.index_url,), (requested.index_url,))[0],
    )
    if not (source.find_links or source.index_url):
        message = f"{project.name} needs {', '.join(wanted)}, and no source is named for it"
        raise HipwrightError("requirement-missing", message, hint="name one: --find-links DIR or --index-url URL")
    return _files((*wanted, *sorted({f"{file.distribution}==={file.version}" for file in known})), source, known, workplace)


def _files(
    requirements: tuple[str, ...], source: PackageSource, known: tuple[LockedFile, ...], workplace: Workplace
) -> tuple[LockedFile, ...]:
    """Return the exact files for all target interpreters, and those that were known, each file once."""
    found = {file.filename: file for file in known}
    for interpreter in workplace.interpreters.values():
        files = lock_owned(
            requirements, source=source, interpreter=interpreter, network=workplace.base.network(), cache=workplace.cache
        )
        found |= {file.filename: file for file in files}
    return tuple(sorted(found.values(), key=lambda file: (file.distribution, file.version, file.filename)))


def _names_a_source(project: Project, requested: Requested) -> bool:
    """Say whether the packages' source is named, so that they can be locked before anything needs them."""
    rocm = project.sdk == "none" or project.rocm.embedded or requested.rocm_find_links or requested.rocm_index_url
    owned = not project.build.owned_requires or requested.find_links or requested.index_url
    return bool(rocm and owned)


def _lacks_packages(entry: LockedProject, project: Project) -> bool:
    return (project.sdk == "rocm" and entry.rocm is None) or bool(project.build.owned_requires and not entry.owned)


def _incomplete(entry: LockedProject, project: Project, workplace: Workplace) -> bool:
    """Say whether package files are missing altogether, or for one of the target interpreters."""
    return _lacks_packages(entry, project) or any(
        _gaps(entry, interpreter) for interpreter in workplace.interpreters.values() if entry.packages
    )


def _gaps(entry: LockedProject, interpreter: Interpreter) -> list[str]:
    """Return the packages that have files, and none for an interpreter."""
    tags = frozenset(supported_tags(interpreter))
    return sorted({file.distribution for file in entry.packages} - {file.distribution for file in _fit(entry.packages, tags)})


def _fit(files: tuple[LockedFile, ...], tags: frozenset[Tag]) -> tuple[LockedFile, ...]:
    return tuple(file for file in files if not file.filename.endswith(".whl") or parse_wheel_filename(file.filename)[3] & tags)


def _asked(name: str, workplace: Workplace) -> Requested:
    """Return what this command asks for a project, without secrets."""
    settings = workplace.settings
    return Requested(
        ref=settings.ref.get(name),
        origin=_redacted(settings.origin.get(name)),
        rocm_find_links=tuple(map(redact, settings.rocm_find_links)),
        rocm_index_url=_redacted(settings.rocm_index_url),
        rocm_version=settings.rocm_version,
        release_type=settings.release_type,
        find_links=tuple(map(redact, settings.find_links)),
        index_url=_redacted(settings.index_url),
    )


def _over(asked: Requested, earlier: Requested) -> Requested:
    """Return a request laid over an earlier one; another source of packages takes the place of the earlier one with its version."""
    merged: dict[str, Any] = {field: getattr(asked, field) or getattr(earlier, field) for field in Requested.__struct_fields__}
    for group, bound in ((_ROCM_SOURCE, ("rocm_version",)), (_OWNED_SOURCE, ())):
        if any(getattr(asked, field) for field in group):
            merged |= {field: getattr(asked, field) for field in (*group, *bound)}
    return Requested(**merged)


def _also_right(entry: LockedProject, field: str) -> tuple[Any, ...]:
    """Return further values of an option that say what is locked."""
    if field == "ref":
        return (entry.sources.ref, entry.sources.commit)
    if field == "origin":
        return (entry.sources.origin,)
    if field == "rocm_version" and entry.rocm is not None:
        return (entry.rocm.version,)
    if field == "release_type":
        return (load_channels().desk_release_type,) if entry.requested.release_type is None else ()
    return ()


def _relock_line(entry: LockedProject, workplace: Workplace) -> str:
    """Return the command that locks a project anew with all that was and is asked for it."""
    command = COMMANDS["lock"]
    omit = [field.replace("_", "-") for field in Requested.__struct_fields__]
    words = to_arguments(workplace.resolved, command, project=entry.name, extra={"projects": entry.name}, omit=omit)
    merged = _over(_asked(entry.name, workplace), entry.requested)
    for field, template in _FLAGS.items():
        value = getattr(merged, field)
        for text in value if isinstance(value, tuple) else [value] if value else []:
            words += spelled(template.format(name=entry.name), text)
    return printable([*workplace.nox, "-s", command.name, "--", *words, "--relock"])


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _redacted(text: str | None) -> str | None:
    return None if text is None else redact(text)


def _unredacted(typed: tuple[Any, ...], wanted: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return addresses as they were typed where they were typed now, with their secrets; the recorded ones otherwise."""
    return typed if tuple(map(_redacted, typed)) == wanted else wanted
