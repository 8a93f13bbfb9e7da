from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder, RunOutputs
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path


def test_the_layout_of_a_run(tmp_path: Path) -> None:
    run = RunOutputs(run_id="16789", platform=Platform.LINUX)
    assert run.prefix == "16789-linux"
    folder = run.pytorch("gfx94X-dcgpu")
    assert folder.prefix == "16789-linux/pytorch/gfx94X-dcgpu"
    assert folder.dist_prefix == "16789-linux/pytorch/gfx94X-dcgpu/dist"
    assert folder.index_prefix == "16789-linux/pytorch/gfx94X-dcgpu/simple"
    assert run.python("gfx94X-dcgpu").find_links_key == "16789-linux/python/gfx94X-dcgpu/index.html"
    store = FolderStore(tmp_path)
    assert folder.index_url(store) == f"{tmp_path.as_uri()}/16789-linux/pytorch/gfx94X-dcgpu/simple/"
    assert folder.find_links_url(store) == f"{tmp_path.as_uri()}/16789-linux/pytorch/gfx94X-dcgpu/index.html"


def test_a_shared_bucket_keeps_repositories_apart() -> None:
    run = RunOutputs(run_id="7", platform=Platform.WINDOWS, external_repo="owner-repo/")
    assert run.python("gfx1201").prefix == "owner-repo/7-windows/python/gfx1201"
    assert run.pytorch("gfx90a_xnack+").prefix == "owner-repo/7-windows/pytorch/gfx90a_xnack+"


def test_an_index_may_be_a_whole_store(tmp_path: Path) -> None:
    folder = IndexFolder("")
    assert folder.key("snapshot.json") == "snapshot.json"
    assert folder.index_url(FolderStore(tmp_path)) == f"{tmp_path.as_uri()}/simple/"


@pytest.mark.parametrize("text", ["", "a/b", "..", "-x", "a b", "a.", "+1"])
def test_a_name_that_is_not_one_plain_part_is_refused(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        RunOutputs(run_id=text, platform=Platform.LINUX)
    assert caught.value.code.name == "bad-option-value"
    with pytest.raises(HipwrightError) as caught:
        RunOutputs(run_id="1", platform=Platform.LINUX).pytorch(text)
    assert caught.value.code.name == "bad-option-value"


def test_an_external_repository_ends_its_folder() -> None:
    with pytest.raises(HipwrightError) as caught:
        RunOutputs(run_id="1", platform=Platform.LINUX, external_repo="owner-repo")
    assert caught.value.code.name == "bad-option-value"


def test_a_prefix_with_a_final_slash_is_refused() -> None:
    with pytest.raises(HipwrightError) as caught:
        IndexFolder("channels/rehearsal/")
    assert caught.value.code.name == "bad-key"
