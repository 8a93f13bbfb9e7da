"""``show-config --stage build``: the environment of a build, as a script that a person can source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.builds.cache_server import build_settings
from build_tools.builds.compiler_cache import CacheLayer, cache_layer, tool_settings
from build_tools.builds.script import environment_script
from build_tools.builds.variables import BuildFolders
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.pipeline.build_wishes import wishes_of
from build_tools.pipeline.build_workshop import cache_of, compiler_that_would, jobs_of, subject_of
from build_tools.pipeline.built_with import edits_before
from build_tools.pipeline.bundling import takes_rocm
from build_tools.pipeline.standing_build import standing_build
from build_tools.types import Platform, ProjectName

if TYPE_CHECKING:
    from build_tools.builds.plan import BuildPlan
    from build_tools.pipeline.standing_build import StandingBuild
    from build_tools.workplace import Workplace

__all__ = ["show_environment"]

_DEFAULT: Final = "sample"
_COMPILER: Final = "c++"


def show_environment(workplace: Workplace) -> dict[str, Any]:
    """Print the environment of a project's build as a script, and return it as plain data.

    It is the one that a build would have with what the work dir has and the options say, but for its folders: the sources are those of
    the source tree and no copy of it, and home, temporary folder and those of a compiler cache are ones that stay.

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
    standing = standing_build(project, workplace)
    platform = workplace.meant_platform
    shell = workplace.work_dir / "shell" / project.name
    folders = BuildFolders(tree=Path(standing.source.folder), home=shell / "home", temporary=shell / "tmp")
    plan = _plan(standing, workplace, folders=folders, platform=platform)
    layer, about_cache = _cached(standing, workplace, plan, scratch=shell / "cache", platform=platform)
    # The two are what every child gets beside the machine's own.
    environment = {**_always(workplace), **plan.environment, **layer.variables}
    about = (
        f"The environment of a build of {project.name} {plan.version} with {standing.chain.python_tag}, for {platform.value}.",
        "Source it: the variables that no build inherits are taken away from the shell.",
        *_from_studio(plan),
        *about_cache,
    )
    needed = (folders.home, folders.temporary, *([shell / "cache"] if about_cache else []))
    script = environment_script(environment, platform=platform, about=about, folders=needed, programs=layer.scripts)
    if platform is not workplace.platform:
        workplace.console.warn(f"this machine is no {platform.value}: the folders in the script are those of this one")
    if platform is Platform.WINDOWS and plan.studio is None:
        workplace.console.warn("nothing of Visual Studio's is in the script")
    workplace.console.print(script)
    return {
        "project": project.name,
        "version": plan.version,
        "python": standing.chain.python_tag,
        "platform": platform.value,
        "targets": list(plan.targets),
        "pins": list(plan.pins),
        "environment": {name: workplace.runner.mask(value) for name, value in environment.items()},
        "visual_studio": (
            None
            if plan.studio is None
            else {"about": plan.studio.about, "variables": sorted(plan.studio.variables), "path": list(plan.studio.path)}
        ),
        "script": script,
    }


def _plan(standing: StandingBuild, workplace: Workplace, *, folders: BuildFolders, platform: Platform) -> BuildPlan:
    """Return the plan of a build with what a work dir has, on the system that is meant."""
    chain = standing.chain
    wishes = wishes_of(workplace, edited_before=edits_before(chain), compiling=platform is Platform.WINDOWS)
    jobs = jobs_of(chain.project, workplace).count
    subject = subject_of(chain, sdk=standing.sdk, source=standing.source, wishes=wishes, jobs=jobs)
    subject = replace(subject, platform=platform, inside=workplace.settings.bundle_rocm and takes_rocm(chain.project))
    return subject.plan(folders, path=workplace.runner.environment.get("PATH", ""))


def _cached(
    standing: StandingBuild, workplace: Workplace, plan: BuildPlan, *, scratch: Path, platform: Platform
) -> tuple[CacheLayer, tuple[str, ...]]:
    """Return what the compiler cache that the options name adds to a build, with lines on what each build alone can say."""
    cache, _store = cache_of(standing.locked, workplace, sdk=standing.sdk, targets=plan.targets, platform=platform)
    if cache is None:
        return CacheLayer(variables={}), ()
    own, of_server = build_settings(tool_settings(cache, scratch=scratch))
    # A compiler of this machine says nothing of another system.
    found = compiler_that_would(plan, workplace) if platform is workplace.platform else None
    layer = cache_layer(
        cache,
        own,
        environment=plan.environment,
        rocm=plan.context.rocm_version,
        compiles=standing.project.build.compiles,
        compiler=str(found.path) if found is not None else _COMPILER,
        folder=scratch / "bin",
        overrides=plan.context.overrides,
    )
    about = [f"Compiled objects come from {cache.tool}, which keeps them in {cache.place}."]
    if cache.tool == "sccache":
        address = "SCCACHE_SERVER_PORT" if platform is Platform.WINDOWS else "SCCACHE_SERVER_UDS"
        about.append(f"Each build starts a server of sccache for itself; {address} names it, which is known only then.")
        about.append("That server alone gets: " + ", ".join(f"{name}={value}" for name, value in sorted(of_server.items())))
    if layer.missed is not None:
        about.append(layer.missed)
    return layer, tuple(map(workplace.runner.mask, about))


def _from_studio(plan: BuildPlan) -> tuple[str, ...]:
    """Return the lines of a script's head that tell what of it is Visual Studio's."""
    if plan.studio is None:
        return ()
    names = [*plan.studio.variables, *(["the first folders of PATH behind ROCm's"] if plan.studio.path else [])]
    return (f"From {plan.studio.about}: {', '.join(sorted(names))}.",)


def _always(workplace: Workplace) -> dict[str, str]:
    return {name: workplace.runner.environment[name] for name in ("PYTHONUTF8", "PYTHONDONTWRITEBYTECODE")}
