"""What every store does alike: a folder, a real S3 server, and a twin of Amazon's."""

from __future__ import annotations

import concurrent.futures
import copy
import functools
import os
import random
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores import listing, local, s3, s3_put, s3_read
from build_tools.stores.base import Abilities
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.stores.base import ObjectInfo, Store
    from tests.integration.stores.conftest import Kind

KEYS = ["dist/a+b-1.0+rocm7.1.whl", "dist/a b.whl", "dist/%2B.whl", "dist/é~(1)=,;@&!'$.whl", "dist/a#b.whl"]
FOREIGN = ["r/what?.whl", "r/gfx942:xnack+.whl", "r/a*b.whl"]
"""Keys that a bucket can hold and not every folder."""


def put(
    store: Store, key: str, body: bytes | Path = b"bytes", *, if_absent: bool = False, if_match: str | None = None
) -> ObjectInfo:
    return store.put(key, body, content_type="text/plain", cache_seconds=60, if_absent=if_absent, if_match=if_match)


def code_of(do: Callable[[], object]) -> str:
    with pytest.raises(HipwrightError) as caught:
        do()
    return caught.value.code.name


def read(store: Store, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> bytes:
    with store.stream(key, start=start, end=end, etag=etag) as stream:
        return stream.read()


def many_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)  # noqa: S311 - bytes that do not repeat


def test_what_was_put_comes_back_with_what_was_said_of_it(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "source.whl"
    source.write_bytes(b"wheel bytes")
    for key in KEYS:
        round_trip(store, key, source)
    assert [(one.key, one.size) for one in store.list()] == [(key, 11) for key in sorted(KEYS, key=str.encode)]


def round_trip(store: Store, key: str, source: Path) -> None:
    sha256 = digest.of_file(source)
    info = store.put(key, source, content_type="application/zip", cache_seconds=7, sha256=sha256)
    assert store.head(key) == info
    content = store.get(key)
    assert content is not None
    assert (content.data, content.info) == (b"wheel bytes", info)
    assert (info.key, info.size, info.sha256, info.content_type, info.cache_seconds) == (key, 11, sha256, "application/zip", 7)
    with store.as_file(key) as path:
        assert path.read_bytes() == b"wheel bytes"
        assert path.name == key.rpartition("/")[2]
    assert read(store, key) == b"wheel bytes"


def test_bytes_are_streamed_from_and_to_where_it_is_said(store: Store) -> None:
    data = many_bytes(700_000)
    etag = put(store, "a/data", data).etag
    assert read(store, "a/data", etag=etag) == data
    assert read(store, "a/data", start=699_990) == data[-10:]
    assert read(store, "a/data", start=10, end=300_000) == data[10:300_000]
    assert read(store, "a/data", start=10, end=9_000_000, etag=etag) == data[10:]
    assert read(store, "a/data", start=10, end=10) == b""
    for start in (700_000, 900_000):
        assert read(store, "a/data", start=start) == b""
    put(store, "a/empty", b"")
    assert read(store, "a/empty") == b""
    with store.stream("a/data", start=5) as stream:
        assert [stream.read(3), stream.read(4)] == [data[5:8], data[8:12]]


def test_what_is_not_there_is_none(store: Store) -> None:
    put(store, "a/b")
    for key in ("x", "a", "a/bc", "a/b/c"):
        assert store.head(key) is None
        assert store.get(key) is None
        assert code_of(functools.partial(read, store, key)) == "nothing-published"
        assert code_of(store.as_file(key).__enter__) == "nothing-published"
        store.delete(key)
    assert [one.key for one in store.list()] == ["a/b"]


def test_a_listing_takes_whole_parts_in_the_order_of_their_bytes(store: Store) -> None:
    below = ["r/a+b", "r/a-b", "r/a.b", "r/a/b", "r/aé", "r/A/z"]
    for key in [*below, "r-staging/x", "r.txt", "other"]:
        put(store, key)
    assert [one.key for one in store.list("r")] == sorted(below, key=str.encode)
    assert {one.size for one in store.list("r")} == {5}
    assert [one.key for one in store.list("r/a")] == ["r/a/b"]
    assert list(store.list("nothing")) == []
    assert [one.key for one in store.list()] == sorted([*below, "r-staging/x", "r.txt", "other"], key=str.encode)


def test_a_listing_of_more_than_a_page_is_whole(kind: Kind) -> None:
    fill(kind, [*keys("v2/gfx110X-all", 1201), "v2/gfx110X-all-staging/x"])
    found = [one.key for one in kind.store.list("v2/gfx110X-all")]
    assert found == sorted(keys("v2/gfx110X-all", 1201))
    assert len(list(kind.store.list())) == 1202
    assert list(kind.store.list("v2/gfx110X")) == []


def keys(prefix: str, count: int) -> list[str]:
    return [f"{prefix}/a+{number}.whl" for number in range(count)]


def fill(kind: Kind, names: Sequence[str]) -> None:
    """Make empty objects, as quickly as a kind of store allows."""
    if kind.server is None:
        for folder in {name.rpartition("/")[0] for name in names}:
            Path(kind.store.address, folder).mkdir(parents=True)
        for name in names:
            Path(kind.store.address, name).touch()
        return
    bucket, _, inside = kind.store.address.removeprefix("s3://").partition("/")
    client = kind.server.client()
    if kind.server.name == "twin":
        # The twin, in this process, has them in a dictionary.
        from moto.s3.models import s3_backends  # noqa: PLC0415 - more than a second

        client.put_object(Bucket=bucket, Key="one", Body=b"")
        held = s3_backends["123456789012"]["aws"].buckets[bucket].keys
        for name in names:
            one = copy.copy(held["one"])
            one.name = f"{inside}/{name}"
            held[one.name] = one
        return
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: client.put_object(Bucket=bucket, Key=f"{inside}/{name}", Body=b""), names))


@pytest.mark.parametrize("key", ["", "/a", "a//b", "../a", "a/../../b", "a//", "a\\b"])
def test_a_key_that_some_store_cannot_hold_is_refused_by_all(store: Store, key: str) -> None:
    assert code_of(lambda: put(store, key)) == "bad-key"
    assert code_of(lambda: read(store, key)) == "bad-key"


def test_keys_that_others_wrote_are_read_and_none_such_is_written(kind: Kind, tmp_path: Path) -> None:
    for key in FOREIGN:
        if kind.server is not None:
            bucket, _, prefix = kind.store.address.removeprefix("s3://").partition("/")
            kind.server.client().put_object(Bucket=bucket, Key=f"{prefix}/{key}", Body=b"bytes")
        elif os.name == "posix":
            (tmp_path / "store" / "r").mkdir(exist_ok=True)
            (tmp_path / "store" / key).write_bytes(b"bytes")
        else:
            return
        assert read(kind.store, key, start=1) == b"ytes"
        assert kind.store.head(key) is not None
        assert code_of(functools.partial(put, kind.store, key)) == "bad-key"
        assert code_of(functools.partial(kind.store.delete, key)) == "bad-key"
    assert [one.key for one in kind.store.list("r")] == sorted(FOREIGN, key=str.encode)


def test_a_store_says_what_it_can(kind: Kind) -> None:
    copies = ("copy_if_absent", "copy_if_match", "copy_of_what_it_was")
    found = Abilities(
        slash_keys=kind.server is not None and kind.is_like_amazon("body_of_a_slash_key"),
        conditional_copy=all(kind.is_like_amazon(one) for one in copies),
        byte_order=kind.is_like_amazon("order_of_keys"),
    )
    assert kind.store.abilities == found
    assert list(kind.store.list()) == []


def test_a_key_that_ends_in_a_slash_holds_bytes_where_a_store_can(kind: Kind) -> None:
    store = kind.store
    put(store, "simple/demo/index.html")
    if not store.abilities.slash_keys:
        assert code_of(lambda: put(store, "simple/demo/")) == "bad-key"
        assert code_of(lambda: store.delete("simple/demo/")) == "bad-key"
        assert [one.key for one in store.list()] == ["simple/demo/index.html"]
        return
    info = put(store, "simple/demo/", b"page", if_absent=True)
    assert code_of(lambda: put(store, "simple/demo/", b"other", if_absent=True)) == "write-conflict"
    content = store.get("simple/demo/")
    assert content is not None
    assert (content.data, content.info, store.head("simple/demo/")) == (b"page", info, info)
    assert read(store, "simple/demo/") == b"page"
    assert [one.key for one in store.list("simple")] == ["simple/demo/", "simple/demo/index.html"]
    store.delete("simple/demo/")
    assert store.head("simple/demo/") is None
    assert [one.key for one in store.list()] == ["simple/demo/index.html"]


def test_a_mark_of_a_folder_is_no_object(kind: Kind) -> None:
    if kind.server is None:
        return
    bucket = kind.store.address.removeprefix("s3://").partition("/")[0]
    kind.server.client().put_object(Bucket=bucket, Key="a/prefix/folder/", Body=b"")
    assert kind.store.head("folder/") is None
    assert kind.store.get("folder/") is None
    assert list(kind.store.list()) == []


def test_how_many_bytes_are_there_is_told_in_the_callers_thread(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 20)
    monkeypatch.setattr(s3_put, "_PART", 5 << 20)
    source = tmp_path / "large.whl"
    source.write_bytes(many_bytes((11 << 20) + 17))
    told: list[tuple[int, int]] = []

    def on_bytes(count: int) -> None:
        told.append((threading.get_ident(), count))

    store.put("large", source, content_type="x/y", cache_seconds=0, on_bytes=on_bytes)
    assert len(told) > 1
    assert sum(count for _, count in told) == (11 << 20) + 17
    assert {thread for thread, _ in told} == {threading.get_ident()}
    told.clear()
    store.put("small", b"bytes", content_type="x/y", cache_seconds=0, on_bytes=on_bytes)
    assert told == [(threading.get_ident(), 5)]


def test_a_conditional_write_needs_its_condition(store: Store) -> None:
    first = put(store, "page", b"1", if_absent=True)
    assert code_of(lambda: put(store, "page", b"other", if_absent=True)) == "write-conflict"
    second = put(store, "page", b"2", if_match=first.etag)
    assert second.etag != first.etag
    assert code_of(lambda: put(store, "page", b"3", if_match=first.etag)) == "write-conflict"
    assert code_of(lambda: put(store, "absent", b"3", if_match=first.etag)) == "write-conflict"
    assert read(store, "page") == b"2"
    assert store.head("absent") is None


@pytest.mark.parametrize("absent", [True, False])
def test_of_many_writers_exactly_one_wins(store: Store, *, absent: bool) -> None:
    etag = None if absent else put(store, "page", b"0").etag
    ready = threading.Barrier(6)
    outcomes: list[str] = []

    def write(number: int) -> None:
        ready.wait()
        try:
            put(store, "page", f"writer {number}".encode(), if_absent=absent, if_match=etag)
        except HipwrightError as error:
            outcomes.append(error.code.name)
        else:
            outcomes.append(f"writer {number}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [outcome for outcome in outcomes if outcome != "write-conflict"]
    assert len(winners) == 1, outcomes
    assert read(store, "page") == winners[0].encode()


def test_other_bytes_than_promised_are_not_written(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "source.whl"
    source.write_bytes(b"changed since")
    with pytest.raises(HipwrightError) as caught:
        store.put("dist/a", source, content_type="text/plain", cache_seconds=0, sha256=Sha256("0" * 64))
    assert caught.value.code.name == "output-changed"
    assert str(source) in caught.value.message
    assert store.head("dist/a") is None


def test_what_is_too_large_to_be_read_whole_is_not(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "large", b"12345678901")
    put(store, "small", b"1234567890")
    for module in (local, s3, s3_read, listing):
        monkeypatch.setattr(module, "SMALL_BYTES", 10)
    assert store.get("small") is not None
    assert code_of(lambda: store.get("large")) == "source-unreachable"
    assert read(store, "large") == b"12345678901"


def test_a_deleted_object_is_gone(store: Store) -> None:
    put(store, "a/b/c")
    put(store, "a/d")
    store.delete("a/b/c")
    store.delete("a/b/c")
    assert [one.key for one in store.list()] == ["a/d"]
    put(store, "a/b/c", if_absent=True)
    assert [one.key for one in store.list("a")] == ["a/b/c", "a/d"]


def test_a_large_file_is_written_in_parts_whole_or_not_at_all(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = kind.store
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 20)
    monkeypatch.setattr(s3_put, "_PART", 5 << 20)
    source = tmp_path / "large.whl"
    data = many_bytes((11 << 20) + 17)
    source.write_bytes(data)
    info = put(store, "dist/large.whl", source, if_absent=True)
    assert (info.size, info.sha256) == (len(data), digest.of_bytes(data))
    assert store.head("dist/large.whl") == info
    assert code_of(lambda: put(store, "dist/large.whl", source, if_absent=True)) == "write-conflict"
    assert read(store, "dist/large.whl", start=5 << 20, etag=info.etag) == data[5 << 20 :]
    with store.as_file("dist/large.whl") as path:
        assert digest.of_file(path) == info.sha256
    if kind.is_like_amazon("parts_if_match"):
        old = put(store, "page", b"old")
        put(store, "page", b"newer")
        assert code_of(lambda: put(store, "page", source, if_match=old.etag)) == "write-conflict"
        assert read(store, "page") == b"newer"
        store.delete("page")
    wrong = Sha256("0" * 64)
    with pytest.raises(HipwrightError) as caught:
        store.put("dist/other.whl", source, content_type="text/plain", cache_seconds=0, sha256=wrong)
    assert caught.value.code.name == "output-changed"
    assert [one.key for one in store.list()] == ["dist/large.whl"]
