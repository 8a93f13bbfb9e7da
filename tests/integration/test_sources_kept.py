"""What ``--discard-local`` keeps: all that git holds of a person's, found again by what is printed, and theirs when it is back."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources import move
from build_tools.sources.move import is_moving
from tests.support.source_trees import HIPIFY, Person, Yard, git, head, identity, raw, status, write

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.lock import LockedSources

LIB = "third/lib"


@pytest.fixture
def origin(yard: Yard) -> Person:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cu": "cuda l\n"})
    origin.commit({"version.txt": "1.0\n", "a.cu": "cuda a\n", "tools/hip.py": HIPIFY})
    origin.submodule(lib, LIB)
    return origin


def other_refs(yard: Yard, tree: Path, origin: Person) -> LockedSources:
    """Check out, and return what is locked for a later commit."""
    yard.checkout(yard.lock(origin), tree)
    return yard.lock(origin, origin.commit({"b": "b\n"}))


def told(yard: Yard) -> list[list[str]]:
    """Return the commands that were printed, as words."""
    return [shlex.split(line.partition("FETCH_HEAD: ")[2]) for line in yard.said if "FETCH_HEAD: " in line]


def test_the_printed_command_brings_each_bundle_back(yard: Yard, tree: Path, origin: Person) -> None:
    yard.checkout(yard.lock(origin), tree)
    git(origin.folder, "rm", "--quiet", "-r", LIB)
    other = yard.lock(origin, origin.commit({"b": "b\n"}))
    write(tree, {"a.cu": "mine\n", f"{LIB}/l.cu": "mine too\n"})
    yard.checkout(other, tree, discard_local=True)
    commands = told(yard)
    assert len(commands) == 2
    for words, place, file, text in (
        (commands[0], ["-C", str(tree)], "a.cu", "mine"),
        (commands[1], [f"--git-dir={tree / '.git/modules' / LIB}"], "l.cu", "mine too"),
    ):
        assert words[: len(place) + 1] == ["git", *place]
        git(yard.place, *words[1:])
        assert git(yard.place, *place, "show", f"FETCH_HEAD:{file}") == text


def test_what_is_brought_back_counts_as_a_persons(yard: Yard, tree: Path, origin: Person) -> None:
    other = other_refs(yard, tree, origin)
    write(tree, {"a.cu": "mine\n"})
    yard.checkout(other, tree, discard_local=True)
    git(yard.place, *told(yard)[0][1:])
    git(tree, "checkout", "--quiet", "FETCH_HEAD")
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(other, tree)
    assert caught.value.code.name == "unsaved-work"
    assert "Changes that were discarded" in str(caught.value.excerpt)
    hint = str(caught.value.hint)
    assert hint.startswith("keep your commits by a tag: git -C ")
    subprocess.run(hint.partition(": ")[2].partition("; ")[0], shell=True, check=True)  # noqa: S602 - as it is pasted
    yard.checkout(other, tree)
    assert git(tree, "show", "mine:a.cu") == "mine"


def fail(folder: Path, *words: str) -> None:
    """Run a git command that stops in the middle of something."""
    with pytest.raises(AssertionError):
        raw(folder, *words, env={**identity(), "GIT_EDITOR": "true"})


@pytest.mark.parametrize("what", ["rebase", "merge", "cherry-pick"])
def test_commits_that_only_an_unfinished_operation_holds_are_kept(yard: Yard, tree: Path, origin: Person, what: str) -> None:
    other = other_refs(yard, tree, origin)
    start = head(tree)
    write(tree, {"a.cu": "one\n"})
    git(tree, "commit", "--quiet", "-a", "-m", "one")
    write(tree, {"c.cu": "last\n"})
    git(tree, "add", "c.cu")
    git(tree, "commit", "--quiet", "-m", "last")
    mine = head(tree)
    git(tree, "checkout", "--quiet", "--detach", start)
    write(tree, {"a.cu": "other\n"})
    git(tree, "commit", "--quiet", "-a", "-m", "other")
    onto = head(tree)
    if what == "rebase":
        git(tree, "checkout", "--quiet", "--detach", mine)
        fail(tree, "rebase", onto)
    elif what == "merge":
        fail(tree, "merge", mine)
    else:
        fail(tree, "cherry-pick", f"{start}..{mine}")
    yard.checkout(other, tree, discard_local=True)
    assert status(tree) == b""
    assert not list((tree / ".git").glob("*_HEAD")) or {path.name for path in (tree / ".git").glob("*_HEAD")} <= {"ORIG_HEAD"}
    assert not (tree / ".git" / "sequencer").exists()
    words = told(yard)[0]
    clone = yard.place / "clone"
    git(yard.place, "clone", "--quiet", origin.folder, clone)
    bundle, refs = words[words.index("--no-recurse-submodules") + 1], words[words.index("--no-recurse-submodules") + 2 :]
    assert "refs/hipwright-discarded/unfinished-1" in refs
    git(clone, "fetch", "--quiet", bundle, *(f"{ref}:{ref}" for ref in refs))
    held = git(clone, "rev-list", "--glob=refs/hipwright-discarded", "--").splitlines()
    assert mine in held
    assert onto in held
    assert git(tree, "for-each-ref", "refs/hipwright-discarded/unfinished-1") == ""


def test_what_is_staged_is_kept_where_the_files_have_something_else(yard: Yard, tree: Path, origin: Person) -> None:
    other = other_refs(yard, tree, origin)
    write(tree, {"a.cu": "staged\n", "new.cu": "staged and deleted\n"})
    git(tree, "add", "a.cu", "new.cu")
    write(tree, {"a.cu": "edited after\n"})
    (tree / "new.cu").unlink()
    yard.checkout(other, tree, discard_local=True)
    words = told(yard)[0]
    git(yard.place, *words[1:])
    lines = (tree / ".git" / "FETCH_HEAD").read_text().splitlines()
    commits = [line.split()[0] for line in lines]
    assert words[-2:] == ["refs/hipwright-discarded/changes", "refs/hipwright-discarded/index"]
    assert [git(tree, "show", f"{commit}:a.cu") for commit in commits] == ["edited after", "staged"]
    assert git(tree, "show", f"{commits[1]}:new.cu") == "staged and deleted"


def stopped(monkeypatch: pytest.MonkeyPatch, yard: Yard, locked: LockedSources, tree: Path, *, discard_local: bool) -> None:
    """Leave a tree as a run leaves it that was killed when the move had begun."""

    def interrupt(*_: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(move, "_move_files", interrupt)
        yard.checkout(locked, tree, discard_local=discard_local)
    assert is_moving(tree)


@pytest.mark.parametrize("module", [".", LIB])
@pytest.mark.parametrize("commits", [False, True])
def test_edits_made_after_a_discarding_run_was_killed_are_not_overwritten(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch, module: str, *, commits: bool
) -> None:
    yard.checkout(yard.lock(origin), tree)
    yard.again("lib").commit({"l.cu": "cuda later\n"})
    git(origin.folder / LIB, "pull", "--quiet", "origin", "main")
    other = yard.lock(origin, origin.commit({"a.cu": "cuda later\n"}))
    file = "a.cu" if module == "." else "l.cu"
    write(tree / module, {file: "kept\n", "mine.txt": "kept\n"})
    if commits:
        git(tree / module, "commit", "--quiet", "-a", "-m", "kept")
    stopped(monkeypatch, yard, other, tree, discard_local=True)
    # Nothing is in the way of going on, until there is.
    write(tree / module, {file: "made since\n", "since.txt": "since\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(other, tree)
    assert caught.value.code.name == "unsaved-work"
    prefix = "" if module == "." else f"{module}: "
    assert str(caught.value.excerpt).splitlines() == [f"edited {prefix}{file}", f"untracked {prefix}since.txt"]
    assert "checkout_toy -- --discard-local" in str(caught.value.hint)
    assert (tree / module / file).read_text() == "made since\n"
    yard.checkout(other, tree, discard_local=True)
    assert status(tree) == b""
    assert (tree / module / file).read_text() == "cuda later\n"
    git(yard.place, *told(yard)[-1][1:])
    assert git(tree / module, "show", f"FETCH_HEAD:{file}") == "made since"
    assert git(tree / module, "show", "FETCH_HEAD:since.txt") == "since"


@pytest.mark.parametrize("discard", [False, True])
def test_a_killed_run_that_discarded_ends_by_itself(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch, *, discard: bool
) -> None:
    yard.checkout(yard.lock(origin), tree)
    git(origin.folder, "rm", "--quiet", "-r", LIB)
    other = yard.lock(origin, origin.commit({"a.cu": "cuda later\n"}))
    write(tree, {"a.cu": "mine\n", f"{LIB}/l.cu": "mine\n"})
    git(tree / LIB, "commit", "--quiet", "-a", "-m", "mine")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(move, "_remove", interrupt)
        yard.checkout(other, tree, discard_local=True)
    yard.checkout(other, tree, discard_local=discard)
    assert status(tree) == b""
    assert not (tree / LIB).exists()
    assert len(told(yard)) == 2


def test_files_put_where_an_interrupted_move_brings_a_submodule_stop_it(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.checkout(yard.lock(origin), tree)
    origin.submodule(yard.again("lib"), "new")
    other = yard.lock(origin)
    stopped(monkeypatch, yard, other, tree, discard_local=False)
    write(tree, {"new/l.cu": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(other, tree)
    assert caught.value.excerpt == "untracked new: l.cu"
    assert (tree / "new/l.cu").read_text() == "mine\n"
    (tree / "new/l.cu").unlink()
    yard.checkout(other, tree)
    assert (tree / "new/l.cu").read_text() == "cuda l\n"
    assert status(tree) == b""
