"""``nox -s check_wheels``: judge any wheels by all that is known of them: their projects, and what the options name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from build_tools.checks.baseline import project_of
from build_tools.checks.demands import Demands, Unmet
from build_tools.checks.explain import all_rules, document_of, text_of
from build_tools.checks.libraries import libraries_of_wheels
from build_tools.checks.profile import demands_for
from build_tools.checks.registry import rule_named
from build_tools.checks.run import check_wheels as judge
from build_tools.checks.run import raise_for
from build_tools.checks.show import show_report
from build_tools.config.owned import is_rocm
from build_tools.environments.listing import Listing, parse_source
from build_tools.errors import HipwrightError
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.baselines import named_baselines
from build_tools.pipeline.named_wheels import all_projects, require_expected
from build_tools.pipeline.wheel_set import unmet_of
from build_tools.receipts.record import plain
from build_tools.types import Platform
from build_tools.wheels.find import find_wheels
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.config.project import Project
    from build_tools.workplace import Workplace

__all__ = ["check_wheels", "explain"]


def check_wheels(workplace: Workplace) -> dict[str, Any]:
    """Judge the wheels that the command names, and tell what was found.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is none, or one of an expected project is missing; ``check-failed``; ``bad-option-value``; what reading the
        places raises that the options name.
    """
    settings, console = workplace.settings, workplace.console
    if settings.explain:
        return explain(settings.explain, workplace)
    wheels = find_wheels(settings.paths)
    projects = all_projects(workplace.external_builds)
    require_expected(wheels, projects, workplace.settings.projects)
    report = judge(
        wheels,
        expectations=None,
        demands=_demands(wheels, projects, workplace),
        say=console.say,
        progress=console.progress,
        jobs=workplace.jobs,
    )
    show_report(report, console)
    document = {"report": plain(report)}
    try:
        raise_for(report)
    except HipwrightError as error:
        error.document = document
        raise
    return document


def explain(named: str | bool, workplace: Workplace) -> dict[str, Any]:  # noqa: FBT001 - the option's own value
    """Tell what a rule demands and why; of all rules, what they demand, when none is named.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` with close names when there is no such rule.
    """
    if isinstance(named, str):
        rule = rule_named(named)
        for line in text_of(rule).splitlines():
            workplace.console.say(line)
        return {"rule": dict(document_of(rule))}
    rows = [(rule.name, rule.severity, rule.summary) for rule in all_rules()]
    workplace.console.table(f"{len(rows)} rules", ("rule", "severity", "demands"), rows)
    return {"rules": [dict(document_of(rule)) for rule in all_rules()]}


def _demands(wheels: Sequence[Path], projects: Mapping[str, Project], workplace: Workplace) -> dict[str, Demands]:
    targets = wanted_targets(workplace)
    unmet, libraries = _placed(wheels, workplace)
    baselines = named_baselines([wheel.name for wheel in wheels], workplace)
    found = {}
    for wheel in wheels:
        project = projects.get(project_of(wheel.name) or "")
        platform = _platform(wheel, workplace)
        baseline = baselines.get(wheel.name)
        if project is not None:
            wanted = wanted_targets(workplace, project.name)
            found[wheel.name] = demands_for(
                project, platform, targets=wanted, unmet=unmet.get(wheel.name), libraries=libraries, baseline=baseline
            )
        elif targets or unmet or baseline is not None or workplace.settings.platform:
            found[wheel.name] = Demands(
                platform=platform, targets=targets, unmet=unmet.get(wheel.name), libraries=libraries, baseline=baseline
            )
    return found


def _platform(wheel: Path, workplace: Workplace) -> Platform:
    """Return the system that a wheel is judged for: as named, else as its tags say, else this machine's."""
    if workplace.settings.platform:
        return Platform(workplace.settings.platform)
    try:
        return parse_wheel_name(wheel.name).system or workplace.platform
    except HipwrightError:
        return workplace.platform


def _placed(wheels: Sequence[Path], workplace: Workplace) -> tuple[dict[str, tuple[Unmet, ...]], frozenset[str] | None]:
    """Return why wheels cannot be installed from the set and the named places, and the libraries of the ROCm packages that lie there."""
    settings = workplace.settings
    if not settings.find_links and settings.index_url is None:
        return {}, None
    source = parse_source(find_links=settings.find_links, index_url=settings.index_url, folder=workplace.typed_in)
    unmet = unmet_of(wheels, Listing(source=source, network=workplace.base.network()), cache=workplace.cache)
    folders = [Path(place) for place in source.find_links if Path(place).is_dir()]
    local = [path for folder in folders for path in sorted(folder.glob("*.whl")) if is_rocm(path.name.partition("-")[0])]
    return unmet, libraries_of_wheels(local) if local else None
