"""From what is asked for to a lock entry: the sources, the patch series, and the hipify tool of one project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from build_tools import digest
from build_tools.config.project import EmbeddedOrigin, GitOrigin, SdistOrigin
from build_tools.errors import HipwrightError
from build_tools.hipify.run import hipify_digest
from build_tools.locking.requests import asked_for, laid_over
from build_tools.patches.pin_moves import submodule_paths, submodules_after_base
from build_tools.patches.series import load_series, lock_patches
from build_tools.receipts.lock import LockedProject
from build_tools.receipts.record import plain
from build_tools.sources.lost import no_such_submodule
from build_tools.sources.resolve import resolve_sources
from build_tools.sources.urls import same_place
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.config.project import Project
    from build_tools.locking.choose import Chooser
    from build_tools.patches.series import Series
    from build_tools.receipts.lock import LockedPatches, LockedSources
    from build_tools.sources.git import Git
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["recipe_of", "resolve", "with_series_of_today"]


def resolve(
    project: Project,
    earlier: LockedProject | None,
    workplace: Workplace,
    *,
    chooser: Chooser,
    whole: bool,
    line: str | None,
) -> LockedProject:
    """Return a new lock entry, without packages; what was asked for earlier, and is not asked otherwise now, still counts.

    Parameters
    ----------
    project
        The project.
    earlier
        The entry that the new one takes the place of.
    workplace
        Where and with what.
    chooser
        Chooses the ref.
    whole
        Whether what is fetched is fetched with its history.
    line
        The patch line that is asked for instead of the one that the ref finds.

    Raises
    ------
    HipwrightError
        What choosing a ref and resolving it raise.
    """
    asked = asked_for(project.name, workplace)
    if asked.origin is not None and workplace.settings.origin.get(project.name) is None:
        # A manifest spells the project's own origin its own way; one spelling makes one mirror.
        asked = msgspec.structs.replace(asked, origin=_foreign(project, asked.origin))
    requested = laid_over(asked, earlier.requested) if earlier is not None else asked
    # A line that was asked for goes with the ref that it was asked for with.
    kept = None if asked.ref or asked.commit else requested.line
    requested = msgspec.structs.replace(requested, line=line or kept)
    choice = chooser.choose(project, requested)
    place = requested.origin or (_foreign(project, choice.origin) if choice.origin else None)
    origin, urls = workplace.origin(project, place), _by_path(requested.submodule_url)
    # What was imported is here already, and may be gone when it is wanted: all of it goes into the mirror.
    whole = whole or origin.imported
    try:
        sources = resolve_sources(
            project,
            origin=origin,
            ref=choice.ref,
            commit=choice.commit,
            reason=choice.reason,
            submodule_urls=urls,
            patched_paths=lambda ref: submodule_paths(_series(project, ref, requested.line, workplace)[1], workplace.platform),
            cache=workplace.cache,
            say=workplace.console.say,
            progress=workplace.console.progress,
            whole=whole,
        )
    except HipwrightError as error:
        typed = requested.ref is not None and requested.commit is None
        if error.code.name != "unknown-ref" or typed:
            raise
        # Nobody typed that ref: who reads of it must learn where it stands.
        message = f"{error.message}; {project.name} gets it because: {choice.reason}"
        hint = f"name another ref, --{project.name}-ref, or a repository that has it, --{project.name}-origin"
        raise HipwrightError("unknown-ref", message, hint=hint, excerpt=error.excerpt) from error
    patches = _patches(project, sources, requested.line, workplace, urls=urls, git=origin.git, whole=whole)
    paths = {pin.path for pin in (*sources.submodules, *patches.submodules)}
    for path in urls:
        if path not in paths:
            raise no_such_submodule(path, paths, commit=sources.commit, origin=sources.origin)
    return LockedProject(
        name=project.name,
        requested=requested,
        recipe=recipe_of(project),
        sources=sources,
        patches=patches,
        hipify=hipify_digest(project, locked=sources, cache=workplace.cache, git=origin.git),
        rocm=None,
    )


def with_series_of_today(
    entry: LockedProject, project: Project, workplace: Workplace, *, whole: bool, line: str | None = None
) -> LockedProject:
    """Return an entry with the patch series as it is on disk, itself when that is the locked one: the series is this clone's own.

    ``line`` is the patch line that is asked for; without it, the one that was asked for when it was locked, or the one of the ref.

    Raises
    ------
    HipwrightError
        ``no-line``, ``bad-series``; what resolving submodules raises whose pins the series moves.
    """
    line = line or entry.requested.line
    entry = entry if line == entry.requested.line else _asking(entry, line)
    found = lock_patches(project, entry.sources.ref, folder=workplace.external_builds / project.name, asked=line)
    if msgspec.structs.replace(found, submodules=entry.patches.submodules) == entry.patches:
        return entry
    urls, git = _by_path(entry.requested.submodule_url), workplace.origin(project, entry.requested.origin).git
    patches = _patches(project, entry.sources, line, workplace, urls=urls, git=git, whole=whole)
    return msgspec.structs.replace(entry, patches=patches)


def recipe_of(project: Project) -> Sha256:
    """Return the digest of what locking reads of ``project.toml``."""
    rows = (project.origin, project.version, project.hipify, project.sdk, project.rocm, project.build.owned_requires)
    return digest.of_value([plain(row) for row in rows])


def _patches(
    project: Project,
    sources: LockedSources,
    line: str | None,
    workplace: Workplace,
    *,
    urls: Mapping[str, str],
    git: Git,
    whole: bool,
) -> LockedPatches:
    """Return the patch line with all submodules as they are once the base patches are applied."""
    found, series = _series(project, sources.ref, line, workplace)
    submodules = submodules_after_base(
        series,
        sources,
        project=project.name,
        cache=workplace.cache,
        git=git,
        say=workplace.console.say,
        whole=whole,
        platform=workplace.platform,
        submodule_urls=urls,
    )
    return msgspec.structs.replace(found, submodules=submodules)


def _asking(entry: LockedProject, line: str | None) -> LockedProject:
    return msgspec.structs.replace(entry, requested=msgspec.structs.replace(entry.requested, line=line))


def _series(project: Project, ref: str, line: str | None, workplace: Workplace) -> tuple[LockedPatches, Series]:
    """Return the patch line of a ref as it is locked, and its patches."""
    folder = workplace.external_builds / project.name
    found = lock_patches(project, ref, folder=folder, asked=line)
    return found, load_series(folder, found.line)


def _foreign(project: Project, address: str) -> str | None:
    """Return an address when it is another place than the project's own origin, which None stands for.

    Raises
    ------
    HipwrightError
        ``bad-pin`` when it names sources that are imported, and not the project's own.
    """
    if _is_own(project, address):
        return None
    if address.startswith(("embedded://", "sdist://")):
        raise HipwrightError(
            "bad-pin", f"{project.name} is pinned to {redact(address)}, which is not where its sources come from"
        )
    return address


def _is_own(project: Project, address: str) -> bool:
    origin = project.origin
    match origin:
        case GitOrigin():
            return same_place(address, origin.url)
        case EmbeddedOrigin():
            return address.startswith(f"embedded://{project.name}/")
        case SdistOrigin():
            return same_place(address, f"sdist://{origin.name}-{origin.version}.git")


def _by_path(urls: tuple[str, ...]) -> dict[str, str]:
    """Return the addresses of submodules by path."""
    return {path: url for path, _, url in (text.partition("=") for text in urls)}
