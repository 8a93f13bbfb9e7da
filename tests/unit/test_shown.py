"""How text of others, and numbers of things, are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.counted import counted
from build_tools.shown import shown


@given(st.binary())
def test_paths_are_one_printable_line(path: bytes) -> None:
    assert all(char.isprintable() for char in shown(path))


def test_what_can_be_read_stays() -> None:
    assert shown("é b".encode()) == "é b"
    assert shown(b"a\nb\xff") == "a\\nb\\xff"


@pytest.mark.parametrize(("number", "words"), [(0, "0 patches"), (1, "1 patch"), (2, "2 patches")])
def test_numbers_have_the_word_that_fits(number: int, words: str) -> None:
    assert counted(number, "patch", "patches") == words
    assert counted(number, "file") == f"{number} file" + ("" if number == 1 else "s")
