"""What a network does to answers of an S3 server, and that nothing is lost or done twice by it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores import s3_put
from build_tools.stores.s3 import S3Store
from build_tools.stores.s3_access import Access
from build_tools.types import Sha256
from tests.support.s3_front import Fault, Front, fronting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.stores.base import ObjectInfo
    from tests.support.s3 import S3Server

DATA = random.Random(7).randbytes(3 << 20)  # noqa: S311 - bytes that do not repeat


@pytest.fixture
def front(s3_twin: S3Server) -> Iterator[Front]:
    with fronting(s3_twin.endpoint) as found:
        yield found


@pytest.fixture
def bucket(s3_twin: S3Server) -> str:
    return s3_twin.bucket()


@pytest.fixture
def store(s3_twin: S3Server, front: Front, bucket: str, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    # Pauses between tries are Amazon's library's own.
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0)
    return S3Store(bucket, access=Access(machine=s3_twin.machine, endpoint_url=front.url), writing=True)


def put(store: S3Store, body: bytes | Path, *, if_absent: bool = False, if_match: str | None = None) -> ObjectInfo:
    return store.put("page", body, content_type="text/html", cache_seconds=0, if_absent=if_absent, if_match=if_match)


@pytest.mark.parametrize("fault", ["busy", "lost"])
def test_a_write_whose_answer_was_lost_is_done_once(store: S3Store, front: Front, fault: Fault) -> None:
    front.faults["PUT"] = [fault]
    first = put(store, b"1", if_absent=True)
    front.faults["PUT"] = [fault]
    second = put(store, b"2", if_match=first.etag)
    assert store.head("page") == second
    assert front.faults["PUT"] == []


def test_what_can_pass_is_tried_again_and_nothing_else(store: S3Store, front: Front) -> None:
    cases: list[list[Fault]] = [["busy", "broken"], ["lost", "torn"], ["torn", "busy"], ["none", "none"]]
    for faults in cases:
        tries = 1 if "none" in faults else 3
        front.faults["PUT"], front.asked[:] = list(faults), []
        assert put(store, DATA) == store.head("page")
        assert [line.split()[0] for line in front.asked] == ["PUT"] * tries + ["HEAD"]
    front.faults["PUT"], front.asked[:] = ["busy"] * 9, []
    assert error_of(store).code.name == "source-unreachable"
    assert len(front.asked) == 5


def test_a_write_that_meets_another_one_is_sent_again(
    store: S3Store, front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("build_tools.stores.s3_access._RACE_SECONDS", 0)
    front.faults["PUT"] = ["racing", "racing"]
    info = put(store, b"1", if_absent=True)
    assert store.head("page") == info
    # What is sent in parts would have to be begun anew, which who put it decides.
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 10)
    file = tmp_path / "large"
    file.write_bytes(DATA)
    front.faults = {"PUT": ["racing"] * 5, "POST": ["none", "racing"]}
    for body in (b"1", file):
        with pytest.raises(HipwrightError) as caught:
            store.put("absent", body, content_type="x/y", cache_seconds=0, if_absent=True)
        assert caught.value.code.name == "write-conflict"
        assert "is being written by someone else" in caught.value.message
    assert store.head("absent") is None
    assert front.faults == {"PUT": [], "POST": []}


def error_of(store: S3Store, *, if_absent: bool = False) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        put(store, b"bytes", if_absent=if_absent)
    return caught.value


def test_what_a_server_refuses_is_asked_once(store: S3Store, front: Front) -> None:
    cases: list[tuple[Fault, str, str]] = [
        ("refused", "AccessDenied", "other credentials"),
        ("expired", "ExpiredToken", "run out"),
        ("skewed", "RequestTimeTooSkewed", "clock"),
    ]
    for fault, said, advice in cases:
        front.faults["PUT"], front.asked[:] = [fault], []
        error = error_of(store)
        assert (error.code.name, len(front.asked)) == ("no-credentials", 1)
        assert said in error.message
        assert advice in (error.hint or "")
    put(store, b"there")
    front.asked[:] = []
    assert error_of(store, if_absent=True).code.name == "write-conflict"
    assert [line.split()[0] for line in front.asked] == ["PUT", "HEAD"]


def test_credentials_that_ran_out_are_told_where_the_answer_does_not(store: S3Store, front: Front) -> None:
    front.faults["HEAD"] = ["expired"] * 9
    with pytest.raises(HipwrightError) as caught:
        store.head("page")
    assert caught.value.code.name == "no-credentials"
    assert "run out" in (caught.value.hint or "")


@pytest.mark.parametrize("answer", ["none", "gone"])
def test_parts_that_became_an_object_although_the_answer_was_lost_are_written_once(
    store: S3Store, front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Fault
) -> None:
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 10)
    file = tmp_path / "large"
    file.write_bytes(DATA)
    for if_absent in (False, True):
        # Asked again, some servers say that it is done, others that they know of no such upload.
        front.faults["POST"] = ["none", "lost", answer]
        info = put(store, file, if_absent=if_absent)
        assert store.head("page") == info
        assert front.faults["POST"] == []
        store.delete("page")


def test_an_upload_that_somebody_else_ended_is_no_success(
    store: S3Store, front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 10)
    file = tmp_path / "large"
    file.write_bytes(DATA)
    put(store, b"theirs")
    front.faults["POST"] = ["none", "gone"]
    with pytest.raises(HipwrightError) as caught:
        put(store, file)
    assert caught.value.code.name == "store-unusable"
    content = store.get("page")
    assert content is not None
    assert content.data == b"theirs"


def test_a_write_that_lost_its_answer_and_its_race_is_a_conflict(
    store: S3Store, front: Front, s3_twin: S3Server, bucket: str
) -> None:
    first = put(store, b"1")
    put(s3_twin.store(bucket), b"2", if_match=first.etag)
    front.faults["PUT"] = ["lost"]
    with pytest.raises(HipwrightError) as caught:
        put(store, b"2", if_match=first.etag)
    assert caught.value.code.name == "write-conflict"


def test_what_breaks_off_is_read_on(store: S3Store, front: Front) -> None:
    put(store, DATA)
    front.faults["GET"] = ["cut", "busy"]
    content = store.get("page")
    assert content is not None
    assert content.data == DATA
    front.faults["GET"] = ["cut", "cut"]
    asked = len(front.asked)
    with store.as_file("page") as path:
        assert path.read_bytes() == DATA
    assert len(front.asked) - asked == 4
    front.faults["GET"] = ["cut"]
    with store.stream("page", start=7) as stream, pytest.raises(OSError, match=r"."):
        stream.read()


@pytest.mark.parametrize("ask", ["get", "as_file"])
def test_what_breaks_off_each_time_is_given_up(store: S3Store, front: Front, ask: str) -> None:
    put(store, DATA)
    front.faults["GET"] = ["cut"] * 99
    with pytest.raises(HipwrightError) as caught:
        if ask == "get":
            store.get("page")
        else:
            store.as_file("page").__enter__()
    assert caught.value.code.name == "source-unreachable"


def test_bytes_of_two_objects_are_never_put_together(store: S3Store, front: Front, s3_twin: S3Server, bucket: str) -> None:
    info = put(store, DATA)
    with store.stream("page", start=0, etag=info.etag) as stream:
        assert stream.read(5) == DATA[:5]
    put(s3_twin.store(bucket), DATA[::-1])
    with pytest.raises(HipwrightError) as caught, store.stream("page", start=5, etag=info.etag):
        pass
    assert caught.value.code.name == "write-conflict"
    assert front.asked


def test_bytes_that_were_changed_under_what_was_noted_of_them_are_not_taken(
    store: S3Store, s3_twin: S3Server, bucket: str
) -> None:
    noted = {"sha256": digest.of_bytes(b"others")}
    s3_twin.client().put_object(Bucket=bucket, Key="page", Body=b"these", Metadata=noted)
    with pytest.raises(HipwrightError) as caught:
        store.get("page")
    assert caught.value.code.name == "hash-mismatch"
    with pytest.raises(HipwrightError) as caught, store.as_file("page"):
        pass
    assert caught.value.code.name == "hash-mismatch"


def test_bytes_that_are_damaged_on_their_way_are_refused_by_the_server(
    s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "large"
    file.write_bytes(DATA)
    bucket = s3_server.bucket()
    with fronting(s3_server.endpoint) as front:
        store = S3Store(bucket, access=Access(machine=s3_server.machine, endpoint_url=front.url), writing=True)
        for whole in (4 << 20, 1 << 10):
            monkeypatch.setattr(s3_put, "_WHOLE", whole)
            front.faults["PUT"] = ["damaged"]
            with pytest.raises(HipwrightError) as caught:
                put(store, file)
            assert (caught.value.code.name, front.faults["PUT"]) == ("hash-mismatch", [])
            assert store.head("page") is None
            assert "Uploads" not in s3_server.client().list_multipart_uploads(Bucket=bucket)
        # The part itself is refused, not only the object that would be made of all of them.
        assert sum(line.startswith("POST") for line in front.asked) == 1
        assert put(store, file).sha256 == digest.of_bytes(DATA)


def test_what_others_put_is_known_by_the_servers_own_checksum(store: S3Store, s3_twin: S3Server, bucket: str) -> None:
    s3_twin.client().put_object(Bucket=bucket, Key="page", Body=b"these", ChecksumAlgorithm="SHA256")
    s3_twin.client().put_object(Bucket=bucket, Key="bare", Body=b"these")
    page, bare = store.head("page"), store.head("bare")
    assert page is not None
    assert page.sha256 == digest.of_bytes(b"these")
    assert bare is not None
    assert bare.sha256 is None


@pytest.mark.parametrize("how", ["changed", "refused", "killed"])
def test_an_upload_in_parts_that_fails_leaves_no_part(
    store: S3Store, front: Front, s3_twin: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, how: str
) -> None:
    bucket = store.address.removeprefix("s3://")
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 10)
    monkeypatch.setattr(s3_put, "_PART", 5 << 20)
    file = tmp_path / "large"
    file.write_bytes(DATA * 4)
    if how == "refused":
        put(s3_twin.store(bucket), b"there first")
    if how == "killed":

        def die(*_arguments: object) -> bytes:
            raise KeyboardInterrupt

        monkeypatch.setattr(s3_put, "_next", die)
    sha256 = Sha256("0" * 64) if how == "changed" else None
    wanted: type[BaseException] = KeyboardInterrupt if how == "killed" else HipwrightError
    with pytest.raises(wanted):
        store.put("page", file, content_type="x/y", cache_seconds=0, sha256=sha256, if_absent=True)
    assert "Uploads" not in s3_twin.client().list_multipart_uploads(Bucket=bucket)
    assert [line for line in front.asked if line.startswith("POST")]
    monkeypatch.undo()
    content = s3_twin.store(bucket).get("page")
    assert (content.data if content else None) == (b"there first" if how == "refused" else None)
