"""The probe keeps binaries, whatever they are named, in any pieces, and lets everything else go."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.wheels.archive import Member
from build_tools.wheels.binary_probe import Binary, BinaryProbe
from tests.support.hip_objects import bundle, code_object, compressed
from tests.support.pe_files import pe_bytes

if TYPE_CHECKING:
    from pathlib import Path


def _member(name: str, size: int) -> Member:
    return Member(name=name, size=size, packed=size, crc=0, method=0, flags=0, mode=0o644, offset=0, limit=size)


def _probe(data: bytes, name: str = "demo/it", *, piece: int = 1 << 16, scratch: Path | None = None) -> Binary | None:
    watcher = BinaryProbe(scratch).begin(_member(name, len(data)))
    assert watcher is not None
    stream = io.BytesIO(data)
    while part := stream.read(piece):
        watcher.feed(part)
    return watcher.end()


@given(piece=st.integers(1, 300))
def test_pieces_of_any_size_give_the_same(piece: int) -> None:
    for data in (pe_bytes(["a.dll"]), bundle(["gfx942"])[:5000], code_object("gfx942"), b"text"):
        assert _probe(data, piece=piece) == _probe(data)


def test_each_kind_is_known_by_its_bytes() -> None:
    pe, fat, code = (
        _probe(pe_bytes(["a.dll"])),
        _probe(compressed(bundle(["gfx942", "gfx1201"]))),
        _probe(code_object("gfx90a:xnack+")),
    )
    assert pe is not None
    assert fat is not None
    assert code is not None
    assert pe.pe is not None
    assert pe.pe.imports == ("a.dll",)
    assert fat.targets == {"gfx942", "gfx1201"}
    assert code.targets == {"gfx90a:xnack+"}


@pytest.mark.parametrize("data", [b"", b"print()\n", b"MZ is no program", b"x" * 200])
def test_other_content_is_nothing_unless_its_name_promises_more(data: bytes) -> None:
    assert _probe(data) is None
    for name in ("demo/a.so", "demo/liba.so.1.2", "demo/a.pyd", "demo/A.DLL"):
        found = _probe(data, name)
        assert found is not None
        assert found.fault is not None


def test_large_ones_are_kept_in_a_file_without_a_name(tmp_path: Path) -> None:
    code = b"\0" * (40 << 20)
    found = _probe(pe_bytes(["a.dll"], code=bundle(["gfx942"], code={"gfx942": code})), scratch=tmp_path)
    assert found is not None
    assert found.targets == {"gfx942"}
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_as_one(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    data = pe_bytes(["a.dll"], code=b"\0" * (40 << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(HipwrightError) as caught:
            _probe(data, scratch=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.code.name == "disk-space"
