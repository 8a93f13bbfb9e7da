"""A tree as it stands, and the copies of it that builds get."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.values import SourceTree
from build_tools.sources.export import links_as_files, materialise
from build_tools.sources.phases import step_back
from build_tools.sources.state import tree_is_intact
from build_tools.types import Stage
from tests.support.source_trees import ODD_NAMES, Person, Yard, git, head, make_patch, raw, snapshot, status, write

if TYPE_CHECKING:
    from pathlib import Path

LIB = "third party/lib"


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


def origin_of(yard: Yard) -> Person:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cu": "cuda l\n", "run.sh": "#!/bin/sh\n"})
    origin.commit(
        {"version.txt": "1.0\n", "a.cu": "cuda a\n", ".gitignore": "hidden\n", "hidden/tracked": "t\n", "crlf.bat": "x\r\n"}
    )
    (origin.folder / "link").symlink_to("nowhere")
    (origin.folder / "a.cu").chmod(0o755)
    origin.submodule(lib, LIB)
    return origin


def test_an_untouched_tree_has_no_local_changes_and_tells_its_upstream_date(yard: Yard, tree: Path) -> None:
    origin = origin_of(yard)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    source = yard.read(locked, tree)
    assert source.local is None
    assert source.upstream == locked.commit
    assert source.upstream_date == int(git(origin.folder, "show", "-s", "--format=%ct"))
    assert source.base_version == "1.0"
    assert [module.path for module in source.modules] == [".", LIB]
    assert [module.content for module in source.modules] == [
        git(tree / module.path, "rev-parse", "HEAD^{tree}") for module in source.modules
    ]
    assert from_json(to_json(source), SourceTree, name="x") == source


def test_edits_commits_and_odd_names_are_told_and_the_persons_index_stays(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    write(tree / LIB, {"l.cu": "edited\n", "n.cu": "committed\n"})
    git(tree / LIB, "add", "n.cu")
    git(tree / LIB, "commit", "--quiet", "-m", "my own\ttitle")
    commit = head(tree / LIB)
    write(tree, dict.fromkeys(ODD_NAMES, "odd\n") | {"hidden/ignored": "i\n", "hidden/tracked": "edited\n", "staged": "1\n"})
    git(tree, "add", "staged")
    (tree / "a.cu").unlink()
    before = (status(tree), (tree / ".git" / "index").read_bytes())
    source = yard.read(locked, tree)
    assert (status(tree), (tree / ".git" / "index").read_bytes()) == before
    assert source.local is not None
    lines = source.local.lines
    assert f"commit {LIB}: {commit[:7]} my own\\ttitle" in lines
    assert f"edited {LIB}: l.cu" in lines
    assert f"moved {LIB} to {commit[:12]}" in lines
    assert {"deleted a.cu", "edited hidden/tracked", "added staged", "added new\\nline.cu", "added bytes-\\xff\\xfe.cu"} <= set(
        lines
    )
    assert not any("ignored" in line for line in lines)
    to_json(source)
    contents = {module.path: module.content for module in source.modules}
    names = raw(tree, "ls-tree", "-r", "-z", "--name-only", contents["."]).split(b"\0")
    assert {os.fsencode(name) for name in ODD_NAMES} <= set(names)


def test_the_digest_follows_content_alone(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)

    def digest() -> str | None:
        local = yard.read(locked, tree).local
        return None if local is None else local.digest

    write(tree, {"a.cu": "one\n"})
    one = digest()
    git(tree, "commit", "--quiet", "-a", "-m", "committed")
    assert digest() == one
    write(tree, {"a.cu": "two\n"})
    assert digest() not in {one, None}
    git(tree, "reset", "--quiet", "--hard", locked.commit)
    assert digest() is None


def test_an_edit_of_the_same_size_in_the_same_second_is_seen(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    file, index = tree / "a.cu", tree / ".git" / "index"
    second = (int(time.time()) - 100) * 10**9
    git(tree, "config", "core.trustCTime", "false")
    os.utime(file, ns=(second, second))
    git(tree, "update-index", "--refresh")
    os.utime(index, ns=(second, second))
    file.write_bytes(b"cuda b\n")
    os.utime(file, ns=(second, second))
    local = yard.read(locked, tree).local
    assert local is not None
    assert local.lines == ("edited a.cu",)


def test_a_copy_has_the_same_files_and_names_the_upstream_commit(yard: Yard, tree: Path) -> None:
    origin = origin_of(yard)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    write(tree, dict.fromkeys(ODD_NAMES, "odd\n") | {"a.cu": "edited\n", "hidden/ignored": "i\n"})
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "-m", "mine")
    write(tree / LIB, {"untracked": "u\n"})
    wanted = snapshot(tree)
    del wanted["hidden/ignored"]
    source = yard.read(locked, tree)
    before = {path: path.lstat().st_mtime_ns for path in tree.rglob("*")}
    copy = yard.place / "builds" / "co\npy"
    materialise(source, copy, git=yard.git)
    assert snapshot(copy) == wanted
    assert {path: path.lstat().st_mtime_ns for path in tree.rglob("*")} == before
    assert head(copy) == locked.commit == head(origin.folder)
    assert head(copy / LIB) == locked.submodules[0].commit
    assert git(copy, "log", "--format=%s") == git(origin.folder, "log", "--format=%s")
    write(copy, {"a.cu": "built\n"})
    shutil.rmtree(copy / LIB)
    assert snapshot(tree) == wanted | {"hidden/ignored": b"  i\n"}
    assert yard.read(locked, tree) == source


def test_a_copy_is_what_was_recorded_even_when_the_tree_went_on(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    write(tree, {"a.cu": "first\n"})
    source = yard.read(locked, tree)
    git(tree, "gc", "--quiet", "--prune=now")
    write(tree, {"a.cu": "second\n"})
    materialise(source, yard.place / "copy", git=yard.git)
    assert (yard.place / "copy" / "a.cu").read_text() == "first\n"


def test_what_is_no_longer_there_cannot_be_copied(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    write(tree, {"a.cu": "first\n"})
    source = yard.read(locked, tree)
    write(tree, {"a.cu": "second\n"})
    yard.read(locked, tree)
    git(tree, "gc", "--quiet", "--prune=now")
    with pytest.raises(HipwrightError, match="no longer holds") as caught:
        materialise(source, yard.place / "copy", git=yard.git)
    assert caught.value.code.name == "bad-source-tree"


def test_a_tree_that_is_not_ours_or_not_whole_is_not_read(yard: Yard, tree: Path) -> None:
    origin = origin_of(yard)
    locked = yard.lock(origin)
    git(yard.place, "clone", "--quiet", origin.folder, "clone")
    with pytest.raises(HipwrightError, match="no source tree that hipwright checked out"):
        yard.read(locked, yard.place / "clone")
    yard.checkout(locked, tree)
    git(tree / LIB, "update-ref", "-d", "refs/hipwright/base")
    with pytest.raises(HipwrightError, match="not checked out to its end") as caught:
        yard.read(locked, tree)
    assert caught.value.code.name == "stage-missing"


def test_a_repository_of_a_persons_own_is_told_and_left_out(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    Person(tree / "own").commit({"x": "x"})
    source = yard.read(locked, tree)
    assert source.local is not None
    assert source.local.lines == ("added own, a repository of its own, which builds do not get",)


def test_a_repository_without_commits_inside_the_tree_is_named(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    Person(tree / "begun")
    write(tree / "begun", {"x": "x"})
    with pytest.raises(HipwrightError) as caught:
        yard.read(locked, tree)
    assert caught.value.code.name == "bad-source-tree"
    assert "begun" in str(caught.value.excerpt)


def test_intact_means_the_stages_commits_with_whatever_is_on_top(yard: Yard, tree: Path) -> None:
    origin = origin_of(yard)
    locked = yard.lock(origin)
    last = Stage.HIPIFIED_PATCHES

    def intact() -> bool:
        return tree_is_intact(tree, source.modules, git=yard.git, through=last)

    yard.checkout(locked, tree)
    source = yard.read(locked, tree)
    assert intact()
    write(tree, {"a.cu": "edit\n"})
    git(tree / LIB, "commit", "--quiet", "--allow-empty", "-m", "mine")
    assert intact()
    git(tree / LIB, "checkout", "--quiet", "--orphan", "elsewhere")
    git(tree / LIB, "commit", "--quiet", "-m", "elsewhere")
    assert not intact()
    git(tree / LIB, "checkout", "--quiet", "--detach", locked.submodules[0].commit)
    assert intact()
    link = (tree / LIB / ".git").read_bytes()
    (tree / LIB / ".git").unlink()
    assert not intact()
    (tree / LIB / ".git").write_bytes(link)
    git(tree, "checkout", "--quiet", "--", "a.cu")
    yard.checkout(yard.lock(origin, origin.commit({"b": "b"})), tree)
    assert not intact()
    assert not tree_is_intact(yard.place, source.modules, git=yard.git, through=last)


def test_intact_looks_at_the_stages_up_to_the_one_that_is_asked_about(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    early = yard.read(locked, tree)
    patch = make_patch(tree / LIB, {"l.cu": "patched\n"})
    yard.series({f"{LIB}/base/0001-x.patch": patch})
    yard.patches("base", tree)
    assert tree_is_intact(tree, early.modules, git=yard.git, through=Stage.CHECKOUT)
    assert not tree_is_intact(tree, early.modules, git=yard.git, through=Stage.BASE_PATCHES)
    late = yard.read(locked, tree)
    yard.checkout(yard.locked[tree], tree, bare=True)
    assert not tree_is_intact(tree, late.modules, git=yard.git, through=Stage.BASE_PATCHES)
    assert tree_is_intact(tree, early.modules, git=yard.git, through=Stage.HIPIFIED_PATCHES)
    assert status(tree) == b""
    write(tree, {"a.cu": "edit\n"})
    yard.checkout(locked, tree)


def test_stepping_back_refuses_to_lose_work(yard: Yard, tree: Path) -> None:
    locked = yard.lock(origin_of(yard))
    yard.checkout(locked, tree)
    yard.series({f"{LIB}/base/0001-x.patch": make_patch(tree / LIB, {"l.cu": "patched\n"})})
    yard.patches("base", tree)
    write(tree / LIB, {"l.cu": "edit\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(yard.locked[tree], tree, bare=True)
    assert caught.value.code.name == "unsaved-work"
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    assert (tree / LIB / "l.cu").read_text() == "edit\n"


def test_links_that_a_file_system_cannot_hold_are_files_and_no_persons_edits(yard: Yard, tree: Path) -> None:
    """Git on Windows writes ``core.symlinks`` into a repository where it cannot make links, and writes their targets into files."""
    lib, origin = yard.person("lib"), yard.person("toy")
    for person, name in ((lib, "inner"), (origin, "link")):
        person.commit({"version.txt": "1.0\n"})
        (person.folder / name).symlink_to("nowhere")
        git(person.folder, "add", name)
        git(person.folder, "commit", "--quiet", "-m", "a link")
    origin.submodule(lib, LIB)
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    git(tree, "config", "core.symlinks", "false")
    (tree / "link").unlink()
    write(tree, {"link": "nowhere"})
    source = yard.read(locked, tree)
    assert source.local is None
    copy = yard.place / "copy"
    materialise(source, copy, git=yard.git)
    assert (copy / "link").readlink().name == "nowhere"
    assert links_as_files(source, copy, git=yard.git) == ()
    git(copy, "config", "core.symlinks", "false")
    assert links_as_files(source, copy, git=yard.git) == ("link", f"{LIB}/inner")
    write(tree, {"link": "elsewhere"})
    edited = yard.read(locked, tree).local
    assert edited is not None
    assert edited.lines == ("edited link",)
