from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores.body import StoredBody, body_of
from build_tools.stores.local import FolderStore
from build_tools.types import Sha256

if TYPE_CHECKING:
    from pathlib import Path

DATA = bytes(range(256)) * 5


def test_bytes_and_files_come_in_pieces_of_a_length(tmp_path: Path) -> None:
    file = tmp_path / "a.whl"
    file.write_bytes(DATA)
    for body, name in ((body_of(DATA, name="page"), "page"), (body_of(file, name="page"), str(file))):
        assert (body.name, body.size, body.sha256()) == (name, len(DATA), digest.of_bytes(DATA))
        assert [len(piece) for piece in body.pieces(500)] == [500, 500, 280]
        assert b"".join(body.pieces(500)) == b"".join(body.pieces(5000)) == DATA


def test_what_a_store_has_comes_in_pieces_of_a_length(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    info = store.put("a.whl", DATA, content_type="x/y", cache_seconds=0)
    body = StoredBody(store=store, info=info, meant=Sha256("0" * 64))
    assert (body.name, body.size, body.sha256()) == (f"a.whl in {tmp_path}", len(DATA), "0" * 64)
    assert [len(piece) for piece in body.pieces(500)] == [500, 500, 280]
    assert b"".join(body.pieces(500)) == b"".join(body.pieces(5000)) == DATA


def test_what_became_shorter_meanwhile_is_not_waited_for(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    info = store.put("a.whl", DATA, content_type="x/y", cache_seconds=0)
    (tmp_path / "a.whl").write_bytes(DATA[:-1])
    with pytest.raises(HipwrightError) as caught:
        list(StoredBody(store=store, info=info, meant=info.etag).pieces(500))  # type: ignore[arg-type] # of a folder it is one
    assert caught.value.code.name == "source-unreachable"
    assert "1 bytes too early" in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        body_of(tmp_path / "gone", name="x")
    assert caught.value.code.name == "store-unusable"
    assert str(tmp_path / "gone") in caught.value.message
    file = tmp_path / "a.whl"
    file.write_bytes(DATA)
    body = body_of(file, name="x")
    file.unlink()
    for read in (body.sha256, lambda: list(body.pieces(9))):
        with pytest.raises(HipwrightError) as caught:
            read()
        assert caught.value.code.name == "store-unusable"
