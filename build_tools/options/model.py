"""The options: each is declared once, as a field of :class:`Settings`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from build_tools.options.ci import CiOptions
from build_tools.options.declare import declared
from build_tools.options.how import HowOptions
from build_tools.options.image import ImageOptions
from build_tools.options.machine import MachineOptions
from build_tools.options.packages import PackageOptions
from build_tools.options.suite import SuiteOptions
from build_tools.options.what import WhatOptions
from build_tools.options.where import WhereOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from build_tools.options.option import Option

__all__ = ["OPTIONS", "THE_ONE", "Settings", "option_of_variable"]


# The fields of the last base come first: that is the order of the help and of the reference page.
@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(SuiteOptions, HowOptions, CiOptions, MachineOptions, ImageOptions, WhereOptions, PackageOptions, WhatOptions):
    """The values of all options, and the plain arguments; a command reads those that it takes, the others keep their defaults.

    ``own_gfx`` are the GPU targets that a project's own variable names, by project.
    """

    paths: tuple[Path, ...] = ()
    words: tuple[str, ...] = ()
    own_gfx: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


OPTIONS: Final[Mapping[str, Option]] = {option.name: option for option in declared(Settings)}


THE_ONE: Final = "project"
"""Stands in the environment for the one project that ``--projects`` names: HIPWRIGHT_PROJECT_REF and the like."""


def option_of_variable(name: str, projects: Iterable[str]) -> tuple[Option | None, str | None]:
    """Return the option that a variable of the environment gives, and the project that it is about, or :data:`THE_ONE`.

    None for each that there is not.
    """
    for option in OPTIONS.values():
        if not option.per_project and name in {option.environment, *option.other_environment}:
            return option, None
    of_projects = ((option, project) for option in OPTIONS.values() if option.per_project for project in (*projects, THE_ONE))
    return next(((option, project) for option, project in of_projects if name == option.environment_of(project)), (None, None))
