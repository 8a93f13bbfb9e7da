from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.stores.base import join_key, parse_key

WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12)


@given(
    st.lists(
        st.one_of(WORDS, WORDS.map(lambda word: f"{word}+rocm7.1-x_y~z!(1)"), WORDS.map(lambda word: f".{word}")), min_size=1
    )
)
def test_a_key_of_plain_parts_is_taken_as_it_is(parts: list[str]) -> None:
    key = "/".join(parts)
    assert parse_key(key) == key
    assert join_key(*parts) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "a/./b",
        "a\\b",
        "C:/a",
        "a/b.",
        "a /b",
        "a\nb",
        "a\0b",
        "a?b",
        "a*",
        "é" * 600,
    ],
)
def test_a_key_that_some_store_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_key(text)
    assert caught.value.code.name == "bad-key"
    assert repr(text) in caught.value.message


@given(st.text(max_size=30))
def test_no_accepted_key_leaves_its_folder(text: str) -> None:
    try:
        key = parse_key(text)
    except HipwrightError:
        return
    parts = key.split("/")
    assert all(part not in {"", ".", ".."} for part in parts)
    assert "\\" not in key
    assert ":" not in key


def test_empty_parts_are_left_out_of_a_joined_key() -> None:
    assert join_key("", "dist", "", "a.whl") == "dist/a.whl"
