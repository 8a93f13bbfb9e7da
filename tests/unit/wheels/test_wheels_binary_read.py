"""Parts of binaries, by place and size."""

from __future__ import annotations

import io

import pytest

from build_tools.errors import HipwrightError
from build_tools.wheels.binary_read import DamageError, damage_told, read_at, read_exactly


def test_what_is_there_is_read_and_no_more() -> None:
    stream = io.BytesIO(b"0123456789")
    assert (read_at(stream, 8, 4), read_at(stream, 20, 4), read_exactly(stream, 2, 3)) == (b"89", b"", b"234")
    with pytest.raises(DamageError, match="the file ends within the 4 bytes at 8"):
        read_exactly(stream, 8, 4)


def test_damage_is_told_with_the_files_name() -> None:
    with pytest.raises(HipwrightError) as caught, damage_told("liba.so", "an ELF"):
        read_exactly(io.BytesIO(), 1 << 70, 4)
    assert caught.value.code.name == "bad-binary"
    assert caught.value.message.startswith("liba.so begins as an ELF file, and its headers cannot be read: ")
