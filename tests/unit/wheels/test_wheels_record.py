from __future__ import annotations

import contextlib
import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.wheels.record import RecordRow, encode_hash, parse_record, render_record

_PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=30)
_HASHES = st.one_of(st.just(("", "")), st.tuples(st.sampled_from(["sha256", "sha512"]), st.binary(min_size=1).map(encode_hash)))
_ROWS = st.builds(
    lambda path, hashed, size: RecordRow(path=path, algorithm=hashed[0], value=hashed[1], size=size),
    _PATHS,
    _HASHES,
    st.one_of(st.none(), st.integers(0, 2**40)),
)


def _without_lines(rows: tuple[RecordRow, ...]) -> list[tuple[str, str, str, int | None]]:
    return [(row.path, row.algorithm, row.value, row.size) for row in rows]


@given(st.lists(_ROWS, max_size=5).map(tuple))
def test_written_rows_read_back(rows: tuple[RecordRow, ...]) -> None:
    assert _without_lines(parse_record(render_record(rows))) == _without_lines(rows)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    rows: tuple[RecordRow, ...] = ()
    with contextlib.suppress(HipwrightError):
        rows = parse_record(data)
    assert all(row.path for row in rows)
    if rows:
        plain = [columns for columns in csv.reader(io.StringIO(data.decode(), newline="")) if columns]
        assert [row.path for row in rows] == [columns[0] for columns in plain]


def test_a_line_number_is_where_the_row_begins() -> None:
    rows = parse_record(b'a.py,,\n"b\nc.py",,\r\n\nd.py,sha256=x,1\n')
    assert [(row.path, row.line) for row in rows] == [("a.py", 1), ("b\nc.py", 2), ("d.py", 5)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a.py,sha256=x,1\nb.py,sha256=x\n", "line 2 has 2 columns"),
        (b"a.py,sha256=x,1,\n", "line 1 has 4 columns"),
        (b",sha256=x,1\n", "names no file"),
        (b"a.py,sha256,1\n", "not algorithm=value"),
        (b"a.py,=x,1\n", "not algorithm=value"),
        (b"a.py,sha256=,1\n", "not algorithm=value"),
        (b"a.py,sha256=x,-1\n", "size '-1'"),
        ("a.py,sha256=x,²\n".encode(), "size"),
        (b"\xff.py,sha256=x,1\n", "not UTF-8"),
        (b'"a.py,sha256=x,1\n', "line 1 is not CSV"),
    ],
)
def test_refused_records(data: bytes, message: str) -> None:
    with pytest.raises(HipwrightError, match=message):
        parse_record(data)


def test_hash_spelling_is_that_of_the_specification() -> None:
    # The empty file's hash, as thousands of published wheels have it.
    assert encode_hash(bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")) == (
        "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
    )
