from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.ci.matrix import LeftOut, Wanted, build_jobs, follow_up_jobs, split
from build_tools.ci.matrix import test_jobs as jobs_that_test
from build_tools.config.matrix import MatrixTable, matrix_table
from build_tools.config.runners import runner_table
from build_tools.config.support import support_table
from build_tools.types import Platform

if TYPE_CHECKING:
    from build_tools.ci.matrix import Matrix

EVERYTHING = Wanted()


def jobs(purpose: str, wanted: Wanted = EVERYTHING, table: MatrixTable | None = None) -> Matrix:
    table = table or matrix_table()
    return build_jobs(table.find(purpose), wanted, table=table, runners=runner_table(), support=support_table())


def column(matrix: Matrix, name: str) -> list[Any]:
    return [job[name] for job in matrix.jobs]


@pytest.mark.parametrize(("purpose", "linux", "windows"), [("ci", 2, 1), ("nightly", 20, 20), ("release", 15, 15)])
def test_how_many_jobs_there_are(purpose: str, linux: int, windows: int) -> None:
    platforms = column(jobs(purpose), "platform")
    assert (platforms.count("linux"), platforms.count("windows")) == (linux, windows)


@pytest.mark.parametrize("purpose", ["ci", "nightly", "release"])
def test_names_are_distinct_and_good_for_artifacts(purpose: str) -> None:
    found = jobs(purpose)
    for key in ("name", "id"):
        assert len(set(column(found, key))) == len(found.jobs)
        assert all(column(found, key))
    assert not [name for name in column(found, "id") if set(name) & set('":<>|*?\r\n\\/')]


def test_a_job_says_all_that_a_build_is_told() -> None:
    found = jobs("ci", Wanted(platforms=(Platform.LINUX,), refs=("release/2.13",)))
    (job,) = found.jobs
    assert job == {
        "name": "linux, release/2.13, Python 3.12",
        "id": "linux-release-2.13-py3.12",
        "platform": "linux",
        "python_version": "3.12",
        "pytorch_git_ref": "release/2.13",
        "projects": "pytorch,pytorch-audio,pytorch-vision,triton,apex",
        "amdgpu_families": "gfx94X-dcgpu,gfx110X-all,gfx1151,gfx120X-all",
        "test_amdgpu_families": "gfx94X-dcgpu",
        "release_type": "ci",
        "artifact_group": "multi-arch-ci",
        "build_runs_on": "aws-linux-scale-rocm-prod",
        "build_image": matrix_table().images.linux,
    }


def test_what_is_not_supported_is_left_out_with_its_reason() -> None:
    found = jobs("release", Wanted(platforms=(Platform.WINDOWS,), refs=("release/2.12",)))
    assert all("apex" not in projects.split(",") for projects in column(found, "projects"))
    told = {one.what: one.reason for one in found.left_out}
    assert told["apex, windows, release/2.12, Python 3.10, 3.11, 3.12, 3.13, 3.14"].startswith("its extensions are not built")
    assert told["windows, release/2.12, gfx90c"] == "this line does not compile for gfx90c on Windows"


def test_a_family_that_a_line_is_not_built_for_is_in_none_of_its_jobs() -> None:
    for job in jobs("nightly").jobs:
        families = job["amdgpu_families"].split(",")
        assert ("gfx90c" in families) == (job["pytorch_git_ref"] == "nightly" or job["id"].startswith("linux-release-2.12-"))


def test_a_fork_builds_on_github_s_own_machines_and_tests_on_none() -> None:
    fork = replace(EVERYTHING, fork=True)
    assert set(column(jobs("ci", fork), "build_runs_on")) == {"ubuntu-24.04", "windows-2022"}
    found = jobs_that_test(matrix_table().find("nightly"), fork, runners=runner_table())
    assert found.jobs == ()
    assert LeftOut(what="linux, gfx94X-dcgpu", reason="a pull request of a fork may not use its machines") in found.left_out


def test_tests_run_where_there_is_a_machine_and_the_label_stays_the_same_for_a_run() -> None:
    wanted = Wanted(platforms=(Platform.LINUX,), pythons=("3.12",), seed="4711")
    found = jobs_that_test(matrix_table().find("nightly"), wanted, runners=runner_table())
    again = jobs_that_test(matrix_table().find("nightly"), wanted, runners=runner_table())
    assert found == again
    assert all(column(found, "test_runs_on"))
    assert "linux, gfx900" in {one.what for one in found.left_out}
    assert "gfx900" not in column(found, "amdgpu_family")


def test_the_jobs_of_a_platform_publish_into_one_folder_whatever_a_ref_leaves_out() -> None:
    linux = (Platform.LINUX,)
    found = jobs("release", Wanted(platforms=linux, families=("gfx90c", "gfx94X-dcgpu")))
    assert set(column(found, "amdgpu_families")) == {"gfx94X-dcgpu,gfx90c", "gfx94X-dcgpu"}
    assert set(column(found, "artifact_group")) == {"multi-arch-release"}
    one = jobs("release", Wanted(platforms=linux, families=("gfx94X-dcgpu",)))
    assert set(column(one, "artifact_group")) == {"gfx94X-dcgpu"}


def test_where_no_family_is_left_there_is_no_job() -> None:
    found = jobs("release", Wanted(families=("gfx90c",), refs=("release/2.13",), platforms=(Platform.LINUX,)))
    assert found.jobs == ()
    assert any(one.reason == "no GPU family is built there" for one in found.left_out)


def test_what_was_built_is_tested_on_each_family_with_a_machine_from_the_receipts_of_its_build() -> None:
    purpose, wanted = matrix_table().find("release"), Wanted(platforms=(Platform.LINUX,), pythons=("3.12", "3.13"))
    built = jobs("release", wanted)
    found = follow_up_jobs(built.jobs, purpose, wanted, runners=runner_table())
    expected = [(job["id"], family) for job in built.jobs for family in job["test_amdgpu_families"].split(",")]
    assert [job["id"] for job in found.jobs] == [f"{build}-{family}" for build, family in expected]
    assert len(set(column(found, "receipts_artifact"))) == len(built.jobs)
    assert found.jobs[0]["receipts_artifact"] == f"receipts-{built.jobs[0]['id']}-multi-arch-release"
    assert all(column(found, "test_runs_on"))
    assert follow_up_jobs(built.jobs, purpose, replace(wanted, fork=True), runners=runner_table()).jobs == ()


@given(count=st.integers(0, 1200), limit=st.integers(1, 256))
def test_parts_hold_every_job_once_and_none_is_too_large(count: int, limit: int) -> None:
    everything = [{"id": str(number)} for number in range(count)]
    parts = split(everything, limit)
    assert [job for part in parts for job in part] == everything
    assert all(0 < len(part) <= limit for part in parts)
    assert max(map(len, parts), default=0) - min(map(len, parts), default=0) <= 1
