"""What stands in the place of a submodule, or of its ``.git``: told, never followed or written through, and kept before it goes."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.move import is_moving
from tests.support.source_trees import HIPIFY, Person, Yard, git, head, snapshot, status, write

if TYPE_CHECKING:
    from pathlib import Path

LIB = "third/lib"
DEEP = "third/lib/in/deep"


@pytest.fixture
def origin(yard: Yard) -> Person:
    deep, lib, origin = yard.person("deep"), yard.person("lib"), yard.person("toy")
    deep.commit({"d.cu": "cuda d\n"})
    lib.commit({"l.cu": "cuda l\n"})
    lib.submodule(deep, "in/deep")
    origin.commit({"version.txt": "1.0\n", "a.cu": "cuda a\n", "tools/hip.py": HIPIFY})
    origin.submodule(lib, LIB)
    return origin


def bundles(tree: Path) -> list[Path]:
    folder = tree / ".git" / "hipwright" / "discarded"
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("module", [LIB, DEEP])
@pytest.mark.parametrize("moves", [False, True])
def test_a_file_in_place_of_a_submodule_is_told_and_kept(
    yard: Yard, tree: Path, origin: Person, module: str, *, moves: bool
) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    wanted = yard.lock(origin, origin.commit({"b": "b\n"})) if moves else locked
    shutil.rmtree(tree / module)
    (tree / module).write_text("precious\n")
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(wanted, tree)
    assert caught.value.code.name == "unsaved-work"
    assert caught.value.excerpt == f"{module} is a file of yours in place of the submodule"
    with pytest.raises(HipwrightError):
        yard.hipify(tree)
    assert (tree / module).read_text() == "precious\n"
    assert not is_moving(tree)
    yard.checkout(wanted, tree, discard_local=True)
    assert status(tree) == b""
    assert f"discarding {module} is a file of yours in place of the submodule" in yard.said
    parent = tree if module == LIB else tree / LIB
    (bundle,) = bundles(tree)
    git(parent, "fetch", "--quiet", "--no-recurse-submodules", bundle, "refs/hipwright-discarded/changes")
    assert git(parent, "show", f"FETCH_HEAD:{LIB if module == LIB else 'in/deep'}") == "precious"


def test_a_file_above_a_submodule_is_kept_as_well(yard: Yard, tree: Path, origin: Person) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    shutil.rmtree(tree / "third")
    (tree / "third").write_text("precious\n")
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(locked, tree)
    assert "untracked third" in str(caught.value.excerpt).splitlines()
    yard.checkout(locked, tree, discard_local=True)
    assert status(tree) == b""
    git(tree, "fetch", "--quiet", "--no-recurse-submodules", bundles(tree)[-1], "refs/hipwright-discarded/changes")
    assert git(tree, "show", "FETCH_HEAD:third") == "precious"


@pytest.mark.parametrize("name", ["elsewhere", "nowhere", "folder"])
def test_a_link_that_names_a_submodules_repository_is_never_written_through(
    yard: Yard, tree: Path, origin: Person, name: str
) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    elsewhere = yard.place / name
    link = tree / LIB / ".git"
    if name == "elsewhere":
        elsewhere.write_bytes(b"precious\n")
    elif name == "folder":
        git(yard.place, "clone", "--quiet", "--bare", origin.folder, elsewhere)
    link.unlink()
    link.symlink_to(elsewhere)
    write(tree, {f"{LIB}/mine.txt": "mine\n", "a.cu": "edit\n"})
    before = snapshot(yard.place / "folder")
    other = yard.lock(origin, origin.commit({"b": "b\n"}))
    for wanted in (locked, other):
        with pytest.raises(HipwrightError) as caught:
            yard.checkout(wanted, tree)
        assert caught.value.code.name == "unsaved-work"
        lines = str(caught.value.excerpt).splitlines()
        assert lines == ["edited a.cu", f"{LIB}/.git is a link of yours to {elsewhere}", f"untracked {LIB}: mine.txt"]
        assert not is_moving(tree)
    with pytest.raises(HipwrightError) as caught:
        yard.read(locked, tree)
    assert caught.value.code.name == "bad-source-tree"
    yard.checkout(other, tree, discard_local=True)
    assert link.is_file()
    assert not link.is_symlink()
    assert status(tree) == b""
    assert snapshot(yard.place / "folder") == before
    if name == "elsewhere":
        assert elsewhere.read_bytes() == b"precious\n"
    assert len(bundles(tree)) == 2


LOCKS = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/hipwright/base.lock")


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("module", [".", LIB])
def test_a_lock_of_git_is_asked_for_before_anything_moves(yard: Yard, tree: Path, origin: Person, module: str, name: str) -> None:
    yard.checkout(yard.lock(origin), tree)
    other = yard.lock(origin, origin.commit({"b": "b\n"}))
    was, lock = head(tree), tree / ".git" / ("." if module == "." else f"modules/{LIB}") / name
    lock.touch()
    for discard in (False, True):
        with pytest.raises(HipwrightError) as caught:
            yard.checkout(other, tree, discard_local=discard)
        assert caught.value.code.name == "locked"
        assert str(lock.resolve()) in str(caught.value.hint)
        assert not is_moving(tree)
        assert head(tree) == was
    lock.unlink()
    yard.checkout(other, tree)
    assert status(tree) == b""
