from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.patches.export import plain_binaries

HEAD = b"From 0 Mon Sep 17 00:00:00 2001\nSubject: x\n\n\ndiff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\n"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def part(kind: bytes, raw: bytes, packed: bytes) -> bytes:
    rows = [packed[start : start + 52] for start in range(0, len(packed), 52)]
    lines = b"".join(LETTERS[len(row) - 1 : len(row)] + base64.b85encode(row, pad=True) + b"\n" for row in rows)
    return b"%s %d\n%s\n" % (kind, len(raw), lines)


def unpacked(data: bytes) -> list[bytes]:
    """Return what the binary parts of a patch hold, read as git reads them."""
    found = []
    for block in data.split(b"GIT binary patch\n", 1)[1].split(b"\n\n"):
        head, *lines = block.strip(b"\n").split(b"\n")
        if head.startswith((b"literal ", b"delta ")):
            packed = b"".join(base64.b85decode(line[1:])[: LETTERS.index(line[:1]) + 1] for line in lines)
            found.append(zlib.decompress(packed))
    return found


@given(new=st.binary(max_size=200_000), old=st.binary(max_size=300))
def test_whatever_compressed_it_the_bytes_are_the_same(new: bytes, old: bytes) -> None:
    written = [
        HEAD + part(b"literal", new, zlib.compress(new, level)) + part(b"delta", old, zlib.compress(old, level))
        for level in (0, 1, 9)
    ]
    plain = {plain_binaries(data) for data in written}
    assert len(plain) == 1
    (data,) = plain
    assert unpacked(data) == [new, old]
    assert plain_binaries(data) == data


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"literal 5\nzz not base85 \x7f\n\n",
        HEAD + part(b"literal", b"four", zlib.compress(b"other")),
        b"Subject: x\n\nGIT binary patch\nliteral 3\nAA\n\n",
        b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n+GIT binary patch\n+literal 3\n+zAA\n",
    ],
)
def test_what_is_no_binary_content_stays_as_it_is(data: bytes) -> None:
    assert plain_binaries(data) == data
