from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.summary import summary
from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace

PAGE = "https://host.invalid/1-linux/python/g/index.html"
MACHINE = {"GITHUB_REPOSITORY": "me/mine", "GITHUB_RUN_ID": "7"}


def place(folder: Path, jobs: Mapping[str, object]) -> Workplace:
    return replace(workplace(folder, results=json.dumps(jobs)), machine=MACHINE)


def job(result: str, **outputs: str) -> dict[str, object]:
    return {"result": result, "outputs": outputs}


def test_what_jobs_handed_on_is_told_and_matrices_are_not(tmp_path: Path) -> None:
    jobs = {
        "matrix": job("success", enabled="true", matrix_1='{"include":[]}', parts="[1]"),
        "packages": job("success", rocm_package_find_links_url=PAGE, rocm_packages_artifact=""),
        "tests": {"result": "skipped", "outputs": None},
    }
    here = place(tmp_path, jobs)
    run = summary(here)["run"]
    assert run["url"] == "https://github.com/me/mine/actions/runs/7"
    assert run["jobs"] == {
        "matrix": {"result": "success", "outputs": {"enabled": "true"}},
        "packages": {"result": "success", "outputs": {"rocm_package_find_links_url": PAGE}},
        "tests": {"result": "skipped", "outputs": {}},
    }
    (table,) = [event for event in memory_of(here).events if isinstance(event, Table)]
    assert ("packages", "success", f"rocm_package_find_links_url: {PAGE}") in table.rows


@pytest.mark.parametrize("result", ["failure", "cancelled"])
def test_a_run_with_a_job_that_did_not_end_well_fails(tmp_path: Path, result: str) -> None:
    here = place(tmp_path, {"build": job("success"), "test": job(result)})
    with pytest.raises(HipwrightError) as caught:
        summary(here)
    assert caught.value.code.name == "jobs-failed"
    assert "test" in caught.value.message
    assert caught.value.document is not None
    assert caught.value.document["run"]["failed"] == ["test"]  # type: ignore[index]
    (table,) = [event for event in memory_of(here).events if isinstance(event, Table)]
    assert "1 of 2 jobs did not end well" in table.note


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"a": {"result": "odd"}}'])
def test_results_that_say_nothing_are_no_success(tmp_path: Path, text: str) -> None:
    with pytest.raises(HipwrightError, match="--results"):
        summary(replace(workplace(tmp_path, results=text), machine=MACHINE))
