"""Reading what a patch file says of each file, and of submodules' commits."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools.patches.sections import pin_changes, sections, unquoted
from tests.support.source_trees import Person, git, raw

ONE, TWO = "1" * 40, "2" * 40

MAIL = f"""From {"0" * 40} Mon Sep 17 00:00:00 2001
From: Some One <some.one@example.com>
Subject: Move things

-Subproject commit {"9" * 40}
---
diff --git "a/third party/l\\303\\251b" "b/third party/l\\303\\251b"
index {ONE}..{TWO} 160000
--- "a/third party/l\\303\\251b"\t
+++ "b/third party/l\\303\\251b"\t
@@ -1 +1 @@
-Subproject commit {ONE}
+Subproject commit {TWO}
diff --git a/new b/new
new file mode 160000
index 0000000..{TWO}
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+Subproject commit {TWO}
diff --git a/gone b/gone
deleted file mode 160000
index {ONE}..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-Subproject commit {ONE}
diff --git a/text b/text
index {ONE}..{TWO} 100644
--- a/text
+++ b/text
@@ -1 +1 @@
-Subproject commit {ONE}
+Subproject commit {TWO}
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
--\x20
2.39.5
""".encode()


def test_only_submodules_are_pin_changes_with_the_line_that_says_so() -> None:
    changes = pin_changes(MAIL)
    assert [(change.path.decode(), change.commit) for change in changes] == [
        ("third party/léb", TWO),
        ("new", TWO),
        ("gone", None),
    ]
    lines = MAIL.decode().splitlines()
    assert [lines[change.line - 1][:12] for change in changes] == ["+Subproject ", "+Subproject ", "-Subproject "]


def test_sections_have_names_and_say_what_they_are() -> None:
    found = list(sections(MAIL))
    assert [(part.old, part.new) for part in found] == [
        ("third party/léb".encode(), "third party/léb".encode()),
        (None, b"new"),
        (b"gone", None),
        (b"text", b"text"),
        (b"old name", b"new name"),
    ]
    assert [part.is_gitlink for part in found] == [True, True, True, False, False]
    assert [part.is_rename for part in found] == [False, False, False, False, True]
    assert [MAIL.decode().splitlines()[part.line - 1][:10] for part in found] == ["diff --git"] * 5


def test_a_file_without_a_diff_has_no_sections() -> None:
    assert list(sections(b"From x\n\nno diff\n")) == []
    assert pin_changes(b"") == ()


def patch_that_adds(folder: Path, name: str) -> bytes:
    """Return git's own patch that adds a file."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "--quiet"], cwd=folder, env=environment, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, env=environment, check=True)
    done = subprocess.run(["git", "diff", "--cached", "--no-color"], cwd=folder, env=environment, capture_output=True, check=True)
    return done.stdout


@pytest.mark.parametrize(
    "name", ["plain", "with space", 'quote"', "back\\slash", "tab\there", "line\nbreak", "é", "\x01\x7f", "d/é e"]
)
def test_names_are_read_as_git_writes_them(tmp_path: Path, name: str) -> None:
    (part,) = sections(patch_that_adds(tmp_path, name))
    assert part.new == name.encode()


@given(name=st.binary(min_size=1))
def test_quoting_is_undone(name: bytes) -> None:
    letters = {ord("\n"): rb"\n", ord("\t"): rb"\t", ord('"'): rb"\"", ord("\\"): rb"\\"}
    escaped = b"".join(letters.get(byte, b"\\%03o" % byte if byte < 32 or byte > 126 else bytes([byte])) for byte in name)
    assert unquoted(b'"' + escaped + b'"') == name


@given(
    name=st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=12)
    .map(os.fsencode)
    .filter(lambda name: name not in {b".", b"..", b".git"} and b".git" not in name.lower()),
    kind=st.sampled_from(["binary", "mode", "empty"]),
)
@settings(max_examples=25, deadline=None)
def test_files_without_hunks_have_their_names_and_objects(name: bytes, kind: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        person = Person(Path(place, "r"))
        file = os.fsdecode(name)
        person.commit({file: b"\0\1\2" if kind == "binary" else b"text\n"})
        if kind == "mode":
            Path(person.folder, file).chmod(0o755)
        person.commit({file: b"\0\2\3"} if kind == "binary" else {} if kind == "mode" else {f"{file}2": ""})
        data = raw(person.folder, "format-patch", "--stdout", "--full-index", "--binary", "HEAD~1")
        blob = git(person.folder, "rev-parse", f"HEAD:{file}") if kind == "binary" else None
    (part,) = sections(data)
    if kind == "empty":
        assert (part.old, part.new) == (None, name + b"2")
        assert part.objects == ("0" * 40, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    else:
        assert (part.old, part.new) == (name, name)
        assert part.mode == (b"100755" if kind == "mode" else b"100644")
        assert part.objects is None if blob is None else part.objects is not None and part.objects[1] == blob


def test_only_whole_ids_count_and_a_copy_leaves_its_source() -> None:
    (short,) = sections(b"diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    assert (short.objects, short.mode) == (None, b"100644")
    (copied,) = sections(b"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n")
    assert (copied.old, copied.new, copied.is_copy, copied.is_rename) == (b"x", b"y", True, True)
    (gone,) = sections(b"diff --git a/x y b/x y\ndeleted file mode 100644\nindex " + b"1" * 40 + b".." + b"0" * 40 + b"\n")
    assert (gone.old, gone.new) == (b"x y", None)
