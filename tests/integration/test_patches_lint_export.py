"""What save writes is clean to those who look at it, whatever a commit changes."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING

from build_tools.patches.export import export
from build_tools.patches.hunks import read_hunks
from build_tools.patches.lint import lint_patch
from build_tools.patches.mail import parse_mail
from build_tools.patches.sections import sections
from build_tools.patches.series import Patch, PatchEntry
from build_tools.types import CommitId
from tests.support.source_trees import ODD_NAMES, Person, git, new_git

if TYPE_CHECKING:
    from pathlib import Path

LINES = "".join(f"line {number}\n" for number in range(1, 41))


def test_a_commit_of_all_kinds_of_changes_is_written_clean(tmp_path: Path) -> None:
    lib, person = Person(tmp_path / "lib"), Person(tmp_path / "person")
    lib.commit({"x": "x"})
    person.commit(
        {
            "text.txt": LINES,
            "crlf.txt": LINES.replace("\n", "\r\n"),
            "open.txt": "a\nb",
            "data.bin": bytes(range(256)) * 40,
            "old name.txt": LINES,
            "run.sh": "x\n",
            "gone.txt": LINES,
            **dict.fromkeys(ODD_NAMES, LINES),
        }
    )
    person.submodule(lib, "li b")
    lib.commit({"x": "y"})
    git(person.folder / "li b", "pull", "--quiet")
    (person.folder / "run.sh").chmod(0o755)
    (person.folder / "link").symlink_to("text.txt")
    git(person.folder, "mv", "old name.txt", "new\tname.txt")
    changed = LINES.replace("line 2\n", "").replace("line 30\n", "-- \n@@ -1 +1 @@\ndiff --git a/x b/x\n")
    commit = person.commit(
        {
            "text.txt": changed,
            "crlf.txt": changed.replace("\n", "\r\n"),
            "open.txt": "a\nb\nc",
            "data.bin": bytes(range(255, -1, -1)) * 40,
            "new.bin": b"\0" * 70000,
            "new.txt": "one\r\ntwo",
            "empty": "",
            "new\tname.txt": changed,
            **dict.fromkeys(ODD_NAMES, changed),
        },
        "[rocm] \u00e4\u00f6\u00fc change all, and say so with a subject that is longer than a line of a mail is allowed to be, \u00e9\n\nWhy.",
        remove=("gone.txt",),
    )
    data = export(new_git().at(person.folder), [CommitId(commit)], scratch=tmp_path / "scratch")[CommitId(commit)]
    entry = PatchEntry(file="root/base/0001-x.patch", why="w", upstream="u", owner="o", added=dt.date(2026, 1, 1))
    patch = Patch(entry=entry, module=".", phase="base", file=tmp_path / "x", data=data)
    assert lint_patch(patch) == []
    mail = parse_mail(data)
    assert [mail.subject, mail.body] == git(person.folder, "log", "-1", "--format=%s%n%b").split("\n")[:2]
    found = {os.fsdecode(part.new or b""): read_hunks(part).hunks for part in sections(data)}
    assert set(ODD_NAMES) < found.keys()
    after = changed.splitlines(keepends=True)
    for name in ("text.txt", *ODD_NAMES):
        for hunk in found[name]:
            start = hunk.new_start - 1
            assert [line.decode() for line in hunk.new] == after[start : start + hunk.new_count]
