"""A series carried to another ref: patches that are no commits of the old tree, those for other platforms, and what a person commits."""

from __future__ import annotations

import pytest

from build_tools.files import remove_tree
from build_tools.patches.series import load_series
from build_tools.pipeline.rebase_patches import rebase_patches
from tests.support.rebase_site import LIB, LINES, Site, patch, with_line
from tests.support.source_trees import git, write
from tests.support.workplaces import memory_of

FIVE = "root/base/0001-five.patch"


@pytest.fixture
def taken(usual: Site) -> Site:
    """A site whose old sources have a patch of their own, while release/2.0 has gone on without it."""
    site = usual
    git(site.origin.folder, "checkout", "--quiet", "-b", "picked", "release/1.0")
    site.origin.commit({"a.c": with_line(5, "OURS")}, "picked")
    git(site.origin.folder, "branch", "--force", "release/1.0", "picked")
    git(site.origin.folder, "checkout", "--quiet", "main")
    site.checkout(relock=True, ref={"toy": "release/1.0"})
    return site


def test_a_patch_that_only_the_old_sources_have_is_carried(taken: Site) -> None:
    site = taken
    site.upstream({"a.c": f"new\n{LINES}", "version": "2.0\n"})
    done = site.rebase(onto="release/2.0")
    assert site.fates(done) == {"0001-five": "carried", "0001-lib": "carried", "0001-hip": "carried"}
    assert site.names("2.0") == site.names("1.0")
    site.checkout(ref={"toy": "release/2.0"}, relock=True)
    assert site.content("a.c") == f"new\n{with_line(5, 'OURS')}"


def test_a_patch_that_both_have_is_left_out(taken: Site) -> None:
    site = taken
    site.upstream({"a.c": f"new\n{with_line(5, 'OURS')}", "version": "2.0\n"})
    assert site.fates(site.rebase(onto="release/2.0"))["0001-five"] == "upstream"
    assert FIVE not in site.names("2.0")


def test_a_patch_that_only_the_old_sources_have_stops_at_a_conflict_as_any_other(taken: Site) -> None:
    site = taken
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    error = site.stops(onto="release/2.0")
    assert FIVE in error.message
    assert "<<<<<<< HEAD" in (site.scratch_tree / "a.c").read_text(encoding="utf-8")
    write(site.scratch_tree, {"a.c": with_line(5, "BOTH")})
    git(site.scratch_tree, "add", "a.c")
    assert site.fates(site.rebase(go_on=True))["0001-five"] == "solved"
    data = load_series(site.folder, "2.0").patches[0].data
    assert b"+BOTH" in data
    assert b"From: Some One" in data
    assert b"Subject: five" in data


def without_objects(site: Site) -> None:
    """Let a patch be of contents that no repository here has."""
    place = site.folder / "patches" / "1.0" / FIVE
    place.write_bytes(place.read_bytes().replace(b"\nindex ", b"\nindex 1234567", 1))
    data = place.read_bytes()
    line = next(line for line in data.split(b"\n") if line.startswith(b"index "))
    place.write_bytes(data.replace(line, b"index " + b"12" * 20 + b".." + b"34" * 20 + b" 100644"))
    site.checkout()


def test_one_whose_contents_are_not_here_is_made_a_commit_of_by_hand(taken: Site) -> None:
    site = taken
    without_objects(site)
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    error = site.stops(onto="release/2.0")
    for word in (FIVE, "release/2.0"):
        assert word in error.message
    for word in ("apply --reject", "--author 'Some One <", "--allow-empty", "--continue", "--abort"):
        assert word in str(error.hint), error.hint
    assert "no commit of yours" in site.stops(go_on=True).message
    write(site.scratch_tree, {"a.c": with_line(5, "MINE")})
    git(site.scratch_tree, "add", "a.c")
    assert "no commit of yours" in site.stops(go_on=True).message
    git(site.scratch_tree, "commit", "--quiet", "-m", "by hand")
    assert site.fates(site.rebase(go_on=True))["0001-five"] == "solved"
    assert b"Subject: by hand" in load_series(site.folder, "2.0").patches[0].data


def test_one_whose_contents_are_not_here_is_left_out_by_an_empty_commit(taken: Site) -> None:
    site = taken
    without_objects(site)
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0")
    git(site.scratch_tree, "commit", "--quiet", "--allow-empty", "-m", "left out")
    assert site.fates(site.rebase(go_on=True))["0001-five"] == "given-up"
    assert FIVE not in site.names("2.0")


@pytest.mark.parametrize(("theirs", "fits"), [(LINES, True), (with_line(20, "THEIRS"), False)])
def test_what_is_for_another_platform_is_tried_as_that_one_gets_it(usual: Site, theirs: str, *, fits: bool) -> None:
    site = usual
    win = patch(site.tree, {"b.c": with_line(20, "WIN")}, "win", "refs/hipwright/base")
    old = {patch.name: patch.data for patch in load_series(site.folder, "1.0").patches}
    name = "root/base/0002-win.patch"
    site.series({**old, name: win}, {name: 'platforms = ["windows"]\n'})
    site.checkout()
    site.upstream({"b.c": theirs, "version": "2.0\n"})
    here = site.desk(projects=("toy",), onto="release/2.0")
    done = rebase_patches(here)["rebase"]
    assert site.fates(done)["0002-win"] == "other-platform"
    assert list(done["elsewhere"]) == ["windows"]
    told = [text for text in memory_of(here).said if "windows gets it" in text]
    if fits:
        assert done["elsewhere"]["windows"] is None
        assert told == ["tried as windows gets it: all patches apply"]
    else:
        assert name in done["elsewhere"]["windows"]
        assert "it does not apply there" in told[0]
        assert name in told[0]


def test_marks_of_a_conflict_are_not_taken_from_a_commit_either(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0")
    git(site.scratch_tree, "commit", "--quiet", "--all", "-m", "five")
    error = site.stops(go_on=True)
    assert "is not solved yet" in error.message
    for mark in ("a.c: <<<<<<< HEAD", "a.c: ||||||| parent of ", "a.c: >>>>>>> "):
        assert mark in str(error.excerpt)
    write(site.scratch_tree, {"a.c": with_line(5, "MINE")})
    git(site.scratch_tree, "commit", "--quiet", "--all", "--amend", "-m", "five")
    assert site.fates(site.rebase(go_on=True))["0001-five"] == "solved"


def test_marks_that_the_patch_itself_brings_are_meant(site: Site) -> None:
    site.series({})
    site.checkout(ref={"toy": "release/1.0"})
    marks = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> 1234567 (subject)\n"
    data = patch(site.tree, {"a.c": with_line(5, "OURS"), "sample.txt": marks}, "marks", "refs/hipwright/base")
    site.series({FIVE: data})
    site.checkout()
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0")
    write(site.scratch_tree, {"a.c": with_line(5, "MINE")})
    git(site.scratch_tree, "commit", "--quiet", "--all", "-m", "mine")
    assert site.fates(site.rebase(go_on=True)) == {"0001-five": "solved"}
    site.checkout(ref={"toy": "release/2.0"}, relock=True)
    assert site.content("sample.txt") == marks


def test_what_was_killed_before_it_noted_anything_is_given_up_without_a_name(usual: Site) -> None:
    site = usual
    write(site.scratch, {"clone/left": "over"})
    assert rebase_patches(site.desk(abort=True))["rebase"] == {"project": "toy", "state": "given up", "dry_run": False}
    assert not site.scratch.parent.exists()


def test_a_state_that_cannot_be_read_is_given_up(usual: Site) -> None:
    site = usual
    write(site.scratch, {"state.json": "{"})
    assert "--abort" in str(site.stops("rebase-state", go_on=True).hint)
    assert site.rebase(abort=True)["state"] == "given up"
    remove_tree(site.scratch)
    assert LIB in str(site.names("1.0"))
