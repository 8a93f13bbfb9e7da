"""What builds have on this machine, as a command's options name it: compiler cache, build folder, jobs, and how long it took before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.builds.compiler_cache import Bucket, CacheKey, CacheSettings, find_program, parse_size
from build_tools.builds.hooks import load_hooks
from build_tools.builds.jobs import Jobs, choose_jobs, free_memory
from build_tools.builds.preflight import find_compiler
from build_tools.builds.preparation import Subject
from build_tools.builds.progress import Earlier
from build_tools.builds.variables import BuildFolders
from build_tools.builds.workshop import Workshop
from build_tools.config.buckets import bucket_table
from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.pipeline.build_wishes import OF_MACHINE, OF_PERSON, OF_STUDIO
from build_tools.pipeline.built_with import inputs
from build_tools.pipeline.engine import RECEIPT, input_digest
from build_tools.stores.s3_access import Access, client_for
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.builds.plan import BuildPlan, BuildWishes
    from build_tools.builds.preflight import Compiler
    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.stores.base import Store
    from build_tools.types import Platform
    from build_tools.workplace import Workplace

__all__ = [
    "Means",
    "cache_of",
    "compiler_of",
    "compiler_that_would",
    "developing",
    "jobs_of",
    "means_of",
    "never_built_twice",
    "refuse_cache_options",
    "subject_of",
    "told_jobs",
    "workshop_folder",
]

_OF_SOURCES: Final = frozenset({"sources", "local changes", "version"})
"""Inputs of a build whose change costs only the objects that it touches."""

_FOLDER: Final = "compiler"
_FOLDERS: Final = frozenset({"HOME", "TMPDIR", "TEMP", "TMP"})
_REGION: Final = "us-east-1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What a build has, and how many compilers it may run at once."""

    workshop: Workshop
    jobs: int


def means_of(chain: Chain, parts: Mapping[str, str]) -> Means:
    """Return what a build of a chain has on this machine; people are told of jobs that are fewer, or more, than it is good for.

    Parameters
    ----------
    chain
        The project on its way, with its environment.
    parts
        The inputs of the build.

    Raises
    ------
    HipwrightError
        ``missing-tool``, ``bad-option-value``, ``cache-unusable``.
    """
    place, project, settings = chain.workplace, chain.project, chain.workplace.settings
    tag = chain.sdk().environment.python_tag
    jobs = told_jobs(project, place)
    cache, store = _cache_of(chain, chain.sdk())
    workshop = Workshop(
        folder=workshop_folder(project, place, tag),
        lock=place.lock_file(f"tree-{project.name}-{tag}"),
        wait=settings.wait,
        console=place.console,
        parts={
            # Variables are in the environment, which is compared as a whole.
            **{
                name: value
                for name, value in parts.items()
                if name not in _OF_SOURCES and not name.startswith((OF_PERSON, OF_MACHINE, OF_STUDIO))
            },
            "ROCm": chain.sdk().version or "none",
        },
        exactly=(
            None if load_channels().may_supersede(settings.release_type) else input_digest(Stage.BUILD, project.name, dict(parts))
        ),
        cache=cache,
        credentials=_credentials(place),
        store=store,
        earlier=_earlier(place.work_dir / Stage.BUILD.value / project.name),
    )
    return Means(workshop=workshop, jobs=jobs)


def developing(chain: Chain, folder: Path, sdk: Sdk) -> Workshop:
    """Return what a build in the tree itself has on this machine.

    Parameters
    ----------
    chain
        The project on its way.
    folder
        The folder for what is of the build alone.
    sdk
        The environment that it runs in.

    Raises
    ------
    HipwrightError
        ``missing-tool``, ``bad-option-value``, ``cache-unusable``.
    """
    place = chain.workplace
    cache, store = _cache_of(chain, sdk)
    return Workshop(
        folder=folder,
        lock=folder / "lock",
        wait=place.settings.wait,
        console=place.console,
        cache=cache,
        credentials=_credentials(place),
        store=store,
    )


def subject_of(
    chain: Chain, *, sdk: Sdk, wishes: BuildWishes, source: SourceTree | None = None, jobs: int | None = None
) -> Subject:
    """Return what a build of a chain is a build of.

    Parameters
    ----------
    chain
        The project on its way, with its sources.
    sdk
        The environment that the build runs in.
    wishes
        What the person and the machine want of it.
    source
        The source tree, where it is told otherwise than the last source stage left it.
    jobs
        How many programs may run at once.
    """
    return Subject(
        project=chain.project,
        project_folder=chain.folder,
        hooks=load_hooks(chain.folder),
        source=source or chain.source(),
        sdk=sdk,
        locked=inputs(chain, at_hand=False),
        platform=chain.workplace.platform,
        targets=chain.targets,
        jobs=jobs,
        wishes=wishes,
    )


def workshop_folder(project: Project, place: Workplace, python_tag: str) -> Path:
    """Return where builds of a project for an interpreter happen in a work dir."""
    return place.work_dir / "trees" / project.name / python_tag


def jobs_of(project: Project, place: Workplace) -> Jobs:
    """Return how many compilers a build of a project runs at once on this machine at this moment."""
    memory, per_job = free_memory(), project.build.memory_per_job
    return choose_jobs(place.settings.jobs, processors=place.processors, memory=memory, per_job=per_job)


def told_jobs(project: Project, place: Workplace) -> int:
    """Return the count of :func:`jobs_of`; people are told of jobs that are fewer, or more, than it is good for."""
    jobs = jobs_of(project, place)
    if jobs.note:
        (place.console.warn if jobs.short else place.console.say)(jobs.note)
    return jobs.count


def compiler_of(chain: Chain, wishes: BuildWishes) -> str:
    """Return how the compiler calls itself that a build of a chain would take, for its digest; ``none`` where there is none.

    It is the one of the planned environment, whoever names it there: the recipe, its hook, or a person. What is wrong with the plan is told
    by the build.
    """
    place, project, sdk = chain.workplace, chain.project, chain.sdk()
    folder = workshop_folder(project, place, sdk.environment.python_tag)
    folders = BuildFolders(tree=folder / "src", home=folder / "home", temporary=folder / "tmp")
    try:
        plan = subject_of(chain, sdk=sdk, wishes=wishes).plan(folders, path=place.runner.environment.get("PATH", ""))
        found = compiler_that_would(plan, place)
    except HipwrightError:
        return "none"
    return found.version if found is not None else "none"


def compiler_that_would(plan: BuildPlan, place: Workplace) -> Compiler | None:
    """Return the C++ compiler that a planned build would take, None where there is none.

    Raises
    ------
    HipwrightError
        What asking it for its version raises.
    """
    # The build's own folders are not there yet, and a compiler that is asked for its version needs none.
    passing = {name: value for name, value in plan.environment.items() if name not in _FOLDERS}
    return find_compiler(place.runner, platform=place.platform, environment=passing, cwd=place.work_dir)


def never_built_twice(document: object) -> str | None:
    """Return why a build that stands has to be made again when two equal ones are wanted; None when there were two."""
    return None if getattr(document, "reproducible", None) else "it was not built twice"


def _cache_of(chain: Chain, sdk: Sdk) -> tuple[CacheSettings | None, Store | None]:
    place = chain.workplace
    return cache_of(chain.locked(), place, sdk=sdk, targets=chain.targets or sdk.targets, platform=place.platform)


def _credentials(place: Workplace) -> dict[str, str]:
    return {name: value for name, value in place.machine.items() if name.startswith("AWS_")}


def cache_of(
    locked: LockedProject, place: Workplace, *, sdk: Sdk, targets: Sequence[str], platform: Platform
) -> tuple[CacheSettings | None, Store | None]:
    """Return the compiler cache that a command's options name for a build, and its bucket opened where it is one; None twice without.

    Parameters
    ----------
    locked
        The project's lock.
    place
        Whose options count.
    sdk
        The environment that the build runs in.
    targets
        The GPU targets.
    platform
        The system that is meant.

    Raises
    ------
    HipwrightError
        ``bad-option-value``; ``missing-tool``; ``cache-unusable``.
    """
    settings = place.settings
    program = refuse_cache_options(place)
    if program is None:
        return None, None
    tool = str(settings.compiler_cache)
    key = CacheKey(
        platform=platform,
        rocm=sdk.version,
        targets=targets,
        project=locked.name,
        line=locked.patches.line or locked.sources.base_version,
        python_tag=sdk.environment.python_tag,
    )
    target, store = _place_of(settings.compiler_cache_store, tool, place)
    cache = CacheSettings(
        tool=tool,
        program=program,
        store=target,
        size_mib=parse_size(settings.compiler_cache_size),
        key=key,
        base=place.work_dir,
        platform=platform,
    )
    return cache, store


def refuse_cache_options(place: Workplace) -> Path | None:
    """Judge what a command says of a compiler cache, as far as that needs no network; return the cache's program, None without one.

    Raises
    ------
    HipwrightError
        ``bad-option-value``; ``missing-tool``.
    """
    settings = place.settings
    tool = settings.compiler_cache
    if tool == "none":
        # Whoever says so turns off what a file or a variable says of one.
        return None
    if tool is None:
        if settings.compiler_cache_store is not None or settings.compiler_cache_size is not None:
            named = "--compiler-cache-store" if settings.compiler_cache_store is not None else "--compiler-cache-size"
            message = f"{named} is of a compiler cache, and none is named"
            raise HipwrightError("bad-option-value", message, hint="say --compiler-cache sccache, or ccache")
        return None
    parse_size(settings.compiler_cache_size)
    _judge_place(settings.compiler_cache_store, str(tool))
    path = [place.python.parent, *map(Path, filter(None, place.runner.environment.get("PATH", "").split(_separator(place))))]
    return find_program(str(tool), path=path)


def _judge_place(named: str | None, tool: str) -> None:
    if named is None:
        return
    if "://" in named and not named.startswith("s3://"):
        message = f"objects are kept in a folder or a bucket, not at {named}"
        raise HipwrightError("bad-option-value", message, hint="say --compiler-cache-store DIR, or s3://BUCKET/FOLDER")
    if "://" in named and tool != "sccache":
        message = f"{tool} keeps objects in a folder, and {named} is a bucket"
        raise HipwrightError("bad-option-value", message, hint="say --compiler-cache sccache")


def _place_of(named: str | None, tool: str, place: Workplace) -> tuple[Path | Bucket, Store | None]:
    if named is None:
        return place.cache / _FOLDER / tool, None
    if not named.startswith("s3://"):
        return Path(named), None
    name, _, folder = named.removeprefix("s3://").strip("/").partition("/")
    known = bucket_table().find(name)
    access = Access(
        machine=place.machine,
        endpoint_url=place.settings.endpoint_url,
        region=known.region if known is not None and place.settings.endpoint_url is None else None,
    )
    try:
        signed = client_for(access).signed
        store = place.open_store(writing=False, address=named)
    except HipwrightError as error:
        message = f"the bucket of compiled objects {named} cannot be used: {error.message}"
        raise HipwrightError("cache-unusable", message, hint=error.hint) from error
    region = access.region or place.machine.get("AWS_REGION") or place.machine.get("AWS_DEFAULT_REGION") or _REGION
    return Bucket(name=name, folder=folder, server=access.server, region=region, signed=signed), store


def _separator(place: Workplace) -> str:
    return ";" if place.platform.value == "windows" else ":"


def _earlier(folder: Path) -> Earlier | None:
    """Return what the newest build in a work dir took, of a project in ``folder``."""
    newest: tuple[str, Earlier] | None = None
    for path in folder.glob(f"*/{RECEIPT}"):
        try:
            # Read for two numbers: a receipt of an earlier kind is good enough.
            receipt = json.loads(path.read_bytes())
            took = Earlier(objects=receipt["result"]["value"].get("objects"), seconds=float(receipt["seconds"]))
            started = str(receipt["started"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if newest is None or started > newest[0]:
            newest = (started, took)
    return newest[1] if newest is not None else None
