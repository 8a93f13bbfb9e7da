from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import msgspec
import pytest

from build_tools import digest
from build_tools.patches.applied import Applied, AppliedPatch
from build_tools.patches.series import Patch, PatchEntry, Series
from build_tools.patches.status import Size, TreeStatus, size_of, states_of
from build_tools.types import CommitId, Platform

DATA = b"""\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
Subject: x

+ no line of the diff
---
diff --git a/a b/a
index 1111111..2222222 100644
--- a/a
+++ b/a
@@ -1,2 +1,3 @@
-one
+eins
+zwei
 two
diff --git a/b b/b
index 1111111..2222222 100644
GIT binary patch
literal 1
+zzz

diff --git a/c b/d
similarity index 100%
rename from c
rename to d
"""
TODAY = dt.date(2026, 3, 1)
COMMIT = CommitId("c" * 40)


def patch(file: str = "root/base/0001-a.patch", data: bytes = DATA, **more: object) -> Patch:
    values: dict[str, object] = {"file": file, "why": "w", "upstream": "u", "owner": "o", "added": dt.date(2026, 2, 1), **more}
    return Patch(entry=msgspec.convert(values, PatchEntry), module=".", phase="base", file=Path(file), data=data)


def applied(**more: Any) -> AppliedPatch:  # noqa: ANN401 - fields of the record
    values = {"outcome": "applied", "commit": COMMIT, "digest": digest.of_bytes(DATA), **more}
    return AppliedPatch(file="root/base/0001-a.patch", module=".", phase="base", **values)


def words(tree: TreeStatus | None, one: Patch | None = None) -> str:
    series = Series(line="1", patches=(one or patch(),), digest=digest.of_value([]))
    (status,) = states_of(series, tree, platform=Platform.LINUX, today=TODAY)
    return status.words


def tree(*patches: AppliedPatch, commits: frozenset[CommitId] | None = frozenset({COMMIT}), due: str = "") -> TreeStatus:
    known = None if commits is None else {".": commits}
    return TreeStatus(applied=Applied(line="1", patches=patches), commits=known, due=frozenset({due}))


def test_files_and_lines_of_the_diff_are_counted() -> None:
    assert size_of(DATA) == Size(files=3, added=2, removed=1)
    assert str(size_of(DATA)) == "3 files, +2 -1"


def test_a_patch_is_as_old_as_it_has_been_carried() -> None:
    series = Series(line="1", patches=(patch(), patch(added=dt.date(2027, 1, 1))), digest=digest.of_value([]))
    assert [one.days for one in states_of(series, None, platform=Platform.LINUX, today=TODAY)] == [28, 0]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (tree(applied()), "applied"),
        (tree(applied(outcome="offset")), "applied with an offset"),
        (tree(applied(outcome="upstream", commit=None)), "already upstream"),
        (tree(applied(), due="root/base/0001-a.patch"), "applied, expired"),
        (tree(applied(), due="root/base/0002-b.patch"), "applied"),
        (tree(applied(digest=digest.of_bytes(b"as it was"))), "changed since it was applied"),
        (tree(applied(), commits=frozenset()), "not applied"),
        (tree(applied(), commits=None), "applied"),
        (tree(), "not applied"),
        (None, "not applied"),
    ],
    ids=["applied", "offset", "upstream", "due", "other due", "changed", "taken out", "unreadable", "unknown", "no tree"],
)
def test_a_tree_tells_how_a_patch_stands(known: TreeStatus | None, said: str) -> None:
    assert words(known) == said


def test_a_patch_for_another_platform_is_told_as_such() -> None:
    assert words(tree(applied()), patch(platforms=["windows"])) == "other platform"
    assert words(tree(applied(outcome="other-platform", commit=None))) == "not applied"
