"""``nox -s matrix``: the jobs that continuous integration starts, as a table and as data for workflows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from build_tools.ci.changes import changed_files, projects_about
from build_tools.ci.matrix import LeftOut, Matrix, Wanted, build_jobs, follow_up_jobs, split, test_jobs
from build_tools.ci.outputs import hand_on
from build_tools.ci.rocm_jobs import RocmJobs, rocm_jobs
from build_tools.config.matrix import matrix_table
from build_tools.config.project import load_project
from build_tools.config.runners import runner_table
from build_tools.config.support import support_table
from build_tools.config.targets import family_names
from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.sources.git import Git
from build_tools.stores.place import runs_for_fork
from build_tools.types import Platform, ProjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from build_tools.ci.changes import About
    from build_tools.config.matrix import JobPurpose, MatrixTable
    from build_tools.config.project import Project
    from build_tools.workplace import Workplace

__all__ = ["matrix"]

_TESTS: Final = "tests"
_PURPOSE_OF_TESTS: Final = "nightly"
_PYTHON: Final = re.compile(r"3\.\d+t?")


def matrix(workplace: Workplace, *, built_before: Callable[[Project, Sequence[Project]], Iterable[Project]]) -> dict[str, Any]:
    """Return the jobs of a purpose, in parts that GitHub takes, and what has none with the reason.

    Parameters
    ----------
    workplace
        The options: ``--for``, ``--projects``, ``--pytorch-ref``, ``--python``, ``--gpu-family``, ``--platform``, ``--changed-since``,
        and ``--labels`` of a pull request.
    built_before
        Gives those of some projects whose wheels a project is built with.

    Returns
    -------
    dict
        Under ``matrix``: ``enabled``, ``parts`` (each with ``include``, as a workflow's ``strategy.matrix`` takes it), ``test_parts`` (the
        same of the jobs that test what is built), ``left_out``, and ``packages``: what is to be known of the ROCm packages that are built
        against, where one platform is meant, else None. A job on GitHub hands on ``enabled``, ``parts`` (their numbers), ``matrix_1`` and
        so on, the same of tests as ``test_enabled``, ``test_parts``, ``test_matrix_1``, and of tests of the packages as
        ``rocm_test_enabled`` and so on; and ``packages_enabled``, ``amdgpu_families``, ``artifact_group``, ``packages_runs_on``.

    Raises
    ------
    HipwrightError
        ``bad-option-value``, also for more parts than ``--max-parts``; ``empty-matrix`` when no job is left, and neither a label nor the changed files say that none is wanted.
    """
    settings, table = workplace.settings, matrix_table()
    tests = settings.matrix_for == _TESTS
    purpose = table.find(_PURPOSE_OF_TESTS if tests else settings.matrix_for)
    wanted = _wanted(workplace, purpose)
    unwanted = _unwanted(workplace, wanted.projects or purpose.projects, table, built_before)
    kept = [name for name in wanted.projects or purpose.projects if name not in unwanted]
    if not kept:
        found = Matrix(jobs=())
    elif tests:
        found = test_jobs(purpose, wanted, runners=runner_table())
    else:
        chosen = replace(wanted, projects=tuple(kept))
        found = build_jobs(purpose, chosen, table=table, runners=runner_table(), support=support_table())
    left_out = (*(LeftOut(what=name, reason=reason) for name, reason in unwanted.items()), *found.left_out)
    if not found.jobs and kept:
        reasons = "; ".join(f"{one.what}: {one.reason}" for one in left_out) or "the options leave none"
        message = f"no job is left for {settings.matrix_for}: {reasons}"
        hint = "ask for others with --projects, --python or --gpu-family; what there is stands in build_tools/config/data/matrix.toml"
        raise HipwrightError("empty-matrix", message, hint=hint)
    twice = sorted(name for name, times in Counter(job["id"] for job in found.jobs).items() if times > 1)
    if twice:
        raise HipwrightError(
            "bad-option-value", f"several jobs would be called {', '.join(twice)}", hint="name each Python and ref once"
        )
    tested = found if tests else follow_up_jobs(found.jobs, purpose, wanted, runners=runner_table())
    parts = split(found.jobs, table.limit)
    test_parts = split(tested.jobs, table.limit)
    # Those who want no wheels want ROCm's packages all the same; a change that is about nothing is not about these either.
    packages = None if tests or not (kept or table.skip_label in settings.labels) else _packages(purpose, wanted)
    rocm_tests = packages.tests if packages else Matrix(jobs=())
    left_out = (*left_out, *rocm_tests.left_out)
    rocm_parts = split(rocm_tests.jobs, table.limit)
    _refuse_parts(max(len(parts), len(test_parts), len(rocm_parts)), settings.max_parts, table.limit)
    _tell(workplace, found, left_out, parts)
    hand_on(
        {
            "enabled": _word(bool(found.jobs)),
            "test_enabled": _word(bool(tested.jobs)),
            "rocm_test_enabled": _word(bool(rocm_tests.jobs)),
            "packages_enabled": _word(packages is not None),
            **(packages.words if packages else {}),
        },
        workplace.machine,
        documents={**_numbered("", parts), **_numbered("test_", test_parts), **_numbered("rocm_test_", rocm_parts)},
    )
    return {
        "matrix": {
            "for": settings.matrix_for,
            "enabled": bool(found.jobs),
            "parts": [{"include": list(part)} for part in parts],
            "test_parts": [{"include": list(part)} for part in test_parts],
            "packages": None
            if packages is None
            else {**packages.words, "test_parts": [{"include": list(part)} for part in rocm_parts]},
            "left_out": [{"what": one.what, "reason": one.reason} for one in left_out],
        }
    }


def _packages(purpose: JobPurpose, wanted: Wanted) -> RocmJobs | None:
    """Return the jobs about ROCm's packages; None where several platforms are meant, each of which has its own."""
    return rocm_jobs(purpose, wanted, wanted.platforms[0], runners=runner_table()) if len(wanted.platforms) == 1 else None


def _word(yes: bool) -> str:  # noqa: FBT001 - a word for it
    return "true" if yes else "false"


def _numbered(prefix: str, parts: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    documents = {f"{prefix}matrix_{number}": {"include": list(part)} for number, part in enumerate(parts, 1)}
    return {f"{prefix}parts": list(range(1, len(parts) + 1)), **documents}


def _refuse_parts(count: int, most: int | None, limit: int) -> None:
    """Refuse more parts than the workflow that takes them has a place for: the others would be left out without a word."""
    if most is not None and count > most:
        message = f"there are jobs for {count} matrices of {limit}, and --max-parts {most} are taken"
        raise HipwrightError("bad-option-value", message, hint="narrow them: --python, --pytorch-ref, --gpu-family, --platform")


def _wanted(workplace: Workplace, purpose: JobPurpose) -> Wanted:
    settings = workplace.settings
    odd = [python for python in settings.python if not _PYTHON.fullmatch(python)]
    if odd:
        raise HipwrightError("bad-option-value", f"a matrix takes versions of Python such as 3.12, not {', '.join(odd)}")
    families = family_names(settings.gpu_family)
    unknown = [name for name in families if runner_table().find(name) is None]
    if unknown:
        raise HipwrightError(
            "bad-option-value", f"no machine of CI is for {', '.join(unknown)}", hint="docs/reference/runners.md lists them"
        )
    strange = [name for name in settings.projects if name not in purpose.projects]
    if strange:
        known = ", ".join(purpose.projects)
        raise HipwrightError(
            "bad-option-value", f"{purpose.name} has no jobs of {', '.join(strange)}", hint=f"it has those of {known}"
        )
    ref = settings.ref.get("pytorch")
    return Wanted(
        platforms=(Platform(settings.platform),) if settings.platform else (Platform.LINUX, Platform.WINDOWS),
        projects=settings.projects,
        pythons=settings.python,
        families=families,
        refs=(ref,) if ref else (),
        fork=runs_for_fork(workplace.machine),
        seed=workplace.machine.get("GITHUB_RUN_ID", ""),
    )


def _unwanted(
    workplace: Workplace,
    projects: Sequence[str],
    table: MatrixTable,
    built_before: Callable[[Project, Sequence[Project]], Iterable[Project]],
) -> dict[str, str]:
    """Return the projects that nobody asks for, each with the reason: a label, or that no changed file is about them."""
    settings = workplace.settings
    if table.skip_label in settings.labels:
        return dict.fromkeys(projects, f"the label {table.skip_label}")
    if settings.changed_since is None:
        return {}
    about = _about(workplace, settings.changed_since, projects, table, built_before)
    for name, reason in about.kept.items():
        workplace.console.say(f"{name}: {reason}")
    return dict(about.left_out)


def _about(
    workplace: Workplace,
    since: str,
    projects: Sequence[str],
    table: MatrixTable,
    built_before: Callable[[Project, Sequence[Project]], Iterable[Project]],
) -> About:
    loaded = {name: load_project(workplace.external_builds, ProjectName(name)) for name in projects}
    changed = changed_files(Git(runner=workplace.runner), workplace.clone, since)
    return projects_about(
        changed,
        projects,
        rows=table.changes,
        built_on=lambda name: [one.name for one in built_before(loaded[name], list(loaded.values()))],
    )


def _tell(workplace: Workplace, found: Matrix, left_out: Sequence[LeftOut], parts: Sequence[Sequence[dict[str, Any]]]) -> None:
    note = "\n".join(f"left out: {one.what}: {one.reason}" for one in left_out)
    if len(parts) > 1:
        note = f"{counted(len(found.jobs), 'job')} in {counted(len(parts), 'part')}\n{note}".rstrip()
    rows = [
        (job["name"], job.get("projects", job.get("amdgpu_family", "")), job.get("build_runs_on", job.get("test_runs_on", "")))
        for job in found.jobs
    ]
    workplace.console.table(f"Jobs for {workplace.settings.matrix_for}", ("job", "of", "on"), rows, note=note)
