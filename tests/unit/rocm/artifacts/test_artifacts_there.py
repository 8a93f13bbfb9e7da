"""What is taken for whole, and what is fetched again, of artifacts that somebody touched after they were fetched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.receipts.record import read_record
from build_tools.rocm.artifacts.fetch import fetch_archives, plan_archives, sentence
from build_tools.rocm.artifacts.mark import MARK, FetchedFor, Mark, changes, read_fetched_for
from build_tools.rocm.artifacts.select import meant_targets, parse_wanted
from build_tools.types import GfxTarget
from tests.support.artifact_fetching import ALL, BLAS, failure, fetch, request, side, small, whole
from tests.support.artifacts import BASE, plain_archive

if TYPE_CHECKING:
    from pathlib import Path

GFX942, GFX1201 = GfxTarget("gfx942"), GfxTarget("gfx1201")


def changes_since_fetched(folder: Path) -> tuple[str, ...]:
    return changes(folder, read_record(folder / MARK, Mark).held).sentences


def library(output: Path) -> Path:
    return output / "blas_lib_gfx942" / BASE / "lib/blas.so"


def test_an_artifact_that_lost_a_file_is_fetched_again(tmp_path: Path) -> None:
    store, said = small(), list[str]()
    fetch(store, tmp_path)
    library(tmp_path).unlink()
    assert changes_since_fetched(tmp_path / "blas_lib_gfx942") == (f"{BASE}/lib/blas.so is gone",)
    assert [one.lost for one in plan_archives(request(store, tmp_path))] == [(), (f"{BASE}/lib/blas.so",)]
    found = fetch_archives(request(store, tmp_path), say=said.append)
    assert [one.state for one in found] == ["there", "fetched"]
    assert whole(tmp_path) == ALL
    assert any("blas_lib_gfx942 is fetched again" in line and "lib/blas.so" in line for line in said)


@pytest.mark.parametrize("content", [b"", b"b" * 9001])
def test_a_file_that_was_changed_is_told_and_kept(tmp_path: Path, content: bytes) -> None:
    store = small()
    fetch(store, tmp_path)
    library(tmp_path).write_bytes(content)
    error = failure(store, tmp_path)
    assert error.code.name == "foreign-folder"
    assert f"{BASE}/lib/blas.so was changed" in error.message
    assert library(tmp_path).read_bytes() == content


@pytest.mark.parametrize("lost", [True, False])
def test_what_somebody_put_there_is_never_thrown_away(tmp_path: Path, *, lost: bool) -> None:
    store = small()
    fetch(store, tmp_path)
    mine = library(tmp_path).with_name("mine.txt")
    mine.write_text("mine")
    assert {one.state for one in fetch(store, tmp_path)} == {"there"}
    if lost:
        library(tmp_path).unlink()
    else:
        data = plain_archive({"lib/blas.so": b"c"})
        store.objects |= {BLAS: data, f"{BLAS}.sha256sum": side(data, BLAS)}
    error = failure(store, tmp_path)
    assert error.code.name == "foreign-folder"
    assert f"{BASE}/lib/mine.txt was put there" in error.message
    assert mine.read_text() == "mine"


def test_what_python_leaves_behind_is_nobodys(tmp_path: Path) -> None:
    store = small()
    fetch(store, tmp_path)
    cache = library(tmp_path).with_name("__pycache__")
    cache.mkdir()
    (cache / "tool.cpython-312.pyc").write_bytes(b"")
    assert changes_since_fetched(tmp_path / "blas_lib_gfx942") == ()


def test_a_link_that_leads_elsewhere_is_a_change(tmp_path: Path) -> None:
    store = small()
    fetch(store, tmp_path)
    there = library(tmp_path)
    there.rename(there.with_name("other.so"))
    there.symlink_to("other.so")
    assert changes_since_fetched(tmp_path / "blas_lib_gfx942") == (
        f"{BASE}/lib/blas.so was changed",
        f"{BASE}/lib/other.so was put there",
    )


def test_a_file_that_was_written_to_is_kept_though_it_has_its_size(tmp_path: Path) -> None:
    store = small()
    fetch(store, tmp_path)
    library(tmp_path).write_bytes(b"m" * 9000)
    data = plain_archive({"lib/blas.so": b"c"})
    store.objects |= {BLAS: data, f"{BLAS}.sha256sum": side(data, BLAS)}
    assert failure(store, tmp_path).code.name == "foreign-folder"
    assert library(tmp_path).read_bytes() == b"m" * 9000


@pytest.mark.parametrize("kind", ["folder", "link", "file"])
def test_a_folder_of_somebody_that_has_the_name_of_ours_is_not_touched(tmp_path: Path, kind: str) -> None:
    mine, output = tmp_path / "mine", tmp_path / "out"
    output.mkdir()
    if kind == "folder":
        mine = output / ".fetch"
    if kind == "file":
        (output / ".fetch").write_text("mine")
    else:
        mine.mkdir()
        (mine / "thesis.partial-1").write_text("mine")
    if kind == "link":
        (mine / "run.json").write_text("{}")
        (output / ".fetch").symlink_to(mine)
    assert failure(small(), output).code.name == "foreign-folder"
    assert [path.name for path in output.iterdir()] == [".fetch"]
    if kind == "file":
        assert (output / ".fetch").read_text() == "mine"
    else:
        assert (mine / "thesis.partial-1").read_text() == "mine"
        assert not (mine / "lock").exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_of_somebody_that_has_the_name_of_a_side_file_is_not_touched(tmp_path: Path, kind: str) -> None:
    mine, output = tmp_path / "mine.txt", tmp_path / "out"
    output.mkdir()
    mine.write_text("mine")
    beside = output / "blas_lib_gfx942.tar.zst.sha256sum"
    if kind == "link":
        beside.symlink_to(mine)
    else:
        beside.write_text("mine")
    for name in ("blas_lib_gfx942.tar.zst.sha256sum.new", ".blas_lib_gfx942.tar.zst.sha256sum.new"):
        (output / name).symlink_to(mine)
    error = failure(small(), output, unpack=False)
    assert error.code.name == "foreign-folder"
    assert str(beside) in error.message
    assert beside.read_text() == mine.read_text() == "mine"
    beside.unlink()
    fetch(small(), output, unpack=False)
    assert mine.read_text() == "mine"


def test_our_own_side_file_is_written_again(tmp_path: Path) -> None:
    store = small()
    fetch(store, tmp_path, unpack=False)
    (tmp_path / "blas_lib_gfx942.tar.zst").unlink()
    assert [one.state for one in fetch(store, tmp_path, unpack=False)] == ["there", "fetched"]
    data = plain_archive({"lib/blas.so": b"c"})
    store.objects |= {BLAS: data, f"{BLAS}.sha256sum": side(data, BLAS)}
    assert [one.state for one in fetch(store, tmp_path, unpack=False)] == ["there", "fetched"]
    assert (tmp_path / "blas_lib_gfx942.tar.zst.sha256sum").read_bytes() == side(data, BLAS)


def test_no_more_of_a_side_file_is_read_than_one_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, ends = small(), dict[str, int | None]()
    stream = store.stream

    def noted(key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> Any:  # noqa: ANN401
        ends[key] = end
        return stream(key, start=start, end=end, etag=etag)

    monkeypatch.setattr(store, "stream", noted)
    monkeypatch.setattr(store, "get", lambda key: pytest.fail(f"{key} is read whole"))
    fetch(store, tmp_path)
    assert ends[f"{BLAS}.sha256sum"] == 64 << 10


def test_a_foreign_folder_is_not_replaced_when_the_side_file_is_damaged_for_a_while(tmp_path: Path) -> None:
    store = small()
    mine = tmp_path / "blas_lib_gfx942"
    mine.mkdir()
    (mine / "own.txt").write_text("mine")
    store.refusals[f"{BLAS}.sha256sum"] = 3
    assert failure(store, tmp_path).code.name == "foreign-folder"
    assert (mine / "own.txt").read_text() == "mine"


def test_a_plan_is_what_is_done_and_makes_nothing(tmp_path: Path) -> None:
    store, output = small(breaks={BLAS: [50, 0, 0]}), tmp_path / "out"
    assert sentence(plan_archives(request(store, output)), request(store, output), done="would fetch").startswith(
        "would fetch 2 "
    )
    assert not output.exists()
    failure(store, output)
    before = sorted((path, path.stat().st_mtime_ns) for path in output.rglob("*"))
    planned = plan_archives(request(store, output))
    assert [(one.there is not None, one.begun) for one in planned] == [(True, 0), (False, 50)]
    told = sentence(planned, request(store, output), done="would fetch")
    assert told.startswith("would fetch 1 artifact, ")
    assert told.endswith("; 1 more is there already")
    assert sorted((path, path.stat().st_mtime_ns) for path in output.rglob("*")) == before


def test_a_plan_refuses_what_would_be_refused(tmp_path: Path) -> None:
    fetch(small(), tmp_path)
    with pytest.raises(HipwrightError) as caught:
        plan_archives(request(small(), tmp_path, source="run 8"))
    assert caught.value.code.name == "foreign-folder"


def test_the_folder_says_what_it_was_asked_for_even_when_that_failed(tmp_path: Path) -> None:
    failure(small(breaks={BLAS: [0, 0, 0]}), tmp_path, asked=FetchedFor(group="gfx94X-dcgpu", targets=(GFX942,)))
    assert json.loads((tmp_path / ".fetched-for.json").read_text()) == {
        "schema": 1,
        "group": "gfx94X-dcgpu",
        "targets": ["gfx942"],
        "to_come": ["blas_lib_gfx942"],
    }
    fetch(small(), tmp_path, asked=FetchedFor(targets=(GFX1201,)))
    assert read_fetched_for(tmp_path) == FetchedFor(targets=(GFX942, GFX1201))
    fetch(small(), tmp_path)
    assert read_fetched_for(tmp_path) == FetchedFor()
    fetch(small(), tmp_path, asked=FetchedFor(targets=(GFX1201,)))
    assert read_fetched_for(tmp_path) == FetchedFor(), "all of the run are there all the same"


def test_what_another_request_left_out_is_still_to_come(tmp_path: Path) -> None:
    failure(small(breaks={BLAS: [0, 0, 0]}), tmp_path)
    base = [archive for archive in request(small(), tmp_path).archives if archive.name.name == "base"]
    fetch(small(), tmp_path, archives=base)
    asked = read_fetched_for(tmp_path)
    assert asked is not None
    assert asked.to_come == ("blas_lib_gfx942",)


def test_a_folder_of_archives_is_for_nothing(tmp_path: Path) -> None:
    fetch(small(), tmp_path, unpack=False)
    assert read_fetched_for(tmp_path) is None


@pytest.mark.parametrize(
    ("group", "targets", "expected"),
    [
        (None, (), ()),
        ("multi-arch-release", (), ()),
        ("gfx94X-dcgpu", (), ("gfx942",)),
        ("gfx94X-dcgpu-asan", (), ("gfx942",)),
        ("gfx120X-all", (), ("gfx1200", "gfx1201")),
        ("gfx120X-all", ("gfx1201",), ("gfx1201",)),
        (None, ("gfx1201", "gfx942:xnack+"), ("gfx942", "gfx1201")),
        (None, ("gfx120X-all", "gfx942"), ("gfx942", "gfx1200", "gfx1201")),
    ],
)
def test_what_targets_are_meant(group: str | None, targets: tuple[str, ...], expected: tuple[str, ...]) -> None:
    wanted = parse_wanted(group=group, targets=targets, include=(), exclude=())
    assert meant_targets(wanted) == expected
