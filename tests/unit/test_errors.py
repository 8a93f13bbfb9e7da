from __future__ import annotations

import re
from pathlib import Path

import pytest

from build_tools.errors import CODES, HipwrightError, Kind, Where

BUILD_TOOLS = Path(__file__).parents[2] / "build_tools"


def source() -> str:
    """Return the code that raises: all of build_tools but the table itself, and the wrapper."""
    files = [*(path for path in BUILD_TOOLS.rglob("*.py") if path.name != "errors.py"), BUILD_TOOLS.parent / "noxw.py"]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def test_every_code_of_the_table_is_raised_somewhere() -> None:
    text = source()
    assert [name for name in CODES if name not in text] == []


def test_every_raised_code_is_in_the_table() -> None:
    raised = set(re.findall(r"""HipwrightError\(\s*"([^"]+)\"""", source()))
    raised |= set(re.findall(r"""\bcode="([^"]+)\"""", source()))
    assert len(raised) > 30
    assert raised <= set(CODES)


def test_codes_are_stable_words_with_a_meaning_in_one_sentence() -> None:
    for name, code in CODES.items():
        assert name == code.name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert code.meaning.endswith(".")
        assert isinstance(code.kind, Kind)


def test_an_unknown_code_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        HipwrightError("no-such-code", "x")


def test_exit_status_is_the_number_of_the_kind() -> None:
    assert HipwrightError("unknown-option", "x").exit_code == 2
    assert HipwrightError("bad-data-file", "x").exit_code == 3
    assert HipwrightError("no-compiler", "x").exit_code == 4
    assert HipwrightError("origin-unreachable", "x").exit_code == 5
    assert HipwrightError("check-failed", "x").exit_code == 6
    assert HipwrightError("locked", "x").exit_code == 7


def test_a_place_reads_as_editors_take_it() -> None:
    assert str(Where(file="a.toml", line=3, key="name")) == "a.toml:3, key name"
    assert str(Where(module="third_party/x")) == "module third_party/x"
    assert str(Where()) == ""
