"""What git says of a patch that it refuses."""

from __future__ import annotations

from build_tools.patches.refusal import Refusal, refusal


def test_the_first_hunk_counts_and_the_other_files_are_named() -> None:
    said = b"""error: patch failed: a file:12
error: a file: patch does not apply
error: patch failed: a file:40
error: patch failed: z.c:1
error: patch failed: b:2:3
hint: use git am --show-current-patch
"""
    what = "the hunk for line 12 of a file does not fit"
    assert refusal(said) == Refusal(what=what, file=b"a file", line=12, others=(b"b:2", b"z.c"))


def test_a_complaint_about_a_file_has_no_hunk() -> None:
    found = refusal(b"error: gone.c: does not exist in index\n")
    assert found == Refusal(what="gone.c: does not exist in index", file=b"gone.c")


def test_other_complaints_are_given_back_as_one_printable_line() -> None:
    assert refusal(b"error: corrupt patch at line 5\x1b\n") == Refusal(what="corrupt patch at line 5\\x1b")
    assert refusal(b"fatal: something\n") == Refusal()
