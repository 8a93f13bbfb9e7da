"""The owned package files of a lock entry: those of ROCm and of the packages that a build needs beside it, for every target interpreter."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from build_tools.builds.variables import compiling_environment
from build_tools.config.project import session_name
from build_tools.environments.interpreter import supported_tags
from build_tools.environments.listing import PackageSource
from build_tools.environments.resolve import lock_owned, offered_extras
from build_tools.environments.wait import when_there
from build_tools.errors import HipwrightError, Where
from build_tools.locking.makers import makers_in, to_lock
from build_tools.locking.places import run_pages, wanted_family, wanted_targets
from build_tools.locking.requests import ROCM_PLACES, asked_for, laid_over, unredacted
from build_tools.options.commands import COMMANDS
from build_tools.options.model import OPTIONS
from build_tools.options.render import to_arguments
from build_tools.process import printable
from build_tools.receipts.lock import LockedRocm
from build_tools.rocm.devices import ALL_DEVICES, extras_for
from build_tools.rocm.embedded import is_at_hand
from build_tools.rocm.folder import read_folder_sdk
from build_tools.rocm.source import at_hand, rocm_source
from build_tools.rocm.stack import same_rocm
from build_tools.types import Platform, ProjectName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.tags import Tag

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedFile, LockedProject, Requested
    from build_tools.workplace import Workplace

__all__ = ["fetchable", "fitting", "incomplete", "names_a_source", "require_packages", "with_packages"]

_BUILD_PLACES: Final = frozenset({"work-dir", "cache-dir", "python", "gfx", "gpu-family", "rocm-find-links", "rocm-index-url"})
"""The options of a build that another command has to repeat to find, or make, what goes with it."""

_COMPILING_FAILED: Final = frozenset({"no-compiler", "command-failed"})
"""How packing ends without a compiler that works."""


def require_packages(entry: LockedProject, project: Project, *, where: Path | str, built: frozenset[str] = frozenset()) -> None:
    """Refuse a lock that was handed over without the package files that a command needs, beside the wheels that are ``built`` before.

    Raises
    ------
    HipwrightError
        ``lock-conflict``.
    """
    if _lacks_packages(entry, project, built):
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
    with _packing(project, workplace) as runner:
        files = at_hand(
            entry.rocm.files,
            project,
            folder,
            cache=workplace.cache,
            runner=runner,
            platform=workplace.platform,
            say=workplace.console.say,
        )
    return msgspec.structs.replace(entry, rocm=msgspec.structs.replace(entry.rocm, files=files))


def with_packages(
    entry: LockedProject, project: Project, workplace: Workplace, *, built: frozenset[str] = frozenset()
) -> LockedProject:
    """Return an entry with package files for all target interpreters; versions that are locked already stay.

    The packages that are ``built``, wheels of other projects that are made before, are none that a lock can name.
    """
    requested = laid_over(asked_for(project.name, workplace), entry.requested)
    return msgspec.structs.replace(
        entry,
        requested=requested,
        rocm=_rocm(project, requested, entry.rocm, workplace),
        owned=_owned(project, requested, entry.owned, workplace, built=built),
    )


def _rocm(project: Project, requested: Requested, known: LockedRocm | None, workplace: Workplace) -> LockedRocm | None:
    if project.sdk == "none":
        return None
    if requested.rocm_path is not None:
        return _folder(Path(requested.rocm_path), requested.rocm_version)
    return when_there(
        lambda: _rocm_packages(project, requested, known, workplace),
        within=workplace.settings.timeout,
        say=workplace.console.say,
        pause=workplace.settings.wait_between,
    )


def _folder(path: Path, version: str | None) -> LockedRocm:
    """Lock a ROCm of the machine that was named to stand for packages: it cannot be kept, and is told when it changed."""
    found = read_folder_sdk(path)
    if version is not None and not same_rocm(version, found.version):
        message = f"--rocm-version says {version}, and the ROCm in {path} is {found.version}"
        raise HipwrightError("sdk-incomplete", message, where=Where(file=path))
    return LockedRocm(source=str(path), version=found.version, files=(), folder=str(path), state=found.digest)


def _rocm_packages(project: Project, requested: Requested, known: LockedRocm | None, workplace: Workplace) -> LockedRocm:
    links = unredacted(workplace.settings.rocm_find_links, requested.rocm_find_links)
    if requested.rocm_run_id is not None:
        links = run_pages(workplace, requested.rocm_run_id, group=requested.artifact_group)
    with _packing(project, workplace) as runner:
        source = rocm_source(
            project,
            workplace.external_builds / project.name,
            find_links=links,
            index_url=unredacted((workplace.settings.rocm_index_url,), (requested.rocm_index_url,))[0],
            release_type=requested.release_type,
            cache=workplace.cache,
            runner=runner,
            platform=workplace.platform,
            say=workplace.console.say,
        )
    extras = f"[{','.join(project.rocm.extras)}]" if project.rocm.extras else ""
    version = known.version if known else requested.rocm_version
    exact = f"=={version}" if version else ""
    files = _files((f"{project.rocm.requirement}{extras}{exact}",), source, known.files if known else (), workplace)
    chosen = next(file.version for file in files if file.distribution == canonicalize_name(project.rocm.requirement))
    inside = workplace.settings.bundle_rocm
    if source.known_as is None or inside:
        devices = _require_devices(f"{project.rocm.requirement}{extras}=={chosen}", source, workplace, project.name)
        files = _together(files, devices) if inside else files
    return LockedRocm(source=source.describe(), version=chosen, files=files)


def _require_devices(exact: str, source: PackageSource, workplace: Workplace, project: str) -> tuple[LockedFile, ...]:
    """Prove that a version is complete for the GPU targets that the options name: what is built for them needs those packages to run.

    A build itself does without them: of targets that the packages are not made for it is told, and no more.

    Returns
    -------
    tuple of LockedFile
        The version's packages with those of the targets; of all targets where none is named and ROCm goes into the wheel.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` naming the packages that the version has by its own word, and that are not at the source.
    """
    targets, named = wanted_targets(workplace, project), wanted_family(workplace, project)
    inside = workplace.settings.bundle_rocm
    if not targets and not inside:
        return ()
    wanted = Requirement(exact)
    found: tuple[LockedFile, ...] = ()
    for interpreter in workplace.interpreters.values():
        where: dict[str, Any] = {"interpreter": interpreter, "network": workplace.base.network(), "cache": workplace.cache}
        version, offered = offered_extras(wanted, source=source, **where)
        try:
            extras = extras_for(wanted.extras, offered, targets=targets, family=named, package=f"{wanted.name} {version}")
        except HipwrightError as error:
            if error.code.name != "requirement-missing":
                raise
            workplace.console.warn(f"{error.message}: what is built for them runs with other packages alone")
            return found
        if not targets and ALL_DEVICES in offered:
            extras = (*extras, ALL_DEVICES)
        exactly = f"{wanted.name}[{','.join(extras)}]{wanted.specifier}" if extras else exact
        found = _together(found, lock_owned([exactly], source=source, **where))
    return found


def _owned(
    project: Project, requested: Requested, known: tuple[LockedFile, ...], workplace: Workplace, *, built: frozenset[str]
) -> tuple[LockedFile, ...]:
    wanted = to_lock(project, built)
    if not wanted:
        return known
    settings = workplace.settings
    source = PackageSource(
        find_links=unredacted(settings.find_links, requested.find_links),
        index_url=unredacted((settings.index_url,), (requested.index_url,))[0],
    )
    if not (source.find_links or source.index_url):
        message = f"{project.name} needs {', '.join(wanted)}, and no source is named for it"
        raise HipwrightError("requirement-missing", message, hint=_ways_out(project, wanted, workplace))
    exact = sorted({f"{file.distribution}==={file.version}" for file in known if file.distribution not in built})
    return when_there(
        lambda: _files((*wanted, *exact), source, known, workplace),
        within=workplace.settings.timeout,
        say=workplace.console.say,
        pause=workplace.settings.wait_between,
    )


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
    return _together(tuple(found.values()))


def _together(*several: tuple[LockedFile, ...]) -> tuple[LockedFile, ...]:
    """Return files each once, sorted."""
    found = {file.filename: file for files in several for file in files}
    return tuple(sorted(found.values(), key=lambda file: (file.distribution, file.version, file.filename)))


def _ways_out(project: Project, wanted: tuple[str, ...], workplace: Workplace) -> str:
    """Say how a build gets the packages that it lacks: from a place that is named, or by building them before it."""
    own = f"build_{session_name(ProjectName(project.name))}"
    places = to_arguments(workplace.resolved, COMMANDS["pipeline"], project=None, omit=set(OPTIONS) - _BUILD_PLACES)
    named = printable([*workplace.nox, "-s", own, "--", *places, "--find-links", "DIR"])
    makers = [maker for text in wanted for maker in makers_in(workplace.external_builds, Requirement(text).name)]
    if not makers:
        return f"name one: {named} (or --index-url URL)"
    names = ",".join(maker.name for maker in (*makers, project))
    build = printable([*workplace.nox, "-s", "pipeline", "--", *places, "--projects", names])
    return f"build it before, in one command: {build}; or name a place that has it: {named} (or --index-url URL)"


def names_a_source(project: Project, requested: Requested, workplace: Workplace, *, built: frozenset[str] = frozenset()) -> bool:
    """Say whether the packages' source is named, and has them, so that they can be locked before anything needs them."""
    with _packing(project, workplace) as runner:
        brings = project.rocm.embedded is not None and is_at_hand(
            workplace.external_builds / project.name / project.rocm.embedded,
            cache=workplace.cache,
            runner=runner,
            platform=workplace.platform,
        )
    rocm = project.sdk == "none" or brings or any(getattr(requested, place) for place in ROCM_PLACES)
    owned = not to_lock(project, built) or requested.find_links or requested.index_url
    return bool(rocm and owned)


@contextlib.contextmanager
def _packing(project: Project, workplace: Workplace) -> Iterator[Runner]:
    """Give what compiles and packs the ROCm packages that a project brings: on Windows in the environment that builds compile in.

    Where Visual Studio cannot be used it is the machine's own, as packages that were made earlier need no compiler; why is told when some
    have to be made and that fails.
    """
    runner, reason = workplace.runner, None
    if project.rocm.embedded is not None and workplace.platform is Platform.WINDOWS:
        try:
            studio, overrides = workplace.visual_studio, workplace.settings.build_env
            environment = compiling_environment(runner.environment, studio=studio, overrides=overrides)
            runner = replace(runner, environment=environment)
        except HipwrightError as error:
            reason = error
    try:
        yield runner
    except HipwrightError as error:
        if reason is None or error.code.name not in _COMPILING_FAILED:
            raise
        raise reason from error


def _lacks_packages(entry: LockedProject, project: Project, built: frozenset[str]) -> bool:
    there = {file.distribution for file in entry.owned}
    lacks = any(canonicalize_name(Requirement(text).name) not in there for text in to_lock(project, built))
    return (project.sdk == "rocm" and entry.rocm is None) or lacks


def incomplete(entry: LockedProject, project: Project, workplace: Workplace, *, built: frozenset[str] = frozenset()) -> bool:
    """Say whether package files are missing altogether, or for one of the target interpreters; those of ``built`` wheels never are."""
    locked = msgspec.structs.replace(entry, owned=tuple(file for file in entry.owned if file.distribution not in built))
    return _lacks_packages(entry, project, built) or any(
        _gaps(locked, interpreter) for interpreter in workplace.interpreters.values() if locked.packages
    )


def _gaps(entry: LockedProject, interpreter: Interpreter) -> list[str]:
    """Return the packages that have files, and none for an interpreter."""
    tags = frozenset(supported_tags(interpreter))
    return sorted({file.distribution for file in entry.packages} - {file.distribution for file in _fit(entry.packages, tags)})


def _fit(files: tuple[LockedFile, ...], tags: frozenset[Tag]) -> tuple[LockedFile, ...]:
    return tuple(file for file in files if not file.filename.endswith(".whl") or parse_wheel_filename(file.filename)[3] & tags)
