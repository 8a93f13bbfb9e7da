from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.stores import local
from build_tools.stores.local import FolderStore
from build_tools.types import Sha256

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.stores.base import ObjectInfo, Store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Store:
    root.mkdir()
    return FolderStore(root)


def put(
    store: Store, key: str, body: bytes | Path = b"bytes", *, if_absent: bool = False, if_match: str | None = None
) -> ObjectInfo:
    return store.put(key, body, content_type="text/plain", cache_seconds=60, if_absent=if_absent, if_match=if_match)


def code_of(caught: pytest.ExceptionInfo[HipwrightError]) -> str:
    return caught.value.code.name


def test_what_was_put_comes_back_with_what_was_said_of_it(store: Store, root: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.whl"
    source.write_bytes(b"wheel bytes")
    info = store.put("dist/a+b.whl", source, content_type="application/zip", cache_seconds=7, sha256=digest.of_file(source))
    assert store.head("dist/a+b.whl") == info
    content = store.get("dist/a+b.whl")
    assert content is not None
    assert (content.data, content.info) == (b"wheel bytes", info)
    assert (info.size, info.sha256, info.content_type, info.cache_seconds) == (11, digest.of_file(source), "application/zip", 7)
    assert (root / "dist" / "a+b.whl").read_bytes() == b"wheel bytes"
    with store.as_file("dist/a+b.whl") as path:
        assert path.read_bytes() == b"wheel bytes"


def test_what_is_not_there_is_none(store: Store) -> None:
    put(store, "a/b")
    for key in ("x", "a", "a/b/c"):
        assert store.head(key) is None
        assert store.get(key) is None
        with pytest.raises(HipwrightError) as caught, store.as_file(key):
            pass
        assert code_of(caught) == "nothing-published"


def test_a_listing_takes_whole_parts_and_leaves_out_what_the_store_keeps_for_itself(store: Store) -> None:
    keys = ["v2/gfx110X-all/b", "v2/gfx110X-all-staging/x", "v2/gfx110X-all/A/a", "v2/gfx110X-all.txt"]
    for key in keys:
        put(store, key)
    assert [one.key for one in store.list("v2/gfx110X-all")] == ["v2/gfx110X-all/A/a", "v2/gfx110X-all/b"]
    assert [one.key for one in store.list()] == sorted(keys)
    assert [one.size for one in store.list("v2/gfx110X-all")] == [5, 5]
    assert list(store.list("nothing")) == []


def test_ten_thousand_keys_are_listed_in_their_order(store: Store, root: Path) -> None:
    keys = [f"dist/a+{number}.whl" for number in range(10_000)]
    (root / "dist").mkdir()
    for key in keys:
        (root / key).touch()
    assert [one.key for one in store.list("dist")] == sorted(keys)


@pytest.mark.parametrize("key", [".hipwright/lock", ".hipwright/x", ".HipWright/x"])
def test_keys_in_the_stores_own_folder_are_refused(store: Store, key: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        put(store, key)
    assert code_of(caught) == "bad-key"


@pytest.mark.skipif(os.name == "nt", reason="no file there has such a name")
def test_what_others_put_there_is_read_under_names_that_none_is_written_under(store: Store, root: Path) -> None:
    key = "7-linux/blas_lib_gfx942:xnack+.tar.zst"
    (root / "7-linux").mkdir()
    (root / key).write_bytes(b"bytes")
    assert [one.key for one in store.list("7-linux")] == [key]
    content, info = store.get(key), store.head(key)
    assert content is not None
    assert info is not None
    assert (content.data, info.size) == (b"bytes", 5)
    with store.stream(key) as stream, store.as_file(key) as path:
        assert stream.read() == path.read_bytes() == b"bytes"
    for do in (lambda: put(store, key), lambda: store.delete(key)):
        with pytest.raises(HipwrightError) as caught:
            do()
        assert code_of(caught) == "bad-key"


def test_a_conditional_write_needs_its_condition(store: Store) -> None:
    first = put(store, "page", b"1", if_absent=True)
    with pytest.raises(HipwrightError) as caught:
        put(store, "page", b"other", if_absent=True)
    assert code_of(caught) == "write-conflict"
    second = put(store, "page", b"2", if_match=first.etag)
    assert second.etag != first.etag
    with pytest.raises(HipwrightError) as caught:
        put(store, "page", b"3", if_match=first.etag)
    assert code_of(caught) == "write-conflict"
    with pytest.raises(HipwrightError) as caught:
        put(store, "absent", b"3", if_match=first.etag)
    assert code_of(caught) == "write-conflict"
    content = store.get("page")
    assert content is not None
    assert content.data == b"2"


def test_of_many_writers_with_one_etag_exactly_one_wins(store: Store) -> None:
    before = put(store, "page", b"0")
    ready = threading.Barrier(8)
    outcomes: list[str] = []

    def write(number: int) -> None:
        ready.wait()
        try:
            put(store, "page", f"writer {number}".encode(), if_match=before.etag)
        except HipwrightError as error:
            outcomes.append(error.code.name)
        else:
            outcomes.append("won")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["won", *["write-conflict"] * 7]


def test_other_bytes_than_promised_are_not_written(store: Store, root: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.whl"
    source.write_bytes(b"changed since")
    with pytest.raises(HipwrightError) as caught:
        store.put("dist/a", source, content_type="text/plain", cache_seconds=0, sha256=Sha256("0" * 64))
    assert code_of(caught) == "output-changed"
    assert str(source) in caught.value.message
    assert store.head("dist/a") is None
    assert not list((root / ".hipwright" / "partial").iterdir())


@pytest.mark.parametrize("small", [1 << 20, 0])
def test_the_sha256_is_that_of_the_bytes_that_lie_there(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(local, "_SMALL", small)
    put(store, "a.bin", b"as put")
    (root / "by-hand.html").write_bytes(b"not put by us")
    assert store.head("by-hand.html") is not None
    for key, data in (("a.bin", b"as put"), ("by-hand.html", b"not put by us")):
        info = store.head(key)
        assert info is not None
        assert (info.sha256, info.size) == (digest.of_bytes(data), len(data))
    by_hand = store.head("by-hand.html")
    assert by_hand is not None
    assert by_hand.content_type == "text/html"
    (root / "a.bin").write_bytes(b"edited by hand")
    info = store.head("a.bin")
    assert info is not None
    assert info.sha256 == digest.of_bytes(b"edited by hand")


def test_a_large_object_is_not_read_again_to_learn_its_sha256(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_SMALL", 3)
    put(store, "large.whl", b"many bytes")

    def refuse(_path: Path) -> Sha256:
        raise AssertionError("it was read")

    monkeypatch.setattr(digest, "of_file", refuse)
    info = store.head("large.whl")
    assert info is not None
    assert info.sha256 == digest.of_bytes(b"many bytes")


def test_a_writer_that_dies_between_note_and_bytes_leaves_the_old_object(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_SMALL", 0)
    before = put(store, "page", b"old")
    write_note = files.write_bytes

    def die_after(path: Path, data: bytes) -> None:
        write_note(path, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "write_bytes", die_after)
    with pytest.raises(KeyboardInterrupt):
        put(store, "page", b"newer")
    monkeypatch.undo()
    content = store.get("page")
    assert content is not None
    assert content.data == b"old"
    after = store.head("page")
    assert after is not None
    assert after.etag == before.etag
    put(store, "page", b"newest", if_match=before.etag)
    assert (root / "page").read_bytes() == b"newest"


def test_left_overs_of_killed_writers_go_after_a_day(store: Store, root: Path) -> None:
    folder = root / ".hipwright" / "partial"
    folder.mkdir(parents=True)
    (folder / "old").write_bytes(b"x")
    os.utime(folder / "old", (1, 1))
    (folder / "in-progress").write_bytes(b"x")
    put(store, "a")
    assert [path.name for path in folder.iterdir()] == ["in-progress"]


def test_a_deleted_object_is_gone_with_the_folders_that_it_leaves_empty(store: Store, root: Path) -> None:
    put(store, "a/b/c")
    put(store, "a/d")
    store.delete("a/b/c")
    store.delete("a/b/c")
    assert [one.key for one in store.list()] == ["a/d"]
    assert not (root / "a" / "b").exists()
    put(store, "a/b/c", if_absent=True)
    assert [one.key for one in store.list("a")] == ["a/b/c", "a/d"]


def test_a_write_that_the_disk_refuses_names_the_store(store: Store, root: Path) -> None:
    put(store, "a")
    with pytest.raises(HipwrightError) as caught:
        put(store, "a/b")
    assert code_of(caught) == "store-unusable"
    assert str(root) in caught.value.message
    assert "--store" in (caught.value.hint or "")


def test_urls_are_percent_encoded(store: Store, root: Path) -> None:
    assert store.url("dist/a+b 1!2.whl") == f"{root.as_uri()}/dist/a%2Bb%201%212.whl"
    assert store.url("simple/") == f"{root.as_uri()}/simple/"
    assert store.address == str(root)


@pytest.mark.skipif(os.name == "nt", reason="limits the size of files as POSIX systems do")
def test_a_disk_that_takes_no_more_bytes_leaves_the_object_as_it_was(store: Store, root: Path) -> None:
    import resource  # noqa: PLC0415 - Windows has none

    put(store, "a/b", b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(HipwrightError, match="File too large") as caught:
            put(store, "a/b", b"x" * 5000)
        with pytest.raises(HipwrightError):
            put(store, "a/new", b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code_of(caught) == "store-unusable"
    assert "disk is full" in (caught.value.hint or "")
    assert [one.key for one in store.list()] == ["a/b"]
    content = store.get("a/b")
    assert content is not None
    assert content.data == b"old"
    assert not list((root / ".hipwright" / "partial").iterdir())
