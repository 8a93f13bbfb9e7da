"""A patch that moved, or was made for other contents, is told from one that says another thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.compare import PatchChange, compare_files, files_at, same_but_for_places
from tests.support.source_trees import git, head, new_git, write

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW, OTHER = "1" * 40, "2" * 40, "3" * 40
PATCH = f"""From {"0" * 40} Mon Sep 17 00:00:00 2001
From: Some One <some.one@example.com>
Subject: Do it

index {OLD}..{NEW} in words
@@ -1 +1 @@ in words
diff --git a/f b/f
index {OLD}..{NEW} 100644
--- a/f
+++ b/f
@@ -10,3 +10,3 @@ def f():
 a
-index {OLD}..{NEW} 100644
+@@ -1 +1 @@
 c
""".encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            b"index " + OLD.encode() + b".." + NEW.encode() + b" 100644\n---",
            b"index " + OTHER.encode() + b"..1234567 100644\n---",
        ),
        (b"@@ -10,3 +10,3 @@ def", b"@@ -99,3 +101,3 @@ def"),
        (b"From 0000", b"From 1234"),
    ],
)
def test_places_do_not_count(old: bytes, new: bytes) -> None:
    assert PATCH.count(old) == 1
    assert same_but_for_places(PATCH, PATCH.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Subject: Do it", b"Subject: Do that"),
        (b"Some One <", b"Some Two <"),
        (b" in words\n@@ -1 +1 @@ in", b" in words\n@@ -2 +2 @@ in"),
        (b"-index 11", b"-index 31"),
        (b"+@@ -1 +1 @@", b"+@@ -2 +1 @@"),
        (b" def f():", b" def g():"),
        (b" a\n-", b" b\n-"),
        (b"a/f b/f", b"a/g b/g"),
    ],
)
def test_all_else_counts(old: bytes, new: bytes) -> None:
    assert PATCH.count(old) == 1
    assert not same_but_for_places(PATCH, PATCH.replace(old, new))


def test_each_file_of_two_states_is_told() -> None:
    moved = PATCH.replace(b"-10,3", b"-11,3")
    before = {"a": PATCH, "b": PATCH, "c": PATCH, "d": PATCH}
    after = {"a": PATCH, "b": moved, "c": PATCH + b"x", "e": PATCH}
    assert compare_files(before, after) == [
        PatchChange(file="a", change="unchanged"),
        PatchChange(file="b", change="cosmetic"),
        PatchChange(file="c", change="real"),
        PatchChange(file="d", change="removed"),
        PatchChange(file="e", change="added"),
    ]


def test_an_earlier_state_is_read_out_of_the_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    line = clone / "pa ck" / "patches" / "1"
    names = {"series.toml": b"schema = 1\n", "root/base/\u00e9 1.patch": b"\0\xff\n\n", "root/base/2.patch": b""}
    write(line, {**names, "README.md": "x"})
    write(clone / "pa ck" / "patches" / "10", {"series.toml": "schema = 1\n"})
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "x")
    first = head(clone)
    write(line, {"series.toml": "other\n"})
    git(clone, "commit", "--quiet", "-a", "-m", "y")
    assert files_at(line, first, git=new_git()) == (first, names)
    assert files_at(line, "main", git=new_git())[1]["series.toml"] == b"other\n"
    assert files_at(clone / "elsewhere" / "1", first, git=new_git()) == (first, {})
    for wrong in ("nothing", "--all", f"{first}:pa ck"):
        with pytest.raises(HipwrightError) as failure:
            files_at(line, wrong, git=new_git())
        assert failure.value.code.name == "unknown-ref"


def test_a_clone_may_be_named_through_a_link(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    write(clone / "pa ck", {"series.toml": b"schema = 1\n"})
    git(clone, "init", "--quiet")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "x")
    (tmp_path / "link").symlink_to(clone, target_is_directory=True)
    (tmp_path / "deep").symlink_to(clone / "pa ck", target_is_directory=True)
    for place in (clone / "pa ck", tmp_path / "link" / "pa ck", tmp_path / "deep"):
        assert files_at(place, "HEAD", git=new_git()) == (head(clone), {"series.toml": b"schema = 1\n"})
    assert list(files_at(tmp_path / "link", "HEAD", git=new_git())[1]) == ["pa ck/series.toml"]
    assert files_at(tmp_path / "deep" / "gone" / "1", "HEAD", git=new_git())[1] == {}


def test_other_words_beside_the_entries_of_a_series_are_nothing_real() -> None:
    entry = '[[patch]]\nfile = "root/base/a.patch"\nwhy = "w"\nupstream = "u"\nowner = "o"\nadded = 2026-01-01\n'
    before = f"schema = 1\n{entry}".encode()
    states = {
        b"schema = 1 # a word\n\n" + entry.encode(): "cosmetic",
        before.replace(b'"w"', b'"v"'): "real",
        b"not any series": "real",
        before: "unchanged",
    }
    for after, change in states.items():
        assert [one.change for one in compare_files({"series.toml": before}, {"series.toml": after})] == [change]


def test_a_folder_in_no_clone_has_no_earlier_state(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as failure:
        files_at(tmp_path, "HEAD", git=new_git())
    assert failure.value.code.name == "unknown-ref"
