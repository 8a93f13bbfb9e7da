from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.stores.open import open_store

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_may_be_named_in_every_way_and_is_made_by_the_first_write(tmp_path: Path) -> None:
    wanted = tmp_path / "a store"
    for address in (str(wanted), "a store", wanted.as_uri(), f"file://localhost{wanted.as_uri().removeprefix('file://')}"):
        store = open_store(address, base=tmp_path, writing=True)
        assert store.address == str(wanted)
        assert list(store.list()) == []
    assert not list(tmp_path.iterdir())
    open_store("a store", base=tmp_path, writing=True).put("a", b"x", content_type="text/plain", cache_seconds=0)
    assert (wanted / "a").read_bytes() == b"x"


def test_a_store_to_read_from_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_store("absent", base=tmp_path, writing=False)
    assert caught.value.code.name == "store-unusable"
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("writing", [True, False])
def test_a_store_that_is_a_file_is_refused(tmp_path: Path, *, writing: bool) -> None:
    (tmp_path / "store").write_text("not a folder")
    with pytest.raises(HipwrightError) as caught:
        open_store("store", base=tmp_path, writing=writing)
    assert caught.value.code.name == "store-unusable"
    assert f"{tmp_path / 'store'} is a file" in caught.value.message


def test_a_store_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(HipwrightError) as caught:
        open_store("file/store", base=tmp_path, writing=True)
    assert caught.value.code.name == "store-unusable"
    assert "--store" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "address",
    [
        "",
        " ",
        "s3://",
        "s3://B_ad/prefix",
        "s3://a..b",
        "s3://bucket/../x",
        "s3://bucket/a//b",
        "s3:x",
        "S3:bucket/x",
        "http://127.0.0.1/x",
        "https://127.0.0.1/x",
        "http:x",
        "file://elsewhere/x",
        "file:///x?y",
        "file:x",
        "ftp://x",
        "c:x",
    ],
)
def test_an_address_that_is_no_folders_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_store(address, base=tmp_path, writing=True)
    assert caught.value.code.name == "store-unusable"
    assert address.partition("?")[0] in caught.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such name")
def test_a_folder_with_a_colon_in_its_name_can_be_meant(tmp_path: Path) -> None:
    assert open_store("./s3:x", base=tmp_path).address == str(tmp_path / "s3:x")


def test_a_bucket_and_a_listing_are_not_asked_before_something_is_read(tmp_path: Path) -> None:
    bucket = open_store("s3://some-bucket/a/folder/", base=tmp_path, writing=False, endpoint_url="http://127.0.0.1:9/")
    assert bucket.address == "s3://some-bucket/a/folder"
    assert bucket.url("x/a+b.whl") == "http://127.0.0.1:9/some-bucket/a/folder/x/a%2Bb.whl"
    told = open_store("s3://some-bucket", base=tmp_path, writing=False, endpoint_url="http://me:secret@127.0.0.1:9")
    assert told.url("x") == "http://127.0.0.1:9/some-bucket/x"
    listing = open_store("http://me:secret@127.0.0.1:9/a/", base=tmp_path, writing=False)
    assert listing.address == "http://127.0.0.1:9/a"
    assert listing.url("simple/") == "http://127.0.0.1:9/a/simple/"
    assert "secret" not in repr(listing)


def test_addresses_of_amazons_buckets_are_those_that_certificates_are_for(tmp_path: Path) -> None:
    assert open_store("s3://plain", base=tmp_path, writing=False).url("a/b c") == "https://plain.s3.amazonaws.com/a/b%20c"
    assert open_store("s3://with.dot", base=tmp_path, writing=False).url("a") == "https://s3.amazonaws.com/with.dot/a"


def test_a_bucket_is_not_written_without_credentials(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_store("s3://some-bucket", base=tmp_path, endpoint_url="http://127.0.0.1:9", machine={})
    assert caught.value.code.name == "no-credentials"
    assert "AWS_ACCESS_KEY_ID" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("machine", "lacking"),
    [({"AWS_ACCESS_KEY_ID": "x"}, "AWS_SECRET_ACCESS_KEY"), ({"AWS_SECRET_ACCESS_KEY": "x"}, "AWS_ACCESS_KEY_ID")],
)
def test_half_of_the_credentials_are_none(tmp_path: Path, machine: dict[str, str], lacking: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_store("s3://some-bucket", base=tmp_path, endpoint_url="http://127.0.0.1:9", machine=machine)
    assert caught.value.code.name == "no-credentials"
    assert lacking in caught.value.message


@pytest.mark.parametrize("endpoint", ["not-an-address", "http://"])
def test_an_endpoint_that_is_no_servers_address_is_said(tmp_path: Path, endpoint: str) -> None:
    machine = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    with pytest.raises(HipwrightError) as caught:
        open_store("s3://some-bucket", base=tmp_path, endpoint_url=endpoint, machine=machine)
    assert caught.value.code.name == "store-unusable"
    assert "--endpoint-url" in (caught.value.hint or "")


@pytest.mark.parametrize("address", ["https://127.0.0.1/x?y", "https://127.0.0.1/x#y", "https:///x"])
def test_a_listing_is_a_folders_address(tmp_path: Path, address: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_store(address, base=tmp_path, writing=False)
    assert caught.value.code.name == "store-unusable"


def test_a_password_in_an_address_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_store("s3://me:secret@bucket/x", base=tmp_path)
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"
