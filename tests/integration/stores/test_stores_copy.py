"""Copies from store to store: inside a server, between servers, and between folders and buckets."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores import local, s3, s3_copy, s3_put
from build_tools.stores.base import Abilities
from build_tools.stores.copying import meant_object
from build_tools.stores.local import FolderStore
from build_tools.stores.s3 import S3Store
from build_tools.stores.s3_access import Access
from tests.support.s3_front import fronting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from build_tools.stores.base import ObjectInfo, Store
    from build_tools.types import Sha256
    from tests.support.s3 import S3Server
    from tests.support.s3_front import Front

LARGE = random.Random(8).randbytes((5 << 20) + 17)  # noqa: S311 - bytes that do not repeat
PAIRS = [
    ("folder", "folder"),
    ("folder", "s3_twin"),
    ("s3_server", "folder"),
    ("s3_twin", "s3_twin"),
    ("s3_server", "s3_server"),
    ("s3_twin", "s3_server"),
]


@dataclass(frozen=True)
class Pair:
    """Two stores, and what a copy from one to the other is made by."""

    source: Store
    target: Store
    server: S3Server | None

    def copy(
        self, data: bytes, *, key: str = "channel/a.whl", if_absent: bool = False, if_match: str | None = None
    ) -> ObjectInfo:
        return self.target.copy_from(
            self.source,
            "run/a.whl",
            key,
            sha256=digest.of_bytes(data),
            content_type="application/zip",
            cache_seconds=9,
            if_absent=if_absent,
            if_match=if_match,
        )

    def leaves_nothing(self) -> bool:
        if self.server is None:
            return list(self.target.list("channel")) == []
        bucket = self.target.address.removeprefix("s3://").partition("/")[0]
        pending = self.server.client().list_multipart_uploads(Bucket=bucket).get("Uploads")
        return not pending and list(self.target.list("channel")) == []


@pytest.fixture(params=PAIRS, ids="-to-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    # S3 takes no smaller parts.
    monkeypatch.setattr(s3_copy, "COPIED_AT_ONCE", 5 << 20)
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 20)
    monkeypatch.setattr(s3_put, "_PART", 5 << 20)
    stores: list[Store] = []
    server = None
    for number, name in enumerate(request.param):
        if name == "folder":
            root = tmp_path / f"{number}"
            root.mkdir()
            stores.append(FolderStore(root))
            server = None
        else:
            server = request.getfixturevalue(name)
            stores.append(server.store(server.bucket(), f"p{number}"))
    return Pair(stores[0], stores[1], server)


def put(store: Store, data: bytes, key: str = "run/a.whl") -> ObjectInfo:
    return store.put(key, data, content_type="text/plain", cache_seconds=1)


def code_of(do: Callable[[], object]) -> str:
    with pytest.raises(HipwrightError) as caught:
        do()
    return caught.value.code.name


@pytest.mark.parametrize("data", [b"", b"wheel bytes", LARGE], ids=["empty", "small", "large"])
def test_a_copy_has_the_bytes_and_what_is_said_of_it(pair: Pair, data: bytes) -> None:
    put(pair.source, data)
    info = pair.copy(data, key="channel/a+1.whl", if_absent=True)
    assert info == pair.target.head("channel/a+1.whl")
    assert (info.size, info.sha256, info.content_type, info.cache_seconds) == (
        len(data),
        digest.of_bytes(data),
        "application/zip",
        9,
    )
    with pair.target.stream("channel/a+1.whl") as stream:
        assert stream.read() == data
    assert pair.source.head("run/a.whl") is not None


@pytest.mark.parametrize("data", [b"wheel bytes", LARGE], ids=["small", "large"])
def test_a_conditional_copy_needs_its_condition(pair: Pair, data: bytes) -> None:
    put(pair.source, data)
    put(pair.target, b"older", "channel/a.whl")
    there = put(pair.target, b"there", "channel/a.whl")
    assert code_of(lambda: pair.copy(data, if_absent=True)) == "write-conflict"
    content = pair.target.get("channel/a.whl")
    assert content is not None
    assert content.data == b"there"
    if pair.server is None or pair.server.name != "twin":
        # The twin does not look at this condition of an object in parts.
        wrong = put(pair.target, b"other", "other").etag
        assert code_of(lambda: pair.copy(data, if_match=wrong)) == "write-conflict"
    assert pair.copy(data, if_match=there.etag).sha256 == digest.of_bytes(data)


def test_what_is_not_there_is_not_copied(pair: Pair) -> None:
    assert code_of(lambda: pair.copy(b"wheel bytes")) == "nothing-published"
    assert pair.leaves_nothing()


@pytest.mark.parametrize("data", [b"wheel bytes", LARGE], ids=["small", "large"])
def test_other_bytes_than_meant_are_not_copied(pair: Pair, data: bytes) -> None:
    put(pair.source, data)
    assert code_of(lambda: pair.copy(b"others")) == "output-changed"
    assert pair.leaves_nothing()


@pytest.mark.parametrize("data", [b"wheel bytes", LARGE], ids=["small", "large"])
def test_a_source_that_changes_meanwhile_is_not_copied(pair: Pair, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    put(pair.source, data)

    def then_changed(source: Store, key: str, sha256: Sha256, *, size: int | None = None) -> ObjectInfo:
        info = meant_object(source, key, sha256, size=size)
        put(source, data[::-1])
        return info

    for module in (local, s3):
        monkeypatch.setattr(module, "meant_object", then_changed)
    assert code_of(lambda: pair.copy(data, if_absent=True)) in {"output-changed", "write-conflict"}
    assert pair.leaves_nothing()


def test_how_much_was_copied_is_told(pair: Pair) -> None:
    put(pair.source, LARGE)
    told: list[int] = []
    pair.target.copy_from(
        pair.source,
        "run/a.whl",
        "channel/a.whl",
        sha256=digest.of_bytes(LARGE),
        content_type="x/y",
        cache_seconds=0,
        on_bytes=told.append,
    )
    assert sum(told) == len(LARGE)
    assert len(told) > 1


@pytest.fixture(params=["s3_twin", "s3_server"])
def server(request: pytest.FixtureRequest) -> S3Server:
    found: S3Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def front(server: S3Server) -> Iterator[Front]:
    with fronting(server.endpoint) as found:
        yield found


def behind(front: Front, server: S3Server, bucket: str, prefix: str = "") -> S3Store:
    return S3Store(bucket, prefix, access=Access(machine=server.machine, endpoint_url=front.url), writing=True)


def copied(
    target: Store, source: Store, data: bytes, *, if_absent: bool = True, kind: str = "x/y", size: int | None = None
) -> ObjectInfo:
    return target.copy_from(
        source,
        "run/a.whl",
        "a.whl",
        sha256=digest.of_bytes(data),
        content_type=kind,
        cache_seconds=1,
        size=size,
        if_absent=if_absent,
    )


@pytest.mark.parametrize("data", [b"wheel bytes", LARGE], ids=["small", "large"])
def test_the_bytes_of_a_copy_inside_a_server_never_leave_it(
    server: S3Server, front: Front, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_copy, "COPIED_AT_ONCE", 5 << 20)
    source, target = behind(front, server, server.bucket()), behind(front, server, server.bucket())
    put(source, data)
    assert target.abilities is target.abilities
    front.asked.clear()
    copied(target, source, data)
    assert not [line for line in front.asked if line.startswith("GET")]
    if target.abilities.conditional_copy and data is not LARGE:
        assert [line.split()[0] for line in front.asked] == ["HEAD", "PUT", "HEAD"]


def test_a_source_that_is_only_read_is_copied_inside_its_server(server: S3Server) -> None:
    bucket = server.bucket()
    put(server.store(bucket, "p"), b"wheel bytes")
    source, target = server.store(bucket, "p", writing=False), server.store(bucket, "q")
    assert copied(target, source, b"wheel bytes").sha256 == digest.of_bytes(b"wheel bytes")


def test_what_a_server_notes_no_sha256_of_is_proved_by_its_bytes(server: S3Server, front: Front) -> None:
    bucket = server.bucket()
    source, target = behind(front, server, bucket, "x"), behind(front, server, server.bucket())
    for body, code in ((b"wheel bytes", None), (b"others", "output-changed")):
        server.client().put_object(Bucket=bucket, Key="x/run/a.whl", Body=body)
        front.asked.clear()
        if code is None:
            assert copied(target, source, b"wheel bytes", if_absent=False).sha256 == digest.of_bytes(b"wheel bytes")
            assert [line for line in front.asked if line.startswith("GET")]
        else:
            assert code_of(functools.partial(copied, target, source, b"wheel bytes", if_absent=False)) == code


@pytest.mark.parametrize("data", [b"wheel bytes", LARGE], ids=["small", "large"])
def test_a_copy_whose_answer_was_lost_is_made_once(
    server: S3Server, front: Front, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0)
    monkeypatch.setattr(s3_copy, "COPIED_AT_ONCE", 5 << 20)
    source, target = behind(front, server, server.bucket()), behind(front, server, server.bucket())
    put(source, data)
    method = "PUT" if target.abilities.conditional_copy and data is not LARGE else "POST"
    front.faults[method] = ["lost"] if method == "PUT" else ["none", "lost", "gone"]
    assert copied(target, source, data) == target.head("a.whl")
    assert front.faults[method] == []


def test_a_copy_in_parts_that_fails_leaves_no_part(server: S3Server, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_copy, "COPIED_AT_ONCE", 5 << 20)
    source, bucket = behind(front, server, server.bucket()), server.bucket()
    target = behind(front, server, bucket)
    put(source, LARGE)
    # Asked now: what is asked to find them out is not to fail.
    assert isinstance(target.abilities, Abilities)
    front.faults["PUT"] = ["none", "refused"]
    assert code_of(lambda: copied(target, source, LARGE)) == "no-credentials"
    assert "Uploads" not in server.client().list_multipart_uploads(Bucket=bucket)
    assert target.head("a.whl") is None


def test_where_a_server_has_no_conditional_copy_in_one_call_it_is_made_in_parts(
    s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def none_such(*_arguments: object) -> bool:
        asked.append("copy")
        return False

    monkeypatch.setattr(s3_copy, "_copied_at_once", none_such)
    store = s3_server.store(s3_server.bucket())
    put(store, b"wheel bytes")
    assert copied(store, store, b"wheel bytes").sha256 == digest.of_bytes(b"wheel bytes")
    assert code_of(lambda: copied(store, store, b"wheel bytes")) == "write-conflict"
    assert asked


def test_a_copy_that_lost_what_was_said_of_it_is_removed(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    said = s3_put.Upload.arguments

    def without_type(self: s3_put.Upload, sha256: Sha256) -> dict[str, object]:
        return {**said(self, sha256), "ContentType": "binary/octet-stream"}

    store = s3_server.store(s3_server.bucket())
    put(store, b"wheel bytes")
    monkeypatch.setattr(s3_put.Upload, "arguments", without_type)
    with pytest.raises(HipwrightError) as caught:
        copied(store, store, b"wheel bytes")
    assert caught.value.code.name == "store-unusable"
    assert "a.whl" in caught.value.message
    assert store.head("a.whl") is None


@dataclass
class Kept:
    """Two stores of a server that takes the condition of a copy, behind a front; the size is told, and what is said of the source is kept."""

    front: Front
    source: S3Store
    target: S3Store

    def copy(self, data: bytes = b"wheel bytes") -> ObjectInfo:
        return copied(self.target, self.source, data, kind="text/plain", size=len(data))

    def methods(self) -> list[str]:
        return [line.split()[0] for line in self.front.asked]


@pytest.fixture
def kept(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0)
    with fronting(s3_server.endpoint) as front:
        source, target = (behind(front, s3_server, s3_server.bucket()) for _ in range(2))
        put(source, b"wheel bytes")
        assert target.abilities.conditional_copy
        front.asked.clear()
        yield Kept(front, source, target)


def test_a_copy_of_a_known_size_takes_two_requests(kept: Kept) -> None:
    info = kept.copy()
    assert kept.methods() == ["PUT", "HEAD"]
    assert info == kept.target.head("a.whl")
    assert (info.sha256, info.content_type, info.cache_seconds) == (digest.of_bytes(b"wheel bytes"), "text/plain", 1)
    assert code_of(kept.copy) == "write-conflict"
    content = kept.target.get("a.whl")
    assert content is not None
    assert content.data == b"wheel bytes"


@pytest.mark.parametrize("wrong", ["bytes", "size", "gone"])
def test_a_source_that_is_not_what_it_was_to_be_leaves_no_copy(kept: Kept, wrong: str) -> None:
    if wrong == "gone":
        kept.source.delete("run/a.whl")
    else:
        put(kept.source, b"other bytes" if wrong == "bytes" else b"more than wheel bytes")
    assert code_of(kept.copy) == ("nothing-published" if wrong == "gone" else "output-changed")
    assert kept.target.head("a.whl") is None


def test_a_copy_that_would_be_served_otherwise_or_is_not_noted_is_made_anew(kept: Kept, s3_server: S3Server) -> None:
    assert copied(kept.target, kept.source, b"wheel bytes", size=11).content_type == "x/y"
    kept.target.delete("a.whl")
    bucket = kept.source.address.removeprefix("s3://")
    s3_server.client().put_object(
        Bucket=bucket, Key="run/a.whl", Body=b"wheel bytes", ContentType="text/plain", CacheControl="max-age=1"
    )
    kept.front.asked.clear()
    assert kept.copy().sha256 == digest.of_bytes(b"wheel bytes")
    assert "GET" in kept.methods()
    kept.target.delete("a.whl")
    s3_server.client().put_object(
        Bucket=bucket, Key="run/a.whl", Body=b"other bytes", ContentType="text/plain", CacheControl="max-age=1"
    )
    assert code_of(kept.copy) == "output-changed"
    assert kept.target.head("a.whl") is None


@pytest.mark.parametrize("there", [None, b"somebody's"])
def test_a_kept_copy_whose_answer_was_lost_is_known_by_what_lies_there(kept: Kept, there: bytes | None) -> None:
    if there is not None:
        put(kept.target, there, "a.whl")
    kept.front.faults["PUT"] = ["lost"]
    if there is None:
        assert kept.copy() == kept.target.head("a.whl")
    else:
        assert code_of(kept.copy) == "write-conflict"
        content = kept.target.get("a.whl")
        assert content is not None
        assert content.data == there
    assert kept.front.faults["PUT"] == []


def test_somebody_elses_object_in_place_of_a_copy_stays(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    head = S3Store._head

    def after_another_write(store: S3Store, key: str) -> object:
        if store is kept.target:
            put(store, b"somebody's", "a.whl")
        return head(store, key)

    monkeypatch.setattr(S3Store, "_head", after_another_write)
    assert code_of(kept.copy) == "write-conflict"
    content = kept.target.get("a.whl")
    assert content is not None
    assert content.data == b"somebody's"
