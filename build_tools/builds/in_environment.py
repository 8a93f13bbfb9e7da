"""The environment of a build in a person's own tree and a person's own environment, by the same rules as that of a wheel's build.

What makes two builds of a wheel equal (the date, the folders' names, a home of its own) has no place here: the person goes on working with
what comes of it. Nor has a version that names ROCm and the person's edits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.builds.variables import constants, machine_variables, merge, sdk_variables, studio_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.builds.developer_prompt import VisualStudio
    from build_tools.builds.hooks import BuildContext, ProjectHooks
    from build_tools.config.project import Project
    from build_tools.receipts.values import Sdk

__all__ = ["variables_in_environment"]


def variables_in_environment(
    project: Project,
    context: BuildContext,
    *,
    hooks: ProjectHooks,
    sdk: Sdk | None,
    studio: VisualStudio | None,
    machine: Mapping[str, str],
    given: Mapping[str, str],
) -> dict[str, str]:
    """Return the variables of a build, in the order of a wheel's build; what the person gives has the last word.

    Parameters
    ----------
    project
        The project.
    context
        What its hook is told.
    hooks
        Its hooks.
    sdk
        The ROCm that the build finds; None without one.
    studio
        The compiler environment of Windows. Its folders are in the search path that is given.
    machine
        The machine's environment as found, of which the recipe lets some variables in.
    given
        The environment's own search paths, and what the person sets; an empty value takes a variable away.

    Raises
    ------
    HipwrightError
        ``bad-hooks``.
    """
    platform = context.platform
    layers = merge(
        sdk_variables(sdk, platform) if sdk is not None else {},
        machine_variables(project, platform, machine),
        studio_variables(project, platform, studio),
        constants(project, platform),
        _computed(project, context),
        hooks.build_environment(context),
    )
    return {name: value for name, value in {**layers, **given}.items() if value}


def _computed(project: Project, context: BuildContext) -> dict[str, str]:
    """Return the computed values that can be told of a tree outside of a chain, under the names that the recipe gives them."""
    build = project.build
    values = {
        "version": context.version,
        "targets": ";".join(context.targets),
        "rocm-home": str(context.rocm_root or ""),
        "source-commit": context.upstream,
    }
    own = {build.target_variable: ",".join(context.targets)} if build.target_variable is not None else {}
    return own | {name: values[kind] for kind, name in build.variables.items() if values.get(kind)}
