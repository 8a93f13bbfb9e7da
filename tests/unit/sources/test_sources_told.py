"""How people are told of modules, of files in them, and of what became of these."""

from __future__ import annotations

import pytest

from build_tools.sources.told import called, change_word, prefix_of, shortened


@pytest.mark.parametrize(
    ("module", "name", "prefix"),
    [(".", "the root", ""), ("a/b", "a/b", "a/b: "), ("a\n\u202eb", "a\\n\\u202eb", "a\\n\\u202eb: ")],
)
def test_a_module_is_named_in_one_printable_way(module: str, name: str, prefix: str) -> None:
    assert (called(module), prefix_of(module)) == (name, prefix)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (b"??", "untracked"),
        (b" D", "deleted"),
        (b"D", "deleted"),
        (b"AD", "deleted"),
        (b"A ", "added"),
        (b"AM", "added"),
        (b" M", "edited"),
        (b"T", "edited"),
    ],
)
def test_a_state_has_a_word(state: bytes, word: str) -> None:
    assert change_word(state) == word


def test_a_long_list_says_how_many_more_there_are() -> None:
    assert shortened(["a", "b"], 2) == ["a", "b"]
    assert shortened(["a", "b", "c", "d"], 2) == ["a", "b", "and 2 more"]
    assert shortened(["a", "b"], 2, total=12) == ["a", "b", "and 10 more"]
    assert shortened([], 2) == []
