"""Moves of a tree between refs whose submodules differ in every way: each time the tree is what a fresh recursive clone gives."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.sources.modules import load_modules, own_folder
from tests.support.source_trees import Person, Yard, git, head, raw, snapshot, status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.receipts.lock import LockedSources

COUNTER = itertools.count()


class Origins:
    """An origin with a branch for each way in which submodules differ, what is locked for each, and what a clone of each holds."""

    def __init__(self, place: Path) -> None:
        self.yard = yard = Yard(place)
        deep, other = yard.person("deep"), yard.person("other")
        one, two = deep.commit({"deep.txt": "1\n"}), deep.commit({"deep.txt": "2\n", "more/of it": "x\n"})
        apart = other.commit({"other.txt": "o\n", "in/a/folder": "o\n"})
        middle = yard.person("middle")
        pins = {
            "m-deep": middle.record("m-deep", {"m": "1\n"}, {"dé eper": ("deep", deep, one)}),
            "m-moved": middle.record("m-moved", {"m": "2\n"}, {"dé eper": ("deep", deep, two)}),
            "m-renamed": middle.record("m-renamed", {"m": "2\n", "dé eper/plain": "p\n"}, {"elsewhere/d": ("deep", deep, two)}),
            "m-plain": middle.record("m-plain", {"m": "1\n", "dé eper/deep.txt": "plain\n"}, {}),
            "m-other": middle.record("m-other", {"m": "1\n"}, {"dé eper": ("deep", other, apart)}),
        }
        self.origin = origin = yard.person("toy")

        def branch(name: str, files: Mapping[str, str], modules: Mapping[str, tuple[str, Person, str]]) -> None:
            origin.record(name, {"version.txt": "1.0\n", "a.txt": f"{name}\n", **files}, modules)

        branch("none", {}, {})
        for name, pin in pins.items():
            branch(name, {}, {"third party/middle": ("middle", middle, pin)})
        branch("plain", {"third party/middle/m": "plain\n", "third party/middle/dé eper/deep.txt": "plain\n"}, {})
        branch("file", {"third party": "a file\n"}, {})
        branch("two", {}, {"x": ("one", deep, two), "y": ("two", other, apart)})
        branch("swapped", {}, {"y": ("one", deep, two), "x": ("two", other, apart)})
        branch("crossed", {}, {"x": ("two", deep, one), "y": ("one", other, apart)})
        branch("same-name", {}, {"z/deeper": ("one", deep, two)})
        branch("inside", {"x/y": "plain\n"}, {"x/in": ("one", deep, one), "third party/middle/dé eper": ("in", other, apart)})
        branch("other-address", {}, {"third party/middle": ("middle", other, apart)})
        self.locked: dict[str, LockedSources] = {}
        self.wanted: dict[str, tuple[dict[str, bytes], list[str]]] = {}
        for name in git(origin.folder, "for-each-ref", "--format=%(refname:short)", "refs/heads/").splitlines():
            clone = place / "clones" / name
            clone.parent.mkdir(exist_ok=True)
            git(clone.parent, "clone", "--quiet", "--recurse-submodules", "--branch", name, origin.folder, clone)
            self.locked[name] = yard.lock(origin, name)
            self.wanted[name] = (snapshot(clone), submodules(clone))


def submodules(tree: Path) -> list[str]:
    """Return each submodule with its commit, and how it differs from what is recorded, as git tells them."""
    lines = raw(tree, "submodule", "status", "--recursive").decode().splitlines()
    return [line.partition(" (")[0] for line in lines]


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> Origins:
    return Origins(tmp_path_factory.mktemp("moves") / "pl ace")


NAMES = (
    "none",
    "m-deep",
    "m-moved",
    "m-renamed",
    "m-plain",
    "m-other",
    "plain",
    "file",
    "two",
    "swapped",
    "crossed",
    "same-name",
    "inside",
    "other-address",
)


def assert_is(origins: Origins, tree: Path, name: str) -> None:
    files, modules = origins.wanted[name]
    assert snapshot(tree) == files, name
    assert submodules(tree) == modules, name
    assert status(tree) == b"", name
    assert head(tree) == origins.locked[name].commit
    empty = [path for path in tree.rglob("*") if path.is_dir() and not any(path.iterdir()) and ".git" not in path.parts]
    assert empty == []
    assert {path.name for path in own_folder(tree).iterdir()} == {"modules.json"}
    for module in load_modules(tree, git=origins.yard.git):
        settings = git(module.folder, "config", "--list")
        assert ".ignore=" not in settings
        assert git(module.folder, "config", "remote.origin.url") == module.entry.url
        assert settings.count(".active=true") == sum(
            1 for one in origins.locked[name].submodules if parent(origins, name, one.path) == module.path
        )


def parent(origins: Origins, name: str, path: str) -> str:
    """Return the module that records the submodule at a path."""
    above = [pin.path for pin in origins.locked[name].submodules if path.startswith(f"{pin.path}/")]
    return max(above, key=len, default=".")


def test_every_state_is_reached(origins: Origins) -> None:
    assert origins.locked.keys() == set(NAMES)


@given(order=st.lists(st.sampled_from(NAMES), min_size=4, max_size=9))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_tree_is_a_fresh_clone_after_any_sequence_of_moves(origins: Origins, order: list[str]) -> None:
    tree = origins.yard.place / f"tree-{next(COUNTER)}"
    for name in order:
        origins.yard.checkout(origins.locked[name], tree)
        assert_is(origins, tree, name)


@pytest.mark.parametrize("start", NAMES)
def test_a_tree_moves_between_any_two_states_and_back(origins: Origins, start: str) -> None:
    tree = origins.yard.place / f"tree-{next(COUNTER)}"
    for name in NAMES[NAMES.index(start) + 1 :]:
        for step in (start, name):
            origins.yard.checkout(origins.locked[step], tree)
            assert_is(origins, tree, step)
