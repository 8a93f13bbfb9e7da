from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from build_tools.console.markdown import command_block, fenced


@given(st.lists(st.sampled_from(["a", "```", "````sh", "  ```", "`x`", "", "~~~"]), min_size=1).map("\n".join))
def test_a_text_with_fences_stays_one_block_of_code(text: str) -> None:
    (block,) = MarkdownIt("commonmark").parse(fenced(text, "sh"))
    assert (block.type, block.info, block.content) == ("fence", "sh", f"{text}\n")


def test_commands_are_a_block_under_their_title_and_none_are_nothing() -> None:
    heading, words, _close, block = MarkdownIt("commonmark").parse(command_block("Again", ["nox -s a", "nox -s b"]))
    assert (heading.tag, words.content) == ("h3", "Again")
    assert (block.info, block.content) == ("sh", "nox -s a\nnox -s b\n")
    assert command_block("Again", []) == ""
