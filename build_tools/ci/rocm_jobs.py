"""The jobs of a workflow that come before PyTorch: one that makes ROCm's Python packages, and those that test them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from build_tools.ci.matrix import group_of_families, test_jobs

if TYPE_CHECKING:
    from build_tools.ci.matrix import Matrix, Wanted
    from build_tools.config.matrix import JobPurpose
    from build_tools.config.runners import RunnerTable
    from build_tools.types import Platform

__all__ = ["RocmJobs", "rocm_jobs"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RocmJobs:
    """One set of packages with the code of all ``families``, the folder and the machine it is made in, and the jobs that test it."""

    families: tuple[str, ...]
    artifact_group: str
    runs_on: str
    tests: Matrix

    @property
    def words(self) -> dict[str, str]:
        """What a job hands on of them, as plain words."""
        return {
            "amdgpu_families": ",".join(self.families),
            "artifact_group": self.artifact_group,
            "packages_runs_on": self.runs_on,
        }


def rocm_jobs(purpose: JobPurpose, wanted: Wanted, platform: Platform, *, runners: RunnerTable) -> RocmJobs | None:
    """Return the jobs about ROCm's packages on a platform; None when no family that is wanted is built there.

    Parameters
    ----------
    purpose
        What the jobs are started for.
    wanted
        What is wanted of it.
    platform
        The platform.
    runners
        The machines.
    """
    rows = runners.families(purpose.tier, platform)
    families = tuple(row.name for row in rows if not wanted.families or row.name in wanted.families)
    if not families:
        return None
    return RocmJobs(
        families=families,
        artifact_group=group_of_families(families, purpose),
        runs_on=runners.build_label(platform, fork=wanted.fork),
        tests=test_jobs(purpose, replace(wanted, platforms=(platform,)), runners=runners),
    )
