"""Who may do what in a bucket, and what is said when somebody may not; on a real S3 server."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import EndpointConnectionError

from build_tools.errors import HipwrightError
from build_tools.stores import s3, s3_access
from build_tools.stores.open import open_store
from build_tools.stores.s3_access import Access, client_for
from tests.support.s3_front import fronting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server


@pytest.fixture(autouse=True)
def _try_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # What nobody answers is tried again with pauses, which are Amazon's library's own.
    monkeypatch.setattr(s3_access, "_TRIES", 1)


def put(store: Store, key: str = "r/a.whl", body: bytes = b"bytes") -> None:
    store.put(key, body, content_type="text/plain", cache_seconds=0)


def error_of(do: Callable[[], object]) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        do()
    return caught.value


def refused_reads(store: Store) -> list[HipwrightError]:
    return [error_of(do) for do in (lambda: list(store.list("r")), lambda: store.head("r/a.whl"), lambda: store.get("r/a.whl"))]


def wrong(server: S3Server, **names: str) -> Mapping[str, str]:
    return {**server.machine, **names}


def test_a_public_bucket_is_read_without_credentials(s3_server: S3Server) -> None:
    bucket = s3_server.bucket(public=True)
    put(s3_server.store(bucket))
    store = s3_server.store(bucket, machine=s3_server.nobody, writing=False)
    assert [one.key for one in store.list("r")] == ["r/a.whl"]
    content = store.get("r/a.whl")
    assert content is not None
    assert content.data == b"bytes"
    assert store.head("r/absent") is None
    with store.stream("r/a.whl", start=2) as stream:
        assert stream.read() == b"tes"


def test_who_owns_a_bucket_is_told_whether_anybody_reads_it(s3_server: S3Server) -> None:
    for public in (True, False):
        store = s3_server.store(s3_server.bucket(public=public))
        put(store)
        assert store.is_open("r/a.whl") is public
        assert not store.is_open("r/gone.whl")


def test_a_private_bucket_says_that_it_wants_credentials(s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    put(s3_server.store(bucket))
    for error in refused_reads(s3_server.store(bucket, machine=s3_server.nobody, writing=False)):
        assert error.code.name == "no-credentials"
        assert f"s3://{bucket}" in error.message


def test_credentials_that_do_not_count_do_not_hide_what_is_open_to_everybody(s3_server: S3Server) -> None:
    bucket = s3_server.bucket(public=True)
    put(s3_server.store(bucket))
    for machine in (
        wrong(s3_server, AWS_SECRET_ACCESS_KEY="of-yesterday"),  # noqa: S106 - none
        wrong(s3_server, AWS_ACCESS_KEY_ID="of-another-server"),
    ):
        store = s3_server.store(bucket, machine=machine, writing=False)
        assert [one.key for one in store.list()] == ["r/a.whl"]
        assert store.head("r/a.whl") is not None


def test_wrong_credentials_are_said_before_anything_is_written(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = s3_server.bucket(public=True)
    for names, said in (
        ({"AWS_SECRET_ACCESS_KEY": "of-yesterday"}, "AWS_SECRET_ACCESS_KEY"),
        ({"AWS_ACCESS_KEY_ID": "of-another-server"}, "AWS_ACCESS_KEY_ID"),
    ):
        machine = wrong(s3_server, **names)
        error = error_of(
            functools.partial(open_store, f"s3://{bucket}", base=tmp_path, endpoint_url=s3_server.endpoint, machine=machine)
        )
        assert error.code.name == "no-credentials"
        assert said in (error.hint or "")
        assert "of-yesterday" not in f"{error.message}{error.hint}"


def test_nothing_is_written_without_credentials(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = s3_server.bucket(public=True)
    for writing in (True, False):
        store = s3_server.store(bucket, machine=s3_server.nobody, writing=writing)
        error = error_of(functools.partial(put, store))
        assert error.code.name == "no-credentials"
        assert "AWS_PROFILE" in (error.hint or "")
        assert error_of(functools.partial(store.delete, "x")).code.name == "no-credentials"
    with pytest.raises(HipwrightError) as caught:
        open_store(f"s3://{bucket}", base=tmp_path, endpoint_url=s3_server.endpoint, machine=s3_server.nobody)
    assert caught.value.code.name == "no-credentials"
    assert list(s3_server.store(bucket).list()) == []


def test_who_may_only_read_is_told_so(s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    put(s3_server.store(bucket))
    store = s3_server.store(bucket, machine=s3_server.reader)
    assert store.head("r/a.whl") is not None
    assert error_of(lambda: put(store, "other")).code.name == "no-credentials"


def test_who_may_only_read_is_told_before_anything_is_written(s3_server: S3Server, tmp_path: Path) -> None:
    bucket = s3_server.bucket()
    opened = functools.partial(open_store, f"s3://{bucket}/p", base=tmp_path, endpoint_url=s3_server.endpoint)
    error = error_of(lambda: opened(machine=s3_server.reader))
    assert error.code.name == "no-credentials"
    assert "who owns the bucket" in (error.hint or "")
    assert opened(machine=s3_server.reader, writing=False).head("a") is None
    opened(machine=s3_server.machine)
    client = s3_server.client()
    assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_token_of_the_platform_is_taken_for_the_credentials_of_a_role(s3_twin: S3Server, tmp_path: Path) -> None:
    token = tmp_path / "token"
    machine = {
        **s3_twin.nobody,
        "AWS_ENDPOINT_URL": s3_twin.endpoint,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/publisher",
        "AWS_ROLE_SESSION_NAME": "run-17",
    }
    bucket = s3_twin.bucket()
    error = error_of(lambda: open_store(f"s3://{bucket}", base=tmp_path, machine=machine))
    assert error.code.name == "no-credentials"
    assert str(token) in error.message
    assert "AWS_WEB_IDENTITY_TOKEN_FILE" in (error.hint or "")
    token.write_text("hush-hush")
    s3_access._make_client.cache_clear()
    store = open_store(f"s3://{bucket}", base=tmp_path, machine=machine)
    put(store)
    assert store.head("r/a.whl") is not None
    found = client_for(Access(machine=machine)).s3._request_signer._credentials  # type: ignore[attr-defined]
    assert found.method == "assume-role-with-web-identity"
    assert found.get_frozen_credentials().token


def test_a_token_that_the_role_does_not_take_is_told_and_not_shown(s3_twin: S3Server, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hush-hush")
    bucket = s3_twin.bucket()
    with fronting(s3_twin.endpoint) as front:
        front.faults["POST"] = ["token"]
        machine = {
            **s3_twin.nobody,
            "AWS_ENDPOINT_URL": s3_twin.endpoint,
            "AWS_ENDPOINT_URL_STS": front.url,
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
            "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/publisher",
        }
        error = error_of(lambda: open_store(f"s3://{bucket}", base=tmp_path, machine=machine))
    assert error.code.name == "no-credentials"
    assert "AWS_ROLE_ARN" in (error.hint or "")
    assert "hush" not in f"{error.message}{error.hint}"


def test_credentials_that_ran_out_are_told_and_not_shown(s3_twin: S3Server, tmp_path: Path) -> None:
    machine = {**s3_twin.machine, "AWS_SECRET_ACCESS_KEY": "hush-secret", "AWS_SESSION_TOKEN": "hush-token"}
    bucket = s3_twin.bucket()
    with fronting(s3_twin.endpoint) as front:
        front.faults["POST"] = ["expired"]
        error = error_of(lambda: open_store(f"s3://{bucket}", base=tmp_path, endpoint_url=front.url, machine=machine))
    assert error.code.name == "no-credentials"
    assert "run out" in (error.hint or "")
    assert "hush" not in f"{error.message}{error.hint}"


def test_a_bucket_that_is_not_there_is_named(s3_server: S3Server, tmp_path: Path) -> None:
    error = error_of(
        lambda: open_store("s3://not-there/x", base=tmp_path, endpoint_url=s3_server.endpoint, machine=s3_server.machine)
    )
    assert error.code.name == "store-unusable"
    assert "s3://not-there" in error.message
    store = s3_server.store("not-there")
    for do in (lambda: list(store.list()), lambda: store.get("x"), lambda: put(store)):
        assert error_of(do).code.name == "store-unusable"


def test_a_server_that_does_not_answer_is_named(s3_server: S3Server, tmp_path: Path) -> None:
    error = error_of(lambda: open_store("s3://some", base=tmp_path, endpoint_url="http://127.0.0.1:9", machine=s3_server.machine))
    assert error.code.name == "source-unreachable"
    assert "127.0.0.1:9" in error.message
    assert "--endpoint-url" in (error.hint or "")


@pytest.mark.parametrize("address", ["garbage", "http://127.0.0.1:99999", "http://127.0.0.1:x"])
def test_an_address_that_is_none_is_told_and_not_taken_for_a_lack_of_credentials(
    address: str, s3_server: S3Server, tmp_path: Path
) -> None:
    error = error_of(lambda: open_store("s3://some", base=tmp_path, endpoint_url=address, machine=s3_server.machine))
    assert error.code.name == "store-unusable"
    assert "--endpoint-url" in (error.hint or "")


def test_one_who_has_no_network_is_told_of_stores_at_hand() -> None:
    fault = EndpointConnectionError(endpoint_url="https://bucket.s3.amazonaws.com/")
    error = s3_access.translated(fault, "list", "s3://bucket")
    assert error.code.name == "source-unreachable"
    assert "--store" in (error.hint or "")


def test_the_environment_names_the_server_and_files_name_the_credentials(s3_server: S3Server, tmp_path: Path) -> None:
    keys = s3_server.machine
    (tmp_path / "credentials").write_text(
        f"[work]\naws_access_key_id={keys['AWS_ACCESS_KEY_ID']}\naws_secret_access_key={keys['AWS_SECRET_ACCESS_KEY']}\n"
    )
    machine = {
        **s3_server.nobody,
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_PROFILE": "work",
        "AWS_ENDPOINT_URL": f"{s3_server.endpoint}/",
    }
    bucket = s3_server.bucket()
    store = open_store(f"s3://{bucket}", base=tmp_path, machine=machine)
    put(store)
    assert store.url("r/a.whl") == f"{s3_server.endpoint}/{bucket}/r/a.whl"
    error = error_of(lambda: open_store(f"s3://{bucket}", base=tmp_path, machine={**machine, "AWS_PROFILE": "play"}))
    assert error.code.name == "no-credentials"
    assert "play" in error.message


def test_a_folder_of_a_bucket_is_a_store_of_its_own(s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    put(s3_server.store(bucket, "v2"), "a")
    put(s3_server.store(bucket, "v2-staging"), "b")
    assert [one.key for one in s3_server.store(bucket, "v2").list()] == ["a"]
    assert [one.key for one in s3_server.store(bucket).list()] == ["v2-staging/b", "v2/a"]


def test_keys_that_others_wrote_are_read_and_none_such_is_written(s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    key = "r/rccl_test_gfx942:xnack+.tar.zst"
    s3_server.client().put_object(Bucket=bucket, Key=key, Body=b"artifact")
    store = s3_server.store(bucket)
    assert [one.key for one in store.list("r")] == [key]
    content = store.get(key)
    assert content is not None
    assert content.data == b"artifact"
    with store.stream(key, start=3) as stream:
        assert stream.read() == b"ifact"
    assert error_of(lambda: put(store, key)).code.name == "bad-key"
    assert error_of(lambda: store.delete(key)).code.name == "bad-key"


def test_a_listing_of_several_pages_is_whole(s3_server: S3Server, s3_twin: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "LISTED_AT_ONCE", 3)
    for server in (s3_server, s3_twin):
        bucket = server.bucket()
        for number in range(7):
            server.client().put_object(Bucket=bucket, Key=f"r/{number}", Body=b"")
        assert [one.key for one in server.store(bucket).list("r")] == [f"r/{number}" for number in range(7)]


@pytest.mark.parametrize("named", ["option", "AWS_ENDPOINT_URL"])
def test_an_address_of_a_server_with_a_query_is_refused_and_not_shown(tmp_path: Path, named: str) -> None:
    place = "http://127.0.0.1:9/?sig=hush-hush"
    machine = {} if named == "option" else {named: place}
    with pytest.raises(HipwrightError) as caught:
        open_store("s3://b/p", base=tmp_path, writing=False, endpoint_url=place if named == "option" else None, machine=machine)
    assert caught.value.code.name == "store-unusable"
    assert "hush" not in f"{caught.value.message}{caught.value.hint}"
    with pytest.raises(HipwrightError) as caught:
        open_store("https://127.0.0.1:9/x?sig=hush-hush", base=tmp_path, writing=False)
    assert caught.value.code.name == "store-unusable"
    assert "hush" not in f"{caught.value.message}{caught.value.hint}"
