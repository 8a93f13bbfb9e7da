"""The layout of a run's outputs: every prefix and address, as AMD's CI has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.stores.base import parse_key
from build_tools.stores.local import FolderStore
from build_tools.stores.open import open_store
from build_tools.stores.run_outputs import IndexFolder, RunOutputs, run_of
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.stores.base import Store

LINUX = RunOutputs(run_id="16789", platform=Platform.LINUX)
WINDOWS = RunOutputs(run_id="7", platform=Platform.WINDOWS, external_repo="owner-repo/")
GROUP = "gfx94X-dcgpu"
HTTPS = "https://therock-ci-artifacts.s3.amazonaws.com"

CASES: list[tuple[Callable[[RunOutputs], object], str]] = [
    (lambda run: run.prefix, ""),
    (lambda run: run.artifact("blas_lib_gfx942.tar.zst"), "/blas_lib_gfx942.tar.zst"),
    (lambda run: run.artifact("blas_lib_gfx942.tar.zst.sha256sum"), "/blas_lib_gfx942.tar.zst.sha256sum"),
    (lambda run: run.python().prefix, "/python"),
    (lambda run: run.python_prefix(GROUP), "/python/gfx94X-dcgpu"),
    (lambda run: run.python_dist_prefix(GROUP), "/python/gfx94X-dcgpu/dist"),
    (lambda run: run.python_index_prefix(GROUP), "/python/gfx94X-dcgpu/simple"),
    (lambda run: run.python(GROUP).find_links_key, "/python/gfx94X-dcgpu/index.html"),
    (lambda run: run.pytorch().prefix, "/pytorch"),
    (lambda run: run.pytorch_prefix(GROUP), "/pytorch/gfx94X-dcgpu"),
    (lambda run: run.pytorch_dist_prefix(GROUP), "/pytorch/gfx94X-dcgpu/dist"),
    (lambda run: run.pytorch_index_prefix(GROUP), "/pytorch/gfx94X-dcgpu/simple"),
    (lambda run: run.pytorch(GROUP).find_links_key, "/pytorch/gfx94X-dcgpu/index.html"),
    (lambda run: run.logs(GROUP), "/logs/gfx94X-dcgpu"),
    (lambda run: run.logs("foundation"), "/logs/foundation"),
    (lambda run: run.logs("math-libs", "gfx1151"), "/logs/math-libs/gfx1151"),
    (lambda run: run.packaging_logs("deb"), "/logs/packaging/deb"),
    (lambda run: run.packaging_logs("rpm"), "/logs/packaging/rpm"),
    (lambda run: run.manifest(GROUP), "/manifests/gfx94X-dcgpu/therock_manifest.json"),
    (lambda run: run.manifest(), "/manifests/therock_manifest.json"),
    (lambda run: run.packages("deb"), "/packages/deb"),
    (lambda run: run.packages("rpm"), "/packages/rpm"),
]


@pytest.mark.parametrize(("ask", "below"), CASES, ids=[below or "prefix" for _, below in CASES])
@pytest.mark.parametrize(("run", "prefix"), [(LINUX, "16789-linux"), (WINDOWS, "owner-repo/7-windows")], ids=["own", "external"])
def test_where_things_of_a_run_lie(run: RunOutputs, prefix: str, ask: Callable[[RunOutputs], object], below: str) -> None:
    assert ask(run) == f"{prefix}{below}"


def test_the_archive_of_a_whole_rocm_says_what_it_is() -> None:
    key = LINUX.tarball("gfx110X-all", "7.10.0a20260801")
    assert key == "16789-linux/tarballs/therock-dist-linux-gfx110X-all-7.10.0a20260801.tar.gz"
    assert "/therock-dist-windows-" in WINDOWS.tarball("gfx1151", "7.9.0rc1")


def test_installers_are_given_addresses(tmp_path: Path) -> None:
    folder = FolderStore(tmp_path)
    bucket = open_store("s3://therock-ci-artifacts", base=tmp_path, writing=False)
    stores: list[tuple[Store, str]] = [(folder, tmp_path.as_uri()), (bucket, HTTPS)]
    for store, root in stores:
        assert LINUX.python_index_url(store, GROUP) == f"{root}/16789-linux/python/gfx94X-dcgpu/simple/"
        assert LINUX.pytorch_index_url(store, GROUP) == f"{root}/16789-linux/pytorch/gfx94X-dcgpu/simple/"
        assert LINUX.python(GROUP).find_links_url(store) == f"{root}/16789-linux/python/gfx94X-dcgpu/index.html"
        assert WINDOWS.pytorch_index_url(store, "gfx90a_xnack+") == f"{root}/owner-repo/7-windows/pytorch/gfx90a_xnack%2B/simple/"


def test_an_index_may_be_a_whole_store(tmp_path: Path) -> None:
    folder = IndexFolder("")
    assert folder.key("snapshot.json") == "snapshot.json"
    assert folder.index_url(FolderStore(tmp_path)) == f"{tmp_path.as_uri()}/simple/"


@pytest.mark.parametrize("text", ["", "a/b", "..", "-x", "a b", "a.", "+1", "../x", "a\n", "%2e", "a\\b", "é", "x:y"])
def test_a_name_that_is_not_one_plain_part_is_refused(text: str) -> None:
    asks: list[Callable[[], object]] = [
        lambda: RunOutputs(run_id=text, platform=Platform.LINUX),
        lambda: RunOutputs(run_id="1", platform=Platform.LINUX, external_repo=f"{text}/"),
        lambda: LINUX.python(text),
        lambda: LINUX.pytorch(text),
        lambda: LINUX.artifact(text),
        lambda: LINUX.logs(text),
        lambda: LINUX.logs("stage", text),
        lambda: LINUX.manifest(text),
        lambda: LINUX.tarball(text, "1"),
        lambda: LINUX.tarball("gfx942", text),
    ]
    for ask in asks:
        with pytest.raises(HipwrightError) as caught:
            ask()
        assert caught.value.code.name == "bad-option-value"
        assert repr(text) in caught.value.message


def test_an_external_repository_is_a_folder() -> None:
    with pytest.raises(HipwrightError):
        RunOutputs(run_id="1", platform=Platform.LINUX, external_repo="owner-repo")


@given(st.text(max_size=20), st.text(max_size=20))
def test_nothing_of_a_run_lies_outside_its_folder(run_id: str, group: str) -> None:
    try:
        run = RunOutputs(run_id=run_id, platform=Platform.LINUX)
        key = run.python_dist_prefix(group)
    except HipwrightError:
        return
    assert parse_key(key) == key
    assert key.split("/") == [f"{run_id}-linux", "python", group, "dist"]


def test_a_key_tells_what_run_it_is_of() -> None:
    for run in (LINUX, WINDOWS, RunOutputs(run_id="a-b_linux", platform=Platform.LINUX)):
        assert run_of(f"{run.pytorch(GROUP).prefix}/") == run
        assert run_of(run.record) == run
    for key in ("channels/nightly/snapshot.json", "7-linux", "a/b/7-linux/run.json", "7-beos/run.json", "python-deps/simple/x"):
        assert run_of(key) is None
