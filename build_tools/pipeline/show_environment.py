"""``show-config --stage build``: the environment of a build, as a script that a person can source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.builds.hooks import load_hooks
from build_tools.builds.plan import plan_build
from build_tools.builds.script import environment_script
from build_tools.builds.variables import BuildFolders, find_sdk_parts
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.build_wishes import wishes_of
from build_tools.pipeline.build_workshop import jobs_of
from build_tools.pipeline.bundling import takes_rocm
from build_tools.pipeline.standing_build import standing_build
from build_tools.types import GfxTarget, Platform, ProjectName

if TYPE_CHECKING:
    from build_tools.builds.plan import BuildPlan
    from build_tools.pipeline.standing_build import StandingBuild
    from build_tools.workplace import Workplace

__all__ = ["plan_standing", "show_environment"]

_DEFAULT: Final = "sample"


def show_environment(workplace: Workplace) -> dict[str, Any]:
    """Print the environment of a project's build as a script, and return it as plain data.

    It is the one that a build would have with what the work dir has and the options say, but for its folders: the sources are those of
    the source tree and no copy of it, and home and temporary folder are ones that stay.

    Raises
    ------
    HipwrightError
        ``stage-missing`` that names what was not done yet, and the line that does it; ``bad-option-value`` when several projects or
        interpreters are named; what planning a build raises.
    """
    settings = workplace.settings
    names = settings.projects or (_DEFAULT,)
    if len(names) > 1 or len(settings.python) > 1:
        message = "a script has the environment of one build, and several are named"
        raise HipwrightError("bad-option-value", message, hint=f"name one project and one interpreter: --projects {names[0]}")
    project = load_project(workplace.external_builds, ProjectName(names[0]))
    (interpreter,) = workplace.interpreters.values()
    standing = standing_build(project, workplace, python_tag=interpreter.python_tag)
    platform = workplace.meant_platform
    shell = workplace.work_dir / "shell" / project.name
    folders = BuildFolders(tree=Path(standing.source.folder), home=shell / "home", temporary=shell / "tmp")
    plan = plan_standing(standing, workplace, folders=folders, platform=platform, targets=wanted_targets(workplace))
    # The two are what every child gets beside the machine's own.
    environment = {**_always(workplace), **plan.environment}
    about = (
        f"The environment of a build of {project.name} {plan.version} with {interpreter.python_tag}, for {platform.value}.",
        "Source it: the variables that no build inherits are taken away from the shell.",
    )
    script = environment_script(environment, platform=platform, about=about, folders=(folders.home, folders.temporary))
    if settings.compiler_cache not in {None, "none"}:
        workplace.console.warn(f"{settings.compiler_cache} is set up by each build for itself, and is not in the script")
    if platform is not workplace.platform:
        workplace.console.warn(f"this machine is no {platform.value}: the folders in the script are those of this one")
    workplace.console.print(script)
    return {
        "project": project.name,
        "version": plan.version,
        "python": interpreter.python_tag,
        "platform": platform.value,
        "targets": list(plan.targets),
        "pins": list(plan.pins),
        "environment": {name: workplace.runner.mask(value) for name, value in environment.items()},
        "script": script,
    }


def plan_standing(
    standing: StandingBuild,
    workplace: Workplace,
    *,
    folders: BuildFolders,
    platform: Platform,
    targets: tuple[GfxTarget, ...] = (),
) -> BuildPlan:
    """Return the plan of a build with what a work dir has.

    Parameters
    ----------
    standing
        What the work dir has.
    workplace
        Whose options count.
    folders
        The build's folders.
    platform
        The system that is meant.
    targets
        The GPU targets; the SDK's own when empty.

    Raises
    ------
    HipwrightError
        What :func:`~build_tools.builds.plan.plan_build` raises.
    """
    folder = workplace.external_builds / standing.project.name
    return plan_build(
        standing.project,
        folder,
        source=standing.source,
        sdk=standing.sdk,
        locked=standing.locked,
        hooks=load_hooks(folder),
        parts=find_sdk_parts(standing.sdk),
        folders=folders,
        platform=platform,
        path=workplace.runner.environment.get("PATH", ""),
        targets=targets or tuple(GfxTarget(name) for name in standing.sdk.targets),
        jobs=jobs_of(standing.project, workplace).count,
        inside=workplace.settings.bundle_rocm and takes_rocm(standing.project),
        wishes=wishes_of(workplace),
    )


def _always(workplace: Workplace) -> dict[str, str]:
    return {name: workplace.runner.environment[name] for name in ("PYTHONUTF8", "PYTHONDONTWRITEBYTECODE")}
