from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts import transfer
from build_tools.rocm.artifacts.fetch import fetch_archives
from build_tools.rocm.artifacts.transfer import Patience
from tests.support.artifact_fetching import ALL, BASE_LIB, BLAS, RUN, failure, fetch, request, side, small, store_of, whole
from tests.support.artifacts import BASE, plain_archive

if TYPE_CHECKING:
    from pathlib import Path

PART = 1 << 20


def test_every_archive_is_fetched_proved_and_unpacked(tmp_path: Path) -> None:
    store = small()
    found = fetch(store, tmp_path / "out")
    assert whole(tmp_path / "out") == ALL
    assert [(one.archive.key, one.state, one.proved) for one in found] == [
        (BASE_LIB, "fetched", "sha256"),
        (BLAS, "fetched", "sha256"),
    ]
    assert found[1].sha256 == hashlib.sha256(store.objects[BLAS]).hexdigest()
    assert sorted(path.name for path in (tmp_path / "out/.fetch").iterdir()) == ["lock", "run.json"]


def test_the_second_time_nothing_is_fetched(tmp_path: Path) -> None:
    store = small()
    fetch(store, tmp_path)
    store.asked.clear()
    assert {one.state for one in fetch(store, tmp_path)} == {"there"}
    assert store.asked == []


def test_without_a_side_file_the_etag_tells_the_same_archive(tmp_path: Path) -> None:
    store = small(side_files=False)
    assert {one.proved for one in fetch(store, tmp_path)} == {"size"}
    store.asked.clear()
    assert {one.state for one in fetch(store, tmp_path)} == {"there"}
    store.objects[BLAS] = plain_archive({"lib/blas.so": b"c" * 9000})
    assert [one.state for one in fetch(store, tmp_path)] == ["there", "fetched"]


@pytest.mark.parametrize("changed", [{"lib/blas.so": b"c" * 9000}, {"lib/new.so": b"new"}])
def test_a_changed_archive_replaces_its_folder(tmp_path: Path, changed: dict[str, bytes]) -> None:
    store = small()
    fetch(store, tmp_path)
    data = plain_archive(changed)
    store.objects |= {BLAS: data, f"{BLAS}.sha256sum": side(data, BLAS)}
    assert [one.state for one in fetch(store, tmp_path)] == ["there", "fetched"]
    base = {name: content for name, content in ALL.items() if name.startswith("base")}
    assert whole(tmp_path) == base | {f"blas_lib_gfx942/{BASE}/{name}": content for name, content in changed.items()}


def test_a_folder_that_is_gone_is_made_again(tmp_path: Path) -> None:
    store = small()
    fetch(store, tmp_path)
    (tmp_path / "blas_lib_gfx942").rename(tmp_path.parent / f"{tmp_path.name}-away")
    fetch(store, tmp_path)
    assert whole(tmp_path) == ALL


def test_what_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    store = small(breaks={BLAS: [10, 20, None]}, refusals={f"{BASE_LIB}.sha256sum": 2, BASE_LIB: 2})
    fetch(store, tmp_path)
    assert whole(tmp_path) == ALL
    size = len(store.objects[BLAS])
    assert [one for one in store.asked if one[0] == BLAS] == [(BLAS, 0, size), (BLAS, 10, size), (BLAS, 30, size)]


def test_the_next_run_goes_on_where_the_last_one_gave_up(tmp_path: Path) -> None:
    store = small(breaks={BLAS: [50, 0, 0]})
    error = failure(store, tmp_path)
    assert error.code.name == "artifact-missing"
    assert "blas_lib_gfx942.tar.zst" in error.message
    assert "the connection broke, after 50 of" in error.message
    assert whole(tmp_path) == {name: data for name, data in ALL.items() if "base" in name.split("/")[0]}
    store.asked.clear()
    found = fetch(store, tmp_path)
    assert [one.resumed for one in found] == [0, 50]
    assert store.asked == [(BLAS, 50, len(store.objects[BLAS]))]
    assert whole(tmp_path) == ALL


def test_what_was_changed_in_between_is_begun_anew(tmp_path: Path) -> None:
    store = small(side_files=False, breaks={BLAS: [50, 0, 0]})
    failure(store, tmp_path)
    store.objects[BLAS] = plain_archive({"lib/blas.so": b"c" * 9000})
    found = fetch(store, tmp_path)
    assert found[1].resumed == 0
    assert whole(tmp_path)[f"blas_lib_gfx942/{BASE}/lib/blas.so"] == b"c" * 9000


def test_an_archive_that_changes_while_it_is_fetched_is_never_mixed(tmp_path: Path) -> None:
    store = small(side_files=False)
    changed = plain_archive({"lib/blas.so": b"d" * 9000})
    store.breaks[BLAS] = [50, None]
    streams = []

    def change(key: str) -> None:
        streams.append(key)
        if streams.count(BLAS) == 2:
            store.objects[BLAS] = changed

    store.before_stream = change
    fetch(store, tmp_path)
    assert whole(tmp_path)[f"blas_lib_gfx942/{BASE}/lib/blas.so"] == b"d" * 9000


def test_a_damaged_part_of_an_earlier_run_is_found(tmp_path: Path) -> None:
    store = small(breaks={BLAS: [50, 0, 0]})
    failure(store, tmp_path)
    partial = tmp_path / ".fetch" / "blas_lib_gfx942.tar.zst"
    partial.write_bytes(b"x" * 10 + partial.read_bytes()[10:])
    fetch(store, tmp_path)
    assert whole(tmp_path) == ALL


@pytest.mark.parametrize("journal", [b"", b"{}", b'{"schema": 1, "etag": "x", "size": 1, "part": 1, "done": []}'])
def test_a_damaged_journal_is_not_believed(tmp_path: Path, journal: bytes) -> None:
    store = small(breaks={BLAS: [50, 0, 0]})
    failure(store, tmp_path)
    (tmp_path / ".fetch" / "blas_lib_gfx942.tar.zst.json").write_bytes(journal)
    fetch(store, tmp_path)
    assert whole(tmp_path) == ALL


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PART", PART)


@pytest.mark.usefixtures("short_parts")
def test_large_archives_are_fetched_in_parts_at_once(tmp_path: Path) -> None:
    content = os.urandom(2 * PART + 4321)
    store = store_of({BLAS: plain_archive({"lib/blas.so": content})})
    size = len(store.objects[BLAS])
    both = threading.Barrier(2, timeout=20)
    waited = threading.local()

    def together() -> None:
        if not getattr(waited, "once", False):
            waited.once = True
            both.wait()

    starts = iter([together, together])
    store.before_stream = lambda _key: next(starts, lambda: None)()
    store.breaks[BLAS] = [5 << 16]
    fetch(store, tmp_path)
    assert whole(tmp_path) == {f"blas_lib_gfx942/{BASE}/lib/blas.so": content}
    assert sorted({end for _, _, end in store.asked}) == [PART, 2 * PART, size]


@pytest.mark.usefixtures("short_parts")
def test_no_more_streams_are_open_than_asked_for(tmp_path: Path) -> None:
    sizes = [200_000, 5 * PART, 200_000, 200_000]
    archives = {
        f"{RUN}/lib{number}_lib_generic.tar.zst": plain_archive({"a": os.urandom(size)}) for number, size in enumerate(sizes)
    }
    store = store_of(archives)
    third = threading.Barrier(3, timeout=0.3)

    def meet() -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            third.wait()

    # A third one would be met here; nobody waits again once none has come.
    store.on_read = meet
    fetch(store, tmp_path, at_once=2)
    assert store.open_most == 2
    assert len(list(tmp_path.glob("lib*/core"))) == len(sizes)


@pytest.mark.usefixtures("short_parts")
def test_parts_of_an_earlier_run_are_kept(tmp_path: Path) -> None:
    content = os.urandom(2 * PART)
    store = store_of({BLAS: plain_archive({"lib/blas.so": content})})
    size = len(store.objects[BLAS])
    # One stream at a time: the first part comes whole, the second breaks off for good.
    store.breaks[BLAS] = [None, 3 << 16, 0, 0]
    assert failure(store, tmp_path, at_once=1).code.name == "artifact-missing"
    store.asked.clear()
    found = fetch(store, tmp_path)
    assert found[0].resumed == PART + (3 << 16)
    assert sorted(store.asked) == [(BLAS, PART + (3 << 16), 2 * PART), (BLAS, 2 * PART, size)]
    assert whole(tmp_path) == {f"blas_lib_gfx942/{BASE}/lib/blas.so": content}


def test_all_that_is_missing_is_listed(tmp_path: Path) -> None:
    archives = {f"{RUN}/lib{number}_lib_generic.tar.zst": plain_archive({"a": b"x"}) for number in range(5)}
    store = store_of(archives)
    gone, torn, other, unsaid, _fine = archives
    asked = request(store, tmp_path)
    del store.objects[gone]
    store.breaks[torn] = [3, 0, 0, 0]
    store.objects[other] = store.objects[other][:-1] + b"?"
    store.objects[f"{unsaid}.sha256sum"] = b"<html>not here</html>"
    with pytest.raises(HipwrightError) as caught:
        fetch_archives(asked, say=lambda _line: None)
    assert caught.value.code.name == "artifact-missing"
    document = caught.value.document
    assert document is not None
    reasons = {row["archive"]: row["reason"] for row in document["missing"]}  # type: ignore[attr-defined]
    assert list(reasons) == [f"lib{number}_lib_generic.tar.zst" for number in range(4)]
    assert "gone from the store" in reasons["lib0_lib_generic.tar.zst"]
    assert "the connection broke" in reasons["lib1_lib_generic.tar.zst"]
    assert "is stated beside it" in reasons["lib2_lib_generic.tar.zst"]
    assert "does not state its SHA-256" in reasons["lib3_lib_generic.tar.zst"]
    assert "3 more could not be fetched" in caught.value.message
    assert caught.value.excerpt is not None
    assert all(name in caught.value.excerpt for name in reasons)
    assert [path.name for path in tmp_path.glob("lib*")] == ["lib4_lib_generic"]


def test_time_is_up(tmp_path: Path) -> None:
    error = failure(small(), tmp_path, patience=Patience(seconds=-1, pause=0))
    assert error.code.name == "artifact-missing"
    assert "not there in whole after" in error.message


def test_an_interruption_keeps_what_was_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = small(breaks={BLAS: [50, 70]})
    stops: list[threading.Event] = []

    def ways(**more: Any) -> transfer.Ways:  # noqa: ANN401
        made = transfer.Ways(**more)
        stops.append(made.stop)
        return made

    def wait_in_the_second_stream() -> None:
        if len([one for one in store.asked if one[0] == BLAS]) == 2:
            stops[0].wait(20)

    def interrupt(number: int, _total: int) -> None:
        assert number == 1
        raise KeyboardInterrupt

    monkeypatch.setattr("build_tools.rocm.artifacts.fetch.Ways", ways)
    store.on_read = wait_in_the_second_stream
    with pytest.raises(KeyboardInterrupt):
        fetch_archives(request(store, tmp_path), say=lambda _line: None, progress=interrupt)
    assert len([one for one in store.asked if one[0] == BLAS]) == 2
    assert whole(tmp_path) == {name: data for name, data in ALL.items() if "base" in name.split("/")[0]}
    store.asked.clear()
    store.breaks.clear()
    found = fetch(store, tmp_path)
    assert found[1].resumed >= 50
    assert all(start >= 50 for _, start, _ in store.asked)
    assert whole(tmp_path) == ALL


def test_an_archive_that_was_whole_is_only_unpacked_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = small()

    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("build_tools.rocm.artifacts.fetch.unpack_artifact", full)
        with pytest.raises(OSError, match="No space"):
            fetch(store, tmp_path, at_once=1)
    assert whole(tmp_path) == {}
    store.asked.clear()
    found = fetch(store, tmp_path)
    assert max(one.resumed for one in found) > 0
    assert len(store.asked) < 2
    assert whole(tmp_path) == ALL
