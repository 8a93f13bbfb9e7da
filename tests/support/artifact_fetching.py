"""Fetching from a store that fails as it is told to, for tests."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.fetch import Request, fetch_archives
from build_tools.rocm.artifacts.select import archives_of
from build_tools.rocm.artifacts.transfer import Patience
from build_tools.types import Platform
from tests.support.artifacts import BASE, plain_archive
from tests.support.shaky_store import ShakyStore

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.rocm.artifacts.there import Fetched

__all__ = ["ALL", "BASE_LIB", "BLAS", "RUN", "failure", "fetch", "request", "side", "small", "store_of", "whole"]

RUN = "7-linux"
BLAS, BASE_LIB = f"{RUN}/blas_lib_gfx942.tar.zst", f"{RUN}/base_lib_generic.tar.xz"


def side(data: bytes, name: str) -> bytes:
    return f"{hashlib.sha256(data).hexdigest()}  {name.rpartition('/')[2]}\n".encode()


def store_of(archives: dict[str, bytes], *, side_files: bool = True, **more: Any) -> ShakyStore:  # noqa: ANN401
    sides = {f"{key}.sha256sum": side(data, key) for key, data in archives.items()} if side_files else {}
    return ShakyStore(objects={**archives, **sides}, **more)


def small(**more: Any) -> ShakyStore:  # noqa: ANN401
    archives = {BLAS: plain_archive({"lib/blas.so": b"b" * 9000}), BASE_LIB: plain_archive({"lib/base.so": b"a"}, ".tar.xz")}
    return store_of(archives, **more)


def request(store: ShakyStore, output: Path, **more: Any) -> Request:  # noqa: ANN401
    archives = archives_of(store.list(RUN), RUN)
    patience = Patience(pause=0, tries=3)
    asked = Request(archives=archives, store=store, source="run 7", output=output, platform=Platform.LINUX, patience=patience)
    return replace(asked, **more)


def fetch(store: ShakyStore, output: Path, **more: Any) -> tuple[Fetched, ...]:  # noqa: ANN401
    return fetch_archives(request(store, output, **more), say=lambda _line: None)


def failure(store: ShakyStore, output: Path, **more: Any) -> HipwrightError:  # noqa: ANN401
    with pytest.raises(HipwrightError) as caught:
        fetch(store, output, **more)
    return caught.value


def whole(output: Path) -> dict[str, bytes]:
    """Return the unpacked files by path, and prove that nothing half-made stands among them."""
    names = {path.name for path in output.iterdir()}
    assert names <= {".fetch", ".fetched-for.json", "blas_lib_gfx942", "base_lib_generic"}
    found = {path.relative_to(output).as_posix(): path.read_bytes() for path in output.rglob("*.so")}
    return {name: data for name, data in found.items() if not name.startswith(".fetch")}


ALL = {f"blas_lib_gfx942/{BASE}/lib/blas.so": b"b" * 9000, f"base_lib_generic/{BASE}/lib/base.so": b"a"}
