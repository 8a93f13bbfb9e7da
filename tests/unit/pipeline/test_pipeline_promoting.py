"""By what a promotion is judged besides tests, as options, a run's record and a lock say it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.pipeline.preflight import look_ahead
from build_tools.pipeline.promoting import make_request
from build_tools.pipeline.publishing import store_of_channels
from build_tools.receipts.lock import LockedFile
from build_tools.receipts.record import to_json
from build_tools.receipts.run import RunRecord
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder, run_of
from build_tools.types import Sha256, Stage
from tests.support.publishing import write_wheel
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.publish.promote import Request

PREFIX = "7-linux/pytorch/gfx942"


def request(folder: Path, *, locked: tuple[LockedFile, ...] = (), **settings: object) -> Request:
    (folder / "store").mkdir(exist_ok=True)
    store = FolderStore(folder / "store")
    run = run_of(f"{PREFIX}/")
    assert run is not None
    return make_request(
        workplace(folder, **settings),
        rows=(),
        origin=IndexFolder(PREFIX),
        run=run,
        source=store,
        target=store,
        channel=load_channels().find_channel("nightly"),
        locked=locked,
    )


def test_what_is_locked_stands_for_its_index_and_all_else_is_looked_for(tmp_path: Path) -> None:
    write_wheel(tmp_path / "rocm", "rocm", "7.2")
    write_wheel(tmp_path / "rocm", "rocm_sdk_core", "7.2")
    url, sha256 = "https://gone.invalid/rocm-7.1-py3-none-any.whl", Sha256("0" * 64)
    file = LockedFile(distribution="ROCm", version="7.1", filename="rocm-7.1-py3-none-any.whl", url=url, sha256=sha256)
    elsewhere = request(tmp_path, locked=(file,), rocm_find_links=(str(tmp_path / "rocm"),)).elsewhere
    assert set(elsewhere("rocm")) == {"7.1"}
    assert set(elsewhere("rocm-sdk-core")) == {"7.2"}
    assert set(elsewhere("rocm-sdk-devel")) == set()
    assert set(request(tmp_path).elsewhere("rocm")) == set()


def test_the_release_type_is_the_one_of_the_run_s_record(tmp_path: Path) -> None:
    assert request(tmp_path).circumstances.release_type is None
    assert request(tmp_path, release_type="nightly").circumstances.release_type == "nightly"
    record = to_json(RunRecord(run_id="7", platform="linux", release_type="dev"))
    FolderStore(tmp_path / "store").put("7-linux/run.json", record, content_type="application/json", cache_seconds=0)
    assert request(tmp_path).circumstances.release_type == "dev"
    with pytest.raises(HipwrightError) as caught:
        request(tmp_path, release_type="nightly")
    assert caught.value.code.name == "run-contradicted"


def test_a_chain_hears_before_it_begins_what_its_promotion_would_refuse(tmp_path: Path) -> None:
    for settings, code in (({"override": " "}, "bad-option-value"), ({"reversion": "7.1rc1=7.1"}, "option-conflict")):
        with pytest.raises(HipwrightError) as caught:
            look_ahead([], Stage.PROMOTE, workplace(tmp_path, **settings))
        assert caught.value.code.name == code
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("fork", [True, False])
def test_what_publishes_nothing_fills_no_channel_but_its_own(tmp_path: Path, *, fork: bool) -> None:
    repositories = {"base": "owner/name", "head": "somebody/name" if fork else "owner/name"}
    event = {"pull_request": {side: {"repo": {"full_name": name}} for side, name in repositories.items()}}
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    machine = {"GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_RUN_ID": "7041"}
    place = replace(workplace(tmp_path, store="s3://bucket", run_id="7041"), machine=machine)
    assert store_of_channels(place) == (str(place.work_dir / "store") if fork else "s3://bucket")
    assert store_of_channels(replace(workplace(tmp_path, store="s3://bucket", run_id="1"), machine=machine)) == "s3://bucket"
