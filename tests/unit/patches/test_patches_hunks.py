"""Hunks are read by the counts of their headers, with their places; where lines and counts differ it is said."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.patches.hunks import HunkReading, hunks, read_hunks
from build_tools.patches.sections import sections

HEAD = f"diff --git a/f b/f\nindex {'1' * 40}..{'2' * 40} 100644\n--- a/f\n+++ b/f\n"
HUNK = "@@ -3,4 +3,5 @@ def f():\n one\n-two\n+zwei\n+drei\n three\n four\n"


def read(text: str) -> HunkReading:
    (section,) = sections(text.encode())
    return read_hunks(section, is_last=True)


def test_a_hunk_has_its_place_and_both_sides() -> None:
    (section,) = sections(f"mail\n\n{HEAD}{HUNK}@@ -20 +21,0 @@\n-gone\n".encode())
    first, second = hunks(section)
    assert (first.line, first.old_start, first.old_count, first.new_start, first.new_count) == (7, 3, 4, 3, 5)
    assert first.old == (b"one\n", b"two\n", b"three\n", b"four\n")
    assert first.new == (b"one\n", b"zwei\n", b"drei\n", b"three\n", b"four\n")
    assert first.text == HUNK.rstrip("\n").encode()
    assert (second.line, second.old_start, second.old_count, second.new_start, second.new_count) == (14, 20, 1, 21, 0)
    assert (second.old, second.new) == ((b"gone\n",), ())


def test_a_missing_final_newline_belongs_to_the_side_that_lacks_it() -> None:
    no_newline = "\\ No newline at end of file\n"
    (hunk,) = read(f"{HEAD}@@ -1 +1 @@\n-a\n{no_newline}+b\n").hunks
    assert (hunk.old, hunk.new) == ((b"a",), (b"b\n",))
    (hunk,) = read(f"{HEAD}@@ -1,2 +1,2 @@\n-a\n+b\n c\n{no_newline}").hunks
    assert (hunk.old, hunk.new) == ((b"a\n", b"c"), (b"b\n", b"c"))
    reading = read(f"{HEAD}@@ -1 +1 @@\n-a\n+b\n{no_newline}")
    assert (reading.hunks[0].old, reading.hunks[0].new) == ((b"a\n",), (b"b",))
    assert reading.faults == ()


def test_lines_that_look_like_headers_count_as_lines() -> None:
    (hunk,) = read(f"{HEAD}@@ -1,2 +1,2 @@\n--- a/x\n-@@ -1 +1 @@\n+++ b/x\n+-- \n").hunks
    assert hunk.old == (b"-- a/x\n", b"@@ -1 +1 @@\n")
    assert hunk.new == (b"++ b/x\n", b"-- \n")


def test_a_section_without_hunks_has_none() -> None:
    rename = "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
    assert read(rename) == HunkReading(hunks=(), faults=(), length=4)
    mode = "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
    assert read(mode) == HunkReading(hunks=(), faults=(), length=3)


def test_binary_data_is_measured() -> None:
    binary = f"{HEAD.splitlines()[0]}\nindex {'1' * 40}..{'2' * 40} 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\ndelta 1\nIcmZPo000310RR91\n\n"
    assert read(f"{binary}-- \n2.39.5\n").length == binary.count("\n")
    assert read(f"{binary}-- \n2.39.5\n").hunks == ()


def test_what_comes_after_the_last_hunk_is_not_counted() -> None:
    reading = read(f"{HEAD}{HUNK}-- \n2.39.5\n\n")
    assert (reading.faults, reading.length) == ((), 11)


@pytest.mark.parametrize(
    ("hunk", "line", "rule"),
    [
        ("@@ -3,4 +3,4 @@\n one\n-two\n+zwei\n+drei\n three\n four\n", 5, "hunk-count"),
        ("@@ -3,5 +3,6 @@\n one\n-two\n+zwei\n+drei\n three\n four\n", 5, "hunk-count"),
        ("@@ -3,4 +3,5 @@\n one\n-two\n+zwei\n+drei\n three\n", 5, "hunk-count"),
        ("@@ -3,2 +3,2 @@\n one\n-two\n+zwei\n@@ -9 +9 @@\n", 9, "hunk-count"),
        ("@@ -3,4 3,5 @@\n one\n-two\n+zwei\n+drei\n three\n four\n", 5, "hunk-header"),
        ("@@ -3,3 +3,3 @@\n one\n\n-two\n+zwei\n", 7, "hunk-line"),
        ("@@ -3,3 +3,3 @@\n one\n\r\n-two\n+zwei\n", 7, "hunk-line"),
        ("@@ -3,3 +3,3 @@\n one\n-two\n+zwei\n\n", 9, "hunk-line"),
    ],
)
def test_faults_are_named_with_their_lines(hunk: str, line: int, rule: str) -> None:
    assert (line, rule) in [(fault.line, fault.rule) for fault in read(f"{HEAD}{hunk}").faults]


def test_the_counts_are_told_as_they_are() -> None:
    (fault,) = read(f"{HEAD}@@ -3,4 +3,4 @@\n one\n-two\n+zwei\n+drei\n three\n four\n").faults
    assert "says 4 lines before and 4 after, and 4 and 5 follow" in fault.message


LINES = st.lists(st.text(alphabet="ab \t-+@\\", max_size=3), max_size=12)


@given(old=LINES, new=LINES)
def test_both_sides_of_every_hunk_are_found_where_it_says(old: list[str], new: list[str]) -> None:
    before, after = [f"{line}\n" for line in old], [f"{line}\n" for line in new]
    text = "".join(difflib.unified_diff(before, after, "a/f", "b/f"))
    body = text.partition("+++ b/f\n")[2]
    # difflib leaves a blank behind its headers.
    reading = read(HEAD + body)
    assert reading.faults == ()
    for hunk in reading.hunks:
        starts = hunk.old_start - (hunk.old_count > 0), hunk.new_start - (hunk.new_count > 0)
        assert list(hunk.old) == [line.encode() for line in before[starts[0] : starts[0] + hunk.old_count]]
        assert list(hunk.new) == [line.encode() for line in after[starts[1] : starts[1] + hunk.new_count]]
    assert bool(reading.hunks) == (old != new)


@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes) -> None:
    for section in sections(HEAD.encode() + data):
        reading = read_hunks(section)
        assert reading.length <= len(section.lines)
