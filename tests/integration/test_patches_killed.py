"""Patch commands that are killed at a call of git: nothing of a person's becomes a patch of another phase, and the next save goes on."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from build_tools.errors import HipwrightError
from tests.support.killing import drive
from tests.support.patch_desk import LIB, PatchDesk
from tests.support.source_trees import git, identity

if TYPE_CHECKING:
    from pathlib import Path

ROOT_BASE = "root/base/0001-Say-it-in-base.patch"
LIB_BASE = f"{LIB}/base/0001-Add-x.patch"
HIPIFIED = "root/hipified/0001-Say-it-after-hipify.patch"
FURTHER = "root/base/0002-Go-on.patch"

State: TypeAlias = "tuple[dict[str, bytes], dict[str, str]]"


def state(desk: PatchDesk) -> State:
    return desk.files(), desk.heads()


def go_on(desk: PatchDesk) -> None:
    desk.commit({"further.h": "further\n"}, "Go on")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], State, State]:
    """Return a desk's place with base commits to save, the calls of git in a save, and what it gives, also with one more commit."""
    top = tmp_path_factory.mktemp("kill")
    desk = PatchDesk(place=top / "pl ace")
    desk.begin({"a.cu": "cuda\n"})
    desk.until_base()
    desk.commit({"a.cu": "cuda base\n"}, "Say it in base")
    desk.commit({"x.h": "x\n"}, "Add x", module=LIB)
    shutil.copytree(desk.place, top / "kept", symlinks=True)
    code, calls = drive(desk.place, "save")
    assert code == 0
    saved = state(desk)
    go_on(desk)
    desk.save()
    return top / "kept", calls, saved, state(desk)


# A place can be used at its own path only: its origins are named by it.
def fresh(kept: Path) -> PatchDesk:
    desk = PatchDesk(place=kept.with_name("pl ace"))
    shutil.rmtree(desk.place)
    shutil.copytree(kept, desk.place, symlinks=True)
    return desk


def first_stage(calls: list[str]) -> int:
    """Return the number of the first call of git, counted from 1, that looks where the tree stands before a stage moves it."""
    return next(
        number for number, call in enumerate(calls, start=1) if call.startswith("rev-parse --verify --quiet refs/hipwright")
    )


@pytest.mark.parametrize(
    ("point", "further"),
    [
        ("written", False),
        ("written", True),
        ("one module let go", False),
        ("one module let go", True),
        ("before the tree moves", False),
        ("before the tree moves", True),
        ("moved", False),
    ],
)
def test_a_killed_save_is_carried_to_its_end_by_the_next(
    begun: tuple[Path, list[str], State, State], point: str, *, further: bool
) -> None:
    kept, calls, saved, gone_on = begun
    desk = fresh(kept)
    letting_go = max(number for number, call in enumerate(calls[: first_stage(calls)], start=1) if call.startswith("update-ref"))
    kill_at = {
        "written": letting_go - 1,
        "one module let go": letting_go,
        "before the tree moves": first_stage(calls),
        "moved": [number for number, call in enumerate(calls, start=1) if call.startswith("update-ref")][-3] - 1,
    }[point]
    code, _ = drive(desk.place, "save", kill_at=kill_at)
    assert code == -9
    assert desk.files() == saved[0]
    if further:
        go_on(desk)
    written = desk.save()["written"]
    assert state(desk) == (gone_on if further else saved)
    assert written == ([FURTHER, "series.toml"] if further else [])
    assert desk.save()["written"] == []
    desk.until_base()
    assert state(desk) == (gone_on if further else saved)


@pytest.mark.parametrize("point", ["let go", "moving", "moved"])
@pytest.mark.parametrize("command", ["save", "checkout"])
def test_commits_of_a_killed_save_are_a_persons_again_when_its_series_is_taken_back(
    begun: tuple[Path, list[str], State, State], point: str, command: str
) -> None:
    kept, calls, saved, _ = begun
    desk = fresh(kept)
    before = state(desk)
    updates = [number for number, call in enumerate(calls, start=1) if call.startswith("update-ref")]
    of_modules = 3
    kill_at = {"let go": first_stage(calls), "moving": updates[-of_modules - 1], "moved": updates[-of_modules] - 1}[point]
    code, _ = drive(desk.place, "save", kill_at=kill_at)
    assert code == -9
    assert desk.files() == saved[0]
    shutil.rmtree(desk.line)
    desk.series({})
    if command == "checkout":
        desk.until_base()
        assert state(desk) == before
    desk.save()
    assert state(desk) == saved
    assert desk.save()["written"] == []


def test_commits_of_both_phases_come_back_when_the_series_of_a_killed_save_is_taken_back(
    begun: tuple[Path, list[str], State, State],
) -> None:
    desk = fresh(begun[0])
    desk.save()
    desk.checkout()
    files = desk.files()
    desk.commit({"hip/a.hip": "hip after\n"}, "Say it after hipify")
    before = desk.heads()
    shutil.copytree(desk.place, desk.place.with_name("both"), symlinks=True)
    code, calls = drive(desk.place, "save")
    assert code == 0
    saved = state(desk)
    updates = [number for number, call in enumerate(calls, start=1) if call.startswith("update-ref")]
    assert first_stage(calls) < updates[-4]
    for kill_at in (first_stage(calls), updates[-4], updates[-3] - 1):
        desk = fresh(desk.place.with_name("both"))
        code, _ = drive(desk.place, "save", kill_at=kill_at, mode="after")
        assert code == -9
        assert HIPIFIED in desk.files()
        shutil.copytree(desk.place, desk.place.with_name("killed"), symlinks=True)
        desk.save()
        assert state(desk) == saved
        desk = fresh(desk.place.with_name("killed"))
        shutil.rmtree(desk.place.with_name("killed"))
        shutil.rmtree(desk.line)
        desk.series({name: data for name, data in files.items() if name != "series.toml"})
        desk.checkout()
        assert desk.heads() == before
        desk.save()
        assert state(desk)[1] == saved[1]
        assert desk.files().keys() == saved[0].keys()


def test_work_on_a_tree_that_a_killed_save_had_moved_stays_and_tags_keep_the_commits(
    begun: tuple[Path, list[str], State, State],
) -> None:
    kept, calls, *_ = begun
    desk = fresh(kept)
    heads = desk.heads()
    updates = [number for number, call in enumerate(calls, start=1) if call.startswith("update-ref")]
    code, _ = drive(desk.place, "save", kill_at=updates[-3] - 1)
    assert code == -9
    go_on(desk)
    shutil.rmtree(desk.line)
    desk.series({})
    with pytest.raises(HipwrightError):
        desk.save()
    tags = {module: git(desk.tree() / module, "rev-parse", "mine") for module in (".", LIB)}
    assert tags == {module: heads[module] for module in (".", LIB)}
    assert (desk.tree() / "further.h").is_file()


def test_what_was_taken_out_of_the_series_is_not_put_in_again(begun: tuple[Path, list[str], State, State]) -> None:
    kept, _, (files, _), _ = begun
    desk = fresh(kept)
    desk.save()
    go_on(desk)
    (desk.line / ROOT_BASE).unlink()
    desk.series({LIB_BASE: files[LIB_BASE]})
    with pytest.raises(HipwrightError) as caught:
        desk.save()
    assert caught.value.code.name == "series-changed"
    assert set(desk.files()) == {LIB_BASE, "series.toml"}


def test_commits_on_a_tree_that_a_killed_run_left_become_no_patches_of_another_phase(
    begun: tuple[Path, list[str], State, State],
) -> None:
    desk = fresh(begun[0])
    desk.save()
    desk.checkout()
    desk.commit({"hip/a.hip": "hip after\n"}, "Say it after hipify")
    desk.save()
    shutil.copytree(desk.place, desk.place.with_name("finished"), symlinks=True)
    desk = fresh(desk.place.with_name("finished"))
    code, calls = drive(desk.place, "base-patches")
    assert code == 0
    moved = max(number for number, call in enumerate(calls, start=1) if call.startswith("update-ref")) + 1
    desk = fresh(desk.place.with_name("finished"))
    code, _ = drive(desk.place, "base-patches", kill_at=moved)
    assert code == -9
    assert not (desk.tree() / ".git" / "hipwright" / "moving.json").exists()
    assert not (desk.tree() / "hip").exists(), "the tree has gone back to its base patches"
    go_on(desk)
    files = desk.files()
    with pytest.raises(HipwrightError) as caught:
        desk.save()
    assert caught.value.code.name == "bad-commit"
    assert desk.files() == files
    tag, there, pick = str(caught.value.hint).partition(": ")[2].split(" && ")
    assert "--until base-patches" in there
    run(tag)
    desk.until_base()
    run(pick)
    changes: list[dict[str, Any]] = desk.save()["patches"]
    assert {row["file"]: row["change"] for row in changes} == {FURTHER: "added"}
    assert set(desk.files()) == {ROOT_BASE, LIB_BASE, HIPIFIED, FURTHER, "series.toml"}


def run(line: str) -> None:
    assert re.match("git ", line)
    subprocess.run(shlex.split(line), env=identity(), check=True, capture_output=True)
