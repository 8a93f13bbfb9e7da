"""Series that come from elsewhere or go there: carried to another ref, and taken over from quilt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import Desk, small_clone, tree_of
from tests.support.patching import GREETER, PatchDesk
from tests.support.source_trees import git

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.end_to_end

REBASE = ("rebase-patches", "--projects", "sample")


@pytest.fixture
def person(tmp_path: Path, cache: Path) -> PatchDesk:
    return PatchDesk(desk=Desk(clone=small_clone(tmp_path, "sample"), work=tmp_path / "work", cache=cache)).begin()


def test_a_series_is_carried_to_another_ref_beside_the_tree(person: PatchDesk) -> None:
    desk = person.desk
    person.append(".", "README.md", "\nMine.\n", "Mine")
    desk.invoke("save-patches").well()
    heads, series = person.heads(), tree_of(person.place)
    ran = desk.invoke(*REBASE, "--onto", "nightly", "--line", "next").well()
    assert person.heads() == heads
    assert person.is_clean()
    assert tree_of(person.place) == series
    there = PatchDesk(desk=desk.with_work("nightly"), line="next")
    assert "root/hipified/0002-Mine.patch" in there.names()
    assert {entry["owner"] for entry in there.entries()} == {"hipwright maintainers", "A Person <some.one@example.com>"}
    assert "Round the grid up" in ran.out + ran.talk, "the range-diff names every patch"
    desk.invoke("check-patches", "--projects", "sample").well()
    there.desk.nox("checkout_sample", "--sample-ref", "nightly", "--line", "next").well()
    assert "Mine." in (there.tree / "README.md").read_text(encoding="utf-8")
    assert (there.tree / GREETER / "phrases").is_dir()


def test_a_conflict_is_solved_by_the_person_and_it_goes_on(person: PatchDesk) -> None:
    desk = person.desk
    version = (person.tree / "version.txt").read_text(encoding="utf-8")
    person.commit(".", {"version.txt": f"{version.rstrip()}.post1\n"}, "A version of mine")
    person.append(".", "README.md", "\nMine.\n", "After it")
    desk.invoke("save-patches").well()
    heads, series = person.heads(), tree_of(person.place.parent)
    stopped = desk.invoke(*REBASE, "--onto", "nightly", "--line", "next", "--json")
    error = stopped.failed("rebase-stopped")
    said = f"{error}"
    for word in ("A-version-of-mine", "version.txt", "--continue", "--abort"):
        assert word in said, word
    place = desk.work / "rebase" / "sample"
    assert str(place) in said
    assert person.heads() == heads
    desk.invoke(*REBASE, "--onto", "nightly", "--line", "next", "--json").failed("rebase-state")

    desk.invoke(*REBASE, "--abort").well()
    assert tree_of(person.place.parent) == series
    assert not place.exists()

    desk.invoke(*REBASE, "--onto", "nightly", "--line", "next", "--json").failed("rebase-stopped")
    (file,) = (path for path in place.rglob("version.txt") if b"<<<<<<<" in path.read_bytes())
    file.write_text("1.1.0.post1\n", encoding="utf-8")
    git(file.parent, "add", "version.txt")
    desk.invoke(*REBASE, "--continue").well()
    there = PatchDesk(desk=desk.with_work("nightly"), line="next")
    assert [name for name in there.names() if name.startswith("root/hipified/")][1:] == [
        "root/hipified/0002-A-version-of-mine.patch",
        "root/hipified/0003-After-it.patch",
    ]
    there.desk.nox("checkout_sample", "--sample-ref", "nightly", "--line", "next").well()
    assert (there.tree / "version.txt").read_text(encoding="utf-8") == "1.1.0.post1\n"
    assert person.heads() == heads


QUILT = {
    "series": "# in this order\nsay-more.diff -p1\nround/less.patch\n#disabled.patch\n",
    "say-more.diff": """\
Description: Say more in the words
 It was too short.
Author: Anna Else <anna@example.org>
Forwarded: https://example.org/words/1
Last-Update: 2025-03-04

--- a/README.md
+++ b/README.md
@@ -1,{count} +1,{more} @@
{context}
+More.
""",
    "round/less.patch": """\
From: Bert Else <bert@example.org>
Date: Tue, 4 Mar 2025 10:00:00 +0100
Subject: [PATCH] Say it again
Forwarded: not-needed

--- a/README.md
+++ b/README.md
@@ -1,{more} +1,{most} @@
{context}
 More.
+Again.
""",
    "disabled.patch": "not applied\n",
}


def test_a_quilt_series_is_taken_over(person: PatchDesk, tmp_path: Path) -> None:
    desk = person.desk
    lines = (person.tree / "README.md").read_text(encoding="utf-8").splitlines()
    numbers = {
        "count": len(lines),
        "more": len(lines) + 1,
        "most": len(lines) + 2,
        "context": "\n".join(f" {line}" for line in lines),
    }
    folder = tmp_path / "package" / "debian" / "patches"
    for name, text in QUILT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.format(**numbers), encoding="utf-8")
    before = person.names()
    words = ("import-patches", folder.parent.parent, "--projects", "sample", "--line", "1.0")
    desk.invoke(*words, "--dry-run").well()
    assert person.names() == before
    desk.invoke(*words).well()
    new = [name for name in person.names() if name not in before]
    assert len(new) == 2
    assert "say-more" in new[0]
    assert "less" in new[1]
    entries = {entry["file"]: entry for entry in person.entries()}
    assert entries[new[0]]["owner"] == "Anna Else <anna@example.org>"
    assert "https://example.org/words/1" in entries[new[0]]["upstream"]
    assert str(entries[new[0]]["added"]) == "2025-03-04"
    assert entries[new[1]]["owner"] == "Bert Else <bert@example.org>"

    desk.nox("checkout_sample").well()
    assert (person.tree / "README.md").read_text(encoding="utf-8").endswith("More.\nAgain.\n")
    log = person.git(".", "log", "--format=%an|%s", "refs/hipwright/upstream..refs/hipwright/base").splitlines()
    assert {"Anna Else|Say more in the words", "Bert Else|Say it again"} <= set(log)
    series = tree_of(person.place)
    desk.invoke("save-patches").well()
    assert tree_of(person.place) == series
    again = desk.invoke(*words).well()
    assert tree_of(person.place) == series
    assert again.status == 0
    (folder / "say-more.diff").write_text("--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-none such\n+x\n", encoding="utf-8")
    refused = desk.invoke(*words, "--json")
    assert refused.status != 0
    assert tree_of(person.place) == series
    assert json.loads(refused.out)["error"]["hint"]
