"""What a tree keeps about itself may be damaged: it is told by name, nothing outside of the tree is touched, and the hint works."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.hipify.stale import stale_files
from build_tools.sources import move
from build_tools.sources.modules import own_folder
from build_tools.sources.phases import marked_modules
from tests.support.source_trees import HIPIFY, Person, Yard, git, head, make_patch, status, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIB = "third/lib"


@pytest.fixture
def origin(yard: Yard) -> Person:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"l.cu": "cuda l\n"})
    origin.commit({"version.txt": "1.0\n", "a.cu": "cuda a\n", "tools/hip.py": HIPIFY})
    origin.submodule(lib, LIB)
    return origin


BYTES = {"empty": b"", "cut off": b'{"schema": 1, "mod', "another type": b"[1, 2]", "no modules": b'{"schema": 1, "modules": []}'}

ENTRY: dict[str, Callable[[list[Any]], object]] = {
    "unknown parent": lambda modules: modules[1].update(parent="nowhere"),
    "another root": lambda modules: modules[0].update(path="root"),
    "root with a parent": lambda modules: modules[0].update(parent="."),
    "twice": lambda modules: modules.append(dict(modules[1])),
    "upwards": lambda modules: modules[1].update(path="../lib"),
    "upwards inside": lambda modules: modules[1].update(path="third/../../lib"),
    "absolute": lambda modules: modules[1].update(path="/lib"),
    "nothing": lambda modules: modules[1].update(path=""),
    "in git's folder": lambda modules: modules[1].update(path=".git/lib"),
    "name upwards": lambda modules: modules[1].update(name="../../../lib"),
    "absolute name": lambda modules: modules[1].update(name="/lib"),
    "no text": lambda modules: modules[1].update(path=7),
}


def refused(tree: Path, act: Callable[[], object], file: str) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        act()
    assert caught.value.code.name == "bad-source-tree"
    assert str(own_folder(tree) / file) in caught.value.message
    assert "move the whole tree away and check out again" in str(caught.value.hint)
    return caught.value


@pytest.mark.parametrize("damage", [*BYTES, *ENTRY])
def test_a_damaged_list_of_modules_is_told(yard: Yard, tree: Path, origin: Person, damage: str) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    other = yard.lock(origin, origin.commit({"b": "b\n"}))
    path = own_folder(tree) / "modules.json"
    if damage in BYTES:
        path.write_bytes(BYTES[damage])
    else:
        value = json.loads(path.read_bytes())
        ENTRY[damage](value["modules"])
        path.write_text(json.dumps(value))
    for act in (
        lambda: yard.checkout(locked, tree),
        lambda: yard.checkout(other, tree, discard_local=True),
        lambda: yard.read(locked, tree),
        lambda: marked_modules(tree, git=yard.git, say=yard.said.append),
    ):
        refused(tree, act, "modules.json")
    tree.rename(tree.with_name("moved away"))
    yard.checkout(other, tree)
    assert status(tree) == b""


PART: dict[str, Callable[[dict[str, Any]], object]] = {
    "unknown target": lambda value: value["modules"][1].update(target="1" * 40),
    "unknown start": lambda value: value["modules"][0].update(start="2" * 40),
    "unknown marked commit": lambda value: value["modules"][1]["markers"].update(base="3" * 40),
    "a marker elsewhere": lambda value: value["modules"][0]["markers"].update({"../heads/main": value["modules"][0]["target"]}),
    "unknown parent": lambda value: value["modules"][1]["module"].update(parent="nowhere"),
    "upwards": lambda value: value["modules"][1]["module"].update(path="../lib"),
    "unknown name": lambda value: value["modules"][1]["module"].update(name="another"),
    "stale upwards": lambda value: value["stale"].append({"path": "../lib", "name": "l", "parent": ".", "url": "x"}),
    "stale of nobody": lambda value: value["stale"].append({"path": "x/y", "name": "l", "parent": "x", "url": "x"}),
}


@pytest.mark.parametrize("damage", [*BYTES, *PART])
def test_a_damaged_note_of_a_move_is_told_and_can_be_removed(
    yard: Yard, tree: Path, origin: Person, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    yard.checkout(yard.lock(origin), tree)
    other = yard.lock(origin, origin.commit({"a.cu": "cuda later\n", "b": "b\n"}))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(move, "keep_stored_bytes", interrupt)
        yard.checkout(other, tree)
    assert (tree / "a.cu").read_text() == "cuda later\n"
    path = own_folder(tree) / "moving.json"
    if damage in BYTES:
        path.write_bytes(BYTES[damage])
    else:
        value = json.loads(path.read_bytes())
        PART[damage](value)
        path.write_text(json.dumps(value))
    for discard in (False, True):
        error = refused(tree, partial(yard.checkout, other, tree, discard_local=discard), "moving.json")
        assert f"or remove {path}" in str(error.hint)
    refused(tree, lambda: marked_modules(tree, git=yard.git, say=yard.said.append), "moving.json")
    path.unlink()
    with pytest.raises(HipwrightError) as caught:
        yard.checkout(other, tree)
    assert caught.value.code.name == "unsaved-work"
    yard.checkout(other, tree, discard_local=True)
    assert status(tree) == b""
    assert (tree / "a.cu").read_text() == "cuda later\n"


@pytest.mark.parametrize("data", [b"", b'{"schema": 1, "pat', b"[]"])
def test_a_damaged_note_of_patches_is_told_and_made_anew_by_their_stages(
    yard: Yard, tree: Path, origin: Person, data: bytes
) -> None:
    yard.checkout(yard.lock(origin), tree)
    yard.series({"root/base/1.patch": make_patch(tree, {"a.cu": "cuda patched\n"})})
    yard.patches("base", tree)
    path = own_folder(tree) / "applied-patches.json"
    whole, was = path.read_bytes(), head(tree)
    path.write_bytes(data)
    with pytest.raises(HipwrightError) as caught:
        yard.patches("base", tree)
    assert f"remove {path}" in str(caught.value.hint)
    assert "--force base-patches --force hipified-patches" in str(caught.value.hint)
    path.unlink()
    yard.patches("base", tree)
    assert (path.read_bytes(), head(tree)) == (whole, was)


@pytest.mark.parametrize("data", [b"", b'{"schema": 1, "rec', b"[]"])
def test_a_damaged_record_of_hipify_is_made_anew_by_the_next_run(yard: Yard, tree: Path, origin: Person, data: bytes) -> None:
    locked = yard.lock(origin)
    yard.checkout(locked, tree)
    yard.patches("base", tree, line=None)
    yard.hipify(tree)
    path = own_folder(tree) / "hipify-record.json"
    whole = path.read_bytes()
    path.write_bytes(data)
    assert stale_files(yard.read(locked, tree), git=yard.git) == []
    write(tree, {"a.cu": "cuda mine\n"})
    with pytest.raises(HipwrightError) as caught:
        stale_files(yard.read(locked, tree), git=yard.git)
    assert caught.value.code.name == "stale-hipify"
    git(tree, "checkout", "--quiet", "a.cu")
    yard.hipify(tree, again=True)
    assert json.loads(path.read_bytes())["record"]["modules"] == json.loads(whole)["record"]["modules"]
