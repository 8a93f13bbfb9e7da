"""What is wrong with a patch file is found in the file alone, each thing by its rule and line, and a file that git wrote is clean."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from build_tools.patches.findings import RULES, is_serious
from build_tools.patches.lint import lint_patch
from build_tools.patches.series import Patch, PatchEntry

OLD, NEW = "1" * 40, "2" * 40
MAIL = f"""From {"0" * 40} Mon Sep 17 00:00:00 2001
From: Some One <some.one@example.com>
Date: Mon, 4 Mar 2024 05:06:07 +0200
Subject: Do it

Why.

"""
SECTION = f"""diff --git a/f b/f
index {OLD}..{NEW} 100644
--- a/f
+++ b/f
"""
HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
GOOD = MAIL + SECTION + HUNK
ENTRY = PatchEntry(file="root/base/0001-x.patch", why="w", upstream="u", owner="o", added=dt.date(2026, 1, 1))


def lint(data: str | bytes) -> list[tuple[str, int | None]]:
    raw = data.encode() if isinstance(data, str) else data
    patch = Patch(entry=ENTRY, module=".", phase="base", file=Path("x"), data=raw)
    found = lint_patch(patch)
    assert all(one.file == ENTRY.file for one in found)
    return [(one.rule, one.line) for one in found]


def test_a_patch_as_git_writes_it_is_clean() -> None:
    assert lint(GOOD) == []


CASES: dict[str, tuple[str, list[tuple[str, int | None]]]] = {
    "converted by a checkout": (GOOD.replace("\n", "\r\n"), [("line-ends", 1)]),
    "diff alone converted": (MAIL + (SECTION + HUNK).replace("\n", "\r\n"), [("line-ends", 1)]),
    "last byte cut off": (GOOD[:-1], [("final-newline", 15)]),
    "last line cut off": (GOOD.removesuffix("+c\n"), [("hunk-count", 12)]),
    "no mail": (SECTION + HUNK, [("mail-headers", 1)] * 4),
    "no diff": (MAIL, [("no-diff", None)]),
    "two patches": (GOOD + GOOD, [("one-patch", 16), ("same-path", 23)]),
    "git's version at the end": (f"{GOOD}-- \n2.39.5\n\n", [("signature", 16)]),
    "a statistic": (GOOD.replace("Why.\n\n", "Why.\n---\n f | 2 +-\n\n"), [("lost-text", 8)]),
    "text behind a hunk": (GOOD.replace(HUNK, f"{HUNK}oops\n"), [("stray-text", 16)]),
    "a diff in the message": (GOOD.replace("Why.", "diff --git a/x b/x"), [("message-line", 6)]),
    "edited by hand": (GOOD.replace("-b\n", ""), [("hunk-count", 12)]),
    "space of a blank line cut off": (GOOD.replace(HUNK, "@@ -1,2 +1,3 @@\n a\n\n+c\n"), [("hunk-line", 14)]),
    "blank line of a CR LF file": (GOOD.replace(HUNK, "@@ -1,2 +1,3 @@\n a\r\n\r\n+c\r\n"), [("hunk-line", 14)]),
    "header edited": (GOOD.replace("@@ -1,2", "@@ -x"), [("hunk-header", 12)]),
    "hunk cut off": (GOOD.removesuffix(HUNK), [("hunk-count", 11)]),
    "short ids": (GOOD.replace(OLD, OLD[:7]).replace(NEW, NEW[:7]), [("full-index", 9)]),
    "no ids": (GOOD.replace(f"index {OLD}..{NEW} 100644\n", ""), [("full-index", 8)]),
    "CR added to an LF file": (GOOD.replace("+c\n", "+c\r\n"), [("mixed-line-ends", 15)]),
    "LF added to a CR LF file": (GOOD.replace(" a\n-b\n", " a\r\n-b\r\n"), [("mixed-line-ends", 15)]),
    "a rename without its similarity": (
        f"{MAIL}diff --git a/a b/b\nrename from a\nrename to b\n",
        [("similarity", 9)],
    ),
    "a binary file left out": (
        f"{MAIL}diff --git a/a b/a\nindex {OLD}..{NEW} 100644\nBinary files a/a and b/a differ\n",
        [("binary-data", 10)],
    ),
    "a line more": (f"{GOOD}+int lost;\n", [("hunk-count", 12)]),
    "out of the module": (GOOD.replace("a/f", "a/../../f").replace("b/f", "b/../../f"), [("outside", 8)]),
    "into git's folder": (GOOD.replace("b/f", "b/x/.Git/f"), [("outside", 8)]),
    "a diff that git did not write": (
        GOOD.replace("Why.\n\n", "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"),
        [("stray-text", 6), ("lost-text", 6)],
    ),
    "no zone": (GOOD.replace(" +0200", ""), [("mail-headers", 3)]),
    "no year of git's": (GOOD.replace(" 2024 ", " 1969 "), [("mail-headers", 3)]),
    "one file twice": (GOOD + SECTION + HUNK, [("same-path", 16)]),
}


@pytest.mark.parametrize("name", CASES)
def test_each_fault_is_found_by_its_rule_and_line(name: str) -> None:
    data, expected = CASES[name]
    found = lint(data)
    if name == "no mail":
        assert [rule for rule, _ in found] == ["mail-headers"] * 4
        return
    for one in expected:
        assert one in found, found
    assert len(found) == len(expected), found


@pytest.mark.parametrize(
    "section",
    [
        f"diff --git a/f b/f\nindex {OLD}..{NEW} 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n",
        f"diff --git a/f b/f\nnew file mode 100644\nindex {'0' * 40}..{NEW}\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\r\n+b\n",
        f"diff --git a/f b/f\nnew file mode 100644\nindex {'0' * 40}..{NEW}\n",
        f"diff --git a/f b/f\ndeleted file mode 100644\nindex {OLD}..{'0' * 40}\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
        "diff --git a/a b b/c d\nsimilarity index 100%\nrename from a b\nrename to c d\n",
        f"diff --git a/f b/f\nindex {OLD}..{NEW} 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n",
        f"diff --git a/f b/f\nindex {OLD}..{NEW} 160000\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-Subproject commit {OLD}\n+Subproject commit {NEW}\n",
        f"{SECTION}@@ -1 +1 @@\n-b\n+c\n\\ No newline at end of file\n",
        f"{SECTION}@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\n\\ No newline at end of file\n",
        # A file whose line ends are mixed already.
        f"{SECTION}@@ -1,3 +1,3 @@\n a\r\n b\n-c\n+d\r\n",
    ],
)
def test_all_that_git_writes_is_clean(section: str) -> None:
    assert lint(MAIL + section) == []


def test_what_is_wrong_is_serious_and_a_note_is_not() -> None:
    data = GOOD.replace(OLD, OLD[:7])
    found = lint_patch(Patch(entry=ENTRY, module=".", phase="base", file=Path("x"), data=data.encode()))
    assert is_serious(found)
    assert not is_serious([])
    assert {rule.severity for rule in RULES.values()} == {"error", "warning", "note"}
