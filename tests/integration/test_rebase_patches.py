"""A series carried to another ref: what becomes of each patch, conflicts and how they are solved, and that the person's tree stays."""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.config.project import load_project
from build_tools.console.events import GroupBegan, Said
from build_tools.files import remove_tree
from build_tools.patches.lines import find_line
from build_tools.patches.rebase import read_state, write_state
from build_tools.patches.series import load_series
from build_tools.pipeline.rebase_patches import line_for, rebase_patches
from build_tools.types import ProjectName
from tests.support.rebase_site import KERNEL, LIB, LINES, Site, patch, with_line
from tests.support.source_trees import git, raw, snapshot, write
from tests.support.workplaces import memory_of

if TYPE_CHECKING:
    from pathlib import Path


def test_patches_of_both_phases_and_all_modules_are_carried_beside_the_tree(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": f"new\n{LINES}", "k.cu": f"cuda new\n{KERNEL}", "version": "2.0\n"})
    before = snapshot(site.tree), git(site.tree, "for-each-ref"), snapshot(site.folder / "patches" / "1.0")
    done = site.rebase(onto="release/2.0")
    assert before == (snapshot(site.tree), git(site.tree, "for-each-ref"), snapshot(site.folder / "patches" / "1.0"))
    assert (done["line"], done["old_line"], done["onto"]["ref"]) == ("2.0", "1.0", "release/2.0")
    assert site.fates(done) == {"0001-five": "carried", "0001-lib": "carried", "0001-hip": "carried"}
    assert {row["file"]: row["change"] for row in done["patches"]} == {
        "root/base/0001-five.patch": "cosmetic",
        f"{LIB}/base/0001-lib.patch": "unchanged",
        "root/hipified/0001-hip.patch": "cosmetic",
    }
    assert set(done["range_diff"]) == {"the root, base patches", f"{LIB}, base patches", "the root, hipified patches"}
    assert "five" in done["range_diff"]["the root, base patches"]
    assert site.names("2.0") == site.names("1.0")
    assert [one.entry.why for one in load_series(site.folder, "2.0").patches] == [f"why {name}" for name in site.names("1.0")]
    assert not site.scratch.exists()
    found = load_project(site.folder.parent, ProjectName("toy"))
    assert find_line(found, "release/2.0", folder=site.folder)[0] == "2.0"
    site.checkout(ref={"toy": "release/2.0"}, relock=True)
    assert site.content("a.c") == f"new\n{with_line(5, 'OURS')}"
    assert site.content("hip/k.hip") == f"hip new\n{with_line(9, 'OURS', KERNEL.replace('cuda', 'hip'), 'hip')}"
    assert site.content(f"{LIB}/lib.c") == with_line(5, "OURS")


def test_what_the_sources_have_or_is_to_go_is_left_out(usual: Site) -> None:
    site = usual
    write(
        site.folder / "patches" / "1.0",
        {"root/base/0002-due.patch": patch(site.tree, {"b.c": "due\n"}, "due", "refs/hipwright/base")},
    )
    write(
        site.folder / "patches" / "1.0",
        {"root/base/0003-win.patch": patch(site.tree, {"b.c": "win\n"}, "win", "refs/hipwright/base")},
    )
    names = site.names_on_disk()
    site.series(
        {name: (site.folder / "patches" / "1.0" / name).read_bytes() for name in names},
        {
            "root/base/0002-due.patch": 'drop-when = { version = "2.0" }\n',
            "root/base/0003-win.patch": 'platforms = ["windows"]\n',
        },
    )
    site.checkout()
    site.upstream({"a.c": with_line(5, "OURS"), "version": "2.0\n"}, "taken")
    done = site.rebase(onto="release/2.0")
    assert site.fates(done) == {
        "0001-five": "upstream",
        "0001-lib": "carried",
        "0001-hip": "carried",
        "0002-due": "expired",
        "0003-win": "other-platform",
    }
    assert sorted(site.names("2.0")) == [
        "root/base/0003-win.patch",
        "root/hipified/0001-hip.patch",
        f"{LIB}/base/0001-lib.patch",
    ]
    assert len(site.names("1.0")) == 5, "the old line stays"


def test_a_conflict_says_where_and_what_and_goes_on_when_it_is_solved(usual: Site) -> None:
    site = usual
    commit = site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"}, "Theirs on line five")
    error = site.stops(onto="release/2.0")
    for word in ("root/base/0001-five.patch", "the root", "release/2.0", "a.c"):
        assert word in error.message
    for word in (str(site.scratch_tree), "--continue", "--abort", "cherry-pick --skip"):
        assert word in str(error.hint)
    assert f"{commit[:12]}" in str(error.excerpt)
    assert "Theirs on line five" in str(error.excerpt)
    assert site.stops("rebase-state", onto="release/2.0").hint

    left = site.stops(go_on=True)
    assert "still in conflict: a.c" in str(left.excerpt)
    git(site.scratch_tree, "add", "a.c")
    assert "a mark of the conflict is left: a.c" in str(site.stops(go_on=True).excerpt)
    write(site.scratch_tree, {"a.c": with_line(5, "OURS AND THEIRS")})
    assert "in no commit: a.c" in str(site.stops(go_on=True).excerpt)
    git(site.scratch_tree, "add", "a.c")
    done = site.rebase(go_on=True)
    assert site.fates(done) == {"0001-five": "solved", "0001-lib": "carried", "0001-hip": "carried"}
    site.checkout(ref={"toy": "release/2.0"}, relock=True)
    assert site.content("a.c") == with_line(5, "OURS AND THEIRS")
    log = git(site.tree, "log", "--format=%an|%ad|%s", "--date=iso", "refs/hipwright/upstream..refs/hipwright/base")
    assert "Some One|2024-03-04 05:06:07 +0200|five" in log, "author, date and message are those of the patch"


def test_a_person_may_commit_the_solution_or_skip_the_patch(usual: Site) -> None:
    site = usual
    theirs = KERNEL.replace("cuda 9\n", "cuda nine\n")
    site.upstream({"a.c": with_line(5, "THEIRS"), "k.cu": theirs, "version": "2.0\n"})
    site.stops(onto="release/2.0")
    write(site.scratch_tree, {"a.c": with_line(5, "MINE")})
    git(site.scratch_tree, "commit", "--quiet", "--all", "-m", "another subject")
    error = site.stops(go_on=True)
    assert "root/hipified/0001-hip.patch" in error.message
    git(site.scratch_tree, "cherry-pick", "--skip")
    here = site.desk(projects=("toy",), go_on=True)
    done = rebase_patches(here)["rebase"]
    assert site.fates(done) == {"0001-five": "solved", "0001-lib": "carried", "0001-hip": "given-up"}
    assert any("0001-hip.patch is not in the new line: it was skipped" in text for text in memory_of(here).said)
    assert site.names("2.0") == ["root/base/0001-five.patch", f"{LIB}/base/0001-lib.patch"]
    assert b"Subject: another subject" in load_series(site.folder, "2.0").patches[0].data


def test_what_a_person_does_elsewhere_in_the_work_tree_is_not_lost(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0")
    write(site.scratch_tree, {"a.c": with_line(5, "MINE"), f"{LIB}/lib.c": "edited\n"})
    git(site.scratch_tree, "add", "a.c")
    assert "in no commit: lib.c" in str(site.stops(go_on=True).excerpt)
    git(site.scratch_tree / LIB, "commit", "--quiet", "--all", "-m", "mine")
    assert f"{LIB} has commits that no patch waits for" in str(site.stops(go_on=True).excerpt)
    git(site.scratch_tree, "commit", "--quiet", "-m", "one")
    git(site.scratch_tree, "commit", "--quiet", "--allow-empty", "-m", "two")
    git(site.scratch_tree / LIB, "reset", "--quiet", "--keep", "HEAD~1")
    assert "is not one commit on top of" in site.stops("bad-commit", go_on=True).message


def test_it_is_given_up_without_a_trace(usual: Site) -> None:
    site = usual
    site.stops("rebase-state", abort=True)
    site.stops("rebase-state", go_on=True)
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    before = snapshot(site.folder), snapshot(site.tree)
    site.stops(onto="release/2.0")
    assert site.rebase(abort=True)["state"] == "given up"
    assert not site.scratch.parent.exists()
    assert (snapshot(site.folder), snapshot(site.tree)) == before
    site.stops(onto="release/2.0")


@pytest.mark.parametrize(("notes", "patches"), [(2, 0), (3, 1), (9, 3)])
def test_an_interrupted_run_goes_on_where_it_was(usual: Site, monkeypatch: pytest.MonkeyPatch, notes: int, patches: int) -> None:
    """Each of three groups is noted when its tree stands, with its patch, and when it is done with."""
    site = usual
    site.upstream({"a.c": f"new\n{LINES}", "version": "2.0\n"})
    where = "build_tools.pipeline.rebase_work.write_state"
    noted = []

    def killed(folder: Path, state: Any) -> None:  # noqa: ANN401 - the state
        # What was done is done, and nobody knows of it.
        noted.append(state)
        if len(noted) == notes:
            raise KeyboardInterrupt
        write_state(folder, state)

    monkeypatch.setattr(where, killed)
    with pytest.raises(KeyboardInterrupt):
        site.rebase(onto="release/2.0")
    monkeypatch.setattr(where, write_state)
    state = read_state(site.scratch)
    assert state is not None
    assert len(state.done) == patches
    done = site.rebase(go_on=True)
    assert set(site.fates(done).values()) == {"carried"}
    assert len(site.names("2.0")) == 3


def test_a_patch_may_move_a_submodule_whose_own_patches_follow_it_there(site: Site) -> None:
    site.series({})
    site.checkout(ref={"toy": "release/1.0"})
    there = site.lib.commit({"lib.c": f"moved\n{LINES}"}, "moved")
    raw_patch = pin_patch(site, there)
    site.series({"root/base/0001-pin.patch": raw_patch})
    site.checkout()
    lib = patch(site.tree / LIB, {"lib.c": f"moved\n{with_line(5, 'OURS')}"}, "lib", "refs/hipwright/upstream")
    site.series({"root/base/0001-pin.patch": raw_patch, f"{LIB}/base/0001-lib.patch": lib})
    site.checkout()
    site.upstream({"b.c": "other\n", "version": "2.0\n"})
    done = site.rebase(onto="release/2.0")
    assert site.fates(done) == {"0001-pin": "carried", "0001-lib": "carried"}
    site.checkout(ref={"toy": "release/2.0"}, relock=True)
    assert site.content(f"{LIB}/lib.c") == f"moved\n{with_line(5, 'OURS')}"


def test_patches_of_a_submodule_that_is_gone_are_told(usual: Site) -> None:
    site = usual
    site.upstream({"version": "2.0\n", ".gitmodules": ""}, remove=(LIB,))
    here = site.desk(projects=("toy",), onto="release/2.0")
    done = rebase_patches(here)["rebase"]
    assert site.fates(done)["0001-lib"] == "no-module"
    assert any("its submodule is gone" in text for text in memory_of(here).said)


def test_a_line_may_be_carried_over_in_place_and_no_other_one_is_overwritten(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "OURS"), "version": "2.0\n"}, "taken")
    site.series({}, line="2.0")
    assert "is there already" in site.stops("bad-option-value", onto="release/2.0").message
    done = site.rebase(onto="release/2.0", line="1.0")
    assert site.fates(done)["0001-five"] == "upstream"
    assert site.names("1.0") == [f"{LIB}/base/0001-lib.patch", "root/hipified/0001-hip.patch"]
    assert not (site.folder / "patches" / "1.0" / "root" / "base").exists()
    rules = tomllib.loads((site.folder / "project.toml").read_text(encoding="utf-8"))["lines"]
    assert rules == [{"ref": "release/1.0", "line": "1.0"}, {"ref": "release/2.0", "line": "1.0"}]


def test_a_line_that_changed_meanwhile_is_not_replaced(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0", line="1.0")
    path = site.folder / "patches" / "1.0" / "series.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('owner = "o"', 'owner = "p"'), encoding="utf-8")
    git(site.scratch_tree, "cherry-pick", "--skip")
    assert "was changed while" in site.stops("rebase-state", go_on=True).message


def test_a_line_that_comes_up_meanwhile_is_not_overwritten_unless_it_is_the_same(
    usual: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    site.stops(onto="release/2.0")
    git(site.scratch_tree, "cherry-pick", "--skip")
    site.series({}, line="2.0")
    assert "has come up while" in site.stops("rebase-state", go_on=True).message
    remove_tree(site.folder / "patches" / "2.0")

    def killed(_folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("build_tools.pipeline.rebase_work.clear", killed)
    with pytest.raises(KeyboardInterrupt):
        site.rebase(go_on=True)
    monkeypatch.undo()
    assert site.fates(site.rebase(go_on=True))["0001-five"] == "given-up"


def test_a_dry_run_tells_and_does_nothing(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    before = snapshot(site.folder), (site.place / "work" / "lock.json").read_bytes()
    done = site.rebase(onto="release/2.0", dry_run=True)
    assert (done["state"], done["dry_run"]) == ("planned", True)
    assert set(site.fates(done).values()) == {"carried"}
    assert (snapshot(site.folder), (site.place / "work" / "lock.json").read_bytes()) == before
    assert not site.scratch.parent.exists()


def test_what_programs_are_told_has_one_shape_however_far_it_is(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": with_line(5, "THEIRS"), "version": "2.0\n"})
    told = [site.rebase(onto="release/2.0", dry_run=True)]
    site.stops(onto="release/2.0")
    told += [site.rebase(go_on=True, dry_run=True), site.rebase(abort=True, dry_run=True)]
    git(site.scratch_tree, "cherry-pick", "--skip")
    told.append(site.rebase(go_on=True))
    shape = {name: type(value) for name, value in told[0].items()}
    for one in told:
        assert {name: type(one[name]) for name in shape} == shape
        assert one["onto"] == told[0]["onto"]
        assert one["line"] == "2.0"
        assert all(set(row) == {"file", "fate", "change"} for row in one["patches"])
    assert [one["state"] for one in told] == ["planned", "open", "given up", "done"]
    assert [one["dry_run"] for one in told] == [True, True, True, False]


def test_each_thing_is_said_once(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": f"new\n{LINES}", "version": "2.0\n"})
    here = site.desk(projects=("toy",), onto="release/2.0")
    rebase_patches(here)
    said = memory_of(here).said
    assert sorted(said) == sorted(set(said))
    titles = [event.title for event in memory_of(here).events if isinstance(event, GroupBegan)]
    assert titles.count("lock toy") == 1
    assert not [title for title in titles if title.startswith(("base-patches", "checkout", "hipify", "hipified-patches"))]


def test_commits_that_are_not_saved_yet_are_warned_of(usual: Site) -> None:
    site = usual
    site.upstream({"a.c": f"new\n{LINES}", "version": "2.0\n"})
    write(site.tree, {"b.c": "mine\n"})
    git(site.tree, "commit", "--quiet", "--all", "-m", "mine")
    here = site.desk(projects=("toy",), onto="release/2.0", dry_run=True)
    rebase_patches(here)
    warned = [event.text for event in memory_of(here).events if isinstance(event, Said) and event.level == "warning"]
    assert any("commits that no series has" in text and "invoke save-patches --projects toy" in text for text in warned)


def test_a_rule_that_says_another_line_from_then_on_is_told_with_its_reason(usual: Site) -> None:
    site = usual
    path = site.folder / "project.toml"
    rule = '[[lines]]\nref = "release/2.0"\nwhy = "none needed so far"\n'
    path.write_text(path.read_text(encoding="utf-8").replace("[version]", f"{rule}[version]"), encoding="utf-8")
    site.upstream({"a.c": f"new\n{LINES}", "version": "2.0\n"})
    for dry, word in ((True, "would say"), (False, "says")):
        here = site.desk(projects=("toy",), onto="release/2.0", dry_run=dry)
        rebase_patches(here)
        (told,) = [text for text in memory_of(here).said if "project.toml" in text]
        assert f"{word} that release/2.0 has the line 2.0" in told
        assert "said no patches; its reason goes with it: none needed so far" in told


def test_a_conflict_below_an_ignored_folder_is_marked_as_solved_by_the_command_that_is_shown(usual: Site) -> None:
    site = usual
    theirs = KERNEL.replace("cuda 9\n", "cuda nine\n")
    site.upstream({".gitignore": "hip/\n", "k.cu": theirs, "version": "2.0\n"})
    error = site.stops(onto="release/2.0")
    (line,) = re.findall(r"mark it as solved: (.*?), and go on", str(error.hint))
    left = str(site.stops(go_on=True).excerpt)
    assert f"mark as solved: {line}" in left
    write(site.scratch_tree, {"hip/k.hip": with_line(9, "BOTH", KERNEL.replace("cuda", "hip"), "hip")})
    subprocess.run(line, shell=True, check=True)  # noqa: S602 - as a person pastes it
    assert site.fates(site.rebase(go_on=True))["0001-hip"] == "solved"


def test_what_cannot_begin_says_why(usual: Site) -> None:
    site = usual
    site.stops("bad-option-value")
    site.stops("option-conflict", onto="release/2.0", abort=True)
    site.stops("unknown-ref", onto="release/3.0")
    assert not site.scratch.parent.exists()
    site.stops("bad-option-value", onto=git(site.origin.folder, "rev-parse", "HEAD"))
    write(
        site.folder / "patches" / "1.0",
        {"root/base/0001-five.patch": patch(site.tree, {"b.c": "x"}, "other", "refs/hipwright/base")},
    )
    error = site.stops("stage-missing", onto="release/2.0")
    assert "apply-patches" in str(error.hint)


def test_a_ref_gives_a_line_its_name() -> None:
    names = {ref: line_for(ref) for ref in ("release/2.9", "v2.9.1", "nightly", "viable/strict", "a" * 40, "odd/na me")}
    assert names == {
        "release/2.9": "2.9",
        "v2.9.1": "2.9.1",
        "nightly": "nightly",
        "viable/strict": "strict",
        "a" * 40: None,
        "odd/na me": None,
    }


def pin_patch(site: Site, commit: str) -> bytes:
    """Return a patch that moves the submodule to a commit."""
    clone = site.place / "pin"
    git(site.place, "clone", "--quiet", "--branch", "release/1.0", site.origin.folder, clone)
    git(clone, "update-index", "--cacheinfo", f"160000,{commit},{LIB}")
    git(clone, "commit", "--quiet", "-m", "pin")
    return raw(
        clone,
        "format-patch",
        "--stdout",
        "--keep-subject",
        "--zero-commit",
        "--no-signature",
        "--full-index",
        "--no-stat",
        "HEAD~1",
    )
