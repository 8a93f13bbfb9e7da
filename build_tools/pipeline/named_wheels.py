"""Which projects wheels that a command names are of, and whether those that were expected are among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.config.project import load_project, project_names
from build_tools.errors import HipwrightError
from build_tools.wheels.find import find_wheels
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.config.project import Project

__all__ = ["all_projects", "projects_of", "require_expected"]


def projects_of(paths: Sequence[Path], external_builds: Path) -> tuple[str, ...]:
    """Return the projects that the wheels are of which paths name; none when that cannot be read, which the command itself tells."""
    try:
        there = {_distribution(wheel) for wheel in find_wheels(paths)}
        return tuple(project.name for distribution, project in all_projects(external_builds).items() if distribution in there)
    except HipwrightError:
        return ()


def all_projects(external_builds: Path) -> dict[str, Project]:
    """Return all projects by the distribution that they build."""
    loaded = [load_project(external_builds, name) for name in project_names(external_builds)]
    return {canonicalize_name(project.wheel.distribution): project for project in loaded}


def require_expected(wheels: Sequence[Path], projects: Mapping[str, Project], expected: Sequence[str]) -> None:
    """Prove that each project that was named has a wheel: what is not there must not pass for done.

    Parameters
    ----------
    wheels
        The wheels.
    projects
        All projects by the distribution that they build.
    expected
        The names of those that must be there.

    Raises
    ------
    HipwrightError
        ``no-wheel`` that names those that are not.
    """
    there = {_distribution(wheel) for wheel in wheels}
    named = {project.name: distribution for distribution, project in projects.items()}
    missing = [name for name in expected if named[name] not in there]
    if missing:
        words = " and ".join(f"{name} ({named[name]})" for name in missing)
        of = {distribution: project.name for distribution, project in projects.items()}
        judged = ", ".join(sorted({of.get(name or "", "no project here") for name in there}))
        message = f"there is no wheel of {words} among the {len(wheels)} that were named; they are of {judged}"
        raise HipwrightError("no-wheel", message, hint="name its wheel too, or leave it out of --projects")


def _distribution(wheel: Path) -> str | None:
    """Return the distribution that a wheel's file name names, None when the name cannot be read."""
    try:
        return parse_wheel_name(wheel.name).project
    except HipwrightError:
        return None
