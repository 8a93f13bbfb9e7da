"""Which project makes a package, and which packages of other projects a build needs: what a run builds itself is not locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from build_tools.config.owned import is_rocm
from build_tools.config.project import load_project, project_names
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from build_tools.config.project import Project

__all__ = ["Built", "built_names", "makers_in", "may_need", "must_need", "to_lock"]

Built: TypeAlias = "dict[str, frozenset[str]]"
"""By project: the packages that are wheels built before it, and that a lock leaves out."""


def must_need(project: Project) -> tuple[Requirement, ...]:
    """Return the requirements on packages other than ROCm's that a build of a project cannot do without, each package once.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when ``project.toml`` has a requirement that is none.
    """
    rows = [
        ("build.owned-requires", project.build.owned_requires),
        ("wheel.pinned-requirements", project.wheel.pinned_requirements),
    ]
    rocm = canonicalize_name(project.rocm.requirement)
    found: dict[str, Requirement] = {}
    for requirement in (_parse(text, project, key) for key, texts in rows for text in texts):
        name = canonicalize_name(requirement.name)
        if name != rocm and not is_rocm(name):
            found.setdefault(name, requirement)
    return tuple(found.values())


def may_need(project: Project) -> tuple[Requirement, ...]:
    """Return the requirements on packages that a build uses and pins where there is a wheel of them.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when ``project.toml`` has a requirement that is none.
    """
    return tuple(_parse(text, project, "wheel.optional-pins") for text in project.wheel.optional_pins)


def to_lock(project: Project, built: frozenset[str]) -> tuple[str, ...]:
    """Return the requirements on owned packages that have to be locked: those that are not wheels built before."""
    return tuple(text for text in project.build.owned_requires if canonicalize_name(Requirement(text).name) not in built)


def makers_in(external_builds: Path, distribution: str) -> tuple[Project, ...]:
    """Return the projects whose wheel is of a distribution; one whose ``project.toml`` cannot be read makes nothing."""
    found = []
    for name in project_names(external_builds):
        try:
            project = load_project(external_builds, name)
        except HipwrightError:
            # The commands that work on it tell.
            continue
        if canonicalize_name(project.wheel.distribution) == canonicalize_name(distribution):
            found.append(project)
    return tuple(found)


def built_names(project: Project, makers: Iterable[Project]) -> frozenset[str]:
    """Return the packages that a project needs, or uses, and that are wheels of these projects."""
    made = {canonicalize_name(maker.wheel.distribution) for maker in makers if maker.name != project.name}
    return frozenset(made & {canonicalize_name(one.name) for one in (*must_need(project), *may_need(project))})


def _parse(text: str, project: Project, key: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        where = Where(file=f"external-builds/{project.name}/project.toml", key=key)
        raise HipwrightError("bad-data-file", f"{text!r} is no requirement: {error}", where=where) from error
