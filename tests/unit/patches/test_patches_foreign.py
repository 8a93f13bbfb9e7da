"""Diffs that others keep: which parts they have, and every line of theirs that git would pass over without a word."""

from __future__ import annotations

import pytest

from build_tools.patches.foreign import read_foreign
from build_tools.patches.hunks import hunks

ONE = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"
TWO = "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
MAIL = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: A <a@x>\n\n- one\n+ two\n---\n x | 2 +-\n\n"


def read(diff: str, *, strip: int = 1) -> tuple[list[tuple[bytes | None, bytes | None, int]], list[tuple[str, int]]]:
    found = read_foreign(diff.encode(), line=1, strip=strip)
    return (
        [(part.old, part.new, len(hunks(part))) for part in found.sections],
        [(fault.rule, fault.line) for fault in found.faults],
    )


@pytest.mark.parametrize(
    "between", ["", "\n", "Index: y\n=====\n", "diff -u a/y b/y\n", "words of a person\n", MAIL, "-- \n2.39.5\n\n"]
)
def test_parts_follow_one_another_whatever_is_between(between: str) -> None:
    assert read(f"{ONE}{between}{TWO}") == ([(b"x", b"x", 1), (b"y", b"y", 1)], [])


def test_lines_of_a_hunk_that_look_like_a_header_are_none() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b/z\n+++ b/z\n@@ -9 +9 @@\n-a\n+b\n"
    assert read(diff) == ([(b"x", b"x", 2)], [])


def test_what_has_no_hunks_is_no_part() -> None:
    heads = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\ndiff --git a/z b/z\nold mode 100644\nnew mode 100755\n"
    assert read(heads) == ([], [])


@pytest.mark.parametrize(
    ("diff", "fault"),
    [
        (f"{ONE}+int lost;\n", ("hunk-count", 8)),
        (f"{ONE} lost\n{TWO}", ("hunk-count", 8)),
        (f"{ONE}\n+lost\n{TWO}", ("stray-text", 9)),
        (f"{ONE}\n@@ -9 +9 @@\n-a\n+b\n", ("stray-text", 9)),
        (ONE.replace("-1,2 +1,3", "-1,1 +1,1"), ("hunk-count", 5)),
        (ONE.replace("-1,2 +1,3", "-1,3 +1,4"), ("hunk-count", 3)),
        (ONE.replace("@@ -1,2 +1,3 @@", "@@ -1,2 +1,3"), ("hunk-header", 3)),
        (f"--- a/y\n+++ b/y\n{ONE}", ("hunk-count", 1)),
        (f"Binary files a/p and b/p differ\n{ONE}", ("stray-text", 1)),
        (f"*** a/y\n--- b/y\n***************\n{ONE}", ("stray-text", 1)),
        (ONE.replace("a/x", "a/../x"), ("outside", 1)),
        (ONE.replace("b/x", "b/.git/config"), ("outside", 1)),
        (f"diff --git a/x b/y\nrename from x\nrename to ../y\n{ONE}", ("outside", 3)),
    ],
)
def test_what_git_passes_over_is_a_fault_at_its_line(diff: str, fault: tuple[str, int]) -> None:
    assert read(diff)[1][0] == fault
