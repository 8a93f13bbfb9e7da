"""``upload_run_logs``: what a work dir can tell of a run, after a failure too, and nothing written over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.upload_run_logs import upload_run_logs
from build_tools.stores.local import FolderStore
from tests.support.publishing import tree_of
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "gfx94X-dcgpu"
LOGS = f"77-linux/logs/{GROUP}"


def upload(folder: Path, **settings: object) -> dict[str, Any]:
    found = upload_run_logs(workplace(folder, **{"artifact_group": GROUP, "run_id": "77", **settings}))["logs"]
    assert isinstance(found, dict)
    return found


def work_of(folder: Path) -> Path:
    """Write what a build leaves that failed: a log and the receipt of an earlier stage."""
    work = folder / "work"
    (work / "logs" / "torch").mkdir(parents=True)
    (work / "logs" / "torch" / "build-0123.log").write_text("error: it failed\n")
    (work / "check" / "torch" / "0123").mkdir(parents=True)
    (work / "check" / "torch" / "0123" / "receipt.json").write_text("{}\n")
    return work


def test_logs_and_receipts_of_a_failed_build_lie_in_its_run(tmp_path: Path) -> None:
    work = work_of(tmp_path)
    planned = upload(tmp_path, dry_run=True)
    assert not (work / "store").exists()
    found = upload(tmp_path)
    assert [one["key"] for one in planned["files"]] == [one["key"] for one in found["files"]]
    store = FolderStore(work / "store")
    assert {one.key for one in store.list("77-linux")} == {
        f"{LOGS}/torch/build-0123.log",
        f"{LOGS}/receipts/check/torch/0123/receipt.json",
        f"{LOGS}/index.html",
        "77-linux/run.json",
    }
    log = store.head(f"{LOGS}/torch/build-0123.log")
    assert log is not None
    assert log.content_type == "text/plain; charset=utf-8"
    page = (work / "store" / LOGS / "index.html").read_text()
    assert 'href="torch/build-0123.log"' in page
    assert found["page"].endswith(f"{LOGS}/index.html")


def test_the_same_logs_once_more_are_nothing_to_do_and_other_ones_are_a_later_attempt(tmp_path: Path) -> None:
    work = work_of(tmp_path)
    upload(tmp_path)
    before = tree_of(work / "store")
    assert {one["action"] for one in upload(tmp_path)["files"]} == {"keep"}
    assert tree_of(work / "store") == before
    (work / "logs" / "torch" / "build-0123.log").write_text("it worked\n")
    upload(tmp_path)
    assert (work / "store" / LOGS / "torch" / "build-0123.log").read_text() == "error: it failed\n"
    assert (work / "store" / LOGS / "attempt-2" / "torch" / "build-0123.log").read_text() == "it worked\n"
    assert "attempt-2/torch/build-0123.log" in (work / "store" / LOGS / "index.html").read_text()


def test_a_log_that_is_new_joins_the_attempt_that_is_there(tmp_path: Path) -> None:
    work = work_of(tmp_path)
    upload(tmp_path)
    (work / "logs" / "torch" / "test-0123.log").write_text("tested\n")
    upload(tmp_path)
    assert (work / "store" / LOGS / "torch" / "test-0123.log").read_text() == "tested\n"
    assert not (work / "store" / LOGS / "attempt-2").exists()


def test_artifacts_lie_right_in_the_run_and_have_one_name(tmp_path: Path) -> None:
    work = work_of(tmp_path)
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    (artifacts / "blas_lib_gfx942.tar.xz").write_bytes(b"first")
    upload(tmp_path, artifact_dir=artifacts)
    assert (work / "store" / "77-linux" / "blas_lib_gfx942.tar.xz").read_bytes() == b"first"
    (artifacts / "blas_lib_gfx942.tar.xz").write_bytes(b"second")
    before = tree_of(work / "store")
    with pytest.raises(HipwrightError) as caught:
        upload(tmp_path, artifact_dir=artifacts)
    assert caught.value.code.name == "name-taken"
    assert tree_of(work / "store") == before


def test_nothing_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        upload(tmp_path)
    assert caught.value.code.name == "nothing-to-upload"
    (tmp_path / "empty").mkdir()
    with pytest.raises(HipwrightError) as caught:
        upload(tmp_path, artifact_dir=tmp_path / "empty")
    assert caught.value.code.name == "nothing-to-upload"


def test_odd_names_of_logs_do_not_keep_the_others_away(tmp_path: Path) -> None:
    work = work_of(tmp_path)
    (work / "logs" / "torch" / "a b:c+é.log").write_text("odd\n")
    upload(tmp_path)
    assert (work / "store" / LOGS / "torch" / "a_b_c+_.log").read_text() == "odd\n"
    assert "a_b_c%2B_.log" in (work / "store" / LOGS / "index.html").read_text()
