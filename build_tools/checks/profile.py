"""What a project's wheels must be: the plan of a build, put together from ``project.toml`` and from what the build says it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from build_tools.checks.expectation import Expectation, StatedCommit
from build_tools.config.project import session_name
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform, ProjectName

if TYPE_CHECKING:
    from build_tools.config.project import Project
    from build_tools.receipts.values import BuiltWheels

__all__ = ["expectation_for"]


def expectation_for(project: Project, built: BuiltWheels, platform: Platform) -> dict[str, Expectation]:
    """Return the plan for each wheel of a build, by file name.

    Parameters
    ----------
    project
        The project that was built.
    built
        What the build made and meant to make.
    platform
        The system that it was built for.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when the build made nothing; ``bad-receipt`` when it is another project's; ``bad-data-file`` when the project
        names a pinned requirement that cannot be read.
    """
    if built.project != project.name:
        raise HipwrightError("bad-receipt", f"the build is of {built.project}, and the check is of {project.name}")
    if not built.wheels:
        raise HipwrightError(
            "no-wheel",
            f"the build of {project.name} made no wheel",
            hint=f"nox -s build_{session_name(ProjectName(project.name))}",
        )
    stated = project.wheel.source_commit
    of_system = {Platform.LINUX: project.wheel.linux_members, Platform.WINDOWS: project.wheel.windows_members}
    return {
        wheel.filename: Expectation(
            distribution=project.wheel.distribution,
            version=built.version,
            python_tag=built.python_tag,
            platform=platform,
            sha256=wheel.sha256,
            members=(*project.wheel.required_members, *of_system[platform]),
            pins=built.pins,
            pinned=tuple(_requirement_name(project, text) for text in project.wheel.pinned_requirements),
            source_commit=(
                None if stated is None else StatedCommit(member=stated.member, name=stated.name, commit=built.upstream)
            ),
        )
        for wheel in built.wheels
    }


def _requirement_name(project: Project, text: str) -> str:
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement as error:
        where = Where(file=f"external-builds/{project.name}/project.toml", key="wheel.pinned-requirements")
        raise HipwrightError("bad-data-file", f"{text!r} is no requirement: {error}", where=where) from None
