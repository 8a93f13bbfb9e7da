"""What is moved from a tree of development files into the one that takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.rocm.payload.rocm_sdk._keep import keep_others

if TYPE_CHECKING:
    from pathlib import Path


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    old, tree = tmp_path / ".old", tmp_path / "tree"
    put(old, include__ours="ours", include__mine="mine", pending="a link once", of_device="kernels", recorded="ours")
    (old / ".rocm_sdk.files").write_text("include/ours\n")
    (old / ".rocm_sdk.pending").write_text('{"pending": "x"}')
    (old / ".rocm_sdk.device-gfx942").write_text("of_device\n")
    (old / "include/__pycache__").mkdir()
    put(old / "include/__pycache__", tool="left by Python")
    put(tree, include__ours="ours again")
    return old, tree


def content(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_only_what_is_not_ours_is_moved(trees: tuple[Path, Path]) -> None:
    old, tree = trees
    said: list[str] = []
    keep_others(old, tree, recorded=["recorded"], say=said.append)
    assert content(tree) == {"include/ours": "ours again", "include/mine": "mine"}
    assert said == [f"kept {tree / 'include/mine'}, which is none of ROCm's files"]


def test_a_name_that_is_taken_is_not_overwritten(trees: tuple[Path, Path]) -> None:
    old, tree = trees
    put(tree, include__mine="new in this ROCm")
    keep_others(old, tree, recorded=["recorded"], say=lambda _sentence: None)
    assert content(tree) == {"include/ours": "ours again", "include/mine": "new in this ROCm", "include/mine.kept": "mine"}


def test_a_tree_that_lost_its_lists_is_put_aside_whole(tmp_path: Path) -> None:
    old, tree = tmp_path / ".old", tmp_path / "tree"
    put(old, mine="mine")
    put(tree, mine="ours")
    put(tmp_path / "tree.kept", earlier="earlier")
    keep_others(old, tree, recorded=[], say=lambda _sentence: None)
    assert content(tree) == {"mine": "ours"}
    assert content(tmp_path / "tree.kept.kept") == {"mine": "mine"}
    assert content(tmp_path / "tree.kept") == {"earlier": "earlier"}


def test_what_is_no_tree_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, file="x")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link", "gone"):
        keep_others(tmp_path / name, tmp_path / "tree", recorded=[], say=pytest.fail)
    assert not (tmp_path / "tree").exists()
