"""Base patches that move submodules: found out when locking, carried out by the stage, and taken back with it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.errors import HipwrightError
from build_tools.patches.applied import read_applied
from build_tools.patches.apply import apply_base_patches
from build_tools.patches.series import load_series
from build_tools.sources.checkout import bringer_of
from build_tools.sources.mirror import WHOLE
from build_tools.sources.modules import load_modules, own_folder
from build_tools.sources.state import is_checked_out, tree_is_intact
from build_tools.types import Platform, Stage
from tests.support.source_trees import Person, Yard, git, head, make_patch, raw, snapshot, status, write

if TYPE_CHECKING:
    from collections.abc import Mapping

LIB = "third party/lib"
DEEP = f"{LIB}/dé ep"
OPTIONS = ("--keep-subject", "--zero-commit", "--no-signature", "--full-index", "--no-stat", "--binary")


class Upstream:
    """An origin with a nested submodule; each of its repositories has commits that nothing records yet."""

    def __init__(self, yard: Yard) -> None:
        self.yard = yard
        self.deep, self.lib, self.other, self.toy = (yard.person(name) for name in ("deep", "lib", "other", "toy"))
        self.deep_one, self.deep_two = self.deep.commit({"d.txt": "one\n"}), self.deep.commit({"d.txt": "two\n"})
        self.other_one = self.other.commit({"o.txt": "one\n"})
        self.lib_one = self.lib.record("main", {"l.txt": "one\n"}, {"dé ep": ("deep", self.deep, self.deep_one)})
        self.lib_two = self.lib.record("main", {"l.txt": "two\n"}, {"dé ep": ("deep", self.deep, self.deep_two)})
        self.lib_flat = self.lib.record("flat", {"l.txt": "flat\n", "dé ep/d.txt": "plain\n"}, {})
        git(self.lib.folder, "branch", "one", self.lib_one)
        self.files = {"version.txt": "1.0\n", "a.txt": "a\n"}
        self.toy.record("main", self.files, {LIB: ("lib", self.lib, self.lib_one)})

    def patch(self, files: Mapping[str, str], modules: Mapping[str, tuple[str, Person, str]], *, of: str = "toy") -> bytes:
        """Return a patch that makes a branch of an origin have these files and submodules."""
        person: Person = getattr(self, of)
        branch = "main" if of == "toy" else "one"
        person.record("wanted", files, modules)
        with tempfile.TemporaryDirectory() as place:
            clone = Path(place, "clone")
            git(person.folder, "clone", "--quiet", "--no-checkout", "--branch", branch, ".", clone)
            git(clone, "read-tree", "origin/wanted")
            git(clone, "commit", "--quiet", "-m", "Move it")
            return raw(clone, "format-patch", "--stdout", *OPTIONS, "HEAD~1")


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


@pytest.fixture
def upstream(yard: Yard) -> Upstream:
    return Upstream(yard)


def moves(upstream: Upstream) -> dict[str, tuple[dict[str, str], dict[str, tuple[str, Person, str]]]]:
    """Return ways to move submodules, as what the root has afterwards."""
    files, lib = upstream.files, upstream.lib
    return {
        "commit": (files, {LIB: ("lib", lib, upstream.lib_two)}),
        "without its own": (files, {LIB: ("lib", lib, upstream.lib_flat)}),
        "removed": (files, {}),
        "plain folder": ({**files, f"{LIB}/l.txt": "plain\n"}, {}),
        "added": (files, {LIB: ("lib", lib, upstream.lib_one), "more/of them": ("more", upstream.other, upstream.other_one)}),
        "renamed": (files, {"elsewhere/lib": ("lib", lib, upstream.lib_one)}),
        "another repository": (files, {LIB: ("lib", upstream.other, upstream.other_one)}),
        "swapped for a nested one": (
            files,
            {LIB: ("other", upstream.other, upstream.other_one), "lib": ("lib", lib, upstream.lib_two)},
        ),
    }


WAYS = (
    "commit",
    "without its own",
    "removed",
    "plain folder",
    "added",
    "renamed",
    "another repository",
    "swapped for a nested one",
)


def refs(folder: Path) -> dict[str, str]:
    lines = git(folder, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/hipwright/").splitlines()
    return dict(line.split(" ") for line in lines)


@pytest.mark.parametrize("way", WAYS)
def test_a_patch_moves_submodules_and_going_back_restores_them(yard: Yard, tree: Path, upstream: Upstream, way: str) -> None:
    locked = yard.lock(upstream.toy)
    yard.checkout(locked, tree)
    before = snapshot(tree), status(tree), raw(tree, "submodule", "status", "--recursive")
    files, modules = moves(upstream)[way]
    yard.series({"root/base/1.patch": upstream.patch(files, modules)})
    pins = yard.pins(locked)
    yard.patches("base", tree)

    clone = yard.place / "clone"
    git(yard.place, "clone", "--quiet", "--recurse-submodules", "--branch", "wanted", upstream.toy.folder, clone)
    assert snapshot(tree) == snapshot(clone)
    assert status(tree) == b""
    found = {pin.path: pin for pin in pins}
    listed = [line.split(" (")[0][42:] for line in raw(clone, "submodule", "status", "--recursive").decode().splitlines()]
    assert listed == sorted(found)
    for path, pin in found.items():
        assert head(tree / path) == head(clone / path) == pin.commit
        assert refs(tree / path) == dict.fromkeys(("upstream", "base", "hipified", "finished"), pin.commit)
        assert git(tree / path, "config", "remote.origin.url") == pin.url == git(clone / path, "config", "remote.origin.url")
    assert refs(tree)["upstream"] == locked.commit
    assert is_checked_out(locked, load_modules(tree, git=yard.git), after_base=pins)
    assert git(tree, "log", "-1", "--format=%s") == "Move it", "nothing of ours to record"

    patched = head(tree)
    yard.checkout(locked, tree)
    yard.patches("base", tree)
    assert (head(tree), snapshot(tree)) == (patched, snapshot(clone))
    yard.checkout(locked, tree, bare=True)
    assert (snapshot(tree), status(tree), raw(tree, "submodule", "status", "--recursive")) == before
    assert refs(tree) == dict.fromkeys(("upstream", "base", "hipified", "finished"), locked.commit)
    yard.patches("base", tree)
    assert snapshot(tree) == snapshot(clone)
    yard.patches("base", tree, line=None)
    assert (snapshot(tree), status(tree), raw(tree, "submodule", "status", "--recursive")) == before
    assert sorted(path.name for path in own_folder(tree).iterdir()) == ["applied-patches.json", "modules.json"]


def test_what_patches_leave_is_the_same_without_history(yard: Yard, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    apart = Yard(yard.place / "apart")
    for files, modules in moves(upstream).values():
        patches = {"root/base/1.patch": upstream.patch(files, modules)}
        yard.series(patches)
        apart.series(patches)
        assert apart.pins(locked, whole=False) == yard.pins(locked)


def test_patches_of_a_moved_submodule_apply_to_the_commit_that_it_moves_to(yard: Yard, tree: Path, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    yard.checkout(locked, tree)
    yard.series(
        {
            "root/base/1.patch": upstream.patch(*moves(upstream)["commit"]),
            f"{LIB}/base/1.patch": make_patch(upstream.lib.folder, {"l.txt": "patched two\n"}, commit="main"),
            f"{DEEP}/base/1.patch": make_patch(upstream.deep.folder, {"d.txt": "patched two\n"}),
            f"{LIB}/hipified/1.patch": make_patch(upstream.lib.folder, {"new.txt": "n\n"}, commit="main"),
        }
    )
    trees = [tree, yard.place / "another" / "toy"]
    yard.checkout(locked, trees[1])
    for one in trees:
        yard.patches("base", one)
        yard.patches("hipified", one)
        assert status(one) == b""
    assert (tree / LIB / "l.txt").read_text() == "patched two\n"
    assert (tree / DEEP / "d.txt").read_text() == "patched two\n"
    assert refs(tree / LIB)["upstream"] == upstream.lib_two
    assert refs(tree / DEEP)["upstream"] == upstream.deep_two
    subjects = git(tree, "log", "--format=%s", f"{locked.commit}..HEAD").splitlines()
    assert subjects[1:] == ["Record the submodules with their base patches", "Move it"]
    date = git(upstream.lib.folder, "show", "-s", "--format=%ct", upstream.lib_two)
    assert git(tree / LIB, "log", "-1", "--format=%ct", "refs/hipwright/base") == date
    assert [refs(trees[0] / path) for path in (".", LIB, DEEP)] == [refs(trees[1] / path) for path in (".", LIB, DEEP)]


def test_a_patch_in_a_submodule_moves_a_nested_one(yard: Yard, tree: Path, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    yard.checkout(locked, tree)
    patch = upstream.patch({"l.txt": "one\n"}, {"dé ep": ("deep", upstream.deep, upstream.deep_two)}, of="lib")
    yard.series({f"{LIB}/base/1.patch": patch})
    assert {pin.path: pin.commit for pin in yard.pins(locked)} == {LIB: upstream.lib_one, DEEP: upstream.deep_two}
    yard.patches("base", tree)
    assert head(tree / DEEP) == upstream.deep_two
    assert status(tree) == b""
    assert refs(tree / LIB)["upstream"] == upstream.lib_one
    yard.checkout(locked, tree, bare=True)
    assert head(tree / DEEP) == upstream.deep_one


def test_the_stages_find_a_moved_tree_as_they_left_it(yard: Yard, tree: Path, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    yard.series({"root/base/1.patch": upstream.patch(*moves(upstream)["commit"])})
    yard.checkout(locked, tree)
    yard.patches("base", tree)
    write(tree / LIB, {"l.txt": "my edit\n"})
    git(tree / DEEP, "commit", "--quiet", "--allow-empty", "-m", "mine")
    source = yard.read(locked, tree)
    assert tree_is_intact(tree, source.modules, git=yard.git, through=Stage.HIPIFIED_PATCHES)
    before = snapshot(tree), head(tree / DEEP)
    yard.checkout(locked, tree)
    yard.patches("base", tree)
    assert (snapshot(tree), head(tree / DEEP)) == before
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(locked, tree, bare=True)
    assert caught.value.code.name == "unsaved-work"
    assert (snapshot(tree), head(tree / DEEP)) == before


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "facts"])
def test_a_commit_that_the_submodules_origin_lacks_is_told_with_the_patchs_line(
    yard: Yard, upstream: Upstream, *, whole: bool
) -> None:
    locked = yard.lock(upstream.toy)
    commit = "1" * 40
    yard.series({"root/base/1 é.patch": upstream.patch(upstream.files, {LIB: ("lib", upstream.lib, commit)})})
    with pytest.raises(HipwrightError, match=f"1 é.patch moves the submodule {LIB} to commit {commit}") as caught:
        yard.pins(locked, whole=whole)
    error = caught.value
    assert error.code.name == "submodule-commit-missing"
    assert str(upstream.lib.folder) in error.message
    assert error.where is not None
    assert error.where.line is not None
    text = Path(str(error.where.file)).read_text().splitlines()
    assert text[error.where.line - 1] == f"+Subproject commit {commit}"


def test_a_nested_commit_that_is_missing_names_what_records_it(yard: Yard, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    broken = upstream.lib.record("broken", {"l.txt": "x\n"}, {"dé ep": ("deep", upstream.deep, "2" * 40)})
    yard.series({"root/base/1.patch": upstream.patch(upstream.files, {LIB: ("lib", upstream.lib, broken)})})
    with pytest.raises(HipwrightError, match=f"{DEEP} is recorded at commit {'2' * 40}") as caught:
        yard.pins(locked)
    assert caught.value.code.name == "submodule-commit-missing"
    assert broken in caught.value.message


def test_a_commit_that_a_patch_alone_makes_is_no_commit_of_the_origin(yard: Yard, tree: Path, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    yard.series({f"{LIB}/base/1.patch": make_patch(upstream.lib.folder, {"l.txt": "x\n"}, commit="one")})
    yard.checkout(locked, tree)
    yard.patches("base", tree)
    made = head(tree / LIB)
    yard.series({"root/base/1.patch": upstream.patch(upstream.files, {LIB: ("lib", upstream.lib, made)})})
    (yard.folder / "patches/1" / LIB / "base/1.patch").unlink()
    with pytest.raises(HipwrightError) as caught:
        yard.pins(locked)
    assert caught.value.code.name == "submodule-commit-missing"


def test_other_submodules_than_are_locked_are_refused_and_nothing_moves(yard: Yard, tree: Path, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    yard.checkout(locked, tree)
    yard.series({"root/base/1.patch": upstream.patch(*moves(upstream)["commit"])})
    before = snapshot(tree), status(tree), refs(tree)
    pins = yard.pins(locked)
    for wrong in (locked.submodules, pins[1:], (*pins, msgspec.structs.replace(pins[0], path="gone"))):
        with pytest.raises(HipwrightError, match="leave other submodules") as caught:
            apply_base_patches(
                load_series(yard.folder, "1"),
                locked=locked,
                after_base=wrong,
                tree=tree,
                platform=Platform.LINUX,
                bringer=bringer_of(locked, tree=tree, cache=yard.cache, git=yard.git, history=WHOLE, say=yard.said.append),
                git=yard.git,
                log=yard.log,
                say=yard.said.append,
            )
        assert caught.value.code.name == "lock-conflict"
        assert (snapshot(tree), status(tree), refs(tree)) == before


def test_a_hipified_patch_cannot_move_a_submodule(yard: Yard, tree: Path, upstream: Upstream) -> None:
    yard.checkout(yard.lock(upstream.toy), tree)
    yard.series({"root/hipified/1.patch": upstream.patch(*moves(upstream)["commit"])})
    yard.patches("base", tree)
    with pytest.raises(HipwrightError, match="which only a base patch can do") as caught:
        yard.patches("hipified", tree)
    assert caught.value.code.name == "bad-series"
    assert caught.value.where is not None
    assert caught.value.where.line is not None
    assert status(tree) == b""


def test_work_in_a_submodule_that_a_patch_moves_stops_it(yard: Yard, tree: Path, upstream: Upstream) -> None:
    yard.checkout(yard.lock(upstream.toy), tree)
    yard.series({"root/base/1.patch": upstream.patch(*moves(upstream)["removed"])})
    write(tree / DEEP, {"mine.txt": "mine\n"})
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert caught.value.code.name == "unsaved-work"
    assert str(caught.value.excerpt) == f"untracked {DEEP}: mine.txt"
    assert "--discard-local" in str(caught.value.hint)
    (tree / DEEP / "mine.txt").unlink()
    yard.patches("base", tree)
    assert not (tree / LIB).exists()


def test_a_patch_for_one_platform_alone_cannot_move_submodules(yard: Yard, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    yard.series({"root/base/1.patch": upstream.patch(*moves(upstream)["removed"])}, platforms=["windows"])
    for platform in Platform:
        with pytest.raises(HipwrightError, match="may move submodules") as caught:
            yard.pins(locked, platform=platform)
        assert caught.value.code.name == "bad-series"
        assert (caught.value.where and caught.value.where.line) == 3


def test_a_patch_that_does_not_apply_is_told_when_locking(yard: Yard, upstream: Upstream) -> None:
    locked = yard.lock(upstream.toy)
    patch = upstream.patch(*moves(upstream)["commit"]).replace(upstream.lib_one.encode(), b"3" * 40)
    yard.series({"root/base/1.patch": patch})
    with pytest.raises(HipwrightError, match=r"root/base/1\.patch does not apply to the root") as caught:
        yard.pins(locked)
    assert caught.value.code.name == "patch-conflict"


@pytest.mark.parametrize("way", ["commit", "added", "removed", "another repository"])
def test_a_move_that_upstream_has_made_is_left_out_when_locking_and_when_applying(
    yard: Yard, tree: Path, upstream: Upstream, way: str
) -> None:
    files, modules = moves(upstream)[way]
    yard.series({"root/base/1.patch": upstream.patch(files, modules)})
    upstream.toy.record("main", {**files, "a.txt": "upstream went on\n"}, modules)
    locked = yard.lock(upstream.toy)
    assert yard.pins(locked) == locked.submodules
    yard.checkout(locked, tree)
    yard.patches("base", tree)
    assert [patch.outcome for patch in read_applied(tree).patches] == ["upstream"]
    assert head(tree) == locked.commit
    assert status(tree) == b""


def test_a_move_that_does_not_fit_is_told_with_its_hunk_when_locking(yard: Yard, upstream: Upstream) -> None:
    files, modules = moves(upstream)["commit"]
    patch = upstream.patch(files, modules)
    yard.series({"root/base/1.patch": patch})
    upstream.toy.record("main", files, {LIB: ("lib", upstream.lib, upstream.lib_flat)})
    with pytest.raises(HipwrightError) as caught:
        yard.pins(yard.lock(upstream.toy))
    error = caught.value
    assert error.code.name == "patch-conflict"
    assert "invoke drop-patch root/base/1.patch" in str(error.hint)
    assert error.where is not None
    assert error.where.member == LIB
    assert patch.splitlines()[int(error.where.line or 0) - 1].startswith(b"@@ -1 +1 @@")
