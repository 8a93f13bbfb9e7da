"""Hipify's results are made once on a machine, taken by every other tree, and made again when anything of them is gone."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.digest import of_value
from build_tools.errors import HipwrightError
from build_tools.hipify.record import read_tree_record
from build_tools.hipify.run import hipify
from build_tools.sources.git import Git
from build_tools.sources.mirror import WHOLE, History
from build_tools.sources.modules import load_modules, markers_of
from build_tools.sources.phases import step_back
from build_tools.types import Platform
from tests.support.source_trees import HIPIFY, Person, Yard, git, head, make_patch, snapshot, status, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.hipify.run import Hipifier

LIB = "third party/lib"


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path / "pl ace")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where the tool leaves a line for each time that it runs."""
    return tmp_path / "runs"


@pytest.fixture
def origin(yard: Yard, runs: Path) -> Person:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cu": "cuda l\n"})
    tool = f"open({str(runs)!r}, 'a').write('run\\n')\n"
    origin.commit({"version.txt": "1.0\n", "a.cu": "cuda a\n", "plain.md": "p\n", "tools/hip.py": tool + HIPIFY})
    origin.submodule(lib, LIB)
    return origin


def count(runs: Path) -> int:
    return len(runs.read_text().splitlines()) if runs.exists() else 0


def tree_at(yard: Yard, origin: Person, name: str, history: History = WHOLE) -> Path:
    tree = yard.place / name / "toy"
    yard.checkout(yard.lock(origin), tree, history=history)
    return tree


def state(tree: Path) -> tuple[str, str, dict[str, bytes]]:
    return head(tree), head(tree / LIB), snapshot(tree)


def mirrors(yard: Yard) -> list[Path]:
    return sorted(path for path in (yard.cache / "git").iterdir() if path.suffix == ".git")


def records(yard: Yard) -> list[Path]:
    return sorted((yard.cache / "hipify").glob("*/record.json"))


def test_a_second_tree_takes_what_the_first_one_made(yard: Yard, origin: Person, runs: Path) -> None:
    first = tree_at(yard, origin, "first")
    earlier = tree_at(yard, origin, "made before there was a result")
    yard.hipify(first)
    later = tree_at(yard, origin, "made after")
    yard.said.clear()
    for tree in (earlier, later):
        yard.hipify(tree)
        assert state(tree) == state(first)
        assert status(tree) == b""
        assert read_tree_record(tree) == read_tree_record(first) is not None
    assert count(runs) == 1
    assert sum("hipify ran on these sources before" in line for line in yard.said) == 2
    assert sum("hipify in the root: 1 file added, 1 changed" in line for line in yard.said) == 2


def test_a_result_lies_in_the_mirrors_under_its_key_with_record_and_log_beside_them(yard: Yard, origin: Person) -> None:
    tree = tree_at(yard, origin, "first")
    yard.hipify(tree)
    (record,) = records(yard)
    key = record.parent.name
    found = {git(mirror, "rev-parse", f"refs/hipwright/hipified/{key}") for mirror in mirrors(yard)}
    assert found == {head(tree), head(tree / LIB)}
    assert "tools/hip.py" in (record.parent / "hipify.log").read_text()
    kept = read_tree_record(tree)
    assert kept is not None
    assert kept.record.key == key


def test_a_module_that_hipify_does_not_change_leaves_nothing_in_its_mirror(yard: Yard, origin: Person, runs: Path) -> None:
    origin.commit({"tools/hip.py": f"open({str(runs)!r}, 'a').write('run\\n')\nopen('new.hip', 'w').write('n')\n"})
    first, second = tree_at(yard, origin, "first"), tree_at(yard, origin, "second")
    yard.hipify(first)
    held = [git(mirror, "for-each-ref", "refs/hipwright/hipified/") for mirror in mirrors(yard)]
    assert sorted(map(bool, held)) == [False, True]
    yard.hipify(second)
    assert state(second) == state(first)
    assert count(runs) == 1


def test_a_tool_that_changes_nothing_does_not_run_again_either(yard: Yard, origin: Person, runs: Path) -> None:
    origin.commit({"tools/hip.py": f"open({str(runs)!r}, 'a').write('run\\n')\n"})
    for name in ("first", "second"):
        tree = tree_at(yard, origin, name)
        yard.hipify(tree)
        assert head(tree) == head(origin.folder)
    assert count(runs) == 1


def other_commit(yard: Yard, origin: Person) -> Hipifier:
    origin.commit({"plain.md": "other\n"})
    return yard.hipifier()


def other_digest(yard: Yard, _origin: Person) -> Hipifier:
    return replace(yard.hipifier(), digest=of_value("another tool"))


CHANGES: Mapping[str, Callable[[Yard, Person], Hipifier]] = {
    "another commit": other_commit,
    "another tool": other_digest,
    "other arguments": lambda yard, _origin: yard.hipifier(tool={"script": "tools/hip.py", "arguments": ["-v"]}),
    "other line ends": lambda yard, _origin: yard.hipifier(platform=Platform.WINDOWS),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_goes_in_decides(yard: Yard, origin: Person, runs: Path, change: str) -> None:
    yard.hipify(tree_at(yard, origin, "first"))
    hipifier = CHANGES[change](yard, origin)
    yard.hipify(tree_at(yard, origin, "second"), hipifier)
    assert count(runs) == 2
    yard.hipify(tree_at(yard, origin, "third"), hipifier)
    assert count(runs) == 2
    assert len(records(yard)) == 2


def test_what_does_not_go_in_does_not_decide(yard: Yard, origin: Person, runs: Path) -> None:
    yard.hipify(tree_at(yard, origin, "first"))
    hipifier = yard.hipifier(".other-name", tool={"script": "tools/hip.py", "time-limit-minutes": 7})
    yard.hipify(
        tree_at(yard, origin, "second"), replace(hipifier, scratch=yard.place / "elsewhere", log=yard.place / "other.log")
    )
    assert count(runs) == 1


def test_a_base_patch_makes_another_result(yard: Yard, origin: Person, runs: Path) -> None:
    first, second = tree_at(yard, origin, "first"), tree_at(yard, origin, "second")
    yard.hipify(first)
    yard.series({f"{LIB}/base/1.patch": make_patch(second / LIB, {"l.cu": "cuda patched\n"})})
    yard.patches("base", second)
    yard.hipify(second)
    assert (second / LIB / "hip" / "l.hip").read_text() == "hip patched\n"
    assert count(runs) == 2


SHALLOW, PARTIAL, BOTH = History(depth=1), History(partial=True), History(depth=1, partial=True)
PAIRS = ((SHALLOW, WHOLE), (WHOLE, SHALLOW), (PARTIAL, WHOLE), (WHOLE, PARTIAL), (BOTH, SHALLOW), (PARTIAL, BOTH))


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
def test_trees_with_different_histories_share_it(yard: Yard, origin: Person, runs: Path, first: History, second: History) -> None:
    origin.commit({"plain.md": "with a commit before it\n"})
    results = []
    for name, history in (("first", first), ("second", second)):
        tree = tree_at(yard, origin, name, history)
        hipifier = yard.hipifier()
        yard.hipify(tree, replace(hipifier, kept=replace(hipifier.kept, history=history)))
        assert status(tree) == b""
        results.append(state(tree))
    assert results[0] == results[1]
    assert count(runs) == 1
    assert not any("not kept" in line for line in yard.said)


def test_a_mirror_gets_no_history_with_gaps(yard: Yard, origin: Person, runs: Path) -> None:
    """Whoever made a shallow tree and does not say so again has no whole mirror."""
    origin.commit({"plain.md": "with a commit before it\n"})
    tree = tree_at(yard, origin, "first", SHALLOW)
    for mirror in mirrors(yard):
        if "depth" not in mirror.name:
            shutil.rmtree(mirror)
    yard.hipify(tree)
    assert count(runs) == 1
    assert any("not kept" in line for line in yard.said)
    whole = tree_at(yard, origin, "whole")
    assert git(whole, "rev-parse", "--is-shallow-repository") == "false"
    assert git(whole, "rev-list", "--count", "HEAD") == git(origin.folder, "rev-list", "--count", "HEAD")
    yard.hipify(whole)
    assert state(whole) == state(tree)


def lose_record(yard: Yard) -> None:
    records(yard)[0].unlink()


def cut_record(yard: Yard) -> None:
    data = records(yard)[0].read_bytes()
    records(yard)[0].write_bytes(data[: len(data) // 2])


def lose_mirrors(yard: Yard) -> None:
    for mirror in mirrors(yard):
        shutil.rmtree(mirror)


def prune_one_mirror(yard: Yard) -> None:
    for mirror in mirrors(yard):
        if "lib" in mirror.name:
            name = git(mirror, "for-each-ref", "--format=%(refname)", "refs/hipwright/hipified/")
            git(mirror, "update-ref", "-d", name)
            git(mirror, "prune", "--expire=now")
            git(mirror, "repack", "-a", "-d", "--quiet")


def break_packs(yard: Yard) -> None:
    for mirror in mirrors(yard):
        packs = list((mirror / "objects" / "pack").glob("*.pack"))
        assert packs
        for pack in packs:
            # Trees share the file: damage in one place leaves the others whole only where it is another file.
            data = pack.read_bytes()
            pack.unlink()
            pack.write_bytes(data[:-40])


@pytest.mark.parametrize("damage", [lose_record, cut_record, lose_mirrors, prune_one_mirror, break_packs])
def test_a_result_that_is_not_whole_any_more_is_made_again(
    yard: Yard, origin: Person, runs: Path, damage: Callable[[Yard], None]
) -> None:
    first, second = tree_at(yard, origin, "first"), tree_at(yard, origin, "second")
    yard.hipify(first)
    damage(yard)
    yard.hipify(second)
    assert count(runs) == 2
    assert state(second) == state(first)
    assert status(second) == b""


def test_a_result_made_again_after_its_loss_is_taken_by_the_next(yard: Yard, origin: Person, runs: Path) -> None:
    first, second = tree_at(yard, origin, "first"), tree_at(yard, origin, "second")
    yard.hipify(first)
    lose_mirrors(yard)
    third = tree_at(yard, origin, "third")
    for tree in (third, second):
        yard.hipify(tree)
        assert state(tree) == state(first)
    assert count(runs) == 2


def test_a_tool_that_fails_leaves_nothing_to_take(yard: Yard, origin: Person, runs: Path) -> None:
    good = (origin.folder / "tools" / "hip.py").read_text()
    origin.commit(
        {"tools/hip.py": f"{good}\nimport os\nif not os.path.exists({str(runs)!r} + '.good'):\n    raise SystemExit(1)\n"}
    )
    tree = tree_at(yard, origin, "first")
    with pytest.raises(HipwrightError, match="ended with status 1"):
        yard.hipify(tree)
    assert records(yard) == []
    assert read_tree_record(tree) is None
    runs.with_name("runs.good").touch()
    yard.hipify(tree)
    assert count(runs) == 2
    assert (tree / "hip" / "a.hip").read_text() == "hip a\n"


def test_a_forced_run_is_a_run_and_its_result_is_the_one_that_is_kept(yard: Yard, origin: Person, runs: Path) -> None:
    first, second = tree_at(yard, origin, "first"), tree_at(yard, origin, "second")
    yard.hipify(first)
    before = read_tree_record(first)
    yard.hipify(first, again=True)
    assert count(runs) == 2
    after = read_tree_record(first)
    assert before is not None
    assert after is not None
    assert (after.record.key, after.record.modules) == (before.record.key, before.record.modules)
    yard.hipify(second)
    assert count(runs) == 2
    assert read_tree_record(second) == after


def test_of_two_at_a_time_one_runs_and_the_other_waits_and_takes(yard: Yard, origin: Person, runs: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    tool = (origin.folder / "tools" / "hip.py").read_text()
    origin.commit({"tools/hip.py": f"open({str(gate)!r}).read()\n{tool}"})
    trees = [tree_at(yard, origin, name) for name in ("first", "second")]
    waits = threading.Event()

    def hear(line: str) -> None:
        if "running hipify on the same sources" in line:
            waits.set()

    def run(tree: Path) -> None:
        own = Git(runner=yard.git.runner.with_record())
        hipifier = yard.hipifier(f".{tree.parent.name}-hipify")
        hipifier = replace(hipifier, log=tree.parent / "log", git=own, kept=replace(hipifier.kept, git=own, say=hear))
        hipify(tree, hipifier, git=own, say=hear)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(run, tree) for tree in trees]
        assert waits.wait(60)
        gate.write_text("go")
        for one in both:
            one.result(60)
    assert count(runs) == 1
    assert state(trees[0]) == state(trees[1])


def test_a_tree_without_hipify_tells_that_it_stands_on_none(yard: Yard, origin: Person) -> None:
    tree = tree_at(yard, origin, "first")
    yard.hipify(tree)
    hipify(tree, None, git=yard.git, say=yard.said.append)
    assert read_tree_record(tree) is None
    for module in load_modules(tree, git=yard.git):
        markers = markers_of(module)
        assert markers is not None
        assert markers.hipified == markers.finished == markers.base == markers.upstream


def test_a_tree_that_stands_on_it_already_is_left_as_it_is_with_work_on_top(yard: Yard, origin: Person, runs: Path) -> None:
    tree = tree_at(yard, origin, "first")
    yard.hipify(tree)
    write(tree, {"a.cu": "mine\n"})
    git(tree, "commit", "--quiet", "-a", "-m", "mine")
    write(tree, {"hip/a.hip": "mine too\n"})
    before = state(tree)
    yard.hipify(tree)
    yard.hipify(tree, again=True)
    assert state(tree) == before
    assert count(runs) == 2


def test_a_tree_that_went_back_comes_forward_without_a_run(yard: Yard, origin: Person, runs: Path) -> None:
    tree = tree_at(yard, origin, "first")
    yard.hipify(tree)
    before = state(tree)
    step_back(tree, "base", git=yard.git, say=yard.said.append)
    assert not (tree / "hip").exists()
    yard.hipify(tree)
    assert state(tree) == before
    assert count(runs) == 1
