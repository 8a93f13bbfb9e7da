"""The variable that a project of others names its GPU targets by: read for that project alone, as the aliases of ``--gfx`` are for all."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.options.model import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.options.commands import Command
    from build_tools.options.resolve import Resolved

__all__ = ["with_target_variables"]

_LEVEL_ABOVE = "command line"


def with_target_variables(
    resolved: Resolved, command: Command, variables: Mapping[str, str], environment: Mapping[str, str]
) -> Resolved:
    """Return options with what the projects' own variables say, each for its project: below the command line, above all files.

    Parameters
    ----------
    resolved
        The options.
    command
        The command; one that takes no GPU targets reads no such variable.
    variables
        The name of the variable, by the project that names it; projects that the command is not about are not among them.
    environment
        The machine's environment.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a variable that is set and names nothing; ``option-conflict`` when the environment says something else
        in another way.
    """
    alike = [option for option in command.options if option.says is not None and option.says == OPTIONS["gfx"].says]
    own: dict[str, tuple[str, ...]] = {}
    origins = dict(resolved.origins)
    for project, variable in variables.items():
        if not alike or variable not in environment:
            continue
        targets = _words(environment[variable])
        if not targets:
            message = (
                f"the environment has {variable}, the GPU targets of {project}, and it names none: none never means all of them"
            )
            raise HipwrightError("bad-option-value", message, hint=f"name some, {variable}=gfx90a,gfx942, or unset it")
        for option in alike:
            for name in (option.environment, *option.other_environment):
                same = option.name == "gfx" and set(_words(environment.get(name, ""))) == set(targets)
                if name != variable and environment.get(name) and not same:
                    message = f"{variable} and {name} say different things of the GPU targets of {project} in the environment"
                    raise HipwrightError("option-conflict", message, hint=f"unset one of {variable}, {name}")
        if not any(resolved.origin(option.field_name).startswith(_LEVEL_ABOVE) for option in alike):
            own[project] = targets
            origins[f"own_gfx.{project}"] = f"environment {variable}"
    if not own:
        return resolved
    return dataclasses.replace(resolved, settings=dataclasses.replace(resolved.settings, own_gfx=own), origins=origins)


def _words(text: str) -> tuple[str, ...]:
    """Return what a list names whose entries are parted by commas, semicolons or blanks, each once."""
    return tuple(dict.fromkeys(word for word in re.split(r"[;,\s]+", text) if word))
