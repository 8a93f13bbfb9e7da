"""``invoke apply-patches``: trees are brought to what their series say on disk, and a tree always says where it stands."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.applied import read_applied
from build_tools.pipeline.apply_patches import apply_patches
from build_tools.types import Stage
from tests.support.patch_desk import DEEP, LIB, PatchDesk
from tests.support.source_trees import git, identity, make_patch, raw, snapshot, status, write
from tests.support.workplaces import memory_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.shelf import Shelf

LINES = "".join(f"line {number}\n" for number in range(1, 21))
BASE, DEEPER, HIPIFIED = "root/base/1.patch", f"{DEEP}/base/1.patch", "root/hipified/1.patch"


class Desk(PatchDesk):
    """A person who applies series."""

    def apply(self, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - options of many types
        place = self.workplace(**settings)
        try:
            found: dict[str, Any] = apply_patches(place)["projects"]["toy"]
            return found
        finally:
            self.said += memory_of(place).said

    def stands(self) -> Stage | None:
        return read_applied(self.tree()).stands

    def refused(self, code: str, **settings: Any) -> HipwrightError:  # noqa: ANN401 - as above
        """Return the error of applying, which leaves the tree, its record and the lock as they were."""
        before = self.state()
        with pytest.raises(HipwrightError) as caught:
            self.apply(**settings)
        assert caught.value.code.name == code
        assert self.state() == before
        return caught.value

    def state(self) -> tuple[object, ...]:
        tree = self.tree()
        refs = [raw(tree / module, "for-each-ref") for module in (".", LIB, DEEP)]
        return snapshot(tree), status(tree), self.heads(), refs, read_applied(tree)


def changed(text: str, line: int) -> str:
    return text.replace(f"line {line}\n", f"LINE {line}\n")


def applied(place: Path) -> None:
    """Make a desk whose series is applied."""
    desk = Desk(place=place)
    desk.begin({"a.txt": LINES, "a.cu": "cuda\n"})
    toy, deep = desk.person("toy").folder, desk.person("deep").folder
    desk.series(
        {
            BASE: make_patch(toy, {"a.txt": changed(LINES, 3)}, commit="main", message="base"),
            DEEPER: make_patch(deep, {"d.txt": "deep two\n"}, message="deep"),
            HIPIFIED: make_patch(toy, {"new.txt": "x\n"}, commit="main", message="hipified"),
        }
    )
    desk.checkout()


@pytest.fixture
def desk(shelf: Shelf) -> Desk:
    return Desk(place=shelf.put_back("applied", applied))


def test_nothing_is_done_where_nothing_changed(desk: Desk) -> None:
    before = desk.state()
    done = desk.apply()
    assert done["ran"] == []
    assert [(row["patch"], row["module"], row["phase"], row["outcome"]) for row in done["patches"]] == [
        (BASE, ".", "base", "applied"),
        (DEEPER, DEEP, "base", "applied"),
        (HIPIFIED, ".", "hipified", "applied"),
    ]
    assert git(desk.tree(), "log", "-1", "--format=%s", done["patches"][0]["commit"]) == "base"
    assert desk.state() == before


def test_a_series_that_was_edited_by_hand_is_applied(desk: Desk) -> None:
    toy = desk.person("toy").folder
    (desk.line / DEEPER).unlink()
    other = make_patch(toy, {"a.txt": changed(LINES, 9)}, commit="main", message="another")
    desk.series({BASE: other, HIPIFIED: (desk.line / HIPIFIED).read_bytes()})
    assert desk.apply()["ran"] == ["base-patches", "hipify", "hipified-patches"]
    assert desk.log() == ["hipified", "another"]
    assert desk.log(DEEP) == []
    assert status(desk.tree()) == b""
    assert desk.stands() is Stage.HIPIFIED_PATCHES


def test_until_the_base_patches_hipify_is_taken_out_and_put_in_again(desk: Desk) -> None:
    files = snapshot(desk.tree())
    done = desk.apply(until=Stage.BASE_PATCHES)
    assert [row["phase"] for row in done["patches"]] == ["base", "base"]
    assert not (desk.tree() / "hip").exists()
    assert desk.log() == ["base"]
    assert desk.stands() is Stage.BASE_PATCHES
    assert desk.apply(until=Stage.HIPIFY)["ran"] == ["hipify"]
    assert desk.stands() is Stage.HIPIFY
    assert desk.apply()["ran"] == ["hipified-patches"]
    assert (snapshot(desk.tree()), desk.stands()) == (files, Stage.HIPIFIED_PATCHES)


@pytest.mark.parametrize("stage", [Stage.LOCK, Stage.CHECKOUT, Stage.BUILD])
def test_a_stage_at_which_no_patch_is_applied_is_refused(desk: Desk, stage: Stage) -> None:
    assert "--until base-patches" in str(desk.refused("option-conflict", until=stage).hint)


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(desk: Desk) -> None:
    toy = desk.person("toy").folder
    assert desk.apply(dry_run=True)["ran"] == []
    desk.series({BASE: (desk.line / BASE).read_bytes(), HIPIFIED: make_patch(toy, {"b.txt": "x\n"}, commit="main")})
    (desk.line / DEEPER).unlink()
    before, lock = desk.state(), (desk.tree().parents[1] / "lock.json").read_bytes()
    done = desk.apply(dry_run=True)
    assert done["would_apply"] == [BASE, HIPIFIED]
    assert list(done["would_run"]) == ["base-patches", "hipify", "hipified-patches"]
    assert (desk.state(), (desk.tree().parents[1] / "lock.json").read_bytes()) == (before, lock)


def test_work_of_a_persons_is_never_lost_and_the_lock_goes_back_with_the_tree(desk: Desk) -> None:
    toy = desk.person("toy").folder
    desk.commit({"mine.txt": "x\n"}, "mine", module=DEEP)
    lock = (desk.tree().parents[1] / "lock.json").read_bytes()
    desk.series({BASE: make_patch(toy, {"a.txt": changed(LINES, 9)}, commit="main")})
    for name in (DEEPER, HIPIFIED):
        (desk.line / name).unlink()
    error = desk.refused("unsaved-work")
    assert "mine" in str(error.excerpt)
    assert (desk.tree().parents[1] / "lock.json").read_bytes() == lock
    desk.apply(discard_local=True)
    assert desk.log(DEEP) == []
    assert any("kept in" in line for line in desk.said)


def test_a_failure_leaves_all_as_it_was_and_the_next_run_works(desk: Desk) -> None:
    good = (desk.line / BASE).read_bytes()
    write(desk.line, {BASE: good.replace(b" line 2\n", b" line two\n")})
    error = desk.refused("patch-conflict")
    assert BASE in error.message
    assert error.reproduce is not None
    assert desk.stands() is Stage.HIPIFIED_PATCHES
    write(desk.line, {BASE: good})
    desk.apply()
    assert desk.log() == ["hipified", "base"]


def test_what_an_earlier_run_left_out_is_an_error_once_that_is_asked_for(desk: Desk) -> None:
    toy, text = desk.person("toy"), changed(LINES, 9)
    write(desk.line, {BASE: make_patch(toy.folder, {"a.txt": text}, commit="main")})
    git(toy.folder, "checkout", "--quiet", "--force", "main")
    toy.commit({"a.txt": "above\n" + text})
    desk.checkout(relock=True)
    rows = {row["patch"]: row["outcome"] for row in desk.apply()["patches"]}
    assert rows == {BASE: "upstream", DEEPER: "applied", HIPIFIED: "applied"}
    error = desk.refused("patch-upstream", strict=True)
    assert BASE in error.message
    assert f"invoke drop-patch {BASE}" in str(error.hint)
    assert any(BASE in line and "has it already" in line for line in desk.said)


@pytest.mark.parametrize(
    ("words", "taken_back"),
    [(("am",), "am --abort"), (("cherry-pick",), "cherry-pick --abort"), (("rebase", "HEAD~1"), "rebase --abort")],
)
def test_what_an_interrupted_git_left_is_told_with_the_command_that_takes_it_back(
    desk: Desk, words: tuple[str, ...], taken_back: str
) -> None:
    folder = desk.tree() / LIB
    first = git(folder, "rev-parse", "HEAD")
    desk.commit({"l.txt": "one\n"}, "one", module=LIB)
    mail = desk.place / "mail"
    mail.write_bytes(raw(folder, "format-patch", "--stdout", "HEAD~1"))
    other = git(folder, "rev-parse", "HEAD")
    git(folder, "reset", "--quiet", "--hard", first)
    if words[0] == "rebase":
        desk.commit({"l.txt": "base\n"}, "base", module=LIB)
        git(folder, "reset", "--quiet", "--hard", other)
        words = ("rebase", "HEAD@{1}")
    elif words[0] == "am":
        desk.commit({"l.txt": "two\n"}, "two", module=LIB)
        words = ("am", str(mail))
    else:
        desk.commit({"l.txt": "two\n"}, "two", module=LIB)
        words = ("cherry-pick", other)
    done = subprocess.run(["git", *words], cwd=folder, env=identity(), capture_output=True, check=False)
    assert done.returncode != 0
    toy = desk.person("toy").folder
    write(desk.line, {BASE: make_patch(toy, {"a.txt": changed(LINES, 9)}, commit="main")})
    with pytest.raises(HipwrightError) as caught:
        desk.apply()
    assert caught.value.code.name == "unsaved-work"
    assert f" is under way in {LIB}" in str(caught.value.excerpt)
    assert f"git -C '{folder}' {taken_back}" in str(caught.value.hint)


def test_a_lock_that_a_killed_git_left_is_told_with_the_command_that_removes_it(desk: Desk) -> None:
    lock = desk.tree() / ".git" / "index.lock"
    lock.touch()
    toy = desk.person("toy").folder
    write(desk.line, {BASE: make_patch(toy, {"a.txt": changed(LINES, 9)}, commit="main")})
    with pytest.raises(HipwrightError) as caught:
        desk.apply()
    assert caught.value.code.name == "locked"
    assert f"rm '{lock}'" in str(caught.value.hint)
    lock.unlink()
    desk.apply()


def test_a_tree_says_where_it_stands_whatever_ran(desk: Desk) -> None:
    desk.checkout(until=Stage.CHECKOUT)
    assert desk.stands() is Stage.CHECKOUT
    desk.checkout(until=Stage.BASE_PATCHES)
    assert desk.stands() is Stage.BASE_PATCHES
    desk.commit({"b.txt": "x\n"}, "mine")
    desk.checkout(until=Stage.BASE_PATCHES)
    assert desk.stands() is Stage.BASE_PATCHES
    with pytest.raises(HipwrightError):
        desk.checkout()
    assert desk.stands() is Stage.BASE_PATCHES
    git(desk.tree(), "reset", "--quiet", "--hard", "HEAD~1")
    desk.checkout()
    assert desk.stands() is Stage.HIPIFIED_PATCHES
    (desk.tree() / ".git" / "hipwright" / "checkout.json").unlink()
    (desk.tree() / ".git" / "hipwright" / "base-patches.json").unlink()
    write(desk.line, {HIPIFIED: (desk.line / HIPIFIED).read_bytes().replace(b"+x", b"+y")})
    desk.commit({"b.txt": "x\n"}, "mine")
    with pytest.raises(HipwrightError):
        desk.checkout()
    assert desk.stands() is Stage.HIPIFIED_PATCHES, "stages that moved nothing have not taken it back"
