from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from build_tools.errors import HipwrightError
from build_tools.receipts import record
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import from_json, read_record, to_json
from build_tools.receipts.snapshot import Snapshot
from build_tools.receipts.stage import StageReceipt

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
        (b"", "truncated"),
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
