"""A verdict lies beside each index that has the tested bytes and can be written, by whichever page of it that is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.environments.listing import PackageSource
from build_tools.pipeline.verdict_keeping import index_root, keep_beside_source
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import read_verdicts
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.verdict import TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from build_tools.workplace import Workplace
from tests.support.memory_store import MemoryStore
from tests.support.publishing import write_wheel
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.stores.base import Store
    from build_tools.types import Sha256

PLACE = IndexFolder("17-linux/python/gfx94X+dcgpu")


def published(folder: Path, store: Store) -> Verdict:
    """Publish a wheel as a run's index, and return a verdict on it."""
    wheel = write_wheel(folder / "wheels", "rocm")
    publish_wheels([wheel], store=store, prefix=PLACE.prefix, replace=False, say=lambda _line: None)
    return verdict_on(wheel[1].sha256)


def verdict_on(sha256: Sha256) -> Verdict:
    return Verdict(
        project="rocm",
        wheels=(JudgedWheel(filename="rocm.whl", sha256=sha256),),
        target="cpu-only",
        outcome="passed",
        counts=TestCounts(passed=3),
        report_sha256=digest.of_bytes(b"report"),
        python_version="3.12.1",
        platform="linux",
    )


@pytest.mark.parametrize("part", ["index.html", "simple", "simple/", "simple-json/", "dist/", ""])
def test_every_page_of_an_index_leads_to_its_folder(part: str) -> None:
    assert index_root(f"https://example.com/17-linux/python/{part}") == "https://example.com/17-linux/python"


@pytest.mark.parametrize("part", ["index.html", "dist"])
def test_an_index_in_a_folder_is_found_without_naming_the_store(tmp_path: Path, part: str) -> None:
    store = FolderStore(tmp_path / "store")
    verdict = published(tmp_path, store)
    place = workplace(tmp_path / "desk")
    page = tmp_path / "store" / PLACE.prefix / part
    for source in (PackageSource(find_links=(str(page),)), PackageSource(index_url=page.as_uri())):
        assert keep_beside_source(verdict, source, place) == (store.url(PLACE.prefix),)
    assert read_verdicts(store, PLACE, [verdict.wheels[0].sha256]) == (verdict,)
    # The store itself is what was written to, and no store of its own was begun inside of it.
    assert not (tmp_path / "store" / PLACE.prefix / ".hipwright").exists()


def test_an_index_in_a_bucket_is_found_where_the_bucket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    verdict = published(tmp_path, store)
    monkeypatch.setattr(Workplace, "open_store", lambda *_, **__: store)
    pages = (store.url(f"{PLACE.prefix}/index.html"), "https://elsewhere.example/17-linux/python/index.html")
    source = PackageSource(find_links=pages)
    assert keep_beside_source(verdict, source, workplace(tmp_path)) == ()
    assert keep_beside_source(verdict, source, workplace(tmp_path, bucket="runs")) == (store.url(PLACE.prefix),)
    assert read_verdicts(store, PLACE, [verdict.wheels[0].sha256]) == (verdict,)


def test_nothing_is_put_beside_other_bytes_or_into_a_plain_folder(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    published(tmp_path, store)
    other = verdict_on(digest.of_bytes(b"other"))
    source = PackageSource(find_links=(str(tmp_path / "store" / PLACE.prefix / "index.html"), str(tmp_path / "wheels")))
    assert keep_beside_source(other, source, workplace(tmp_path / "desk")) == ()
    assert not list(tmp_path.rglob("verdicts"))


def test_an_index_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    verdict = published(tmp_path, store)
    (tmp_path / "store" / PLACE.prefix / "verdicts").write_text("in the way")
    place = workplace(tmp_path / "desk")
    page = str(tmp_path / "store" / PLACE.prefix / "index.html")
    assert keep_beside_source(verdict, PackageSource(find_links=(page,)), place) == ()
    assert any(f"could not be put beside {page}" in line for line in memory_of(place).said)
