from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from build_tools.console.events import Console
from build_tools.console.render import GitHubRenderer
from build_tools.shown import shown

if TYPE_CHECKING:
    from pathlib import Path


def test_what_steers_a_terminal_becomes_visible_and_the_rest_stays() -> None:
    assert shown("é ü\ta\nb 日本 🎉", lines=True) == "é ü\ta\nb 日本 🎉"
    assert shown("\x1b[31mred\u202e\x00\r\udcff", lines=True) == "\\x1b[31mred\\u202e\\x00\\r\\udcff"


@given(st.text())
def test_the_result_can_always_be_written_and_stays_as_it_is(text: str) -> None:
    fit = shown(text, lines=True)
    fit.encode()
    assert shown(fit, lines=True) == fit
    assert not any(ord(character) < 32 and character not in "\n\t" for character in fit)


def test_a_summary_that_cannot_be_written_is_a_warning_once(tmp_path: Path) -> None:
    err = io.StringIO()
    console = Console(renderer=GitHubRenderer(out=io.StringIO(), err=err, summary=tmp_path))
    for _ in range(2):
        console.table("T", ("a",), [("b",)])
    assert err.getvalue().count("::warning::the job summary") == 1
