"""The order in which projects are built: each after those of the command whose wheels it is built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.errors import HipwrightError, Where
from build_tools.locking.makers import may_need, must_need

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from build_tools.config.project import Project

__all__ = ["built_before", "in_build_order"]


def built_before(project: Project, projects: Iterable[Project]) -> tuple[Project, ...]:
    """Return those of some projects whose wheels a project is built with, itself never, in their order."""
    names = {canonicalize_name(one.name) for one in (*must_need(project), *may_need(project))}
    return tuple(
        other for other in projects if other.name != project.name and canonicalize_name(other.wheel.distribution) in names
    )


def in_build_order(projects: Sequence[Project], external_builds: Path) -> tuple[Project, ...]:
    """Return projects, each once and after those that it is built with; the others keep the order that they were named in.

    Parameters
    ----------
    projects
        The projects of a command, in any order.
    external_builds
        The folder of all projects, for errors.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when they need each other in a circle, or two of them make the same package and a third one needs it.
    """
    given = {project.name: project for project in projects}
    before = {name: built_before(project, given.values()) for name, project in given.items()}
    for name, others in before.items():
        _refuse_twins(given[name], others, external_builds)
    done: dict[str, Project] = {}
    under_way: list[str] = []

    def take(project: Project) -> None:
        if project.name in done:
            return
        if project.name in under_way:
            circle = " → ".join([*under_way[under_way.index(project.name) :], project.name])
            where = Where(file=external_builds / project.name / "project.toml", key="build.owned-requires")
            raise HipwrightError(
                "bad-data-file", f"projects are built with each other's wheels in a circle: {circle}", where=where
            )
        under_way.append(project.name)
        for other in before[project.name]:
            take(other)
        under_way.remove(project.name)
        done[project.name] = project

    for project in given.values():
        take(project)
    return tuple(done.values())


def _refuse_twins(project: Project, others: Sequence[Project], external_builds: Path) -> None:
    seen: dict[str, Project] = {}
    for other in others:
        name = canonicalize_name(other.wheel.distribution)
        twin = seen.setdefault(name, other)
        if twin is not other:
            message = f"{twin.name} and {other.name} both make {name}, and {project.name} is built with one of them"
            where = Where(file=external_builds / other.name / "project.toml", key="wheel.distribution")
            raise HipwrightError("bad-data-file", message, where=where, hint="name one of them with --projects")
