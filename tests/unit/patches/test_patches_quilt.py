"""Quilt series: what ``series`` says, which patches are left out, and what cannot be taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.quilt import read_quilt
from tests.support.source_trees import write

if TYPE_CHECKING:
    from pathlib import Path

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def refused(folder: Path, series: str, match: str, **files: str) -> HipwrightError:
    write(folder, {"series": series, "a.patch": DIFF, **files})
    with pytest.raises(HipwrightError, match=match) as caught:
        read_quilt(folder)
    assert caught.value.code.name == "bad-import"
    return caught.value


def test_names_options_and_comments_of_a_series(tmp_path: Path) -> None:
    series = "# Ours\n\na.patch\nsub/b.diff -p0 # why\n  c.patch   -pab\n#off.patch -p1\n# gone.patch\n"
    write(
        tmp_path,
        {
            "series": series,
            "a.patch": DIFF,
            "sub/b.diff": DIFF,
            "c.patch": DIFF,
            "off.patch": DIFF,
            "stray.patch": DIFF,
            "README": "x",
        },
    )
    quilt = read_quilt(tmp_path)
    assert [(patch.name, patch.strip, patch.line) for patch in quilt.patches] == [
        ("a.patch", 1, 3),
        ("sub/b.diff", 0, 4),
        ("c.patch", 1, 5),
    ]
    assert [patch.stem for patch in quilt.patches] == ["a", "sub-b", "c"]
    assert quilt.disabled == ("off.patch",)
    assert quilt.unnamed == ("stray.patch",)


@pytest.mark.parametrize("place", ["", "patches", "debian/patches"])
def test_the_series_is_found_where_tools_have_it(tmp_path: Path, place: str) -> None:
    write(tmp_path / place, {"series": "a.patch\n", "a.patch": DIFF})
    assert read_quilt(tmp_path).file == tmp_path / place / "series"
    assert read_quilt(tmp_path / place / "series").patches[0].name == "a.patch"


@pytest.mark.parametrize(
    "begin",
    [
        "--- a/x\n+++ b/x\n",
        "Index: p/x\n=====\n--- p.orig/x\n+++ p/x\n",
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n",
        "diff -ru a/x b/x\n--- a/x\n+++ b/x\n",
    ],
)
def test_the_diff_begins_where_one_is_and_not_where_the_words_look_like_it(tmp_path: Path, begin: str) -> None:
    head = "Description: x\n\nIndex: of what?\ndiff -u is best\ndiff --git is better\n+++ more\n--- less\n\n"
    write(tmp_path, {"series": "a.patch\n", "a.patch": f"{head}{begin}@@ -1 +1 @@\n-a\n+b\n"})
    (patch,) = read_quilt(tmp_path).patches
    assert patch.diff == f"{begin}@@ -1 +1 @@\n-a\n+b\n".encode()
    assert "diff -u is best" in patch.header.message
    assert patch.diff_line == head.count("\n") + 1


def test_what_is_no_series_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="holds no quilt series") as caught:
        read_quilt(tmp_path)
    assert caught.value.hint
    refused(tmp_path, "# nothing\n", "names no patch")


def test_what_cannot_be_taken_over_is_told_with_its_line(tmp_path: Path) -> None:
    where = refused(tmp_path, "a.patch\nmissing.patch\n", "missing.patch is named, and cannot be read").where
    assert where is not None
    assert where.line == 2
    assert "interdiff" in str(refused(tmp_path, "a.patch -R\n", "takes the patch back").hint)
    assert refused(tmp_path, "a.patch -F3\n", "none that is known").hint
    refused(tmp_path, "a.patch\na.patch\n", "named twice")
    refused(tmp_path, "../a.patch\n", "leads out")
    refused(tmp_path, "a.patch.gz\n", "compressed", **{"a.patch.gz": "x"})
    refused(tmp_path, "crlf.patch\n", "CR LF", **{"crlf.patch": DIFF.replace("\n", "\r\n")})
    refused(tmp_path, "mail.patch\n", "encoded", **{"mail.patch": f"Content-Transfer-Encoding: base64\n\n{DIFF}"})


def test_a_header_in_an_old_encoding_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"series": "a.patch\n", "a.patch": "Author: Jos\xe9 <j@x>\n".encode("latin-1") + DIFF.encode()})
    assert read_quilt(tmp_path).patches[0].header.author == "José"


@pytest.mark.parametrize("header", ["Date: Fri, 31 Dec 9999 00:00:00 +0000", "Last-Update: 1969-12-31"])
def test_a_date_that_no_mail_can_say_is_refused_at_its_line(tmp_path: Path, header: str) -> None:
    where = refused(
        tmp_path, "b.patch\n", "has a date that no patch can", **{"b.patch": f"Description: x\n{header}\n\n{DIFF}"}
    ).where
    assert where is not None
    assert (str(where.file), where.line) == (str(tmp_path / "b.patch"), 2)


def test_a_line_of_a_diff_that_git_would_pass_over_is_refused(tmp_path: Path) -> None:
    error = refused(
        tmp_path, "b.patch\n", "which git passes over: .int lost;", **{"b.patch": f"Description: x\n\n{DIFF}+int lost;\n"}
    )
    assert error.hint
    assert error.where is not None
    assert error.where.line == 8


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {"secret": DIFF})
    folder = tmp_path / "quilt"
    write(folder, {"own/b.patch": DIFF})
    (folder / "out").symlink_to(tmp_path / "elsewhere")
    (folder / "in.patch").symlink_to("own/b.patch")
    refused(folder, "out/secret\n", "leads out of the folder of the series by a symbolic link")
    write(folder, {"series": "in.patch\n"})
    assert read_quilt(folder).patches[0].diff == DIFF.encode()
