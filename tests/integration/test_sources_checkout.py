"""Checkout of real repositories: exact trees, moves between any two refs, and nothing of a person's lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.errors import HipwrightError
from build_tools.shown import shown
from build_tools.sources import arrange, move
from build_tools.sources.guard import local_work
from build_tools.sources.modules import load_modules
from build_tools.sources.phases import marked_modules
from tests.support.source_trees import HIPIFY, ODD_NAMES, Person, Tree, Yard, git, head, identity, raw, snapshot, status, write

if TYPE_CHECKING:
    from build_tools.receipts.lock import LockedSources
    from build_tools.sources.git import Git
    from build_tools.sources.modules import Module

MARKERS = ("base", "finished", "hipified", "upstream")


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


@pytest.fixture
def tree(yard: Yard) -> Path:
    return yard.place / "work" / "src" / "toy"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tree": "b" * 40}, r"its tree is [0-9a-f]{40}, and the lock says b{40}"),
        ({"base_version": "9"}, "is 1.0, and the lock says 9"),
    ],
)
def test_a_lock_that_says_otherwise_than_its_commit_is_refused(
    yard: Yard, tree: Path, changes: dict[str, str], words: str
) -> None:
    locked, project = yard.lock(nested(yard)), yard.project()
    for _ in range(2):
        with pytest.raises(HipwrightError, match=words) as caught:
            yard.checkout(msgspec.structs.replace(locked, **changes), tree, project=project)
        assert caught.value.code.name == "bad-source-tree"
        # One that stands is judged as well.
        yard.checkout(locked, tree, project=project)


def nested(yard: Yard) -> Person:
    """Return an origin with a nested submodule, on main; each of the three has a second commit on a branch ``next``."""
    deep, middle, origin = yard.person("deep"), yard.person("middle"), yard.person("toy")
    deep.commit({"deep.cu": "cuda deep\n"})
    middle.commit({"middle.cu": "cuda middle\n"})
    middle.submodule(deep, "dé eper/deep")
    origin.commit({"version.txt": "1.0\n", "a.cu": "cuda\n", "run.sh": "#!/bin/sh\n", ".gitignore": "hip\n*.log\n"})
    origin.submodule(middle, "third party/middle")
    return origin


def clone(origin: Person, target: Path, ref: str) -> dict[str, bytes]:
    git(target.parent, "clone", "--quiet", "--recurse-submodules", "--branch", ref, origin.folder, target)
    return snapshot(target)


def refs(folder: Path) -> dict[str, str]:
    lines = git(folder, "for-each-ref", "--format=%(refname) %(objectname)", "refs/hipwright/").splitlines()
    return {line.split(" ")[0].removeprefix("refs/hipwright/"): line.split(" ")[1] for line in lines}


def assert_refused(yard: Yard, locked: object, tree: Path, *words: str) -> None:
    def state() -> tuple[object, ...]:
        return snapshot(tree), raw(tree, "for-each-ref", "refs/hipwright", "refs/heads"), head(tree), status(tree)

    before = state()
    with pytest.raises(HipwrightError, match="would lose") as caught:
        yard.checkout(locked, tree)  # type: ignore[arg-type]
    assert caught.value.code.name == "unsaved-work"
    for word in words:
        assert word in str(caught.value.excerpt), caught.value.excerpt
    assert state() == before


def test_a_tree_is_what_a_recursive_clone_gives_with_markers_in_every_module(yard: Yard, tree: Path, tmp_path: Path) -> None:
    origin = nested(yard)
    origin.commit(dict.fromkeys(ODD_NAMES, "cuda odd\n"))
    (origin.folder / "link").symlink_to("nowhere")
    (origin.folder / "run.sh").chmod(0o755)
    commit = origin.commit({})
    yard.checkout(yard.lock(origin), tree)
    assert snapshot(tree) == clone(origin, tmp_path / "clone", "main")
    assert status(tree) == b""
    assert head(tree) == commit
    for module in (".", "third party/middle", "third party/middle/dé eper/deep"):
        folder = tree / module
        assert refs(folder) == dict.fromkeys(MARKERS, head(folder))
        assert head(folder) == head(tmp_path / "clone" / module)
        assert git(folder, "config", "remote.origin.url") == git(tmp_path / "clone" / module, "config", "remote.origin.url")
        assert Path(git(folder, "rev-parse", "--show-toplevel")) == folder
        raw(folder, "fsck", "--strict")
    ours = raw(tree, "submodule", "status", "--recursive")
    assert [line[:41] for line in ours.splitlines()] == [
        line[:41] for line in raw(tmp_path / "clone", "submodule", "status", "--recursive").splitlines()
    ]
    assert git(tree, "submodule", "update", "--recursive", "--no-fetch") == ""
    git(tree, "fetch", "--quiet", "origin")
    assert git(tree, "rev-parse", "origin/main") == commit


def test_nothing_is_asked_of_the_origin_when_the_mirror_has_it(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    locked = yard.lock(origin)
    (yard.place / "origins").rename(yard.place / "gone")
    yard.checkout(locked, tree)
    assert status(tree) == b""


def test_a_tree_survives_the_loss_of_the_cache(yard: Yard, tree: Path) -> None:
    yard.checkout(yard.lock(nested(yard)), tree)
    shutil.rmtree(yard.cache)
    raw(tree, "fsck", "--full")
    assert status(tree) == b""


def test_a_second_checkout_touches_nothing(yard: Yard, tree: Path) -> None:
    locked = yard.lock(nested(yard))
    yard.checkout(locked, tree)
    write(tree, {"a.cu": "my edit\n", "mine.txt": "mine\n"})
    git(tree / "third party/middle", "commit", "--quiet", "--allow-empty", "-m", "mine")
    times = {path: path.lstat().st_mtime_ns for path in tree.rglob("*")}
    yard.checkout(locked, tree)
    assert {path: path.lstat().st_mtime_ns for path in tree.rglob("*")} == times


STEPS: dict[str, Tree] = {
    "edit": {"a.cu": "other\n", "new/file.cu": "n\n"},
    "names": dict.fromkeys(ODD_NAMES, "x\n"),
}


def test_a_tree_moves_between_any_two_refs_and_back(yard: Yard, tree: Path, tmp_path: Path) -> None:
    origin = nested(yard)
    extra = yard.person("extra")
    extra.commit({"e.cu": "e\n"})
    folder = origin.folder

    def branch(name: str) -> None:
        git(folder, "branch", name)

    branch("start")
    for name, files in STEPS.items():
        origin.commit(files)
        branch(name)
    origin.submodule(extra, "extra")
    branch("added")
    git(folder, "mv", "extra", "moved place")
    git(folder, "commit", "--quiet", "-m", "moved")
    branch("moved")
    git(folder, "rm", "--quiet", "-f", "moved place")
    origin.commit({"moved place/e.cu": "a plain file\n", "moved place/deeper/f": "f\n"})
    branch("plain-folder")
    git(folder, "rm", "--quiet", "-r", "-f", "third party/middle", "moved place")
    shutil.rmtree(folder / ".git" / "modules" / "third party" / "middle")
    git(folder, "commit", "--quiet", "-m", "removed")
    branch("removed")
    other = yard.person("other")
    other.commit({"other.cu": "another repository\n"})
    origin.submodule(other, "third party/middle")
    branch("other-address")
    (folder / "a.cu").unlink()
    origin.commit({"a.cu/now/a/folder.cu": "f\n"})
    branch("file-to-folder")
    names = ["start", "edit", "names", "added", "moved", "plain-folder", "removed", "other-address", "file-to-folder"]
    wanted = {name: clone(origin, tmp_path / f"clone-{name}", name) for name in names}
    order = [
        *names,
        *reversed(names),
        "moved",
        "start",
        "other-address",
        "added",
        "file-to-folder",
        "names",
        "plain-folder",
        "start",
    ]
    for name in order:
        locked = yard.lock(origin, name)
        yard.checkout(locked, tree)
        assert snapshot(tree) == wanted[name], name
        assert status(tree) == b"", name
        assert head(tree) == locked.commit
        for pin in locked.submodules:
            assert refs(tree / pin.path) == dict.fromkeys(MARKERS, pin.commit)
            assert git(tree / pin.path, "config", "remote.origin.url") == pin.url
        assert [path for path in tree.rglob("*") if path.is_dir() and not any(path.iterdir()) and ".git" not in path.parts] == []
    assert [path.name for path in (tree / ".git" / "hipwright").iterdir()] == ["modules.json"]


def test_a_changed_address_is_followed(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    old = yard.place / "origins" / "middle"
    new = Person(yard.place / "origins" / "elsewhere" / "middle")
    git(new.folder, "pull", "--quiet", old, "main")
    pin = new.commit({"only here": "x"})
    shutil.rmtree(old)
    git(origin.folder, "config", "-f", ".gitmodules", "submodule.third party/middle.url", str(new.folder))
    git(origin.folder / "third party/middle", "fetch", "--quiet", new.folder, "main")
    git(origin.folder / "third party/middle", "checkout", "--quiet", pin)
    origin.commit({})
    yard.checkout(yard.lock(origin), tree)
    assert (tree / "third party/middle/only here").read_text() == "x"
    assert git(tree, "config", "submodule.third party/middle.url") == str(new.folder)
    assert git(tree / "third party/middle", "config", "remote.origin.url") == str(new.folder)
    assert status(tree) == b""


DEEP = "third party/middle/dé eper/deep"


@pytest.mark.parametrize("module", [".", "third party/middle", DEEP])
def test_untracked_and_added_files_of_any_name_stop_a_move(yard: Yard, tree: Path, module: str) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    origin.commit({"a.cu": "next\n"})
    write(tree / module, dict.fromkeys(ODD_NAMES, "mine\n"))
    place = "" if module == "." else f"{module}: "
    assert_refused(yard, yard.lock(origin), tree, *(f"untracked {place}{shown(os.fsencode(name))}" for name in ODD_NAMES))
    git(tree / module, "add", "--all", "--", ".")
    assert_refused(yard, yard.lock(origin), tree, *(f"added {place}{shown(os.fsencode(name))}" for name in ODD_NAMES))


def test_every_kind_of_work_is_named(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    middle = tree / "third party/middle"
    write(middle, {"middle.cu": "edited\n"})
    git(middle, "commit", "--quiet", "-a", "-m", "my\ttitle")
    (tree / DEEP / "deep.cu").unlink()
    (tree / "run.sh").chmod(0o755)
    commit = head(middle)[:7]
    assert_refused(
        yard, locked, tree, f"commit third party/middle: {commit} my\\ttitle", f"deleted {DEEP}: deep.cu", "edited run.sh"
    )


def test_a_commit_on_a_branch_stops_a_move_and_one_that_the_origin_has_does_not(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    git(origin.folder, "branch", "side")
    yard.checkout(yard.lock(origin), tree)
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    git(tree, "fetch", "--quiet", "origin")
    git(tree, "checkout", "--quiet", "-b", "work", "origin/side")
    yard.checkout(locked, tree)
    assert head(tree) == locked.commit
    git(tree, "checkout", "--quiet", "work")
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "mine")
    assert_refused(yard, yard.lock(origin, "side"), tree, "mine")
    mine = head(tree)
    git(tree, "checkout", "--quiet", "--detach", locked.commit)
    yard.checkout(yard.lock(origin, "side"), tree)
    assert git(tree, "rev-parse", "work") == mine


@pytest.mark.parametrize("way", ["deleted", "emptied", "cut off"])
def test_a_submodule_that_a_person_took_out_comes_back(yard: Yard, tree: Path, way: str) -> None:
    locked = yard.lock(nested(yard))
    yard.checkout(locked, tree)
    whole = snapshot(tree)
    if way == "cut off":
        (tree / DEEP / ".git").unlink()
    else:
        shutil.rmtree(tree / DEEP)
    if way == "emptied":
        (tree / DEEP).mkdir()
    yard.checkout(locked, tree)
    assert snapshot(tree) == whole
    assert status(tree) == b""
    (tree / DEEP / ".git").unlink()
    write(tree / DEEP, {"mine": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(locked, tree)
    assert str(caught.value.excerpt) == f"untracked {DEEP}: mine"


def test_work_in_a_submodule_that_goes_away_stops_the_move(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    git(origin.folder, "rm", "--quiet", "-r", "-f", "third party/middle")
    git(origin.folder, "commit", "--quiet", "-m", "removed")
    locked = yard.lock(origin)
    write(tree / DEEP, {"mine": "mine"})
    assert_refused(yard, locked, tree, f"untracked {DEEP}: mine")
    (tree / DEEP / "mine").unlink()
    git(tree / DEEP, "commit", "--quiet", "--allow-empty", "-m", "mine")
    assert_refused(yard, locked, tree, "mine")
    git(tree / DEEP, "checkout", "--quiet", "--detach", "HEAD~1")
    yard.checkout(locked, tree)
    assert not (tree / "third party").exists()


def test_an_unfinished_operation_and_a_git_at_work_stop_a_move(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    (tree / ".git" / "MERGE_HEAD").write_text(head(tree))
    assert_refused(yard, locked, tree, "a merge is under way")
    (tree / ".git" / "MERGE_HEAD").unlink()
    (tree / ".git" / "index.lock").touch()
    with pytest.raises(HipwrightError, match=r"index\.lock exists") as caught:
        yard.checkout(locked, tree)
    assert caught.value.code.name == "locked"


def test_ignored_files_stay_and_stop_a_move_only_where_it_would_overwrite_them(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    write(tree, {"build.log": "mine\n", "hip/x": "mine\n", "hip/same": "upstream\n"})
    yard.checkout(yard.lock(origin, origin.commit({"b": "b"})), tree)
    assert (tree / "build.log").read_text() == "mine\n"
    clashing = yard.lock(origin, origin.commit({"build.log": "upstream\n", "hip/same": "upstream\n"}))
    assert_refused(yard, clashing, tree, "ignored build.log")
    (tree / "build.log").unlink()
    yard.checkout(clashing, tree)
    assert (tree / "build.log").read_text() == "upstream\n"
    assert (tree / "hip/x").read_text() == "mine\n"
    folder = yard.lock(origin, origin.commit({"b.log/x": "upstream\n"}, remove=("build.log",)))
    write(tree, {"b.log": "mine\n"})
    assert_refused(yard, folder, tree, "ignored b.log")


def test_discarding_names_what_goes_and_keeps_it_in_a_bundle(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    locked = yard.lock(origin, origin.commit({"mine.txt": "upstream\n"}))
    write(tree, {"mine.txt": "mine\n", "a.cu": "edit\n", "odd\nname": "odd"})
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "my commit")
    write(tree / DEEP, {"deep.cu": "deep edit\n"})
    yard.checkout(locked, tree, discard_local=True)
    assert snapshot(tree)["mine.txt"] == b"  upstream\n"
    assert not (tree / "odd\nname").exists()
    assert status(tree) == b""
    said = "\n".join(yard.said)
    for line in ("discarding untracked mine.txt", "discarding edited a.cu", "my commit", f"discarding edited {DEEP}: deep.cu"):
        assert line in said
    bundles = sorted((tree / ".git" / "hipwright" / "discarded").iterdir(), key=lambda path: len(path.name))
    assert len(bundles) == 2
    git(tree, "fetch", "--quiet", bundles[0], "refs/hipwright-discarded/changes:refs/heads/back")
    assert git(tree, "show", "back:mine.txt") == "mine"
    assert git(tree, "show", "back:odd\nname") == "odd"
    assert git(tree, "log", "-1", "--format=%s", "back~1") == "my commit"
    git(tree / DEEP, "fetch", "--quiet", bundles[1], "refs/hipwright-discarded/changes:refs/heads/back")
    assert git(tree / DEEP, "show", "back:deep.cu") == "deep edit"


def test_a_bundle_outlives_what_git_cleans_away(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    origin.commit({"tools/hip.py": HIPIFY})
    yard.checkout(yard.lock(origin), tree)
    yard.patches("base", tree, line=None)
    yard.hipify(tree)
    write(tree, {"hip/a.hip": "mine\n"})
    elsewhere = yard.place / "elsewhere"
    git(yard.place, "clone", "--quiet", "--bare", origin.folder, elsewhere)
    # The branch is made anew, so that no ref of the origin holds what the tree stood on.
    git(origin.folder, "checkout", "--quiet", "--orphan", "fresh")
    origin.commit({})
    git(origin.folder, "branch", "--force", "main", "fresh")
    yard.checkout(yard.lock(origin), tree, discard_local=True)
    for module in load_modules(tree, git=yard.git):
        raw(module.git_dir, "-c", "core.worktree=.", "reflog", "expire", "--expire=all", "--all")
        raw(module.git_dir, "-c", "core.worktree=.", "gc", "--quiet", "--prune=now")
    (bundle,) = (tree / ".git" / "hipwright" / "discarded").iterdir()
    git(tree, "bundle", "verify", "--quiet", bundle)
    for place in (tree, elsewhere):
        git(place, "fetch", "--quiet", "--no-recurse-submodules", bundle, "refs/hipwright-discarded/changes:refs/heads/back")
        assert git(place, "show", "back:hip/a.hip") == "mine"
        assert git(place, "show", "back~1:hip/a.hip") == "hip"


def test_ignored_files_that_are_in_the_way_are_kept_in_the_bundle_too(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    odd = "odd\n[x]*.log"
    files = {"build.log": "upstream\n", odd: "upstream\n", "hip": "a file\n", "b.log/x": "upstream\n"}
    locked = yard.lock(origin, origin.commit(files))
    mine = {"build.log": "mine\n", odd: "mine\n", "hip/deep/er": "mine\n", "b.log": "mine\n", "stays.log": "mine\n"}
    write(tree, mine)
    yard.checkout(locked, tree, discard_local=True)
    assert {name: (tree / name).read_text() for name in files} == files
    assert (tree / "stays.log").read_text() == "mine\n"
    assert status(tree) == b""
    (bundle,) = (tree / ".git" / "hipwright" / "discarded").iterdir()
    git(tree, "fetch", "--quiet", bundle, "refs/hipwright-discarded/changes:refs/heads/back")
    back = raw(tree, "ls-tree", "-r", "-z", "--name-only", "back").decode().split("\0")
    assert "stays.log" not in back
    for name in mine.keys() - {"stays.log"}:
        assert name in back
        assert raw(tree, "cat-file", "blob", f"back:{name}") == b"mine\n"


def test_ignored_files_in_a_submodule_that_goes_away_are_no_less_a_persons(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    middle = yard.again("middle")
    pin = middle.commit({".gitignore": "*.log\n"})
    git(origin.folder / "third party/middle", "fetch", "--quiet", "origin")
    git(origin.folder / "third party/middle", "checkout", "--quiet", pin)
    yard.checkout(yard.lock(origin, origin.commit({})), tree)
    git(origin.folder, "rm", "--quiet", "-r", "-f", "third party/middle")
    locked = yard.lock(origin, origin.commit({}))
    write(tree / "third party/middle", {"notes.log": "mine\n"})
    assert_refused(yard, locked, tree, "ignored third party/middle: notes.log")
    yard.checkout(locked, tree, discard_local=True)
    assert not (tree / "third party").exists()
    place = tree / ".git" / "modules" / "third party" / "middle"
    (bundle,) = (tree / ".git" / "hipwright" / "discarded").iterdir()
    git(place, "fetch", "--quiet", bundle, "refs/hipwright-discarded/changes:refs/heads/back")
    assert git(place, "show", "back:notes.log") == "mine"


def test_two_bundles_of_one_second_are_two_files(yard: Yard, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_tools.files.utc_now", lambda: "2026-01-02T03:04:05Z")
    origin = nested(yard)
    for number in range(3):
        yard.checkout(yard.lock(origin, origin.commit({"b": str(number)})), tree, discard_local=True)
        write(tree, {"mine.txt": f"{number}\n"})
    bundles = sorted((tree / ".git" / "hipwright" / "discarded").iterdir())
    assert len(bundles) == 2
    for bundle in bundles:
        git(tree, "bundle", "verify", "--quiet", bundle)


def test_commits_of_a_submodule_whose_folder_is_gone_are_kept_as_well(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    git(tree / DEEP, "commit", "--quiet", "--allow-empty", "-m", "mine")
    mine = head(tree / DEEP)
    shutil.rmtree(tree / DEEP)
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    assert_refused_without_status(yard, locked, tree, "mine")
    yard.checkout(locked, tree, discard_local=True)
    assert status(tree) == b""
    (bundle,) = (tree / ".git" / "hipwright" / "discarded").iterdir()
    git(tree / DEEP, "fetch", "--quiet", bundle, "refs/hipwright-discarded/changes:refs/heads/back")
    assert git(tree / DEEP, "rev-parse", "back~1") == mine


def assert_refused_without_status(yard: Yard, locked: LockedSources, tree: Path, word: str) -> None:
    with pytest.raises(HipwrightError, match="would lose") as caught:
        yard.checkout(locked, tree)
    assert word in str(caught.value.excerpt)


def test_work_put_where_an_interrupted_move_takes_a_submodule_away_stops_it(
    yard: Yard, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    git(origin.folder, "rm", "--quiet", "-r", "-f", "third party/middle")
    locked = yard.lock(origin, origin.commit({"third party/middle/plain": "x"}))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(move, "_remove", interrupted)
        yard.checkout(locked, tree)
    write(tree / DEEP, {"mine.txt": "mine\n"})
    with pytest.raises(HipwrightError, match="would lose") as caught:
        yard.checkout(locked, tree)
    assert str(caught.value.excerpt) == f"untracked {DEEP}: mine.txt"
    (tree / DEEP / "mine.txt").unlink()
    yard.checkout(locked, tree)
    assert (tree / "third party/middle/plain").read_text() == "x"
    assert status(tree) == b""


def test_a_checkout_that_did_not_come_out_right_says_which_module_stands_where(
    yard: Yard, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = nested(yard)
    old = yard.lock(origin)
    yard.checkout(old, tree)
    deep = yard.again("deep")
    second = deep.commit({"deep.cu": "cuda second\n"})
    folder = origin.folder / "third party/middle"
    git(folder, "submodule", "--quiet", "update", "--init")
    git(folder / "dé eper/deep", "fetch", "--quiet", "origin")
    git(folder / "dé eper/deep", "checkout", "--quiet", second)
    git(folder, "commit", "--quiet", "-a", "-m", "moved")
    git(yard.place / "origins" / "middle", "fetch", "--quiet", folder, "HEAD:refs/heads/next")
    locked = yard.lock(origin, origin.commit({}))

    def middle_only(tree: Path, wanted: move.Move, **options: Git) -> None:
        move.carry_out(tree, wanted, **options)
        git(tree / DEEP, "checkout", "--quiet", "--detach", old.submodules[1].commit)

    monkeypatch.setattr(arrange, "carry_out", middle_only)
    with pytest.raises(HipwrightError, match="is not what was checked out") as caught:
        yard.checkout(locked, tree)
    assert caught.value.code.name == "bad-source-tree"
    assert caught.value.where is not None
    assert caught.value.where.module == DEEP
    assert str(caught.value.excerpt) == f"{DEEP}: HEAD is {old.submodules[1].commit}, and should be {second}"
    monkeypatch.undo()
    yard.checkout(locked, tree)
    assert (head(tree / DEEP), status(tree)) == (second, b"")


def test_a_submodule_that_a_person_moves_without_its_own_is_told_with_what_does_not_fit(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    middle = tree / "third party/middle"
    git(middle, "update-index", "--cacheinfo", f"160000,{head(origin.folder)},dé eper/deep")
    git(middle, "commit", "--quiet", "-m", "another pin")
    source = yard.read(locked, tree)
    assert source.local is not None
    told = f"moved third party/middle: dé eper/deep to {head(tree / DEEP)[:12]}"
    assert told in source.local.lines


def test_a_persons_own_repository_inside_the_tree_is_never_removed(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    Person(tree / "my own").commit({"x": "x"})
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    assert_refused(yard, locked, tree, "untracked my own/")
    with pytest.raises(HipwrightError):
        yard.checkout(locked, tree, discard_local=True)
    assert (tree / "my own" / "x").read_text() == "x"


@pytest.mark.parametrize("module", [".", "third party/middle"])
@pytest.mark.parametrize("kind", ["with a commit", "without one", "added", "ignored"])
def test_nothing_is_dropped_while_a_repository_of_a_persons_own_blocks(yard: Yard, tree: Path, kind: str, module: str) -> None:
    origin = nested(yard)
    old = yard.lock(origin)
    files = {"b": "b", "nested.log": "upstream\n"}
    if module == ".":
        new = yard.lock(origin, origin.commit(files))
    else:
        git(origin.folder, "rm", "--quiet", "-r", module)
        new = yard.lock(origin, origin.commit({"b": "b"}))
    yard.checkout(old, tree)
    name = "nested.log" if kind == "ignored" else "nested"
    if kind == "ignored" and module != ".":
        write(tree / module, {".gitignore": "*.log\n"})
    inner = Person(tree / module / name)
    write(inner.folder, {"x": "x"})
    if kind != "without one":
        inner.commit({"y": "y"})
    if kind == "added":
        git(tree / module, "add", name)
    write(tree, {"mine.txt": "mine\n", "a.cu": "edit\n"})
    before = snapshot(tree), head(tree), raw(tree, "for-each-ref"), raw(tree / module, "status", "--porcelain")
    for discard in (True, False):
        with pytest.raises(HipwrightError, match="would lose") as caught:
            yard.checkout(new, tree, discard_local=discard)
        assert caught.value.code.name == "unsaved-work"
        assert f"{name}/, a repository of its own" in str(caught.value.excerpt)
        assert str(caught.value.hint).startswith("move the repositories of your own")
        assert "--discard-local" not in str(caught.value.hint)
        assert ("mine.txt" in str(caught.value.excerpt)) != discard
        assert (snapshot(tree), head(tree), raw(tree, "for-each-ref"), raw(tree / module, "status", "--porcelain")) == before
    inner.folder.rename(yard.place / "moved away")
    if kind == "added":
        git(tree / module, "rm", "--quiet", "--cached", name)
    yard.checkout(new, tree, discard_local=True)
    assert not (tree / "mine.txt").exists()
    assert (tree / "b").exists()


def test_a_repository_in_the_place_of_a_new_submodule_stays(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    origin.submodule(yard_extra(yard), "extra")
    Person(tree / "extra").commit({"x": "x"})
    with pytest.raises(HipwrightError, match="would lose"):
        yard.checkout(yard.lock(origin), tree, discard_local=True)
    assert (tree / "extra" / ".git").is_dir()
    assert (tree / "extra" / "x").read_text() == "x"


def yard_extra(yard: Yard) -> Person:
    extra = yard.person("extra")
    extra.commit({"e.cu": "e\n"})
    return extra


def test_what_cannot_be_kept_stops_before_anything_is_dropped(yard: Yard, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    write(tree, {"mine.txt": "mine\n", f"{DEEP}/mine.txt": "mine\n"})
    kept: list[str] = []

    def no_space(_tree: Path, module: Module, _lines: list[str], **_say: object) -> None:
        if kept:
            raise OSError(28, "no space")
        kept.append(module.path)

    monkeypatch.setattr("build_tools.sources.discard.keep", no_space)
    before = snapshot(tree)
    with pytest.raises(OSError, match="no space"):
        yard.checkout(locked, tree, discard_local=True)
    assert snapshot(tree) == before


def test_files_on_a_branch_without_history_are_kept_when_discarded(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    yard.checkout(yard.lock(origin), tree)
    locked = yard.lock(origin, origin.commit({"b": "b"}))
    git(tree, "checkout", "--quiet", "--orphan", "anew")
    write(tree, {"mine.txt": "mine\n", "a.cu": "edit\n"})
    yard.checkout(locked, tree, discard_local=True)
    (bundle,) = (tree / ".git" / "hipwright" / "discarded").iterdir()
    git(tree, "fetch", "--quiet", bundle, "refs/hipwright-discarded/changes:refs/heads/back")
    assert (git(tree, "show", "back:mine.txt"), git(tree, "show", "back:a.cu")) == ("mine", "edit")
    assert status(tree) == b""


@pytest.mark.parametrize("kind", ["files", "clone", "file"])
def test_a_folder_that_is_something_else_is_left_alone(yard: Yard, tree: Path, kind: str) -> None:
    origin = nested(yard)
    locked = yard.lock(origin)
    tree.parent.mkdir(parents=True)
    if kind == "files":
        write(tree, {"precious": "x"})
    elif kind == "clone":
        git(tree.parent, "clone", "--quiet", origin.folder, tree)
    else:
        tree.write_text("precious")
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(locked, tree)
    assert caught.value.code.name == "bad-source-tree"
    assert str(tree) in caught.value.message
    assert {"files": (tree / "precious").exists(), "clone": (tree / "a.cu").exists(), "file": tree.is_file()}[kind]


DAMAGES = ("gone", "update-ref", "no HEAD", "bad HEAD", "no refs", "no objects", "no marked commit", "bad packed-refs")


@pytest.mark.parametrize("module", [".", "third party/middle"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_repository_is_told_with_the_way_out_and_stays_as_it_is(
    yard: Yard, tree: Path, damage: str, module: str
) -> None:
    locked = yard.lock(nested(yard))
    yard.checkout(locked, tree)
    write(tree, {"mine.txt": "mine\n", f"{module}/mine too.txt": "mine\n"})
    place = Path(git(tree / module, "rev-parse", "--absolute-git-dir"))
    if damage == "gone":
        if module == ".":
            pytest.skip("without it, the folder is no tree at all")
        shutil.rmtree(place)
    elif damage == "update-ref":
        git(tree / module, "update-ref", "-d", "HEAD")
        assert not (place / "HEAD").exists()
    elif damage == "no HEAD":
        (place / "HEAD").unlink()
    elif damage == "bad HEAD":
        (place / "HEAD").write_bytes(b"\0" * 41)
    elif damage in {"no refs", "no objects"}:
        shutil.rmtree(place / damage.removeprefix("no "))
    elif damage == "no marked commit":
        shutil.rmtree(place / "objects")
        (place / "objects").mkdir()
    else:
        (place / "packed-refs").write_text("nonsense\n")
    before = {path: path.lstat().st_mtime_ns for path in tree.rglob("*")}
    for act in (
        lambda: yard.checkout(locked, tree),
        lambda: yard.checkout(locked, tree, discard_local=True),
        lambda: yard.read(locked, tree),
        lambda: marked_modules(tree, git=yard.git, say=yard.said.append),
    ):
        with pytest.raises(HipwrightError, match="is damaged") as caught:
            act()
        assert caught.value.code.name == "bad-source-tree"
        assert str(caught.value.hint).startswith("move the whole tree away and check out again")
        assert caught.value.where is not None
        assert caught.value.where.file == tree / module
    assert {path: path.lstat().st_mtime_ns for path in tree.rglob("*")} == before
    tree.rename(tree.with_name("moved away"))
    yard.checkout(locked, tree)
    assert status(tree) == b""


def test_an_empty_folder_becomes_the_tree(yard: Yard, tree: Path) -> None:
    tree.mkdir(parents=True)
    yard.checkout(yard.lock(nested(yard)), tree)
    assert (tree / "a.cu").exists()


def test_a_lock_that_does_not_fit_its_commit_is_refused_before_anything_changes(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    before = snapshot(tree)
    origin.commit({"b": "b"})
    new = yard.lock(origin)
    with pytest.raises(HipwrightError, match="the lock has no such submodule") as caught:
        yard.checkout(msgspec.structs.replace(new, submodules=new.submodules[:1]), tree)
    assert caught.value.code.name == "bad-source-tree"
    assert snapshot(tree) == before


def test_files_stored_with_cr_lf_against_their_own_rule_are_no_changes(yard: Yard, tree: Path) -> None:
    origin = yard.person("toy")
    names = {"crlf.txt": b"a\r\nb\r\n", "odd [x]*\n.txt": b"c\r\n", "fine.txt": b"a\n", "run.bat": b"x\n"}
    blobs = {name: raw_stdin(origin.folder, data) for name, data in names.items()}
    origin.commit({"version.txt": "1.0\n", ".gitattributes": "*.txt text\n*.bat text eol=crlf\n"})
    for name, blob in blobs.items():
        git(origin.folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    git(origin.folder, "commit", "--quiet", "-m", "stored")
    git(origin.folder, "branch", "stored")
    git(origin.folder, "reset", "--quiet", "--hard")
    origin.commit({".gitattributes": "*.bat text eol=crlf\n"})
    locked = yard.lock(origin, "stored")
    yard.checkout(locked, tree)
    for path in tree.iterdir():
        if path.is_file():
            os.utime(path)
    assert status(tree) == b""
    assert (tree / "crlf.txt").read_bytes() == b"a\r\nb\r\n"
    assert (tree / "run.bat").read_bytes() == b"x\r\n"
    assert yard.read(locked, tree).local is None
    assert [work for module in load_modules(tree, git=yard.git) for work in local_work(module, target=locked.commit)] == []
    write(tree, {"crlf.txt": b"a\r\nB\r\n"})
    assert yard.read(locked, tree).local is not None
    write(tree, {"crlf.txt": b"a\r\nb\r\n"})
    yard.checkout(yard.lock(origin), tree)
    assert b"hipwright" not in (tree / ".git" / "info" / "attributes").read_bytes()


def raw_stdin(folder: Path, data: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=folder, input=data, env=identity(), capture_output=True, check=True
    )
    return done.stdout.decode().strip()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away")
def test_origins_and_trees_of_another_user_work(yard: Yard, tree: Path) -> None:
    origin = nested(yard)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    for place in (yard.place / "origins", yard.cache, tree):
        for path in (place, *place.rglob("*")):
            os.chown(path, 12345, 12345, follow_symlinks=False)
    yard.checkout(yard.lock(origin), tree)
    assert yard.read(locked, tree).local is None
