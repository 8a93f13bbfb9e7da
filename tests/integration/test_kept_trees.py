"""Build folders that are kept, with real git trees, CMake and ninja: what is compiled again, and what is not."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.builds.kept_tree import BuildInputs, KeptTree
from build_tools.builds.progress import BuildProgress
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.sources.export import materialise, refresh
from tests.support.source_trees import HIPIFY, Person, Yard, git, write

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.values import SourceTree

LIB = "third/lib"
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(toy CXX)
add_library(toy SHARED a.cpp b.cpp third/lib/l.cpp)
"""
INPUTS = BuildInputs(parts={"ROCm": "7.10.0"}, version="1.0")


@pytest.fixture
def origin(yard: Yard) -> Person:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cpp": "int l() { return 1; }\n"})
    sources = {"a.cpp": "int a() { return 1; }\n", "b.cpp": "int b() { return 1; }\n", "CMakeLists.txt": CMAKE}
    origin.commit({"version.txt": "1.0\n", "tools/hip.py": HIPIFY, ".gitignore": "build/\n", **sources})
    origin.submodule(lib, LIB)
    return origin


@pytest.fixture
def source(yard: Yard, tree: Path, origin: Person) -> SourceTree:
    yard.checkout(yard.lock(origin), tree)
    return yard.read(yard.locked[tree], tree)


def times(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def test_files_that_are_right_keep_their_times(yard: Yard, tree: Path, source: SourceTree, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    materialise(source, copy, git=yard.git)
    for path in copy.rglob("*.cpp"):
        os.utime(path, ns=(10**18, 10**18))
    git(copy, "update-index", "--refresh")
    git(copy / LIB, "update-index", "--refresh")
    before = times(copy)
    write(tree, {"a.cpp": "int a() { return 2; }\n", "new.cpp": "int n;\n"})
    (tree / "b.cpp").unlink()
    refresh(yard.read(yard.locked[tree], tree), copy, git=yard.git)
    after = times(copy)
    assert {name for name in after if after[name] != before.get(name)} == {"a.cpp", "new.cpp"}
    assert before.keys() - after.keys() == {"b.cpp"}
    assert (copy / "a.cpp").read_text() == "int a() { return 2; }\n"
    assert git(copy, "rev-parse", "HEAD") == source.upstream


def test_what_a_build_did_to_the_sources_is_undone_and_what_it_made_stays(yard: Yard, source: SourceTree, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    materialise(source, copy, git=yard.git)
    write(copy, {"version.txt": "changed by a hook\n", "build/a.o": "object", f"{LIB}/l.o": "object", f"{LIB}/l.cpp": "changed"})
    (copy / ".git" / "index.lock").touch()
    refresh(source, copy, git=yard.git)
    assert (copy / "version.txt").read_text() == "1.0\n"
    assert (copy / LIB / "l.cpp").read_text() == "int l() { return 1; }\n"
    assert (copy / "build" / "a.o").read_text() == (copy / LIB / "l.o").read_text() == "object"


def test_a_folder_that_is_no_copy_is_refused(yard: Yard, source: SourceTree, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    materialise(source, copy, git=yard.git)
    shutil.rmtree(copy / LIB)
    with pytest.raises(HipwrightError) as caught:
        refresh(source, copy, git=yard.git)
    assert caught.value.code.name == "bad-source-tree"


def test_a_file_of_the_build_that_is_in_the_way_gives_way(yard: Yard, tree: Path, source: SourceTree, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    materialise(source, copy, git=yard.git)
    write(copy, {"made.h": "by the build"})
    write(tree, {"made.h": "by the person"})
    refresh(yard.read(yard.locked[tree], tree), copy, git=yard.git)
    assert (copy / "made.h").read_text() == "by the person"


class Builder:
    """Compiles a kept tree with CMake and ninja, and counts objects as people are told of them."""

    def __init__(self, yard: Yard, folder: Path) -> None:
        for name in ("cmake", "ninja"):
            if shutil.which(name) is None:
                pytest.skip(f"there is no {name} on this machine")
        self.yard = yard
        self.said: list[str] = []
        self.kept = KeptTree(folder=folder, say=self.said.append)
        self.log = folder.parent / "build.log"

    def build(self, source: SourceTree, inputs: BuildInputs = INPUTS, *, check: bool = True) -> int | None:
        self.kept.prepare(source, inputs, git=self.yard.git)
        watch = BuildProgress(name="toy", say=self.said.append, progress=lambda *_step: None)
        runner = Runner(environment=base_environment(os.environ), on_line=watch.line)
        tree = self.kept.sources
        if not (tree / "build" / "CMakeCache.txt").exists():
            runner.run(
                ["cmake", "-G", "Ninja", "-DCMAKE_CXX_COMPILER_FORCED=ON", "-S", tree, "-B", tree / "build"],
                cwd=tree,
                log=self.log,
            )
        runner.run(["ninja", "-C", tree / "build", "-k", "0"], cwd=tree, log=self.log, check=check)
        return watch.objects


@pytest.fixture
def builder(yard: Yard, tmp_path: Path) -> Builder:
    return Builder(yard, tmp_path / "trees" / "toy" / "cp312")


def test_an_edit_costs_its_own_object(yard: Yard, tree: Path, source: SourceTree, builder: Builder) -> None:
    assert builder.build(source) == 3
    assert builder.build(source) is None
    write(tree, {f"{LIB}/l.cpp": "int l() { return 2; }\n"})
    assert builder.build(yard.read(yard.locked[tree], tree)) == 1
    assert builder.build(yard.read(yard.locked[tree], tree)) is None


@pytest.mark.usefixtures("source")
def test_a_build_that_failed_goes_on_where_it_stopped(yard: Yard, tree: Path, builder: Builder) -> None:
    write(tree, {"b.cpp": "this is no C++\n"})
    # All others are compiled before it gives up.
    assert builder.build(yard.read(yard.locked[tree], tree), check=False) == 3
    assert not (builder.kept.sources / "build" / "libtoy.so").exists()
    write(tree, {"b.cpp": "int b() { return 1; }\n"})
    assert builder.build(yard.read(yard.locked[tree], tree)) == 1
    assert (builder.kept.sources / "build" / "libtoy.so").exists()


def test_another_rocm_compiles_all_again(source: SourceTree, builder: Builder) -> None:
    builder.build(source)
    other = BuildInputs(parts={"ROCm": "7.11.0"}, version="1.0")
    assert builder.build(source, other) == 3
    assert any("ROCm changed" in text for text in builder.said)


def test_another_version_configures_again_and_compiles_nothing(source: SourceTree, builder: Builder) -> None:
    builder.build(source)
    assert builder.build(source, BuildInputs(parts=INPUTS.parts, version="1.1")) is None
    assert builder.said.count("toy: configuring") == 2


def test_a_tree_that_moved_is_built_anew(yard: Yard, source: SourceTree, builder: Builder, tmp_path: Path) -> None:
    del yard
    builder.build(source)
    moved = tmp_path / "elsewhere"
    builder.kept.folder.rename(moved)
    builder.kept = replace(builder.kept, folder=builder.kept.folder)
    assert builder.build(source) == 3
