from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.logs import first_error

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "line",
    [
        "Setting up liberror-perl (0.17029-2) ...",
        "  libgpg-error0 libicu72 libisl23",
        "cc -Werror=format -c a.c",
        "0 errors",
        "  Building editable for sample (pyproject.toml): finished with status 'error'",
        "  error: subprocess-exited-with-error",
    ],
)
def test_names_that_have_the_word_in_them_are_no_errors(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"$ a command\n{line}\nbegin\nerror: the real one\nmore\n", encoding="utf-8")
    assert first_error(log) == "error: the real one\nmore"


def test_without_one_the_last_lines_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"line {number}" for number in range(9)), encoding="utf-8")
    assert first_error(log, lines=2) == "line 7\nline 8"
