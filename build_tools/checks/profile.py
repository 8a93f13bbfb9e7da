"""What a project's wheels must be: the plan of a build, put together from ``project.toml`` and from what the build says it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from build_tools.checks.demands import Demands, Unmet
from build_tools.checks.expectation import Expectation, StatedCommit
from build_tools.checks.registry import rule_named
from build_tools.config.owned import is_rocm
from build_tools.config.project import session_name
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform, ProjectName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.config.project import Project
    from build_tools.receipts.values import BuiltWheels
    from build_tools.types import GfxTarget

__all__ = ["demands_for", "expectation_for"]


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
            pinned=tuple(
                name
                for text in project.wheel.pinned_requirements
                if not (is_rocm(name := _requirement_name(project, text)) and built.bundled is not None)
            ),
            source_commit=(
                None if stated is None else StatedCommit(member=stated.member, name=stated.name, commit=built.upstream)
            ),
        )
        for wheel in built.wheels
    }


def demands_for(
    project: Project,
    platform: Platform,
    *,
    targets: Iterable[GfxTarget] = (),
    libraries: frozenset[str] | None = None,
    packages: Mapping[str, str] | None = None,
    unmet: tuple[Unmet, ...] | None = None,
    unasked: str | None = None,
    build_places: Iterable[str] = (),
    baseline: Mapping[str, int] | None = None,
) -> Demands:
    """Return what a project demands of its wheels on a system, with what is known of the place that they are for.

    Parameters are those of :class:`build_tools.checks.demands.Demands`; ``build_places`` may be given in any order, with doubles.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when ``project.toml`` sets a rule that there is not.
    """
    _require_known_rules(project)
    wheel = project.wheel
    of_system = {Platform.LINUX: wheel.linux_members, Platform.WINDOWS: wheel.windows_members}
    preloads = {Platform.LINUX: wheel.linux_preloads, Platform.WINDOWS: wheel.windows_preloads}
    return Demands(
        platform=platform,
        check=project.check,
        members=(*wheel.required_members, *of_system[platform]),
        forbidden=wheel.forbidden_members,
        targets=tuple(targets),
        libraries=libraries,
        preloads=preloads[platform],
        packages=packages,
        unmet=unmet,
        unasked=unasked,
        build_places=tuple(sorted(set(build_places))),
        baseline=baseline,
    )


def _require_known_rules(project: Project) -> None:
    """Refuse a project that sets rules that there are not.

    Raises
    ------
    HipwrightError
        ``bad-data-file``.
    """
    for name in project.check.rules:
        try:
            rule_named(name)
        except HipwrightError as error:
            where = Where(file=f"external-builds/{project.name}/project.toml", key=f"check.rules.{name}")
            raise HipwrightError("bad-data-file", error.message, where=where, hint=error.hint) from None


def _requirement_name(project: Project, text: str) -> str:
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement as error:
        where = Where(file=f"external-builds/{project.name}/project.toml", key="wheel.pinned-requirements")
        raise HipwrightError("bad-data-file", f"{text!r} is no requirement: {error}", where=where) from None
