"""The plan of a build: version, requirement pins, environment and command line, settled before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools.builds.hooks import BuildContext
from build_tools.builds.variables import common_variables, computed_variables, constants, merge
from build_tools.builds.version import build_version
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.builds.hooks import ProjectHooks
    from build_tools.builds.variables import BuildFolders, SdkParts
    from build_tools.config.project import Project
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.types import GfxTarget, Platform

__all__ = ["BuildPlan", "build_command", "plan_build", "requirement_pins"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildPlan:
    """What a build will be.

    ``pins`` are the requirements that the wheel must state exactly; ``environment`` comes on top of the runner's base.
    """

    version: str
    pins: tuple[str, ...]
    targets: tuple[GfxTarget, ...]
    environment: Mapping[str, str]
    context: BuildContext


def plan_build(
    project: Project,
    project_folder: Path,
    *,
    source: SourceTree,
    sdk: Sdk,
    locked: LockedProject,
    hooks: ProjectHooks,
    parts: SdkParts,
    folders: BuildFolders,
    platform: Platform,
    path: str,
    targets: tuple[GfxTarget, ...],
    jobs: int | None,
) -> BuildPlan:
    """Settle version, pins and environment of a build.

    Raises
    ------
    HipwrightError
        ``bad-version``; ``bad-data-file`` when ``project.toml`` wants what this build cannot give; ``bad-option-value`` without
        targets; ``bad-hooks``; ``lock-conflict`` when the SDK is not the locked one.
    """
    if locked.rocm is not None and sdk.version is not None and Version(locked.rocm.version) != Version(sdk.version):
        message = f"{project.name} is locked to ROCm {locked.rocm.version}, and the environment has ROCm {sdk.version}"
        raise HipwrightError("lock-conflict", message, hint="provision again: --force provision")
    version = _version(project, project_folder, source, sdk)
    pins = requirement_pins(project, project_folder, sdk=sdk, locked=locked)
    context = BuildContext(
        project=project.name,
        version=version,
        rocm_version=sdk.version,
        rocm_root=Path(sdk.root) if sdk.root is not None else None,
        targets=targets,
        platform=platform,
        upstream=source.upstream,
        source_date=source.upstream_date,
        environment=Path(sdk.environment.folder),
    )
    environment = merge(
        common_variables(
            sdk, parts=parts, folders=folders, platform=platform, path=path, source_date=source.upstream_date, jobs=jobs
        ),
        constants(project, platform),
        computed_variables(
            project,
            project_folder,
            version=version,
            targets=targets,
            rocm_home=sdk.root,
            pins=pins,
            commit=source.upstream,
        ),
        hooks.build_environment(context),
    )
    return BuildPlan(version=version, pins=pins, targets=targets, environment=environment, context=context)


def requirement_pins(project: Project, project_folder: Path, *, sdk: Sdk, locked: LockedProject) -> tuple[str, ...]:
    """Return the requirements that the wheel must state exactly, each with the version that the build has.

    A name of ``wheel.pinned-requirements`` may bring extras; the ROCm packages get ``[libraries]`` without being told, as that is
    what a wheel needs at run time.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the build has no such package.
    """
    versions = {canonicalize_name(file.distribution): file.version for file in locked.owned}
    rocm = canonicalize_name(project.rocm.requirement)
    if sdk.version is not None:
        versions[rocm] = sdk.version
    pins = []
    for text in project.wheel.pinned_requirements:
        where = Where(file=project_folder / "project.toml", key="wheel.pinned-requirements")
        try:
            wanted = Requirement(text)
        except InvalidRequirement as error:
            raise HipwrightError("bad-data-file", f"{text!r} is no requirement: {error}", where=where) from error
        name = canonicalize_name(wanted.name)
        if wanted.specifier or name not in versions:
            what = "has a version of its own" if wanted.specifier else "is no package of this build"
            raise HipwrightError("bad-data-file", f"{text!r} cannot be pinned: it {what}", where=where)
        extras = wanted.extras or ({"libraries"} if name == rocm and "libraries" in project.rocm.extras else set())
        bracket = f"[{','.join(sorted(extras))}]" if extras else ""
        pins.append(f"{wanted.name}{bracket}=={versions[name]}")
    return tuple(pins)


def build_command(project: Project, *, python: Path, tree: Path, outdir: Path) -> list[str | Path]:
    """Return the build front end's command line: a wheel, in the environment as it is, by PEP 517.

    Without isolation nothing is fetched; the front end itself checks that the tree's build requirements are there.
    """
    settings = [
        f"--config-setting={name}={value}"
        for name, values in project.build.config_settings.items()
        for value in ((values,) if isinstance(values, str) else values)
    ]
    return [python, "-m", "build", "--wheel", "--no-isolation", "--outdir", outdir, *settings, tree]


def _version(project: Project, project_folder: Path, source: SourceTree, sdk: Sdk) -> str:
    """Return the version that the wheel will have: a project that takes none from outside has the sources' own."""
    local = source.local.digest if source.local is not None else None
    suffix = project.version_suffix
    if {"version", "version-suffix"} & project.build.variables.keys():
        return build_version(source.base_version, rocm=sdk.version, suffix=suffix, local=local)
    if suffix != "none":
        message = "the version is to name the ROCm packages, and build.variables has no variable that takes it"
        where = Where(file=project_folder / "project.toml", key="build.variables.version")
        raise HipwrightError("bad-data-file", message, where=where)
    return build_version(source.base_version, rocm=None, suffix="none", local=None)
