"""The owned package files of a lock entry: those of ROCm and of the packages that a build needs beside it, for every target interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from packaging.utils import canonicalize_name, parse_wheel_filename

from build_tools.environments.interpreter import supported_tags
from build_tools.environments.listing import PackageSource
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError, Where
from build_tools.locking.requests import asked_for, laid_over, unredacted
from build_tools.receipts.lock import LockedRocm
from build_tools.rocm.source import at_hand, rocm_source

if TYPE_CHECKING:
    from pathlib import Path

    from packaging.tags import Tag

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.receipts.lock import LockedFile, LockedProject, Requested
    from build_tools.workplace import Workplace

__all__ = ["fetchable", "fitting", "incomplete", "names_a_source", "require_packages", "with_packages"]


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


def fetchable(entry: LockedProject, project: Project, workplace: Workplace) -> LockedProject:
    """Return a lock entry whose package files are named by where this machine finds them: those that the project brings lie in the cache.

    Raises
    ------
    HipwrightError
        What packing the project's own packages raises.
    """
    if entry.rocm is None:
        return entry
    folder = workplace.external_builds / project.name
    files = at_hand(entry.rocm.files, project, folder, cache=workplace.cache, say=workplace.console.say)
    return msgspec.structs.replace(entry, rocm=msgspec.structs.replace(entry.rocm, files=files))


def with_packages(entry: LockedProject, project: Project, workplace: Workplace) -> LockedProject:
    """Return an entry with package files for all target interpreters; versions that are locked already stay."""
    requested = laid_over(asked_for(project.name, workplace), entry.requested)
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
        find_links=unredacted(workplace.settings.rocm_find_links, requested.rocm_find_links),
        index_url=unredacted((workplace.settings.rocm_index_url,), (requested.rocm_index_url,))[0],
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
        find_links=unredacted(settings.find_links, requested.find_links),
        index_url=unredacted((settings.index_url,), (requested.index_url,))[0],
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


def names_a_source(project: Project, requested: Requested) -> bool:
    """Say whether the packages' source is named, so that they can be locked before anything needs them."""
    rocm = project.sdk == "none" or project.rocm.embedded or requested.rocm_find_links or requested.rocm_index_url
    owned = not project.build.owned_requires or requested.find_links or requested.index_url
    return bool(rocm and owned)


def _lacks_packages(entry: LockedProject, project: Project) -> bool:
    return (project.sdk == "rocm" and entry.rocm is None) or bool(project.build.owned_requires and not entry.owned)


def incomplete(entry: LockedProject, project: Project, workplace: Workplace) -> bool:
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
