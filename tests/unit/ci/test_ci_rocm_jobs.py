from __future__ import annotations

from typing import Any

from build_tools.ci.matrix import Wanted
from build_tools.ci.rocm_jobs import RocmJobs, rocm_jobs
from build_tools.config.matrix import matrix_table
from build_tools.config.runners import runner_table
from build_tools.types import Platform


def jobs(platform: Platform = Platform.LINUX, **wanted: Any) -> RocmJobs | None:  # noqa: ANN401
    return rocm_jobs(matrix_table().find("ci"), Wanted(**wanted), platform, runners=runner_table())


def test_one_set_has_the_code_of_all_families_and_is_tested_on_each_that_has_a_machine() -> None:
    found = jobs()
    assert found is not None
    assert found.words == {
        "amdgpu_families": "gfx94X-dcgpu,gfx110X-all,gfx1151,gfx120X-all",
        "artifact_group": "multi-arch-ci",
        "packages_runs_on": "aws-linux-scale-rocm-prod",
    }
    assert [(job["amdgpu_family"], job["python_version"]) for job in found.tests.jobs] == [("gfx94X-dcgpu", "3.12")]


def test_a_set_of_one_family_is_named_after_it() -> None:
    found = jobs(Platform.WINDOWS, families=("gfx110X-all",), pythons=("3.11", "3.13"))
    assert found is not None
    assert found.artifact_group == "gfx110X-all"
    assert [job["id"] for job in found.tests.jobs] == ["windows-gfx110X-all-py3.11", "windows-gfx110X-all-py3.13"]


def test_a_fork_gets_a_machine_of_githubs_and_no_tests() -> None:
    found = jobs(fork=True)
    assert found is not None
    assert (found.runs_on, found.tests.jobs) == ("ubuntu-24.04", ())


def test_no_family_is_no_job() -> None:
    assert jobs(Platform.WINDOWS, families=("gfx1152",)) is None
