from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.tables import TextTable, cut_tables

TEXT = '''\
# what this is
schema = 1
list = [
  [1, 2],
  ["[[patch]]"],
]

# above the first
[[patch]]
file = "a"
why = """
[[patch]]
"""

# stands alone

# above the second
# in two lines
[[patch]] # beside
file = "b"
[patch.drop-when]
version = "1"

[other] # another
x = 1
# the end
'''


def test_a_text_is_cut_at_its_tables_and_at_nothing_that_looks_like_one() -> None:
    cut = cut_tables(TEXT)
    assert [table.name for table in cut.tables] == ["patch", "patch", "other"]
    assert cut.places("patch") == [0, 1]
    assert cut.head.endswith("]\n")
    assert cut.tables[1].body.endswith('version = "1"\n')
    assert cut.tables[1].lead == "\n# stands alone\n\n# above the second\n# in two lines\n"
    assert cut.tables[1].free_lead == "\n# stands alone\n\n"
    assert cut.tail == "# the end\n"
    assert cut.text == TEXT


@pytest.mark.parametrize("name", ["a.b", '"a.b"', "'x'", "a . b"])
def test_a_table_is_called_by_the_first_part_of_its_name(name: str) -> None:
    (table,) = cut_tables(f"[{name}]\nx = 1\n").tables
    assert table.name == next(iter(tomllib.loads(f"[{name}]")))


def test_a_table_goes_with_the_comment_that_speaks_of_it_and_no_other() -> None:
    assert cut_tables(TEXT).remove(1).text == TEXT.replace(
        '# above the second\n# in two lines\n[[patch]] # beside\nfile = "b"\n[patch.drop-when]\nversion = "1"\n\n', "\n", 1
    ).replace("# stands alone\n\n\n", "# stands alone\n\n")
    assert cut_tables("a = 1\n\n# of b\n[b]\n").remove(0).text == "a = 1\n"
    assert cut_tables("a = 1\n\n# of all\n\n[b]\n").remove(0).text == "a = 1\n\n# of all\n"


def test_a_table_that_is_put_in_begins_on_a_line_of_its_own() -> None:
    table = TextTable(name="b", lead="\n", body="[b]\n")
    assert cut_tables("a = 1").insert(0, table).text == "a = 1\n\n[b]\n"
    assert cut_tables("[a]\nx = 1").insert(1, table).text == "[a]\nx = 1\n\n[b]\n"
    assert cut_tables("[a]\nx = 1").insert(0, table).text == "\n[b]\n[a]\nx = 1\n"
    assert cut_tables("a = 1\n# no end").insert(0, table).text == "a = 1\n\n[b]\n# no end\n"


PIECES = st.sampled_from(
    [
        "[[p]]\n",
        "[q]\n",
        "[p.r]\n",
        "# c\n",
        "\n",
        'x = """\n[z]\n"""\n',
        "y = [\n[1],\n]\n",
        "[[p]] # c\r\n",
        "  \t\n",
        "s = '\u2028'\n",
    ]
)


@given(st.lists(PIECES))
def test_the_pieces_are_the_text_again(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert cut_tables(text).text == text


@given(st.lists(PIECES))
def test_the_pieces_are_the_tables_that_a_reader_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    cut = cut_tables(text)
    # A table inside another, apart from it, is a piece of its own.
    apart = text.count("[p.r]") if "[q]" in text else 0
    assert len(data.get("p", [])) <= len(cut.places("p")) <= len(data.get("p", [])) + apart
    assert len(cut.places("q")) == ("q" in data)
    # What stands apart from its table belongs to another one, or to none, when that is taken out.
    for place in range(0 if apart else len(cut.tables)):
        tomllib.loads(cut.remove(place).text)
