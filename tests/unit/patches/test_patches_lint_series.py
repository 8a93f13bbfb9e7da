"""All that is wrong with a series and the files beside it is told at once, where load_series stops at the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.lint_series import lint_series
from build_tools.patches.series import load_series
from tests.support.source_trees import write

if TYPE_CHECKING:
    from pathlib import Path


def mail(subject: str) -> bytes:
    return f"""From {"0" * 40} Mon Sep 17 00:00:00 2001
From: Some One <some.one@example.com>
Date: Mon, 4 Mar 2024 05:06:07 +0200
Subject: {subject}

diff --git a/f b/f
index {"1" * 40}..{"2" * 40} 100644
--- a/f
+++ b/f
@@ -1 +1 @@
-a
+b
""".encode()


def series(*names: str) -> str:
    entry = '[[patch]]\nfile = "{}"\nwhy = "w"\nupstream = "u"\nowner = "o"\nadded = 2026-01-01\n'
    return "schema = 1\n" + "".join(entry.format(name) for name in names)


ONE, TWO, DEEP = "root/base/0001-one.patch", "root/base/0002-two.patch", "sub/hipified/0001-one.patch"


def lint(place: Path) -> list[tuple[str, str | None, int | None]]:
    return [(found.rule, found.file, found.line) for found in lint_series(place)]


def test_a_good_series_is_clean(tmp_path: Path) -> None:
    write(tmp_path, {"series.toml": series(ONE, TWO, DEEP), ONE: mail("one"), TWO: mail("two"), DEEP: mail("one")})
    assert lint(tmp_path) == []


def test_files_and_names_that_miss_each_other_are_told_all_at_once(tmp_path: Path) -> None:
    place = tmp_path / "patches" / "1"
    text = series(ONE, "root/base/gone.patch", ONE, "elsewhere/x.patch", "../root/base/x.patch")
    write(place, {"series.toml": text, ONE: mail("one"), TWO: mail("two"), DEEP: mail("x")[:-1]})
    assert lint(place) == [
        ("missing-file", "series.toml", 9),
        ("same-file", "series.toml", 15),
        ("bad-place", "series.toml", 21),
        ("bad-place", "series.toml", 27),
        ("unnamed-file", TWO, None),
        ("unnamed-file", DEEP, None),
    ]
    with pytest.raises(HipwrightError):
        load_series(tmp_path, "1")


def test_what_a_series_is_refused_for_is_found_too(tmp_path: Path) -> None:
    place = tmp_path / "patches" / "1"
    stray = "root/base/0003-x.DIFF"
    # A folder may be called so.
    deep = "sub.diff/base/0001-one.patch"
    write(place, {"series.toml": series(ONE, deep), ONE: mail("one"), deep: mail("two")})
    assert lint(place) == []
    assert len(load_series(tmp_path, "1").patches) == 2
    write(place, {stray: ""})
    assert lint(place) == [("unnamed-file", stray, None)]
    with pytest.raises(HipwrightError, match="does not name it"):
        load_series(tmp_path, "1")
    (place / stray).unlink()
    # It has a submodule's commit in it.
    moving = mail("one").replace(b"2" * 40 + b" 100644", b"2" * 40 + b" 160000")
    write(place, {"series.toml": series(deep, ONE) + 'platforms = ["windows"]\n', ONE: moving})
    assert lint(place) == [("one-lock", "series.toml", 9)]
    with pytest.raises(HipwrightError, match="may move submodules"):
        load_series(tmp_path, "1")


def test_patches_that_get_into_each_others_way_are_told(tmp_path: Path) -> None:
    other, upper = "root/base/1-other.patch", "root/base/0002-TWO.patch"
    names = [ONE, TWO, other, upper, DEEP]
    subjects = ["one", "two", "one", "three", "one"]
    write(tmp_path, {"series.toml": series(*names), **{name: mail(text) for name, text in zip(names, subjects, strict=True)}})
    # Line 3 + 6 times its place is where an entry's file is named.
    assert sorted(lint(tmp_path)) == [
        ("same-letters", "series.toml", 21),
        ("same-number", "series.toml", 15),
        ("same-number", "series.toml", 21),
        ("same-subject", "series.toml", 15),
    ]


def test_a_series_that_cannot_be_read_is_one_finding(tmp_path: Path) -> None:
    assert lint(tmp_path) == [("series-file", "series.toml", None)]
    write(tmp_path, {"series.toml": "schema = 1\nwhat = 2\n"})
    assert lint(tmp_path) == [("series-file", "series.toml", 2)]


def test_a_patch_that_is_wrong_is_told_with_its_own_line(tmp_path: Path) -> None:
    write(tmp_path, {"series.toml": series(ONE), ONE: mail("one").replace(b"-a\n", b"")})
    assert lint(tmp_path) == [("hunk-count", ONE, 10)]


@pytest.mark.parametrize("link", ["sub", ONE])
def test_a_patch_behind_a_link_is_no_file_of_the_line(tmp_path: Path, link: str) -> None:
    place = tmp_path / "patches" / "1"
    write(place, {"series.toml": series(ONE, DEEP), ONE: mail("one"), DEEP: mail("one")})
    (place / link).rename(tmp_path / "elsewhere")
    (place / link).symlink_to(tmp_path / "elsewhere")
    name = ONE if link == ONE else DEEP
    (found,) = lint_series(place)
    assert (found.rule, found.file) == ("bad-place", "series.toml")
    assert found.message.startswith(name)
    with pytest.raises(HipwrightError, match="lies behind a symbolic link") as caught:
        load_series(tmp_path, "1")
    assert caught.value.where is not None
    assert caught.value.where.line == found.line
