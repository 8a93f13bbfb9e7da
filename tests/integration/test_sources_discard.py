"""What a person has in a tree that later stages move: refused, kept where it cannot be lost, and dropped by ``--discard-local``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.hipify.run import hipify
from build_tools.sources.modules import load_modules
from build_tools.sources.move import is_moving
from build_tools.sources.phases import step_back
from tests.support.source_trees import HIPIFY, Person, Yard, git, head, make_patch, raw, snapshot, status, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIB = "third/lib"


@pytest.fixture
def origin(yard: Yard) -> Person:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cu": "cuda l\n"})
    origin.commit({"version.txt": "1.0\n", "a.cu": "cuda a\n", "tools/hip.py": HIPIFY, ".gitignore": "*.log\n"})
    origin.submodule(lib, LIB)
    return origin


def bundles(tree: Path) -> list[Path]:
    folder = tree / ".git" / "hipwright" / "discarded"
    return sorted(folder.iterdir()) if folder.exists() else []


def patched(yard: Yard, tree: Path, origin: Person) -> None:
    """Check out, and write a series with a base patch."""
    yard.checkout(yard.lock(origin), tree)
    yard.series({"root/base/1.patch": make_patch(tree, {"a.cu": "cuda patched\n", "made.txt": "made\n"})})


def test_every_phase_discards_what_is_in_its_way_and_keeps_it(yard: Yard, tree: Path, origin: Person) -> None:
    patched(yard, tree, origin)
    moves: dict[str, Callable[[], object]] = {
        "base": lambda: yard.patches("base", tree, discard_local=True),
        "hipify": lambda: yard.hipify(tree, discard_local=True),
        "back": lambda: step_back(tree, "base", git=yard.git, say=yard.said.append, discard_local=True),
    }
    for number, (phase, move) in enumerate(moves.items(), start=1):
        write(tree, {"version.txt": f"{phase}\n", "mine.txt": "mine\n"})
        move()
        assert not (tree / "mine.txt").exists()
        assert status(tree) == b""
        assert yard.said.count("discarding edited version.txt") == number
        assert len(bundles(tree)) == number
    git(tree, "fetch", "--quiet", bundles(tree)[0], "refs/hipwright-discarded/changes:refs/heads/kept")
    assert git(tree, "show", "kept:version.txt") in moves
    assert git(tree, "show", "kept:mine.txt") == "mine"


def test_hipified_patches_discard_as_well(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    yard.series({"root/hipified/1.patch": make_patch(tree, {"added.txt": "added\n"})})
    yard.patches("base", tree)
    yard.hipify(tree)
    write(tree, {"a.cu": "edit\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("hipified", tree)
    assert "--discard-local" in str(caught.value.hint)
    yard.patches("hipified", tree, discard_local=True)
    assert (tree / "a.cu").read_text() == "cuda a\n"
    assert len(bundles(tree)) == 1


def test_untracked_files_that_a_phase_does_not_write_stay(yard: Yard, tree: Path, origin: Person) -> None:
    patched(yard, tree, origin)
    write(tree, {"build/notes.txt": "mine\n"})
    yard.patches("base", tree)
    yard.hipify(tree)
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    assert (tree / "build/notes.txt").read_text() == "mine\n"
    assert raw(tree, "status", "--porcelain") == b"?? build/\n"
    yard.checkout(yard.locked[tree], tree, bare=True)
    write(tree, {"made.txt": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert caught.value.excerpt == "untracked made.txt"
    assert (tree / "made.txt").read_text() == "mine\n"


def test_a_file_that_only_the_earlier_ref_ignored_stops_no_later_phase(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    write(tree, {"build.log": "mine\n"})
    yard.checkout(yard.lock(origin, origin.commit({".gitignore": "\n"})), tree)
    yard.series({"root/base/1.patch": make_patch(tree, {"a.cu": "cuda patched\n"})})
    yard.patches("base", tree)
    assert (tree / "a.cu").read_text() == "cuda patched\n"
    assert (tree / "build.log").read_text() == "mine\n"


def test_untracked_files_stop_no_interrupted_phase(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched(yard, tree, origin)
    write(tree, {"notes.txt": "mine\n"})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("build_tools.sources.move._move_files", interrupt)
        yard.patches("base", tree)
    assert is_moving(tree)
    write(tree, {"made.txt": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert caught.value.excerpt == "untracked made.txt"
    (tree / "made.txt").unlink()
    yard.patches("base", tree)
    assert (tree / "a.cu").read_text() == "cuda patched\n"
    assert raw(tree, "status", "--porcelain") == b"?? notes.txt\n"


def interrupt(*_: object, **_more: object) -> None:
    raise KeyboardInterrupt


def test_a_tree_that_a_phase_moved_is_read_with_the_files_that_stayed(yard: Yard, tree: Path, origin: Person) -> None:
    patched(yard, tree, origin)
    yard.patches("base", tree)
    yard.hipify(tree)
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    write(tree, {"notes.txt": "mine\n"})
    assert not hipify(tree, yard.hipifier(), git=yard.git, say=yard.said.append), "it moved, and holds more than its commits"
    source = yard.read(yard.locked[tree], tree)
    assert source.local is not None
    assert source.local.lines == ("added notes.txt",)
    (tree / "notes.txt").unlink()
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    assert hipify(tree, yard.hipifier(), git=yard.git, say=yard.said.append)


@pytest.mark.parametrize("name", [LIB, "third"])
def test_a_link_in_place_of_a_submodule_is_told_and_never_followed(yard: Yard, tree: Path, origin: Person, name: str) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    elsewhere = yard.place / "elsewhere"
    (tree / name).rename(elsewhere)
    write(elsewhere, {"precious.txt": "mine\n", "lib/precious.txt": "mine\n"})
    (tree / name).symlink_to(elsewhere)
    before = snapshot(elsewhere)
    with pytest.raises(HipwrightError) as caught:
        yard.read(locked, tree)
    assert caught.value.code.name == "bad-source-tree"
    assert caught.value.hint
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree, line=None)
    assert caught.value.code.name == "bad-source-tree"
    other = yard.lock(origin, origin.commit({"b": "b\n"}))
    for wanted in (locked, other):
        with pytest.raises(HipwrightError) as caught:
            yard.checkout(wanted, tree)
        assert caught.value.code.name == "unsaved-work"
        assert caught.value.excerpt == f"{name} is a link of yours to {elsewhere}"
    yard.checkout(other, tree, discard_local=True)
    assert snapshot(elsewhere) == before
    assert not (tree / "third").is_symlink()
    assert (tree / LIB / "l.cu").read_text() == "cuda l\n"
    assert status(tree) == b""


@pytest.mark.parametrize("bit", ["skip-worktree", "assume-unchanged"])
def test_edits_that_git_was_told_not_to_see_stop_a_move(yard: Yard, tree: Path, origin: Person, bit: str) -> None:
    yard.checkout(yard.lock(origin), tree)
    other = yard.lock(origin, origin.commit({"a.cu": "cuda later\n"}))
    git(tree, "update-index", f"--{bit}", "a.cu", "tools/hip.py")
    write(tree, {"a.cu": "mine\n"})
    was = head(tree)
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(other, tree)
    assert caught.value.excerpt == f"edited a.cu (hidden from git by {bit})"
    assert head(tree) == was
    assert not is_moving(tree)
    yard.checkout(other, tree, discard_local=True)
    assert (tree / "a.cu").read_text() == "cuda later\n"
    (bundle,) = bundles(tree)
    git(tree, "fetch", "--quiet", bundle, "refs/hipwright-discarded/changes:refs/heads/kept")
    assert git(tree, "show", "kept:a.cu") == "mine"


def test_a_file_that_a_sparse_checkout_leaves_out_is_no_edit(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    git(tree, "update-index", "--skip-worktree", "a.cu")
    (tree / "a.cu").unlink()
    yard.checkout(yard.lock(origin, origin.commit({"b": "b\n"})), tree)
    assert (tree / "b").exists()


def test_a_move_that_git_refuses_at_once_leaves_no_move_behind(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.checkout(yard.lock(origin), tree)
    was = snapshot(tree), head(tree)
    other = yard.lock(origin, origin.commit({"a.cu": "cuda later\n"}))
    git(tree, "update-index", "--skip-worktree", "a.cu")
    write(tree, {"a.cu": "mine\n"})
    monkeypatch.setattr("build_tools.sources.guard.hidden_edits", lambda _module: {})
    with pytest.raises(HipwrightError):
        yard.checkout(other, tree)
    assert not is_moving(tree)
    assert head(tree) == was[1]
    assert (tree / "a.cu").read_text() == "mine\n"


def test_refs_of_what_lay_on_top_go_with_it(yard: Yard, tree: Path, origin: Person) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    write(tree, {"a.cu": "mine\n"})
    yard.read(locked, tree)
    names = [f"refs/hipwright/{name}" for name in ("content", "again")]
    git(tree, "update-ref", names[1], "HEAD")
    assert git(tree, "for-each-ref", "--format=%(refname)", *names).splitlines() == sorted(names)
    yard.checkout(yard.lock(origin, origin.commit({"b": "b\n"})), tree, discard_local=True)
    assert git(tree, "for-each-ref", *names) == ""


@pytest.fixture
def other_disk(yard: Yard) -> Iterator[Path]:
    memory = Path("/dev/shm")  # noqa: S108 - a disk of its own on most machines
    yard.place.mkdir(exist_ok=True)
    if not memory.is_dir() or memory.stat().st_dev == yard.place.stat().st_dev:
        pytest.skip("this machine has no second disk to write to")
    folder = Path(tempfile.mkdtemp(dir=memory))
    yield folder
    shutil.rmtree(folder)


def test_the_cache_may_lie_on_another_disk(yard: Yard, origin: Person, other_disk: Path) -> None:
    tree = other_disk / "toy"
    yard.checkout(yard.lock(origin), tree)
    assert status(tree) == b""
    assert [module.path for module in load_modules(tree, git=yard.git)] == [".", LIB]
