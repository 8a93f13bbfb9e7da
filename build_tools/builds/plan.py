"""The plan of a build: version, requirement pins, environment and command line, settled before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools import digest
from build_tools.builds.hooks import BuildContext
from build_tools.builds.variables import (
    common_variables,
    computed_variables,
    constants,
    machine_variables,
    merge,
    studio_variables,
)
from build_tools.builds.version import build_version, bundled_version
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.builds.developer_prompt import VisualStudio
    from build_tools.builds.hooks import ProjectHooks
    from build_tools.builds.variables import BuildFolders, SdkParts
    from build_tools.config.project import Project
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.values import Sdk, SourceTree
    from build_tools.types import CommitId, GfxTarget, Sha256

__all__ = ["BuildPlan", "BuildWishes", "build_packages", "plan_build", "requirement_pins"]

_TAKES_VERSION: Final = frozenset({"version", "version-suffix"})
"""What a project has a variable for that takes its version from outside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildWishes:
    """What the person and the machine want of a build beyond the project's recipe.

    Parameters
    ----------
    overrides
        The variables that a person set: the last word; one with an empty value is taken away.
    machine
        The machine's environment as found, of which the project's recipe lets some variables in.
    studio
        The compiler environment of Windows; None elsewhere, and where a person brings compilers by ``overrides``.
    cache
        The variables that put a compiler cache to work.
    names_commit
        Whether versions name the upstream commit, as those of development builds do, where the project's recipe lets them.
    edited_before
        The digests of the changes of a person's that are in the wheels that it is built with: what is built with them has them too.
    """

    overrides: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    studio: VisualStudio | None = None
    cache: Mapping[str, str] = field(default_factory=dict)
    names_commit: bool = False
    edited_before: tuple[Sha256, ...] = ()

    def local_digest(self, source: SourceTree) -> Sha256 | None:
        """Return the digest of all changes of a person's that get into a wheel, None when there are none."""
        own = (source.local.digest,) if source.local is not None else ()
        every = (*own, *self.edited_before)
        return every[0] if len(every) == 1 else digest.of_value(list(every)) if every else None


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildPlan:
    """What a build will be.

    ``pins`` are the requirements that the wheel must state exactly; ``environment`` comes on top of the runner's base. ``local`` is the
    digest of a person's changes that get into it. ``studio`` is the part of ``environment`` that is Visual Studio's.
    """

    version: str
    pins: tuple[str, ...]
    targets: tuple[GfxTarget, ...]
    environment: Mapping[str, str]
    context: BuildContext
    local: Sha256 | None = None
    studio: VisualStudio | None = None


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
    inside: bool = False,
    wishes: BuildWishes | None = None,
) -> BuildPlan:
    """Settle version, pins and environment of a build; with ``inside`` ROCm goes into its wheel, which the version tells.

    The environment is a function of what is given here: nothing of this process's own takes part.

    Raises
    ------
    HipwrightError
        ``bad-version``; ``bad-data-file`` when ``project.toml`` wants what this build cannot give; ``bad-option-value`` without
        targets; ``bad-hooks``; ``lock-conflict`` when the SDK is not the locked one.
    """
    if locked.rocm is not None and sdk.version is not None and Version(locked.rocm.version) != Version(sdk.version):
        message = f"{project.name} is locked to ROCm {locked.rocm.version}, and the environment has ROCm {sdk.version}"
        raise HipwrightError("lock-conflict", message, hint="provision again: --force provision")
    wishes = wishes or BuildWishes()
    machine = machine_variables(project, platform, wishes.machine)
    studio = studio_variables(project, platform, wishes.studio)
    local = wishes.local_digest(source)
    commit = source.upstream if wishes.names_commit and project.wheel.development_commit else None
    version = _version(project, project_folder, source.base_version, sdk, platform, local=local, commit=commit)
    if inside and sdk.version is not None and _TAKES_VERSION & project.build.variables.keys():
        version = bundled_version(version, sdk.version)
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
        packages=build_packages(project, sdk=sdk, locked=locked),
        preloads=project.wheel.windows_preloads if platform is Platform.WINDOWS else project.wheel.linux_preloads,
        overrides=wishes.overrides,
        machine={**machine, **studio},
    )
    environment = merge(
        common_variables(
            sdk,
            parts=parts,
            folders=folders,
            platform=platform,
            path=path,
            source_date=source.upstream_date,
            jobs=jobs,
            studio=wishes.studio,
        ),
        machine,
        studio,
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
        wishes.cache,
    )
    # Not merged: where a person sets flags, these are the flags.
    windows = platform is Platform.WINDOWS
    said = {name.upper() for name in wishes.overrides} if windows else wishes.overrides.keys()
    kept = {name: value for name, value in environment.items() if (name.upper() if windows else name) not in said}
    whole = {name: value for name, value in {**kept, **wishes.overrides}.items() if value}
    return BuildPlan(
        version=version,
        pins=pins,
        targets=targets,
        environment=whole,
        context=context,
        local=local,
        studio=replace(wishes.studio, variables=studio) if studio and wishes.studio is not None else None,
    )


def build_packages(project: Project, *, sdk: Sdk, locked: LockedProject) -> dict[str, str]:
    """Return the version of each package that a build has in its environment, by its normalised name."""
    versions = {str(canonicalize_name(package.name)): package.version for package in sdk.environment.packages}
    versions |= {str(canonicalize_name(file.distribution)): file.version for file in locked.owned}
    if sdk.version is not None:
        versions[str(canonicalize_name(project.rocm.requirement))] = sdk.version
    return versions


def requirement_pins(project: Project, project_folder: Path, *, sdk: Sdk, locked: LockedProject) -> tuple[str, ...]:
    """Return the requirements that the wheel must state exactly, each with the version that the build has.

    A name of ``wheel.pinned-requirements`` may bring extras; the ROCm packages get ``[libraries]`` without being told, as that is
    what a wheel needs at run time. One of ``wheel.optional-pins`` is pinned where the build has such a package.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the build has no such package.
    """
    versions = build_packages(project, sdk=sdk, locked=locked)
    rocm = canonicalize_name(project.rocm.requirement)
    pins = []
    wheel = project.wheel
    keys = [("pinned-requirements", text) for text in wheel.pinned_requirements]
    for key, text in (*keys, *(("optional-pins", text) for text in wheel.optional_pins)):
        where = Where(file=project_folder / "project.toml", key=f"wheel.{key}")
        try:
            wanted = Requirement(text)
        except InvalidRequirement as error:
            raise HipwrightError("bad-data-file", f"{text!r} is no requirement: {error}", where=where) from error
        name = canonicalize_name(wanted.name)
        if key == "optional-pins" and name not in versions and not wanted.specifier:
            continue
        if wanted.specifier or name not in versions:
            what = "has a version of its own" if wanted.specifier else "is no package of this build"
            raise HipwrightError("bad-data-file", f"{text!r} cannot be pinned: it {what}", where=where)
        extras = wanted.extras or ({"libraries"} if name == rocm and "libraries" in project.rocm.extras else set())
        bracket = f"[{','.join(sorted(extras))}]" if extras else ""
        pins.append(f"{wanted.name}{bracket}=={versions[name]}")
    return tuple(pins)


def _version(
    project: Project,
    project_folder: Path,
    base: str,
    sdk: Sdk,
    platform: Platform,
    *,
    local: Sha256 | None,
    commit: CommitId | None,
) -> str:
    """Return the version that the wheel will have: a project that takes none from outside has the sources' own."""
    own = project.wheel.windows_version_suffix if platform is Platform.WINDOWS else None
    suffix = own or project.version_suffix
    if own == "none":
        # What the sources say is all that takes a version from outside there.
        commit = None
    if _TAKES_VERSION & project.build.variables.keys():
        return build_version(base, rocm=sdk.version, suffix=suffix, local=local, commit=commit)
    if suffix != "none":
        message = "the version is to name the ROCm packages, and build.variables has no variable that takes it"
        where = Where(file=project_folder / "project.toml", key="build.variables.version")
        raise HipwrightError("bad-data-file", message, where=where)
    return build_version(base, rocm=None, suffix="none", local=None)
