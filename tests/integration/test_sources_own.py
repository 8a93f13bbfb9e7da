"""A tree of a person's own: everything that a build needs is looked for, its state is read, and nothing in it is touched."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.export import materialise
from build_tools.sources.own import OwnTree, read_own_tree
from tests.support.source_trees import ODD_NAMES, Person, Yard, git, head, raw, snapshot, write

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {"version.txt": "1.2.0\n", "pyproject.toml": "[build-system]\n", "csrc/a.cu": "a\n", ".gitignore": "*.o\n"}


@dataclass
class Home:
    """A person's clone of an origin with two submodules, one in the other, and how hipwright reads it."""

    yard: Yard
    origin: Person
    tree: Path

    @property
    def store(self) -> Path:
        return self.yard.place / "store"

    def read(self, **changes: object) -> OwnTree:
        return read_own_tree(self.yard.project(**changes), self.tree, store=self.store, git=self.yard.git)

    def lines(self) -> tuple[str, ...]:
        local = self.read().source.local
        return local.lines if local is not None else ()

    def refused(self, **changes: object) -> HipwrightError:
        with pytest.raises(HipwrightError) as caught:
            self.read(**changes)
        assert caught.value.code.name == "bad-source-tree"
        return caught.value

    def copy(self, name: str = "copy") -> Path:
        target = self.yard.place / name
        materialise(self.read().source, target, git=self.yard.git)
        return target


@pytest.fixture
def home(tmp_path: Path) -> Home:
    yard = Yard(tmp_path)
    inner, middle, origin = yard.person("inner"), yard.person("middle"), yard.person("origin")
    inner.commit({"inner.txt": "inner\n"})
    middle.commit({"middle.txt": "middle\n"})
    middle.submodule(inner, "deep/inner")
    origin.commit(FILES)
    origin.submodule(middle, "third_party/middle")
    tree = tmp_path / "home of mine" / "tree"
    tree.parent.mkdir()
    git(tmp_path, "clone", "--quiet", "--recurse-submodules", origin.folder, tree)
    return Home(yard=yard, origin=origin, tree=tree)


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every file and folder, git's own too, with its time, its mode and its bytes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[path.relative_to(folder).as_posix()] = (stat.st_mtime_ns, stat.st_mode, data)
    return found


def test_a_clean_clone_is_what_upstream_has(home: Home) -> None:
    read = home.read()
    assert read.source.local is None
    assert [module.path for module in read.source.modules] == [".", "third_party/middle", "third_party/middle/deep/inner"]
    assert read.source.upstream == head(home.origin.folder)
    assert read.source.base_version == read.sources.base_version == "1.2.0"
    assert (read.sources.ref, read.sources.ref_is, read.sources.commit) == ("main", "branch", head(home.origin.folder))
    assert (read.sources.origin, read.sources.reason) == (str(home.origin.folder), "a tree of your own")
    assert [pin.path for pin in read.sources.submodules] == ["third_party/middle", "third_party/middle/deep/inner"]
    assert all(row.found for row in read.looked)


def test_nothing_in_it_changes_whatever_a_person_did_there(home: Home) -> None:
    write(home.tree, dict.fromkeys(ODD_NAMES, "odd\n"))
    write(home.tree, {"csrc/a.cu": "edited\n", "third_party/middle/deep/inner/new.txt": "new\n"})
    (home.tree / "pyproject.toml").rename(home.tree / "setup.py")
    git(home.tree, "config", "core.splitIndex", "true")
    git(home.tree, "update-index", "--split-index")
    git(home.tree, "config", "core.fsmonitor", "false")
    before = everything(home.tree)
    home.copy()
    # What it holds already is not written again, not even its time.
    git(home.tree, "add", "--all")
    added = everything(home.tree)
    assert before != added
    home.copy("another copy")
    assert everything(home.tree) == added


def test_edits_files_and_commits_are_told_and_taken_along(home: Home) -> None:
    write(home.tree, {"csrc/a.cu": "edited\n", "new file.cu": "new\n", "left.o": "ignored\n"})
    inner = home.tree / "third_party/middle/deep/inner"
    (inner / "inner.txt").unlink()
    write(home.tree / "third_party/middle", {"middle.txt": "committed\n"})
    git(home.tree / "third_party/middle", "commit", "--quiet", "--all", "-m", "a commit of mine")
    mine = head(home.tree / "third_party/middle")
    assert home.lines() == (
        "edited csrc/a.cu",
        "added new file.cu",
        f"moved third_party/middle to {mine[:12]}",
        f"commit third_party/middle: {mine[:7]} a commit of mine",
        "deleted third_party/middle/deep/inner: inner.txt",
    )
    copy = home.copy()
    expected = snapshot(home.tree)
    del expected["left.o"]
    assert snapshot(copy) == expected
    assert head(copy) == head(home.origin.folder)


def test_a_copy_names_the_newest_commit_that_others_have_too(home: Home) -> None:
    known = head(home.tree)
    for number in range(3):
        write(home.tree, {"csrc/a.cu": f"{number}\n"})
        git(home.tree, "commit", "--quiet", "--all", "-m", f"commit {number}")
    source = home.read().source
    assert (source.upstream, source.modules[0].expected) == (known, head(home.tree))
    assert len(home.lines()) == 3
    copy = home.copy()
    assert head(copy) == known
    assert (copy / "csrc/a.cu").read_text(encoding="utf-8") == "2\n"


def test_a_tag_of_a_person_s_own_makes_a_commit_no_less_theirs(home: Home) -> None:
    known = head(home.tree)
    git(home.tree, "commit", "--quiet", "--allow-empty", "-m", "released by me")
    git(home.tree, "tag", "v1")
    assert home.lines() == (f"commit {head(home.tree)[:7]} released by me",)
    assert home.read().source.upstream == known


def test_a_tag_that_a_clone_fetches_is_known_even_where_no_branch_holds_it(home: Home) -> None:
    folder = home.origin.folder
    git(folder, "checkout", "--quiet", "--detach")
    released = home.origin.commit({"csrc/a.cu": "released\n"})
    git(folder, "tag", "v2.9.0")
    git(folder, "checkout", "--quiet", "main")
    home.tree = home.tree.parent / "released"
    options = ("--depth=1", "--branch=v2.9.0", "--recurse-submodules")
    git(home.yard.place, "clone", "--quiet", *options, folder.as_uri(), home.tree)
    assert home.lines() == ()
    assert home.read().source.upstream == released
    git(home.tree, "commit", "--quiet", "--allow-empty", "-m", "mine")
    git(home.tree, "tag", "v2.9.1")
    assert home.lines() == (f"commit {head(home.tree)[:7]} mine",)
    assert home.read().source.upstream == released


def test_a_submodule_is_known_by_what_upstream_records_of_it_alone(home: Home) -> None:
    middle, folder = home.yard.again("middle"), home.origin.folder / "third_party/middle"
    git(middle.folder, "checkout", "--quiet", "--detach")
    pin = middle.commit({"middle.txt": "tagged\n"})
    git(middle.folder, "tag", "v1")
    git(middle.folder, "checkout", "--quiet", "main")
    git(folder, "fetch", "--quiet", "--tags")
    git(folder, "checkout", "--quiet", "v1")
    home.origin.commit({})
    git(home.tree, "pull", "--quiet", "--recurse-submodules")
    git(home.tree, "submodule", "--quiet", "update", "--init", "--recursive")
    assert head(home.tree / "third_party/middle") == pin
    assert home.lines() == ()
    git(home.tree / "third_party/middle", "commit", "--quiet", "--allow-empty", "-m", "mine")
    git(home.tree, "commit", "--quiet", "--all", "-m", "record it")
    mine = head(home.tree / "third_party/middle")[:7]
    assert home.lines() == (f"commit {head(home.tree)[:7]} record it", f"commit third_party/middle: {mine} mine")
    assert home.read().source.modules[1].upstream == pin


def test_a_history_that_no_remote_has_is_a_person_s_alone(home: Home) -> None:
    shutil.rmtree(home.tree)
    home.tree.mkdir()
    write(home.tree, FILES)
    git(home.tree, "init", "--quiet")
    git(home.tree, "add", "--all")
    git(home.tree, "commit", "--quiet", "-m", "first")
    read = home.read()
    assert read.source.upstream == head(home.tree)
    assert home.lines() == (f"commit {head(home.tree)[:12]}, of a history that no remote branch holds",)
    assert re.fullmatch(r"file:///.*/home%20of%20mine/tree", read.sources.origin)


def test_secrets_of_a_remote_stay_there(home: Home) -> None:
    git(home.tree, "remote", "set-url", "origin", "https://me:secret@example.com/toy.git")
    assert "secret" not in home.read().sources.origin
    assert home.read().sources.origin.endswith("example.com/toy.git")


def test_one_of_several_work_trees_and_a_shallow_clone_are_read_as_well(home: Home) -> None:
    other = home.tree.parent / "other"
    git(home.tree, "worktree", "add", "--quiet", "--detach", other)
    git(other, "submodule", "--quiet", "update", "--init", "--recursive")
    home.tree = other
    assert home.lines() == ()
    home.origin.commit({"csrc/a.cu": "second\n"})
    home.tree = home.tree.parent / "shallow"
    url = home.origin.folder.as_uri()
    git(home.yard.place, "clone", "--quiet", "--depth=1", "--recurse-submodules", "--shallow-submodules", url, home.tree)
    assert home.lines() == ()
    copy = home.copy()
    assert raw(copy, "log", "--format=%H").decode().split() == [head(home.origin.folder)]


def test_a_repository_inside_is_told_and_not_taken(home: Home) -> None:
    Person(home.tree / "mine").commit({"mine.txt": "mine\n"})
    assert home.lines() == ("added mine, a repository of its own, which builds do not get",)
    assert not (home.copy() / "mine" / "mine.txt").exists()


def test_a_version_by_pattern_comes_from_the_file_as_it_stands(home: Home) -> None:
    write(home.tree, {"toy/__init__.py": "name = 'toy'\n__version__ = '3.7.0'\n"})
    version = {"file": "toy/__init__.py", "pattern": "__version__ = '([^']+)'"}
    assert home.read(version=version).source.base_version == "3.7.0"


def _remove_folder(tree: Path) -> None:
    shutil.rmtree(tree)


def _remove_git(tree: Path) -> None:
    shutil.rmtree(tree / ".git")


def _empty(tree: Path) -> None:
    shutil.rmtree(tree)
    tree.mkdir()


def _no_commit(tree: Path) -> None:
    shutil.rmtree(tree / ".git")
    git(tree, "init", "--quiet")


def _no_submodule(tree: Path) -> None:
    git(tree, "submodule", "--quiet", "deinit", "--all", "--force")


def _no_inner_submodule(tree: Path) -> None:
    git(tree / "third_party/middle", "submodule", "--quiet", "deinit", "--all", "--force")


def _lost_submodule(tree: Path) -> None:
    shutil.rmtree(tree / "third_party")


def _no_version(tree: Path) -> None:
    (tree / "version.txt").unlink()


def _bad_version(tree: Path) -> None:
    (tree / "version.txt").write_text("no version\n", encoding="utf-8")


def _no_build_files(tree: Path) -> None:
    (tree / "pyproject.toml").unlink()


def _ignored_build_files(tree: Path) -> None:
    git(tree, "rm", "--quiet", "--cached", "pyproject.toml")
    (tree / ".gitignore").write_text("pyproject.toml\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "missing", "hint"),
    [
        (_remove_folder, ["a folder"], "--toy-dir DIR"),
        (_remove_git, ["a repository of its own"], "git -C '{tree}' init, then git -C '{tree}' add --all, then"),
        (_empty, ["a repository of its own", "what builds it", "its version"], "git -C '{tree}' init"),
        (_no_commit, ["a commit"], "git -C '{tree}' commit"),
        (_no_submodule, ["the submodule third_party/middle"], "git -C '{tree}' submodule update --init --recursive"),
        (_no_inner_submodule, ["the submodule third_party/middle/deep/inner"], "submodule update --init --recursive"),
        (_lost_submodule, ["the submodule third_party/middle"], "submodule update --init --recursive"),
        (_no_version, ["its version"], "a complete tree of toy"),
        (_bad_version, ["its version"], "a complete tree of toy"),
        (_no_build_files, ["what builds it"], "a complete tree of toy"),
        (_ignored_build_files, ["what builds it"], "a complete tree of toy"),
    ],
)
def test_all_that_was_looked_for_is_told_when_something_is_missing(
    home: Home, change: Callable[[Path], None], missing: list[str], hint: str
) -> None:
    change(home.tree)
    error = home.refused()
    assert all(what in error.message for what in missing)
    rows = (error.excerpt or "").splitlines()
    assert [row.split(": ")[1] for row in rows if row.startswith("missing: ")] == missing
    assert all(str(home.tree) in row for row in rows)
    assert hint.format(tree=home.tree) in str(error.hint)
    if change is not _remove_folder:
        assert rows[0] == f"found: a folder: {home.tree}"


def test_a_folder_inside_another_repository_is_none_of_its_own(home: Home) -> None:
    write(home.tree, {f"sub/{name}": text for name, text in FILES.items()})
    clone, home.tree = home.tree, home.tree / "sub"
    error = home.refused()
    assert "a repository of its own" in error.message
    assert f"the repository is {clone}" in str(error.excerpt)
    assert error.hint == f"name the repository: --toy-dir '{clone}'"


def test_a_bare_repository_is_told_from_a_folder_without_one(home: Home) -> None:
    bare = home.yard.place / "bare.git"
    git(home.yard.place, "clone", "--quiet", "--bare", home.origin.folder, bare)
    home.tree = bare
    error = home.refused()
    assert "which is bare" in str(error.excerpt)
    assert error.hint == f"clone it, and name the clone: git clone --recurse-submodules {bare} DIR"


def test_the_root_of_the_file_system_is_no_place_for_a_new_repository(home: Home) -> None:
    home.tree = Path(home.tree.anchor)
    if (home.tree / ".git").exists():
        pytest.skip("the root of this machine is a repository")
    assert home.refused().hint == "name the folder of the tree: --toy-dir DIR"


def test_a_repository_with_longer_ids_is_not_read(home: Home) -> None:
    home.tree = home.yard.place / "long"
    home.tree.mkdir()
    git(home.tree, "init", "--quiet", "--object-format=sha256")
    write(home.tree, FILES)
    git(home.tree, "add", "--all")
    git(home.tree, "commit", "--quiet", "-m", "first")
    error = home.refused()
    assert "it lacks a repository with SHA-1 ids" in error.message
    assert "which has sha256 ids; those are not read" in str(error.excerpt)
    assert "clone toy from its origin" in str(error.hint)
