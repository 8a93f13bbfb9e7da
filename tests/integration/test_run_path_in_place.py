"""A binary gets another run path without being held in memory: the system's loader and other readers go by it."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.wheels.elf import read_elf
from build_tools.wheels.run_path_in_place import set_run_path_in_place
from tests.support.elf_templates import library_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.wheels.elf import Elf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ELF files are made and loaded on Linux alone")

_WANTED = ("$ORIGIN/rocm/lib", "$ORIGIN/a-rather-long-name-that-no-room-was-left-for", "$ORIGIN")


def _library(path: Path, code: str, *options: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".c").write_text(code)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, path.with_suffix(".c"), *options], check=True)
    return path


def _elf(path: Path) -> Elf:
    with path.open("rb") as stream:
        elf = read_elf(stream, name=path)
    assert elf is not None
    return elf


def _needing(folder: Path, *options: str) -> Path:
    """Make a library that needs another one, which is where only the new run path leads."""
    other = _library(folder / "rocm" / "lib" / "libother.so", "int other(void) { return 41; }", "-Wl,-soname,libother.so")
    code = "#include <stdlib.h>\nint other(void);\nint it(void) { return other() + abs(-1); }"
    place = ("-L", str(other.parent), "-lother")
    return _library(folder / "libit.so", code, *place, "-Wl,-soname,libit.so", "-Wl,--build-id", *options)


@pytest.mark.parametrize("kind", ["--enable-new-dtags,-rpath,/nowhere", "--disable-new-dtags,-rpath,/nowhere", "--build-id"])
@pytest.mark.parametrize("layout", ["-Wl,-z,separate-code", "-Wl,-z,noseparate-code"])
def test_the_loader_goes_by_it(tmp_path: Path, kind: str, layout: str) -> None:
    path = _needing(tmp_path, f"-Wl,{kind}", layout)
    with pytest.raises(OSError, match="libother"):
        ctypes.CDLL(str(path))
    before = _elf(path)
    assert set_run_path_in_place(path, _WANTED)
    after = _elf(path)
    assert (after.run_path, after.runpath) == (_WANTED, ())
    assert (after.soname, after.needed, after.symbol_versions) == (before.soname, before.needed, before.symbol_versions)
    loaded = subprocess.run(
        [sys.executable, "-c", f"import ctypes; print(ctypes.CDLL({str(path)!r}).it())"],
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    assert loaded.stdout == "42\n"


def test_it_can_be_set_again_as_long_as_there_is_a_note(tmp_path: Path) -> None:
    path = _needing(tmp_path, "-Wl,-rpath,/nowhere")
    assert set_run_path_in_place(path, _WANTED)
    again = set_run_path_in_place(path, ["$ORIGIN/rocm/lib"])
    assert _elf(path).run_path == (("$ORIGIN/rocm/lib",) if again else _WANTED)


def test_other_readers_see_it(tmp_path: Path) -> None:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("there is no readelf")
    path = _needing(tmp_path, "-Wl,-rpath,/nowhere")
    assert set_run_path_in_place(path, _WANTED)
    told = subprocess.run([readelf, "--wide", "-d", "--dyn-syms", "-S", path], capture_output=True, text=True, check=True)
    assert f"[{':'.join(_WANTED)}]" in told.stdout
    assert "libother.so" in told.stdout
    assert told.stderr == ""


def test_without_a_run_path_and_room_for_one_it_stays_as_it_is(tmp_path: Path) -> None:
    path = _library(tmp_path / "x.so", "int x;", "-nostdlib", "-Wl,--spare-dynamic-tags=0", "-Wl,--build-id")
    before = path.read_bytes()
    assert not set_run_path_in_place(path, _WANTED)
    assert path.read_bytes() == before


def test_without_a_note_it_stays_as_it_is(tmp_path: Path) -> None:
    path = _needing(tmp_path, "-Wl,-rpath,/nowhere")
    data = bytearray(path.read_bytes())
    (table,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    for number in range(count):
        if struct.unpack_from("<I", data, table + 56 * number) == (4,):
            struct.pack_into("<I", data, table + 56 * number, 0)
    path.write_bytes(data)
    assert not set_run_path_in_place(path, _WANTED)
    assert path.read_bytes() == data


@pytest.mark.parametrize("cut", [0, 3, 63, 64, 200, 1000])
def test_what_is_damaged_stays_as_it_is(tmp_path: Path, cut: int) -> None:
    path = _needing(tmp_path, "-Wl,-rpath,/nowhere")
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    assert not set_run_path_in_place(path, _WANTED)
    assert path.read_bytes() == data


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 0x400), data=st.binary(min_size=1, max_size=16))
def test_headers_that_make_no_sense_end_in_no_failure(tmp_path: Path, place: int, data: bytes) -> None:
    path = tmp_path / "libdamaged.so"
    whole = library_bytes("damaged", soname="libdamaged.so", needed=["libother.so"])
    whole = whole[:place] + data + whole[place + len(data) :]
    path.write_bytes(whole)
    changed = set_run_path_in_place(path, _WANTED)
    assert changed or path.read_bytes() == whole
    assert path.stat().st_size < len(whole) + (1 << 20)
