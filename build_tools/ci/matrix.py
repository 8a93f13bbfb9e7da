"""Matrices of jobs: what is built and tested, minus what is not supported, in parts that GitHub takes."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from build_tools.config.runners import pick_label
from build_tools.errors import HipwrightError
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.matrix import JobPurpose, MatrixTable
    from build_tools.config.runners import RunnerTable
    from build_tools.config.support import SupportTable

__all__ = [
    "LeftOut",
    "Matrix",
    "Wanted",
    "artifact_name",
    "build_axes",
    "build_jobs",
    "follow_up_jobs",
    "group_of_families",
    "split",
    "test_jobs",
]

_LINE: Final = re.compile(r"(?:release/|v)?(\d+\.\d+)(?:\.\d+)?")
_AXES: Final = frozenset({"platform", "pytorch_git_ref", "python_version", "artifact_group"})
_ODD: Final = re.compile(r"[^A-Za-z0-9_.]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Of which jobs: platforms, projects, Pythons, GPU families and refs; an empty tuple leaves what the purpose has.

    ``fork`` is for pull requests that may use GitHub's own machines only; ``seed`` decides which of several labels a job gets.
    """

    platforms: tuple[Platform, ...] = (Platform.LINUX, Platform.WINDOWS)
    projects: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    fork: bool = False
    seed: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """Something that has no job, and why; ``python`` is the one that it is about, None where it is about all."""

    what: str
    reason: str
    python: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """Jobs as plain data, in their order, and what was left out."""

    jobs: tuple[dict[str, Any], ...]
    left_out: tuple[LeftOut, ...] = ()


def build_jobs(purpose: JobPurpose, wanted: Wanted, *, table: MatrixTable, runners: RunnerTable, support: SupportTable) -> Matrix:
    """Return the jobs that build wheels: one for each platform, ref and Python, in this order.

    A job has ``name``, ``id`` (good for the name of an artifact), ``platform``, ``python_version``, ``pytorch_git_ref``, ``projects``,
    ``amdgpu_families``, ``test_amdgpu_families``, ``artifact_group``, ``release_type``, ``build_runs_on`` and ``build_image``; lists are
    joined by commas. All jobs of a platform have one group, although a ref may leave families out: a promotion takes one.
    """
    jobs, left_out = [], []
    for platform in wanted.platforms:
        rows = [row for row in runners.families(purpose.tier, platform) if not wanted.families or row.name in wanted.families]
        group = group_of_families([row.name for row in rows], purpose)
        for ref in wanted.refs or purpose.refs.of(platform):
            families, excluded = _families([row.name for row in rows], ref, platform, table)
            left_out += excluded
            for python in wanted.pythons or purpose.pythons:
                name = f"{platform.value}, {ref}, Python {python}"
                if not families:
                    left_out.append(LeftOut(what=name, reason="no GPU family is built there"))
                    continue
                projects, unsupported = _projects(wanted.projects or purpose.projects, ref, platform, python, support)
                left_out += unsupported
                if not projects:
                    left_out.append(LeftOut(what=name, reason="no project is left to build"))
                    continue
                tested = [one for one in families if _labels(runners, one, platform, purpose)]
                jobs.append(
                    {
                        "name": name,
                        "id": _id(platform.value, ref, f"py{python}"),
                        "platform": platform.value,
                        "python_version": python,
                        "pytorch_git_ref": ref,
                        "projects": ",".join(projects),
                        "amdgpu_families": ",".join(families),
                        "test_amdgpu_families": ",".join(tested),
                        "artifact_group": group,
                        "release_type": purpose.release_type,
                        "build_runs_on": runners.build_label(platform, pytorch=True, fork=wanted.fork),
                        "build_image": table.images.of(platform),
                    }
                )
    return Matrix(jobs=tuple(jobs), left_out=_together(left_out))


def test_jobs(purpose: JobPurpose, wanted: Wanted, *, runners: RunnerTable) -> Matrix:
    """Return the jobs that test what was built: one for each platform, GPU family and Python.

    A job has ``name``, ``id``, ``platform``, ``python_version``, ``amdgpu_family`` and ``test_runs_on``.
    """
    jobs, left_out = [], []
    for platform in wanted.platforms:
        for row in runners.families(purpose.tier, platform):
            if wanted.families and row.name not in wanted.families:
                continue
            labels = _labels(runners, row.name, platform, purpose)
            if wanted.fork or not labels:
                reason = "a pull request of a fork may not use its machines" if labels else "there is no machine that tests it"
                left_out.append(LeftOut(what=f"{platform.value}, {row.name}", reason=reason))
                continue
            for python in wanted.pythons or purpose.pythons:
                identity = _id(platform.value, row.name, f"py{python}")
                jobs.append(
                    {
                        "name": f"{platform.value}, {row.name}, Python {python}",
                        "id": identity,
                        "platform": platform.value,
                        "python_version": python,
                        "amdgpu_family": row.name,
                        "test_runs_on": pick_label(labels, f"{wanted.seed}{identity}"),
                    }
                )
    return Matrix(jobs=tuple(jobs), left_out=tuple(left_out))


test_jobs.__test__ = False  # type: ignore[attr-defined]


def follow_up_jobs(jobs: Sequence[dict[str, Any]], purpose: JobPurpose, wanted: Wanted, *, runners: RunnerTable) -> Matrix:
    """Return the jobs that test what build jobs made: one for each of these and each GPU family that has a machine.

    A job has ``name``, ``id``, ``platform``, ``python_version``, ``pytorch_git_ref``, ``projects``, ``artifact_group``, ``release_type``,
    ``receipts_artifact`` (what the build hands on), ``amdgpu_family`` and ``test_runs_on``.
    """
    kept = ("platform", "python_version", "pytorch_git_ref", "projects", "artifact_group", "release_type")
    found = []
    for job in jobs:
        receipts = artifact_name("receipts", *build_axes(**{name: job[name] for name in kept if name in _AXES}))
        for family in job["test_amdgpu_families"].split(",") if job["test_amdgpu_families"] and not wanted.fork else ():
            identity = _id(job["id"], family)
            labels = _labels(runners, family, Platform(job["platform"]), purpose)
            found.append(
                {
                    "name": f"{job['name']}, {family}",
                    "id": identity,
                    **{name: job[name] for name in kept},
                    "receipts_artifact": receipts,
                    "amdgpu_family": family,
                    "test_runs_on": pick_label(labels, f"{wanted.seed}{identity}"),
                }
            )
    return Matrix(jobs=tuple(found))


def build_axes(*, platform: str, pytorch_git_ref: str, python_version: str, artifact_group: str) -> tuple[str, ...]:
    """Return what tells a job that builds from the others of a run, for the names of its artifacts."""
    return platform, pytorch_git_ref or "default", f"py{python_version or 'default'}", artifact_group or "all"


def group_of_families(families: Sequence[str], purpose: JobPurpose) -> str:
    """Return the artifact group of a set with the code of these families: the family's own name where there is one."""
    return families[0] if len(families) == 1 else f"multi-arch-{purpose.release_type}"


def artifact_name(kind: str, *axes: str) -> str:
    """Return the name of an artifact, from all that tells its job from others.

    >>> artifact_name("receipts", "linux", "release/2.13", "py3.12", "gfx94X-dcgpu")
    'receipts-linux-release-2.13-py3.12-gfx94X-dcgpu'

    Parameters
    ----------
    kind
        What is in it.
    axes
        What tells the job from others; none may be empty.
    """
    words = [_id(axis) for axis in axes]
    if not all(words):
        raise HipwrightError("bad-option-value", f"an artifact of {kind} cannot be named after {', '.join(map(repr, axes))}")
    return "-".join((kind, *words))


def split(jobs: Sequence[dict[str, Any]], limit: int) -> tuple[tuple[dict[str, Any], ...], ...]:
    """Return jobs in parts of as equal a size as can be, none above a limit, in their order."""
    count = -(-len(jobs) // limit)
    bounds = [len(jobs) * number // count for number in range(count + 1)] if count else [0]
    return tuple(tuple(jobs[start:end]) for start, end in itertools.pairwise(bounds))


def _labels(runners: RunnerTable, family: str, platform: Platform, purpose: JobPurpose) -> tuple[Any, ...]:
    return runners.test_labels(family, platform, tier=purpose.tier, release=purpose.release_type == "release")


def _families(names: Sequence[str], ref: str, platform: Platform, table: MatrixTable) -> tuple[list[str], list[LeftOut]]:
    kept, left_out = [], []
    for name in names:
        row = next((row for row in table.exclude if row.holds(name, ref, platform)), None)
        if row is None:
            kept.append(name)
        else:
            left_out.append(LeftOut(what=f"{platform.value}, {ref}, {name}", reason=row.reason))
    return kept, left_out


def _projects(
    names: Sequence[str], ref: str, platform: Platform, python: str, support: SupportTable
) -> tuple[list[str], list[LeftOut]]:
    kept, left_out = [], []
    found = _LINE.fullmatch(ref)
    torch = found[1] if found else None
    for name in names:
        row = support.find(name, torch=torch, platform=platform, python=python)
        if row is None or row.state != "unsupported":
            kept.append(name)
        else:
            left_out.append(LeftOut(what=f"{name}, {platform.value}, {ref}", reason=row.reason, python=python))
    return kept, left_out


def _together(left_out: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    """Return what was left out, each thing once with all the Pythons that it is about."""
    pythons: dict[tuple[str, str], list[str]] = {}
    for one in left_out:
        pythons.setdefault((one.what, one.reason), []).extend([one.python] if one.python is not None else [])
    return tuple(
        LeftOut(what=f"{what}, Python {', '.join(found)}" if found else what, reason=reason)
        for (what, reason), found in pythons.items()
    )


def _id(*parts: str) -> str:
    return "-".join(_ODD.sub("-", part).strip("-") for part in parts)
