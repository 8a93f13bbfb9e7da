"""What an extension's build in a person's tree and environment gets: the recipe's variables and hooks, ROCm, and Visual Studio on Windows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.builds.generated import judge_generated, place_generated
from build_tools.builds.hooks import BuildContext, load_hooks
from build_tools.builds.in_environment import variables_in_environment
from build_tools.builds.variables import machine_variables, studio_variables
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.provision import build_folder
from build_tools.rocm.sdk import describe_folder, describe_sdk
from build_tools.sources.base_version import version_in
from build_tools.sources.git import Git
from build_tools.types import CommitId, GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.config.project import Project
    from build_tools.pipeline.given_environment import GivenEnvironment
    from build_tools.receipts.values import Sdk
    from build_tools.workplace import Workplace

__all__ = ["ExtensionBuild", "prepare_build"]

_NO_COMMIT: Final = CommitId("0" * 40)
_NO_DATE: Final = 315_532_800
"""The first date that a zip can state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtensionBuild:
    """What a build is given: its variables, and the GPU targets that it is for."""

    variables: Mapping[str, str]
    targets: tuple[GfxTarget, ...]


def prepare_build(
    project: Project, tree: Path, place: GivenEnvironment, targets: tuple[str, ...], workplace: Workplace
) -> ExtensionBuild:
    """Put the files that the recipe's hook generates into the tree, and return what the build there is given.

    Parameters
    ----------
    project
        The project.
    tree
        A person's own tree, or that of the work dir; it keeps what is put there, without which what is installed could not be imported.
    place
        The environment that is built in.
    targets
        The GPU targets that are wanted; those that the ROCm has code for where there are none.
    workplace
        Options, programs, console.

    Raises
    ------
    HipwrightError
        ``bad-hooks``; ``no-compiler`` on Windows; ``bad-source-tree``, ``bad-version`` where the tree does not say its version.
    """
    folder = workplace.external_builds / project.name
    hooks, studio = load_hooks(folder), workplace.visual_studio
    sdk = _sdk(project, place, targets, workplace)
    chosen = tuple(GfxTarget(name) for name in targets or (sdk.targets if sdk is not None else ()))
    commit, date = _commit(tree, workplace)
    context = BuildContext(
        project=project.name,
        version=_version(project, tree),
        rocm_version=sdk.version if sdk is not None else None,
        rocm_root=Path(sdk.root) if sdk is not None and sdk.root is not None else None,
        targets=chosen,
        platform=workplace.platform,
        upstream=commit,
        source_date=date,
        environment=place.folder,
        packages={str(one.name): one.version for one in place.installed},
        preloads=project.wheel.windows_preloads if workplace.platform is Platform.WINDOWS else project.wheel.linux_preloads,
        overrides=workplace.settings.env,
        machine={
            **machine_variables(project, workplace.platform, workplace.machine),
            **studio_variables(project, workplace.platform, studio),
        },
    )
    generated = hooks.generated_files(context)
    judge_generated(generated, hooks=hooks.file)
    begins = build_folder(project, tree)
    if generated and begins is not None:
        place_generated(generated, begins)
        workplace.console.say(f"made in {begins}, as the build of the wheel has them: {', '.join(sorted(generated))}")
    variables = variables_in_environment(
        project,
        context,
        hooks=hooks,
        sdk=sdk,
        studio=studio,
        machine=workplace.machine,
        given=place.variables,
    )
    return ExtensionBuild(variables=variables, targets=chosen)


def _sdk(project: Project, place: GivenEnvironment, targets: tuple[str, ...], workplace: Workplace) -> Sdk | None:
    """Return the ROCm that the build finds; None, and that is told, where what is there is no whole one."""
    record, requirement = place.record, project.rocm.requirement
    try:
        if place.reach.folder is not None:
            return describe_folder(record, folder=place.reach.folder, platform=workplace.platform)
        if any(one.name == requirement for one in place.installed):
            return describe_sdk(
                record, requirement=requirement, runner=workplace.runner, platform=workplace.platform, targets=targets
            )
    except HipwrightError as error:
        workplace.console.warn(f"the build is led to no ROCm: {error.message}")
    return None


def _version(project: Project, tree: Path) -> str:
    """Return the base version of a tree as it stands."""
    if project.version.fixed is not None:
        return project.version.fixed
    path = tree / (project.version.file or "")
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path} should hold the version of {project.name}, and cannot be read: {error.strerror}"
        raise HipwrightError("bad-source-tree", message, where=Where(file=path)) from error
    return version_in(project, data, told=str(path), where=Where(file=path))


def _commit(tree: Path, workplace: Workplace) -> tuple[CommitId, int]:
    """Return the commit that a tree is at, and its time in seconds since 1970; those of nothing where it is no repository."""
    if not (tree / ".git").exists():
        return _NO_COMMIT, _NO_DATE
    repository = Git(runner=workplace.runner).at(tree)
    commit = repository.head()
    return (_NO_COMMIT, _NO_DATE) if commit is None else (commit, repository.date_of(commit))
