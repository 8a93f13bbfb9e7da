from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from build_tools.errors import HipwrightError
from build_tools.receipts import record
from build_tools.receipts.lock import Lock, LockedSources, SubmodulePin
from build_tools.receipts.profile import ProfileReport
from build_tools.receipts.record import from_json, read_record, to_json
from build_tools.receipts.snapshot import Snapshot
from build_tools.receipts.stage import StageReceipt
from tests.support.locks import locked

if TYPE_CHECKING:
    from pathlib import Path


def refused(path: Path) -> str:
    with pytest.raises(HipwrightError) as caught:
        read_record(path, Lock)
    assert caught.value.code.name == "bad-receipt"
    assert str(path) in caught.value.message
    return caught.value.message


@pytest.mark.parametrize("model", [Lock, Snapshot, StageReceipt])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}", "states no schema"),
        (b'{"schema": null}', "states no schema"),
        (b'{"schema": 9, "new": true}', "has schema 9, this hipwright reads 1"),
        (b'{"schema": "1"}', "schema"),
        (b"[]", "object"),
        (b"", "cut off"),
        (b"\xff\xfe\x00", "malformed"),
        (b'{"schema": 1, "\xff": 1}', "name is not"),
        (b"[" * 100_000, "name is not"),
    ],
)
def test_what_is_no_record_of_a_known_schema_is_refused(model: type[object], data: bytes, said: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        from_json(data, model, name="name")
    assert caught.value.code.name == "bad-receipt"
    assert said in caught.value.message


def test_a_record_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_bytes(to_json(Lock()))
    (tmp_path / "link.json").symlink_to("lock.json")
    assert read_record(tmp_path / "link.json", Lock) == Lock()


@pytest.mark.parametrize(
    ("data", "said", "hint"),
    [
        (b'{"schema": 1, "examp', "it is cut off", "make it again: nox -s profile"),
        (b'{"schema": 2}', "has schema 2, this hipwright reads 1", "update hipwright, git pull, or bring back"),
        (b'{"schema": 0}', "has schema 0", "make it again: nox -s profile"),
        (b"[1]", "is not what it should be", "make it again: nox -s profile"),
        (None, "No such file", "see whether it is the file that is meant"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_a_way_out(tmp_path: Path, data: bytes | None, said: str, hint: str) -> None:
    path = tmp_path / "profile.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(HipwrightError, match=said) as caught:
        read_record(path, ProfileReport)
    assert hint in (caught.value.hint or "")


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    assert "not a regular file" in refused(tmp_path)
    assert "No such file" in refused(tmp_path / "gone")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither")
def test_devices_and_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refused(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    assert "not a regular file" in refused(tmp_path / "endless")


def test_a_file_that_no_record_fills_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_bytes(to_json(Lock()))
    with mock.patch.object(record, "_LIMIT", 8):
        assert "is larger than" in refused(tmp_path / "lock.json")


@pytest.mark.parametrize("commit", ["--output=/tmp/x", "HEAD", "1" * 39, "1" * 41, "1" * 40 + "\n", "A" * 40, ""])
def test_an_id_that_is_none_is_refused(commit: str) -> None:
    data = json.dumps({"path": "lib", "url": "https://host.example/lib.git", "commit": commit}).encode()
    with pytest.raises(HipwrightError, match="commit") as caught:
        from_json(data, SubmodulePin, name="lock.json")
    assert caught.value.code.name == "bad-receipt"


@pytest.mark.parametrize("ref", ["-x", "a b", "a:b", "a\nb", "a\n", "+a", "", "a\x00"])
def test_a_ref_that_git_could_not_have_is_refused(ref: str) -> None:
    known = {"origin": "o", "reason": "r", "commit": "1" * 40, "tree": "2" * 40, "base_version": "1.0"}
    assert (
        from_json(json.dumps({**known, "ref": "release/2.9-é"}).encode(), LockedSources, name="lock.json").ref == "release/2.9-é"
    )
    with pytest.raises(HipwrightError, match="ref"):
        from_json(json.dumps({**known, "ref": ref}).encode(), LockedSources, name="lock.json")


@pytest.mark.parametrize("address", ["", "-x", "a\x00b", "a\nb", "a\n", "a\x7f", "\x1b[2J"])
def test_an_address_with_control_characters_is_refused(address: str) -> None:
    known = {"path": "lib", "url": "https://host.example/with space/é.git", "commit": "1" * 40}
    assert from_json(json.dumps(known).encode(), SubmodulePin, name="lock.json").url == known["url"]
    with pytest.raises(HipwrightError, match="url"):
        from_json(json.dumps({**known, "url": address}).encode(), SubmodulePin, name="lock.json")


def test_an_entry_under_another_name_than_its_own_is_refused() -> None:
    data = to_json(Lock(projects={"toy": locked("toy")})).replace(b'"toy": {', b'"other": {')
    with pytest.raises(HipwrightError, match="the entry 'other' is one of the project 'toy'") as caught:
        from_json(data, Lock, name="lock.json")
    assert caught.value.code.name == "bad-receipt"


ADDRESSES = (
    "https://me:secret-word@host.example/x",
    "ssh://git:secret-word@host.example/x",
    "https://secret-token@host.example/x",
    "https://me:secret/word@host.example/x",
)


@pytest.mark.parametrize("url", ADDRESSES)
@pytest.mark.parametrize("place", ["origin", "submodule", "moved", "requested", "of a submodule", "links", "source", "file"])
def test_a_lock_with_a_password_in_an_address_is_refused_without_repeating_it(tmp_path: Path, place: str, url: str) -> None:
    commit = "a" * 40
    value = json.loads(to_json(Lock(projects={"toy": locked("toy")})))
    entry = value["projects"]["toy"]
    pin = {"path": "lib", "url": url, "commit": commit}
    file = {"distribution": "rocm", "version": "1", "filename": "rocm-1.tar.gz", "url": url, "sha256": "0" * 64}
    if place == "origin":
        entry["sources"]["origin"] = url
    elif place in {"submodule", "moved"}:
        entry["sources" if place == "submodule" else "patches"]["submodules"] = [pin]
    elif place == "requested":
        entry["requested"]["origin"] = url
    elif place == "of a submodule":
        entry["requested"]["submodule_url"] = [f"lib={url}"]
    elif place == "links":
        entry["requested"]["rocm_find_links"] = ["/wheels", url]
    elif place == "source":
        entry["rocm"] = {"source": f"/wheels and the index {url}", "version": "1", "files": []}
    else:
        entry["owned"] = [file]
    (tmp_path / "lock.json").write_text(json.dumps(value), encoding="utf-8")
    said = refused(tmp_path / "lock.json")
    assert "user or password" in said
    assert "secret" not in said


def test_the_account_of_an_ssh_address_is_no_secret(tmp_path: Path) -> None:
    entry = locked("toy", origin="ssh://git@host.example/x", submodules=())
    (tmp_path / "lock.json").write_bytes(to_json(Lock(projects={"toy": entry})))
    assert read_record(tmp_path / "lock.json", Lock).projects["toy"] == entry
