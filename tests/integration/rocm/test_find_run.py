from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.fetch_artifacts import fetch_artifacts
from tests.support.artifacts import plain_archive, publish_run
from tests.support.github_api import GitHubDouble, github_api, run_row
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.workplace import Workplace

NEW, MIDDLE, OLD, FOREIGN = ("a" * 40, "b" * 40, "c" * 40, "f" * 40)
CI = "multi_arch_ci.yml"
ARCHIVES = {"base_lib_generic.tar.zst": plain_archive({"a": b"1"}), "blas_lib_gfx942.tar.zst": plain_archive({"b": b"2"})}


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    with github_api(GitHubDouble(branches={"main": [NEW, MIDDLE, OLD]}, runs={CI: []})) as double:
        yield double


def place(folder: Path, github: GitHubDouble, *, token: str | None = None, **settings: object) -> Workplace:
    (folder / "store").mkdir(exist_ok=True)
    asked = {"store": str(folder / "store"), "output_dir": folder / "out", "gfx": ("gfx942",), "dry_run": True, **settings}
    machine = {**os.environ, "GITHUB_API_URL": github.url, **({"GITHUB_TOKEN": token} if token else {})}
    return replace(workplace(folder, **asked), machine=machine)


def publish(folder: Path, run: int, *, lacking: str = "") -> None:
    archives = {name: data for name, data in ARCHIVES.items() if name != lacking}
    publish_run(folder / "store" / f"{run}-linux", archives)


def result(document: dict[str, Any]) -> dict[str, Any]:
    assert document["status"] == "found"
    (row,) = document["results"]
    assert isinstance(row, dict)
    return row


def failure(work: Workplace) -> tuple[HipwrightError, dict[str, Any]]:
    with pytest.raises(HipwrightError) as caught:
        fetch_artifacts(work)
    assert caught.value.document is not None
    return caught.value, dict(caught.value.document)


def test_the_newest_run_of_a_commit_that_has_what_is_needed(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs[CI] = [run_row(9, NEW), run_row(5, NEW), run_row(3, NEW)]
    publish(tmp_path, 9, lacking="blas_lib_gfx942.tar.zst")
    publish(tmp_path, 5)
    publish(tmp_path, 3)
    work = place(tmp_path, github, for_commit=NEW, dry_run=False)
    document = fetch_artifacts(work)
    row = result(document)
    assert (row["git_commit_sha"], row["run_id"], row["prefix"]) == (NEW, "5", "5-linux")
    assert row["run_url"] == "https://github.invalid/ROCm/TheRock/actions/runs/5"
    assert row["artifacts"] == ["base_lib_generic.tar.zst", "blas_lib_gfx942.tar.zst"]
    assert (row["missing"], row["workflow"], row["fork"]) == ([], CI, False)
    assert (tmp_path / "out/blas_lib_gfx942/core/clr/stage/b").read_bytes() == b"2"
    assert any("run 9" in line and "it lacks gfx942" in line for line in memory_of(work).said)


def test_a_commit_may_be_named_by_its_first_digits(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs[CI] = [run_row(5, OLD)]
    publish(tmp_path, 5)
    assert result(fetch_artifacts(place(tmp_path, github, for_commit="c" * 8)))["run_id"] == "5"


def test_a_branch_is_walked_from_its_newest_commit_back(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs[CI] = [run_row(27, OLD), run_row(6, MIDDLE), run_row(5, MIDDLE), run_row(4, NEW)]
    publish(tmp_path, 4, lacking="base_lib_generic.tar.zst")
    for run in (27, 6, 5):
        publish(tmp_path, run)
    row = result(fetch_artifacts(place(tmp_path, github, for_branch="main", include=("^base",))))
    # Of a newer commit, although the run of the older one is newer.
    assert (row["git_commit_sha"], row["run_id"]) == (MIDDLE, "6")
    assert len(github.asked) <= 4


def test_of_a_branch_the_newest_fifty_commits_are_looked_at(tmp_path: Path, github: GitHubDouble) -> None:
    commits = [f"{number:040x}" for number in range(1, 80)]
    github.branches["main"] = commits
    github.runs[CI] = [run_row(number, commit) for number, commit in enumerate(commits, 1)]
    publish(tmp_path, 51)
    assert failure(place(tmp_path, github, for_branch="main"))[0].code.name == "run-not-found"
    publish(tmp_path, 50)
    assert result(fetch_artifacts(place(tmp_path, github, for_branch="main")))["run_id"] == "50"


def test_a_branch_of_that_name_in_a_fork_is_another_one(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs[CI] = [run_row(8, FOREIGN, head_repository={"full_name": "someone/TheRock"}), run_row(5, OLD)]
    publish(tmp_path, 8)
    publish(tmp_path, 5)
    assert result(fetch_artifacts(place(tmp_path, github, for_branch="main")))["run_id"] == "5"


def test_a_branch_with_a_slash(tmp_path: Path, github: GitHubDouble) -> None:
    github.branches["release/7.10 & more"] = [NEW]
    github.runs[CI] = [run_row(5, NEW, head_branch="release/7.10 & more")]
    publish(tmp_path, 5)
    assert result(fetch_artifacts(place(tmp_path, github, for_branch="release/7.10 & more")))["run_id"] == "5"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"status": "in_progress", "conclusion": None}, "it is not over"),
        ({"conclusion": "cancelled"}, "it ended as cancelled"),
        ({"status": None}, "GitHub does not say whether it is over"),
    ],
)
def test_runs_that_never_came_to_their_end_are_passed_by(
    tmp_path: Path, github: GitHubDouble, more: dict[str, Any], reason: str
) -> None:
    github.runs[CI] = [run_row(5, NEW, **more)]
    publish(tmp_path, 5)
    error, document = failure(place(tmp_path, github, for_commit=NEW))
    assert reason in error.message
    assert document["looked_at"][0]["passed_by"] == reason


def test_a_run_that_failed_is_taken_and_told(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs[CI] = [run_row(5, NEW, conclusion="failure")]
    publish(tmp_path, 5)
    work = place(tmp_path, github, for_commit=NEW)
    assert result(fetch_artifacts(work))["conclusion"] == "failure"
    assert "run 5 ended as failure" in memory_of(work).said


def test_not_found_is_told_apart_from_an_error(tmp_path: Path, github: GitHubDouble) -> None:
    error, document = failure(place(tmp_path, github, for_commit=NEW))
    assert (error.code.name, document["status"], document["results"]) == ("run-not-found", "not-found", [])
    github.runs[CI] = [run_row(5, NEW)]
    publish(tmp_path, 5, lacking="blas_lib_gfx942.tar.zst")
    error, document = failure(place(tmp_path, github, for_commit=NEW))
    assert (error.code.name, document["status"]) == ("run-not-found", "not-found")
    assert document["looked_at"][0]["missing"] == ["gfx942"]
    github.limited = True
    error, document = failure(place(tmp_path, github, for_commit=NEW))
    assert (error.code.name, document["status"]) == ("source-unreachable", "error")
    assert "GITHUB_TOKEN" in (error.hint or "")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"for_branch": "none"}, "unknown-ref"),
        ({"for_commit": "0123456"}, "unknown-ref"),
        ({"for_commit": "main"}, "bad-option-value"),
        ({"for_commit": "../../../x"}, "bad-option-value"),
        ({"for_commit": NEW, "repository": "ROCm/../x"}, "bad-option-value"),
        ({"for_commit": NEW, "repository": "ROCm/other"}, "source-unreachable"),
    ],
)
def test_what_cannot_be_looked_for(tmp_path: Path, github: GitHubDouble, settings: dict[str, Any], code: str) -> None:
    error, document = failure(place(tmp_path, github, **settings))
    assert (error.code.name, document["status"]) == (code, "error")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"workflow_runs": [{"id": "x"}]}', b"\xff", b"{}"])
def test_answers_that_are_none(tmp_path: Path, github: GitHubDouble, body: bytes) -> None:
    github.body = body
    error, document = failure(place(tmp_path, github, for_commit=NEW))
    assert (error.code.name, document["status"]) == ("source-unreachable", "error")


def test_runs_of_workflows_that_make_none_are_not_looked_at(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs["docs.yml"] = [run_row(9, NEW)]
    github.runs[CI] = [run_row(5, NEW)]
    publish(tmp_path, 9)
    publish(tmp_path, 5)
    assert result(fetch_artifacts(place(tmp_path, github, for_commit=NEW)))["run_id"] == "5"


def test_a_repository_that_the_table_does_not_know(tmp_path: Path, github: GitHubDouble) -> None:
    github.repository = "someone/rocm"
    github.runs["any.yml"] = [run_row(5, NEW, head_repository={"full_name": "someone/rocm"})]
    publish(tmp_path, 5)
    row = result(fetch_artifacts(place(tmp_path, github, for_commit=NEW, repository="someone/rocm")))
    assert (row["run_id"], row["repository"]) == ("5", "someone/rocm")


def test_a_fork_that_was_deleted_is_a_fork(tmp_path: Path, github: GitHubDouble) -> None:
    github.runs[CI] = [run_row(5, NEW, head_repository=None)]
    publish(tmp_path, 5)
    assert result(fetch_artifacts(place(tmp_path, github, for_commit=NEW)))["fork"] is True


def test_the_token_goes_to_the_api_and_is_told_nobody(tmp_path: Path, github: GitHubDouble) -> None:
    github.token = "ghs_secret-token-0123456789"  # noqa: S105
    github.runs[CI] = [run_row(5, NEW)]
    publish(tmp_path, 5)
    document = fetch_artifacts(place(tmp_path, github, for_commit=NEW, token=github.token))
    assert set(github.shown) == {f"Bearer {github.token}"}
    assert github.token not in str(document)
    error, document = failure(place(tmp_path, github, for_commit=NEW, token="another-token"))  # noqa: S106
    assert (error.code.name, document["status"]) == ("source-unreachable", "error")
    assert "another-token" not in f"{error.message} {error.hint} {document}"
