"""PE files: imports at once and delayed, machine, GPU code; damage is told and never a crash."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.wheels.pe import Pe, read_pe
from tests.support.pe_files import pe_bytes


def _read(data: bytes) -> Pe | None:
    return read_pe(io.BytesIO(data), name="it")


def test_what_a_loader_asks_is_read() -> None:
    data = pe_bytes(["KERNEL32.dll", "amdhip64_7.dll", "KERNEL32.dll"], delayed=["dbghelp.dll"], code=b"GPU")
    pe = _read(data)
    assert pe is not None
    assert pe.imports == ("KERNEL32.dll", "amdhip64_7.dll")
    assert pe.delay_imports == ("dbghelp.dll",)
    assert (pe.machine, pe.is_library) == ("amd64", True)
    assert pe.device_code is not None
    start, size = pe.device_code
    assert data[start : start + size] == b"GPU"


@pytest.mark.parametrize(("number", "machine"), [(0x8664, "amd64"), (0xAA64, "arm64"), (0x14C, "x86")])
def test_machines_are_spelled_as_in_tags(number: int, machine: str) -> None:
    pe = _read(pe_bytes(machine=number))
    assert pe is not None
    assert pe.machine == machine


@pytest.mark.parametrize("data", [b"", b"MZ", b"MZ" + bytes(100), b"\x7fELF" + bytes(100), pe_bytes(machine=0x1234)])
def test_what_is_no_binary_of_windows_is_none(data: bytes) -> None:
    assert _read(data) is None


def test_one_that_is_cut_off_is_told() -> None:
    with pytest.raises(HipwrightError) as caught:
        _read(pe_bytes(["KERNEL32.dll"])[:0x410])
    assert caught.value.code.name == "bad-binary"


@given(data=st.data())
def test_damage_is_told_and_never_a_crash(data: st.DataObject) -> None:
    changed = bytearray(pe_bytes(["KERNEL32.dll", "a.dll"], delayed=["b.dll"], code=b"GPU"))
    for place in data.draw(st.lists(st.integers(0, len(changed) - 1), max_size=8)):
        changed[place] = data.draw(st.integers(0, 255))
    try:
        _read(bytes(changed[: data.draw(st.integers(0, len(changed)))]))
    except HipwrightError as error:
        assert error.code.name == "bad-binary"  # noqa: PT017 - either is right
