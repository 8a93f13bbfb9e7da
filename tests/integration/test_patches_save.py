"""Saving a tree's commits as its patch series, by real repositories: a clean checkout gives the same tree, and nothing else changes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.rebase_patches import rebase_patches
from build_tools.types import Stage
from tests.support.patch_desk import DEEP, LIB, PatchDesk
from tests.support.source_trees import git, head, identity, raw, status, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.shelf import Shelf

ROOT_BASE = "root/base/0001-Say-it-in-base.patch"
ROOT_HIP = "root/hipified/0001-Say-it-after-hipify.patch"
LINES = "".join(f"line {number}\n" for number in range(1, 31))


def begun(place: Path) -> PatchDesk:
    desk = PatchDesk(place=place)
    desk.begin({"a.cu": "cuda\n", "b.cu": LINES, "plain.c": LINES})
    return desk


@pytest.fixture
def desk(shelf: Shelf) -> PatchDesk:
    """A desk at which nothing is checked out."""
    return PatchDesk(place=shelf.put_back("to-save", begun))


@pytest.fixture
def based(shelf: Shelf) -> PatchDesk:
    """A desk that is to make base patches."""
    return PatchDesk(place=shelf.put_back("to-save-based", lambda place: begun(place).until_base()))


@pytest.fixture
def made(shelf: Shelf) -> PatchDesk:
    """A desk with the finished tree, whose index knows its files, as it does where they were checked out."""
    desk = PatchDesk(place=shelf.put_back("to-save-made", lambda place: begun(place).checkout()))
    status(desk.tree())
    return desk


@pytest.fixture
def two(shelf: Shelf) -> PatchDesk:
    """A desk with a base patch and a hipified one."""
    return PatchDesk(place=shelf.put_back("to-save-two", lambda place: with_two(begun(place))))


def entries(desk: PatchDesk) -> list[dict[str, Any]]:
    document = tomllib.loads((desk.line / "series.toml").read_text(encoding="utf-8"))
    patches: list[dict[str, Any]] = document.get("patch", [])
    return patches


def names(desk: PatchDesk) -> list[str]:
    return [entry["file"] for entry in entries(desk)]


def changes(saved: dict[str, Any]) -> dict[str, str]:
    return {row["file"]: row["change"] for row in saved["patches"]}


def with_two(desk: PatchDesk) -> None:
    """Give the project a base patch and a hipified one, made as people make them."""
    desk.until_base()
    desk.commit({"a.cu": "cuda base\n"}, "Say it in base\n\nBecause.")
    desk.save()
    desk.checkout()
    desk.commit({"hip/a.hip": "hip after\n"}, "Say it after hipify")
    desk.save()
    assert names(desk) == [ROOT_BASE, ROOT_HIP]


def refused(desk: PatchDesk, code: str, **settings: bool) -> HipwrightError:
    """Save, which must be refused, and leave the series and the tree as they were."""
    files, heads, state = desk.files(), desk.heads(), status(desk.tree())
    with pytest.raises(HipwrightError) as caught:
        desk.save("work", **settings)
    assert caught.value.code.name == code, caught.value
    assert desk.files() == files
    assert desk.heads() == heads
    assert status(desk.tree()) == state
    return caught.value


def same_elsewhere(desk: PatchDesk, name: str = "elsewhere") -> None:
    """A clean checkout, with a cache of its own, gives the same files in every module, and has nothing to save."""
    desk.checkout(name)
    assert desk.trees(name) == desk.trees()
    files = desk.files()
    assert desk.save(name)["written"] == []
    assert desk.files() == files


def test_commits_in_every_module_and_phase_become_patches_and_come_back(based: PatchDesk) -> None:
    desk = based
    desk.commit({"d.cu": "cuda deeper\n"}, "[deep] Base below", module=DEEP)
    desk.commit({"l.txt": "lib two\n"}, "Base in the library", module=LIB)
    desk.commit({"a.cu": "cuda root\n"}, "Base in the root", more=("--all",))
    saved = desk.save()
    assert set(changes(saved).values()) == {"added"}
    desk.checkout()
    desk.commit({"hip/d.hip": "hip deepest\n"}, "Hipified below", module=DEEP)
    desk.commit({"hip/a.hip": "hip root, mine\n"}, "Hipified in the root", more=("--all",))
    before = desk.files()
    files = {path: path.read_bytes() for path in desk.tree().rglob("*") if path.is_file() and ".git" not in path.parts}
    saved = desk.save()
    assert changes(saved) == {
        "root/hipified/0001-Hipified-in-the-root.patch": "added",
        f"{DEEP}/hipified/0001-Hipified-below.patch": "added",
    }
    after = desk.files()
    assert {name: after[name] for name in before if name != "series.toml"} == {
        name: data for name, data in before.items() if name != "series.toml"
    }
    assert all(path.read_bytes() == data for path, data in files.items())
    assert status(desk.tree()) == b""
    assert desk.save()["written"] == []
    same_elsewhere(desk)
    assert desk.heads("elsewhere") == desk.heads()
    stages = desk.checkout()["stages"]
    assert {stage["state"] for stage in stages} == {"skipped"}


def test_a_checkout_moves_on_from_a_saved_tree(two: PatchDesk) -> None:
    desk = two
    desk.until_base()
    desk.checkout()
    assert desk.log() == ["Say it after hipify", "Say it in base"]


def test_nothing_changed_leaves_every_file_alone(two: PatchDesk) -> None:
    desk = two
    times = {path: path.stat().st_mtime_ns for path in desk.line.rglob("*")}
    assert desk.save()["written"] == []
    assert "nothing to save" in desk.said[-1]
    assert {path: path.stat().st_mtime_ns for path in desk.line.rglob("*")} == times


def test_an_amended_patch_keeps_its_name_and_what_is_said_of_it(two: PatchDesk) -> None:
    desk = two
    text = (desk.line / "series.toml").read_text(encoding="utf-8")
    text = text.replace('why = "Because."', 'why = "because of the other thing"  # a person\'s words')
    (desk.line / "series.toml").write_text(text, encoding="utf-8")
    desk.commit({"hip/a.hip": "hip amended\n"}, "Another subject altogether", more=("--amend",))
    saved = desk.save()
    assert changes(saved) == {ROOT_HIP: "real"}
    assert saved["written"] == [ROOT_HIP]
    assert (desk.line / "series.toml").read_text(encoding="utf-8") == text
    assert b"Subject: Another subject altogether\n" in desk.files()[ROOT_HIP]
    same_elsewhere(desk)


def test_what_is_gone_from_the_history_goes_and_is_told(two: PatchDesk) -> None:
    desk = two
    git(desk.tree(), "reset", "--quiet", "--hard", "refs/hipwright/hipified")
    saved = desk.save()
    assert changes(saved) == {ROOT_HIP: "removed"}
    assert list(desk.files()) == [ROOT_BASE, "series.toml"]
    assert names(desk) == [ROOT_BASE]
    same_elsewhere(desk)


def test_no_base_patch_is_lost_where_hipify_changed_nothing(based: PatchDesk) -> None:
    desk = based
    for number in (1, 2):
        desk.commit({f"new-{number}.h": "x\n"}, f"Add {number}", module=DEEP)
    desk.save()
    before = desk.files()
    desk.checkout()
    desk.commit({"hip/a.hip": "hip, mine\n"}, "In the root")
    desk.save()
    assert {name: data for name, data in desk.files().items() if DEEP in name} == {
        name: data for name, data in before.items() if DEEP in name
    }
    same_elsewhere(desk)


def test_patches_in_another_order_keep_their_files(made: PatchDesk) -> None:
    desk = made
    for word in ("one", "two", "three"):
        desk.commit({f"{word}.h": f"{word}\n"}, f"Add {word}")
    desk.save()
    before = desk.files()
    first, second, third = (
        f"root/hipified/000{number}-Add-{word}.patch" for number, word in enumerate(("one", "two", "three"), 1)
    )
    git(desk.tree(), "reset", "--quiet", "--hard", "refs/hipwright/hipified")
    one, two, three = (git(desk.tree(), "log", "-1", "--format=%H", f"HEAD@{{1}}~{back}") for back in (2, 1, 0))
    for commit in (three, one):
        git(desk.tree(), "cherry-pick", commit)
    desk.commit({"four.h": "four\n"}, "Add four")
    git(desk.tree(), "cherry-pick", two)
    saved = desk.save()
    fourth = "root/hipified/0004-Add-four.patch"
    assert changes(saved) == {fourth: "added"}
    assert names(desk) == [third, first, fourth, second]
    assert {name: data for name, data in desk.files().items() if name in before and name != "series.toml"} == {
        name: data for name, data in before.items() if name != "series.toml"
    }
    same_elsewhere(desk)


def test_a_patch_for_another_platform_stays_where_it_is(two: PatchDesk) -> None:
    desk = two
    other = desk.files()[ROOT_HIP].replace(b"Say it after hipify", b"Say it on Windows")
    name = "root/hipified/0002-windows.patch"
    write(desk.line, {name: other})
    text = (desk.line / "series.toml").read_text(encoding="utf-8")
    text += f'\n[[patch]]\nfile = "{name}"\nwhy = "w"\nupstream = "none"\nowner = "tests"\nplatforms = ["windows"]\nadded = 2026-01-01\n'
    (desk.line / "series.toml").write_text(text, encoding="utf-8")
    desk.checkout()
    desk.commit({"x.h": "x\n"}, "On top")
    saved = desk.save()
    assert changes(saved) == {"root/hipified/0003-On-top.patch": "added"}
    assert names(desk) == [ROOT_BASE, ROOT_HIP, name, "root/hipified/0003-On-top.patch"]
    assert desk.files()[name] == other


def test_a_base_patch_can_be_split_reworded_and_dropped_by_a_rebase(based: PatchDesk) -> None:
    desk = based
    desk.commit({"x.h": "x\n"}, "Add x")
    desk.commit({"y.h": "y\n"}, "Add y")
    desk.save()
    desk.until_base()
    git(desk.tree(), "reset", "--quiet", "--hard", "refs/hipwright/upstream")
    desk.commit({"y.h": "y\n"}, "Add y")
    desk.commit({"z.h": "z\n"}, "Add z")
    saved = desk.save()
    assert changes(saved) == {"root/base/0001-Add-x.patch": "removed", "root/base/0003-Add-z.patch": "added"}
    assert names(desk) == ["root/base/0002-Add-y.patch", "root/base/0003-Add-z.patch"]
    desk.checkout()
    same_elsewhere(desk)


def test_the_same_commits_made_again_are_taken_for_what_they_are(two: PatchDesk) -> None:
    desk = two
    heads = desk.heads()
    git(desk.tree(), "commit", "--amend", "--no-edit", "--quiet", env=identity("Another Committer"))
    assert desk.heads() != heads
    assert desk.save()["written"] == []
    assert desk.heads() == heads
    assert desk.save()["written"] == []


def test_a_dry_run_says_what_it_would_do_and_does_nothing(made: PatchDesk) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x")
    files, heads = desk.files(), desk.heads()
    assert changes(desk.save(dry_run=True)) == {"root/hipified/0001-Add-x.patch": "added"}
    assert desk.files() == files
    assert desk.heads() == heads
    assert changes(desk.save()) == {"root/hipified/0001-Add-x.patch": "added"}


def test_a_person_moves_a_submodule_in_a_base_patch(desk: PatchDesk) -> None:
    deep, lib = desk.person("deep"), desk.person("lib")
    two = deep.commit({"d.txt": "deep two\n"})
    newer = lib.record("newer", {"l.cu": "cuda newer\n", "l.txt": "newer\n"}, {"dé ep": ("deep", deep, two)})
    desk.until_base()
    tree = desk.tree()
    git(tree / LIB, "fetch", "--quiet")
    git(tree / LIB, "checkout", "--quiet", "--detach", newer)
    git(tree / DEEP, "fetch", "--quiet")
    git(tree / DEEP, "checkout", "--quiet", "--detach", two)
    desk.commit({"d.h": "mine\n"}, "On the moved one", module=DEEP)
    desk.commit({}, "Move the library", more=("--all",))
    saved = desk.save()
    assert changes(saved) == {
        "root/base/0001-Move-the-library.patch": "added",
        f"{DEEP}/base/0001-On-the-moved-one.patch": "added",
    }
    patch = desk.files()["root/base/0001-Move-the-library.patch"]
    assert b"+Subproject commit %s\n" % newer.encode() in patch
    desk.checkout()
    same_elsewhere(desk)
    assert (desk.tree("elsewhere") / DEEP / "d.h").is_file()


@pytest.mark.parametrize("how", ["removed", "removed, its folder left", "moved"])
def test_a_person_takes_a_submodule_out_in_a_base_patch(based: PatchDesk, how: str) -> None:
    desk = based
    tree = desk.tree()
    match how:
        case "removed":
            git(tree, "rm", "-r", "--force", "--quiet", LIB)
        case "moved":
            git(tree, "mv", LIB, "library")
        case _:
            git(tree, "rm", "--cached", "--force", "--quiet", LIB)
            git(tree, "config", "--file", ".gitmodules", "--remove-section", "submodule.lib")
            git(tree, "add", ".gitmodules")
    git(tree, "commit", "--quiet", "-m", "Take it out")
    if how == "moved":
        with pytest.raises(HipwrightError, match="was moved to") as caught:
            desk.save()
        paste(desk, caught.value.hint)
    assert changes(desk.save()) == {"root/base/0001-Take-it-out.patch": "added"}
    desk.until_base()
    assert not (tree / LIB / "l.txt").exists()
    assert (tree / "library" / "l.txt").exists() == (how == "moved")
    assert desk.save()["written"] == []


def test_a_warning_says_what_belongs_into_a_base_patch(made: PatchDesk) -> None:
    desk = made
    desk.commit({"a.cu": "cuda more\n"}, "Too late for hipify")
    desk.save()
    assert any("a.cu, which hipify read" in line and "belongs into a base patch" in line for line in desk.said)


def offset(desk: PatchDesk) -> str:
    """Give the project a patch that applies three lines further down than it says; return its name."""
    desk.checkout()
    desk.commit({"plain.c": LINES.replace("line 20\n", "line twenty\n")}, "Twenty")
    desk.save()
    (name,) = names(desk)
    person = desk.person("toy")
    lib = git(desk.tree() / LIB, "rev-parse", "refs/hipwright/upstream")
    whole = {"version.txt": "1.0\n", "a.cu": "cuda\n", "b.cu": LINES, "plain.c": "new\nnew\nnew\n" + LINES}
    whole["tools/hip.py"] = (desk.tree() / "tools" / "hip.py").read_text(encoding="utf-8")
    person.record("main", whole, {LIB: ("lib", desk.person("lib"), lib)})
    desk.checkout(relock=True)
    return name


def test_a_patch_that_applies_with_an_offset_is_left_alone(desk: PatchDesk) -> None:
    name = offset(desk)
    before = desk.files()
    assert desk.save()["written"] == []
    desk.commit({"x.h": "x\n"}, "Add x")
    desk.save()
    assert desk.files()[name] == before[name]


def test_a_patch_whose_hunks_moved_is_rewritten_only_when_asked(desk: PatchDesk) -> None:
    name = offset(desk)
    git(desk.tree(), "commit", "--quiet", "--amend", "-m", "Twenty, in words")
    error = refused(desk, "moved-hunks")
    assert error.excerpt == f"{name}: plain.c, line 17 → 20"
    assert error.hint is not None
    assert "--refresh" in error.hint
    saved = desk.save(refresh=True)
    assert changes(saved) == {name: "real"}
    assert saved["moved"] == [{"file": name, "path": "plain.c", "from": 17, "to": 20}]
    same_elsewhere(desk)


def test_refresh_writes_for_the_lines_of_today(desk: PatchDesk) -> None:
    name = offset(desk)
    saved = desk.save(refresh=True)
    assert changes(saved) == {name: "cosmetic"}
    assert b"@@ -20,7 +20,7 @@" in desk.files()[name]
    assert desk.save(refresh=True)["written"] == []


def merge(desk: PatchDesk) -> None:
    tree = desk.tree()
    git(tree, "checkout", "--quiet", "-b", "side")
    desk.commit({"side.h": "s\n"}, "Side")
    git(tree, "checkout", "--quiet", "--detach", "refs/hipwright/finished")
    desk.commit({"main.h": "m\n"}, "Main")
    git(tree, "merge", "--quiet", "--no-edit", "side")


REFUSED: dict[str, tuple[Callable[[PatchDesk], object], str, str]] = {
    "an edit": (lambda desk: write(desk.tree() / LIB, {"l.txt": "x\n"}), "uncommitted", "1 change that no commit holds"),
    "an untracked file": (lambda desk: write(desk.tree(), {"mine.txt": "x\n"}), "uncommitted", "1 change that no commit holds"),
    "an edit hidden from git": (
        lambda desk: [git(desk.tree(), "update-index", "--assume-unchanged", "a.cu"), (desk.tree() / "a.cu").write_bytes(b"x")],
        "uncommitted",
        "1 change that no commit holds",
    ),
    "a merge": (merge, "bad-commit", "is a merge"),
    "an empty commit": (lambda desk: desk.commit({}, "Nothing", more=("--allow-empty",)), "bad-commit", "changes nothing"),
    "a subject in two lines": (lambda desk: desk.commit({"x": "x\n"}, "One\ntwo"), "bad-commit", "goes on in a second line"),
    "a subject with a blank before it": (
        lambda desk: desk.commit({"x": "x\n"}, " One", more=("--cleanup=verbatim",)),
        "bad-commit",
        "which no mail keeps",
    ),
    "a diff in the message": (
        lambda desk: desk.commit({"x": "x\n"}, "One\n\ndiff --git a/x b/x\n"),
        "bad-commit",
        "does not survive",
    ),
    "a line of dashes": (lambda desk: desk.commit({"x": "x\n"}, "One\n\n---\nlost\n"), "bad-commit", "does not survive"),
    "the stages' commit, amended": (
        lambda desk: desk.commit({"x": "x\n"}, "Hipify the sources", more=("--amend",)),
        "marker-lost",
        "no longer holds what hipify made",
    ),
    "another history": (
        lambda desk: git(desk.tree(), "reset", "--quiet", "--hard", "refs/hipwright/upstream"),
        "marker-lost",
        "no longer holds its base patches",
    ),
    "a submodule's commit": (
        lambda desk: (
            git(desk.tree(), "update-index", "--cacheinfo", f"160000,{'1' * 40},{LIB}"),
            git(desk.tree(), "commit", "--quiet", "-m", "Move it"),
        ),
        "bad-commit",
        "which only a base patch can do",
    ),
    "an author date in a year of five digits": (
        lambda desk: desk.commit({"x.h": "x\n"}, "Far", more=("--date=@253402300800 +0000",)),
        "bad-commit",
        "has an author date that no mail keeps",
    ),
    "an author zone that there is not": (
        lambda desk: desk.commit({"x.h": "x\n"}, "Far", more=("--date=@1700000000 +1445",)),
        "bad-commit",
        "has an author date that no mail keeps",
    ),
    "a rebase under way": (
        lambda desk: (desk.tree() / ".git" / "rebase-merge").mkdir(),
        "uncommitted",
        "a rebase is under way in the root",
    ),
    "a git am under way": (
        lambda desk: (desk.tree() / ".git" / "modules" / "lib" / "rebase-apply" / "applying").mkdir(parents=True),
        "uncommitted",
        f"git am is under way in {LIB}",
    ),
    "a cherry-pick of several commits, one of them committed": (
        lambda desk: (desk.tree() / ".git" / "sequencer").mkdir(),
        "uncommitted",
        "a cherry-pick of several commits is under way",
    ),
    "a revert of several commits, one of them committed": (
        lambda desk: write(desk.tree() / ".git" / "sequencer", {"todo": "revert 1234567 One\n"}),
        "uncommitted",
        "a revert of several commits is under way",
    ),
    "a lock file of another name": (lambda desk: (desk.tree() / ".git" / "HEAD.lock").touch(), "locked", "HEAD.lock exists"),
    "a lock file": (lambda desk: (desk.tree() / ".git" / "index.lock").touch(), "locked", "index.lock exists"),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_what_no_patch_can_say_is_refused_with_the_way_out(desk: PatchDesk, what: str) -> None:
    do, code, message = REFUSED[what]
    desk.until_base()
    desk.commit({"lib.h": "x\n"}, "Base", module=LIB)
    desk.save()
    desk.checkout()
    do(desk)
    files, heads = desk.files(), desk.heads()
    with pytest.raises(HipwrightError, match=re.escape(message)) as caught:
        desk.save()
    assert caught.value.code.name == code
    assert caught.value.hint is not None
    assert desk.files() == files
    assert desk.heads() == heads


def test_the_way_out_of_an_amended_stage_commit_works(made: PatchDesk) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Hipify the sources\n\nHipwright-Phase: hipified", more=("--amend",))
    error = refused(desk, "marker-lost")
    assert error.hint is not None
    assert f"reset --soft refs/hipwright/finished && git -C '{desk.tree()}' commit" in error.hint
    git(desk.tree(), "reset", "--soft", "refs/hipwright/finished")
    git(desk.tree(), "commit", "--quiet", "-m", "Add x")
    assert changes(desk.save()) == {"root/hipified/0001-Add-x.patch": "added"}


def paste(desk: PatchDesk, hint: str | None) -> None:
    """Do what a hint says, as it is pasted into a shell; checkouts are those of the desk."""
    assert hint is not None
    line = hint.partition(": ")[2].partition("; ")[0]
    environment = {**identity(), "GIT_EDITOR": "sh -c 'echo Mine > \"$1\"' -"}
    for command in line.split(" && "):
        if command.startswith("nox ") and command.endswith("--until base-patches"):
            desk.until_base()
        elif command.startswith("nox ") or " apply-patches" in command:
            desk.checkout()
        else:
            subprocess.run(command, shell=True, check=True, env=environment, capture_output=True)  # noqa: S602 - as it is pasted


def rebased(desk: PatchDesk, *words: str, script: str = "true") -> None:
    """Rebase all that stands on upstream's commit of the root."""
    env = {**identity(), "GIT_SEQUENCE_EDITOR": script, "GIT_EDITOR": "true"}
    git(desk.tree(), "rebase", "--quiet", "--interactive", *words, "refs/hipwright/upstream", env=env)


def test_a_base_patch_that_is_changed_on_the_finished_tree_is_kept_and_saved_where_it_belongs(two: PatchDesk) -> None:
    desk = two
    desk.commit({"b.cu": "mine\n" + LINES}, "fixup! Say it in base")
    rebased(desk, "--autosquash")
    error = refused(desk, "marker-lost")
    assert "--onto" not in str(error.hint)
    paste(desk, error.hint)
    assert git(desk.tree(), "show", "mine:b.cu").startswith("mine")
    assert (desk.tree() / "b.cu").read_text(encoding="utf-8") == "mine\n" + LINES
    assert changes(desk.save()) == {ROOT_BASE: "real"}
    desk.checkout()
    assert (desk.tree() / "b.cu").read_text(encoding="utf-8") == "mine\n" + LINES
    assert (desk.tree() / "hip" / "a.hip").read_text(encoding="utf-8") == "hip after\n"
    same_elsewhere(desk)


def test_a_commit_that_is_moved_below_hipifys_is_kept_and_becomes_a_base_patch(two: PatchDesk) -> None:
    desk = two
    git(desk.tree(), "tag", "mine", "refs/hipwright/upstream")
    desk.commit({"b.cu": "mine\n" + LINES}, "Mine")
    # The last line comes first.
    rebased(desk, script="sed -i -e '/ Mine$/!{H;d}' -e '/ Mine$/G'")
    assert desk.log()[-1] == "Mine"
    paste(desk, refused(desk, "marker-lost").hint)
    assert git(desk.tree(), "show", "mine-2:b.cu").startswith("mine"), "a tag of one's own stays where it is"
    assert "root/base/0002-Mine.patch" in changes(desk.save())
    desk.checkout()
    assert (desk.tree() / "b.cu").read_text(encoding="utf-8") == "mine\n" + LINES


@pytest.mark.parametrize("more", [False, True])
def test_the_same_commits_made_anew_go_back_to_what_the_stages_made(two: PatchDesk, *, more: bool) -> None:
    desk = two
    if more:
        desk.commit({"x.h": "x\n"}, "Add x")
    rebased(desk, "--force-rebase")
    paste(desk, refused(desk, "marker-lost").hint)
    assert changes(desk.save()) == ({"root/hipified/0002-Add-x.patch": "added"} if more else {})
    assert desk.log() == [*(["Add x"] if more else []), "Say it after hipify", "Say it in base"]


def test_a_history_without_the_stages_commits_is_kept(two: PatchDesk) -> None:
    desk = two
    git(desk.tree(), "reset", "--quiet", "--hard", "refs/hipwright/upstream")
    commit = desk.commit({"x.h": "x\n"}, "Add x")
    paste(desk, refused(desk, "marker-lost").hint)
    assert git(desk.tree(), "rev-parse", "mine") == commit
    assert changes(desk.save()) == {"root/hipified/0002-Add-x.patch": "added"}


def test_an_amended_hipify_commit_with_others_on_top_is_kept(two: PatchDesk) -> None:
    desk = two
    picked = git(desk.tree(), "rev-parse", "HEAD")
    git(desk.tree(), "reset", "--quiet", "--hard", "refs/hipwright/hipified")
    write(desk.tree(), {"x.h": "x\n"})
    git(desk.tree(), "add", "x.h")
    git(desk.tree(), "commit", "--quiet", "--amend", "--no-edit")
    git(desk.tree(), "cherry-pick", picked, env=identity())
    before = head(desk.tree())
    paste(desk, refused(desk, "marker-lost").hint)
    assert git(desk.tree(), "rev-parse", "mine") == before
    assert desk.save()["patches"] == []


def mixed(desk: PatchDesk) -> None:
    write(desk.tree(), {"x.h": "x\n"})
    git(desk.tree(), "add", "x.h")
    git(desk.tree(), "update-index", "--cacheinfo", f"160000,{'1' * 40},{LIB}")
    git(desk.tree(), "commit", "--quiet", "-m", "Add x")


def other_line_ends(desk: PatchDesk) -> None:
    """Leave a file as an editor does that writes CR LF, for a person whose git takes that for the same."""
    desk.commit({"x.h": "x\n"}, "Add x")
    git(desk.tree(), "config", "core.autocrlf", "true")
    for name in ("x.h", "plain.c"):
        file = desk.tree() / name
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    git(desk.tree(), "add", "--all")
    assert not git(desk.tree(), "status", "--porcelain")
    # Saved once more: whether git takes the file for what it knew goes by times alone until they differ.
    for name in ("x.h", "plain.c"):
        os.utime(desk.tree() / name, (1, 1))


def two_edits(desk: PatchDesk) -> None:
    write(desk.tree(), {"plain.c": "x\n"})
    write(desk.tree() / LIB, {"l.cu": "x\n"})


def submodule_added(desk: PatchDesk) -> None:
    """Commit a further submodule on the finished tree, and a file besides."""
    write(desk.tree(), {"x.h": "x\n"})
    deep = desk.person("deep").folder
    git(desk.tree(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(deep), "extra")
    write(desk.tree() / ".git" / "info", {"exclude": "/extra/\n"})
    git(desk.tree(), "add", "x.h")
    git(desk.tree(), "commit", "--quiet", "-m", "Add x")


def submodule_removed(desk: PatchDesk) -> None:
    write(desk.tree(), {"x.h": "x\n"})
    git(desk.tree(), "add", "x.h")
    git(desk.tree(), "rm", "--cached", "--force", "--quiet", LIB)
    git(desk.tree(), "commit", "--quiet", "-m", "Add x")


WAYS_OUT: dict[str, Callable[[PatchDesk], object]] = {
    "a merge": merge,
    "an empty commit": lambda desk: (desk.commit({"x.h": "x\n"}, "Add x"), desk.commit({}, "Nothing", more=("--allow-empty",))),
    "a submodule's commit": mixed,
    "a further submodule": submodule_added,
    "a submodule less": submodule_removed,
    "a zone": lambda desk: desk.commit({"x.h": "x\n"}, "Far", more=("--date=@1700000000 +1445",)),
    "an untracked file": lambda desk: write(desk.tree(), {"x.h": "x\n"}),
    "two edits": two_edits,
    "line ends": other_line_ends,
    "an author": lambda desk: desk.commit({"x.h": "x\n"}, "Add x", more=("--author==?utf-8?q?x=C3=A9?= <a@b.c>",)),
}


@pytest.mark.parametrize("what", list(WAYS_OUT))
def test_the_command_that_a_refusal_names_makes_the_tree_one_that_can_be_saved(made: PatchDesk, what: str) -> None:
    desk = made
    WAYS_OUT[what](desk)
    with pytest.raises(HipwrightError) as caught:
        desk.save()
    paste(desk, caught.value.hint)
    assert desk.save()["patches"]
    same_elsewhere(desk)


def test_a_save_that_is_ended_before_the_tree_moves_is_finished_by_the_next_checkout(
    made: PatchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x", module=LIB)

    def ended(*_arguments: object, **_settings: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("build_tools.pipeline.save_patches.run_sources", ended)
        with pytest.raises(KeyboardInterrupt):
            desk.save()
    assert names(desk) == [f"{LIB}/hipified/0001-Add-x.patch"]
    desk.checkout()
    assert desk.save()["written"] == []
    same_elsewhere(desk)
    assert desk.heads("elsewhere") == desk.heads()


def test_a_series_that_cannot_be_written_leaves_the_tree_alone(made: PatchDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x")

    def full(*_arguments: object) -> None:
        raise HipwrightError("disk-space", "no space")

    with monkeypatch.context() as patched:
        patched.setattr("build_tools.pipeline.save_patches.write_series", full)
        refused(desk, "disk-space")
    assert list(changes(desk.save())) == ["root/hipified/0001-Add-x.patch"]


def test_a_branch_of_a_person_stays_where_it_is(made: PatchDesk) -> None:
    desk = made
    git(desk.tree(), "checkout", "--quiet", "-b", "mine")
    commit = desk.commit({"x.h": "x\n"}, "Add x")
    desk.save()
    assert git(desk.tree(), "rev-parse", "mine") == commit
    assert desk.log() == ["Add x"]


def test_a_commit_that_only_records_submodules_is_told_and_becomes_no_patch(made: PatchDesk) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x", module=LIB)
    desk.commit({}, "Update the library", more=("--all",))
    assert list(changes(desk.save())) == [f"{LIB}/hipified/0001-Add-x.patch"]
    assert any("'Update the library' only records submodules' heads" in line for line in desk.said)
    assert status(desk.tree()) == b""
    same_elsewhere(desk)


def test_a_commit_that_no_origin_has_is_no_pin(based: PatchDesk) -> None:
    desk = based
    git(desk.tree(), "update-index", "--cacheinfo", f"160000,{'1' * 40},{LIB}")
    git(desk.tree(), "commit", "--quiet", "-m", "Move it")
    error = refused(desk, "marker-lost")
    assert LIB in error.message


@pytest.mark.parametrize("change", ["edited", "dropped", "added", "reordered"])
def test_a_series_that_was_changed_meanwhile_is_not_saved_over(made: PatchDesk, change: str) -> None:
    desk = made
    for word in ("one", "two"):
        desk.commit({f"{word}.h": f"{word}\n"}, f"Add {word}")
    desk.save()
    first, second = names(desk)
    files = desk.files()
    desk.commit({"three.h": "three\n"}, "Add three")
    match change:
        case "edited":
            write(desk.line, {first: files[first].replace(b"+one", b"+eins")})
        case "dropped":
            (desk.line / second).unlink()
            desk.series({first: files[first]})
        case "added":
            extra = files[second].replace(b"two", b"six")
            desk.series({first: files[first], second: files[second], "root/hipified/0006-six.patch": extra})
        case _:
            desk.series({second: files[second], first: files[first]})
    error = refused(desk, "series-changed")
    assert error.hint is not None
    assert "apply-patches" in error.hint
    assert ("take the change back" in error.hint) == (change != "added")
    word = {"dropped": "not in it any more", "reordered": "in another order"}.get(change, change)
    assert str(error.excerpt).startswith(f"{word}: root/hipified"), "once each"
    assert len(str(error.excerpt).splitlines()) == 1
    paste(desk, error.hint.replace("take the change back with git, or ", ""))
    assert desk.log()[0] == "Add three"
    assert list(changes(desk.save())) == [name for name in names(desk) if "Add-three" in name]


def test_a_patch_that_is_for_another_platform_by_now_is_not_saved_over(made: PatchDesk) -> None:
    desk = made
    desk.commit({"one.h": "one\n"}, "Add one")
    desk.save()
    (first,) = names(desk)
    desk.series({first: desk.files()[first]}, platforms='["windows"]')
    desk.commit({"one.h": "one\ntwo\n"}, "Go on")
    heads = desk.heads()
    error = refused(desk, "series-changed")
    assert str(error.excerpt) == f"for other platforms: {first}"
    assert desk.heads() == heads
    assert names(desk) == [first]


def test_a_tree_that_cannot_take_the_saved_commits_keeps_the_persons_own(
    based: PatchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = based
    desk.commit({"one.h": "one\n"}, "Add one")
    heads = desk.heads()

    def fails(*_arguments: object, **_settings: object) -> None:
        raise HipwrightError("patch-conflict", "it does not apply")

    with monkeypatch.context() as patched:
        patched.setattr("build_tools.pipeline.save_patches.run_sources", fails)
        with pytest.raises(HipwrightError, match="it does not apply"):
            desk.save()
    assert names(desk) == ["root/base/0001-Add-one.patch"]
    assert desk.heads() == heads
    shutil.rmtree(desk.line)
    desk.series({})
    desk.until_base()
    assert desk.heads() == heads
    assert changes(desk.save()) == {"root/base/0001-Add-one.patch": "added"}


def test_many_further_patches_are_told_in_one_line(made: PatchDesk) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x")
    desk.save()
    (first,) = names(desk)
    data = desk.files()[first]
    more = {f"root/hipified/{number:04}-more.patch": data.replace(b"x.h", b"x%d.h" % number) for number in range(2, 9)}
    desk.series({first: data, **more})
    desk.commit({"y.h": "y\n"}, "Add y")
    error = refused(desk, "series-changed")
    assert error.excerpt == f"added: {', '.join(list(more)[:3])}, and 4 more"
    assert "patches that the tree was made without" in error.message


def test_a_tree_of_another_line_is_told_by_that_alone(two: PatchDesk) -> None:
    desk = two
    desk.commit({"x.h": "x\n"}, "Add x")
    other = desk.line.with_name("2")
    write(other, {"series.toml": "schema = 1\n"})
    project = desk.clone / "external-builds" / "toy" / "project.toml"
    project.write_text(project.read_text(encoding="utf-8").replace('line = "1"', 'line = "2"'), encoding="utf-8")
    error = refused(desk, "series-changed")
    assert error.message == "the tree was made with the patch line 1, and its ref has the line 2"
    assert error.excerpt is None
    paste(desk, error.hint)
    assert desk.log() == ["Add x"]


def test_what_becomes_of_the_tree_and_of_new_files_is_told(desk: PatchDesk) -> None:
    git(desk.clone, "init", "--quiet")
    git(desk.clone, "add", "--all")
    git(desk.clone, "commit", "--quiet", "-m", "the clone")
    desk.checkout()
    desk.commit({"x.h": "x\n"}, "Add x")
    desk.save()
    (line,) = (line for line in desk.said if "intent-to-add" in line)
    subprocess.run(line.partition("show them: ")[2], shell=True, check=True)  # noqa: S602 - as it is pasted
    assert "0001-Add-x.patch" in git(desk.clone, "diff", "--name-only")
    assert sum("takes the commits that a clean checkout makes" in line for line in desk.said) == 1


def test_a_patch_that_is_made_in_the_other_phase_too_keeps_what_is_said_of_it(made: PatchDesk) -> None:
    desk = made
    commit = desk.commit({"b.cu": "mine\n" + LINES}, "Mine")
    desk.save()
    text = (desk.line / "series.toml").read_text(encoding="utf-8")
    text = text.replace('why = "Mine"', 'why = "by hand"').replace('upstream = "not sent"', 'upstream = "sent"')
    (desk.line / "series.toml").write_text(text, encoding="utf-8")
    git(desk.tree(), "tag", "mine", commit)
    desk.until_base()
    git(desk.tree(), "cherry-pick", "mine", env=identity())
    desk.save()
    assert names(desk) == ["root/base/0001-Mine.patch", "root/hipified/0001-Mine.patch"]
    base, hipified = entries(desk)
    assert {**base, "file": hipified["file"]} == hipified
    assert base["why"] == "by hand"
    desk.checkout()
    assert any("invoke drop-patch root/hipified/0001-Mine.patch" in line for line in desk.said)


def test_base_patches_of_a_submodule_come_before_its_hipified_ones(made: PatchDesk) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x", module=DEEP)
    desk.save()
    desk.until_base()
    desk.commit({"y.h": "y\n"}, "Add y", module=DEEP)
    desk.save()
    assert names(desk) == [f"{DEEP}/base/0001-Add-y.patch", f"{DEEP}/hipified/0001-Add-x.patch"]


@pytest.mark.parametrize("line", [None, "1"])
def test_a_hipified_patch_that_ones_own_base_patch_disturbs_is_told_with_the_way_on(made: PatchDesk, line: str | None) -> None:
    desk = made
    desk.commit({"plain.c": LINES.replace("line 9\n", "hipified\n"), "hip/a.hip": "hip after\n"}, "After hipify")
    desk.save()
    desk.until_base()
    desk.commit({"plain.c": LINES.replace("line 9\n", "base\n"), "a.cu": "cuda base\n"}, "Say it in base")
    desk.save()
    with pytest.raises(HipwrightError) as caught:
        desk.checkout(line=line, relock=True)
    error = caught.value
    assert error.code.name == "patch-conflict"
    assert "hipify made it, or changed it: " in str(error.excerpt)
    assert "no commit in the local history" not in str(error.excerpt)
    assert "carry the series over: invoke rebase-patches --projects toy --onto main" in str(error.hint)
    assert str(error.hint).endswith(" --line 1" if line else " --onto main")
    place = desk.workplace(onto="main", projects=("toy",), line=line)
    with pytest.raises(HipwrightError) as caught:
        rebase_patches(place)
    assert caught.value.code.name == "rebase-stopped"
    name = "root/hipified/0001-After-hipify.patch"
    data = desk.files()[name]
    whole = data[data.index(b"diff --git a/plain.c") :]
    write(desk.line, {name: data[: data.index(b"diff --git a/hip/a.hip")] + whole})
    with pytest.raises(HipwrightError) as caught:
        desk.checkout(line=line, relock=True)
    assert re.search("changed by a patch of the series: [0-9a-f]{12} 'Say it in base'", str(caught.value.excerpt))


def test_a_move_that_would_lose_work_names_what_keeps_it(made: PatchDesk) -> None:
    desk = made
    desk.commit({"x.h": "x\n"}, "Add x")
    desk.commit({"y.h": "y\n"}, "Add y", module=LIB)
    write(desk.tree(), {"a.cu": "edited\n", "plain.c": "edited\n"})
    write(desk.tree() / LIB, {"l.txt": "edited\n"})
    with pytest.raises(HipwrightError) as caught:
        desk.until_base()
    assert caught.value.code.name == "unsaved-work"
    save, *ways = str(caught.value.hint).split("; ")
    assert save == "make patches of your commits: invoke save-patches --projects toy"
    assert ways[-2] == "then run the command again"
    for way in ways[:-2]:
        subprocess.run(  # noqa: S602 - as it is pasted
            way.partition(": ")[2], shell=True, check=True, env=identity(), capture_output=True
        )
    desk.until_base()
    assert git(desk.tree(), "show", "mine:x.h") == "x"
    assert git(desk.tree() / LIB, "show", "mine:y.h") == "y"
    assert git(desk.tree(), "show", "stash:plain.c") == "edited"
    assert git(desk.tree() / LIB, "show", "stash:l.txt") == "edited"


def test_commits_on_plain_sources_are_told_where_they_belong(desk: PatchDesk) -> None:
    desk.checkout(until=Stage.CHECKOUT)
    assert desk.save()["written"] == []
    desk.commit({"x.h": "x\n"}, "Add x")
    error = refused(desk, "bad-commit")
    assert "stands at checkout" in error.message
    assert error.hint is not None
    tag, there, pick = error.hint.partition(": ")[2].split(" && ")
    assert "--until base-patches" in there
    git(desk.tree(), *tag.split("' ")[1].split())
    desk.until_base()
    git(desk.tree(), *pick.split("' ")[1].split())
    assert changes(desk.save()) == {"root/base/0001-Add-x.patch": "added"}


def test_commits_without_hipify_are_refused(desk: PatchDesk) -> None:
    desk.checkout(hipify=False)
    desk.commit({"x.h": "x\n"}, "Add x")
    assert "without hipify" in refused(desk, "bad-commit", hipify=False).message


def test_a_ref_without_patches_has_no_place_to_save_to(tmp_path: Path) -> None:
    desk = PatchDesk(place=tmp_path)
    desk.begin({"a.cu": "cuda\n"}, lines='[[lines]]\nref = "*"\nwhy = "none needed"\n')
    desk.checkout()
    assert desk.save()["written"] == []
    desk.commit({"x.h": "x\n"}, "Add x")
    error = refused(desk, "no-line")
    assert error.hint is not None
    assert "new-series" in error.hint


def test_settings_of_a_person_change_no_byte(made: PatchDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = made
    desk.commit({"plain.c": LINES.replace("line 3\n", "line é\n"), "moved.c": LINES}, "Änder es")
    git(desk.tree(), "mv", "b.cu", "c d.cu")
    desk.commit({}, "Rename it")
    desk.save()
    expected = desk.files()
    home = tmp_path / "home"
    settings = (
        "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\trenames = copies\n\talgorithm = patience\n\tcontext = 1\n"
        "\tinterHunkContext = 9\n\tsuppressBlankEmpty = true\n\torderFile = /dev/stdin\n\texternal = false\n"
        "[format]\n\tsignature = me\n\tnumbered = true\n\tsignOff = true\n\tattach = true\n\theaders = X-Me: yes\n\tfrom = Me <me@x>\n"
        "[core]\n\tabbrev = 7\n\tautocrlf = true\n\tquotePath = false\n\tcommentChar = L\n[am]\n\tkeepcr = false\n\tthreeWay = true\n"
        "[apply]\n\twhitespace = fix\n\tignoreWhitespace = change\n[commit]\n\tgpgSign = true\n[user]\n\tuseConfigOnly = true\n"
        "[i18n]\n\tlogOutputEncoding = latin1\n[log]\n\tshowSignature = true\n\tdate = iso\n[color]\n\tui = always\n"
    )
    write(home, {".gitconfig": settings, ".config/git/attributes": "* diff=cpp text\n*.c -diff\n"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    desk.checkout("hostile")
    for module in (".git", ".git/modules/lib"):
        folder = desk.tree("hostile") / module
        own = (folder / "config").read_text(encoding="utf-8")
        (folder / "config").write_text(own + settings, encoding="utf-8")
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info" / "attributes").write_text("* diff=cpp\nplain.c -diff\n", encoding="utf-8")
    desk.save("hostile", refresh=True)
    assert desk.files() == expected
    monkeypatch.undo()
    assert head(desk.tree("hostile")) == head(desk.tree())
    assert raw(desk.tree(), "status", "--porcelain") == b""
