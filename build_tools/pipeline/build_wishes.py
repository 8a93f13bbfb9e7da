"""What a command's options and the machine want of a build, beyond the project's recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.builds.plan import BuildWishes
from build_tools.builds.variables import constants, judge_overrides, machine_variables, studio_variables
from build_tools.receipts.record import plain
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.builds.plan import BuildPlan
    from build_tools.builds.preflight import Compiler
    from build_tools.config.project import Project
    from build_tools.console.events import Console
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["OF_MACHINE", "OF_PERSON", "OF_STUDIO", "recipe_digest", "tell_plan", "tools_of", "wish_parts", "wishes_of"]

OF_PERSON: Final = "--build-env "
OF_MACHINE: Final = "the machine's "
OF_STUDIO: Final = "Visual Studio's "
"""What the names of variables among a build's inputs begin with."""

_NAMES_COMMIT: Final = frozenset({"ci", "dev"})
"""The release types whose versions name the commit: several builds of one day are told apart by it."""


def wishes_of(place: Workplace, *, edited_before: tuple[Sha256, ...] = (), compiling: bool = True) -> BuildWishes:
    """Return what builds of a workplace are wanted to be like.

    Parameters
    ----------
    place
        The workplace.
    edited_before
        The digests of a person's changes in what they are built with.
    compiling
        Whether something is to be compiled, for which Windows needs the compiler environment of Visual Studio.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a variable that no program can be given; ``no-compiler`` as
        :func:`build_tools.builds.visual_studio.compiler_environment`.
    """
    judge_overrides(place.settings.build_env)
    return BuildWishes(
        overrides=place.settings.build_env,
        machine=place.machine,
        studio=place.visual_studio if compiling else None,
        names_commit=place.settings.release_type in _NAMES_COMMIT,
        edited_before=edited_before,
    )


def wish_parts(project: Project, wishes: BuildWishes, platform: Platform, *, mask: Callable[[str], str] = str) -> dict[str, str]:
    """Return the inputs of a build that the wishes are, for its digest; nothing where nothing is wanted.

    Variables are told by name and value, so that a person sees which one made a build run again; of a value with a secret in it, which
    ``mask`` changes, only the digest.
    """
    named = {f"{OF_PERSON}{name}": value for name, value in wishes.overrides.items()}
    named |= {f"{OF_MACHINE}{name}": value for name, value in machine_variables(project, platform, wishes.machine).items()}
    studio = studio_variables(project, platform, wishes.studio)
    named |= {f"{OF_STUDIO}{name}": value for name, value in studio.items()}
    if studio and wishes.studio is not None:
        named[f"{OF_STUDIO}PATH"] = ";".join(wishes.studio.path)
    parts = {name: value if mask(value) == value else digest.of_value(value) for name, value in named.items()}
    if wishes.names_commit and project.wheel.development_commit:
        parts["version names"] = "commit"
    return parts


def recipe_digest(project: Project, platform: Platform) -> str:
    """Return the digest of what of ``project.toml`` a build's result depends on; limits and demands on the wheel do not change it."""
    build, wheel = project.build, project.wheel
    preloads = wheel.windows_preloads if platform is Platform.WINDOWS else wheel.linux_preloads
    rows = [build.config_settings, constants(project, platform), build.variables, build.package_versions]
    begin = [build.front_end, list(build.folders), list(build.all_requires(windows=platform is Platform.WINDOWS))]
    pins = [list(wheel.pinned_requirements), list(wheel.optional_pins)]
    own = [build.target_variable] if build.target_variable is not None else []
    return digest.of_value(
        [
            *map(plain, rows),
            begin,
            pins,
            list(preloads),
            wheel.distribution,
            project.version_suffix,
            wheel.windows_version_suffix,
            *own,
        ]
    )


def tools_of(plan: BuildPlan, compiler: Compiler, hip: Compiler | None) -> dict[str, str]:
    """Return what a build is compiled with, by what it is, for its receipt."""
    tools = {"compiler": f"{compiler.path}: {compiler.version}"}
    if hip is not None:
        tools["HIP compiler"] = f"{hip.path}: {hip.version}"
    if plan.studio is not None:
        tools["Visual Studio"] = plan.studio.about
    return tools


def tell_plan(plan: BuildPlan, tools: Mapping[str, str], console: Console) -> None:
    """Say what is built, for what, and with which compilers; a person's own variables and the machine's are named.

    Parameters
    ----------
    plan
        The build.
    tools
        The compilers with their versions, by what they are.
    console
        Who is told.
    """
    console.say(f"building {plan.context.project} {plan.version}" + (f" for {', '.join(plan.targets)}" if plan.targets else ""))
    for what in ("compiler", "HIP compiler"):
        if what in tools:
            console.say(f"{what}: {tools[what]}")
    studio = plan.studio.variables if plan.studio is not None else {}
    if own := sorted(plan.context.machine.keys() - studio.keys()):
        console.say(f"taken from this machine's environment: {', '.join(own)}")
    if plan.studio is not None:
        console.say(f"taken from {plan.studio.about}: {', '.join(sorted([*studio, 'PATH'] if plan.studio.path else studio))}")
    if plan.context.overrides:
        console.say(f"set by --build-env: {', '.join(sorted(plan.context.overrides))}")
