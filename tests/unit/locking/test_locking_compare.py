"""What moved between two locks is told thing by thing, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.console.events import Console, Said, Table
from build_tools.locking.compare import compare, show_moves
from build_tools.receipts.lock import Lock, LockedFile, LockedProject, LockedRocm, SubmodulePin
from build_tools.types import CommitId, Sha256
from tests.support.locks import locked
from tests.support.workplaces import Memory

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = "1" * 40, "2" * 40


def moves(old: LockedProject | None, new: LockedProject | None) -> list[tuple[str, str, str]]:
    earlier = Lock(projects={} if old is None else {"toy": old})
    later = Lock(projects={} if new is None else {"toy": new})
    found = compare(earlier, later)
    assert {row.project for row in found} <= {"toy"}
    return [(row.what, row.before, row.after) for row in found]


def pin(path: str, commit: str, url: str = "https://host.example/lib") -> SubmodulePin:
    return SubmodulePin(path=path, url=url, commit=CommitId(commit))


def rocm(version: str, *files: tuple[str, str, str]) -> LockedRocm:
    return LockedRocm(
        source="a place",
        version=version,
        files=tuple(
            LockedFile(distribution=name, version=version, filename=file, url="u", sha256=Sha256(sha))
            for name, file, sha in files
        ),
    )


def test_equal_locks_have_moved_nowhere() -> None:
    entry = locked("toy", submodules=(pin("lib", ONE),))
    assert moves(entry, entry) == []


def test_why_and_what_was_asked_for_is_no_move() -> None:
    assert moves(locked("toy", reason="asked for"), locked("toy", reason="the default of its project.toml")) == []


def test_a_project_that_came_or_went_is_told() -> None:
    assert moves(None, locked("toy", commit=ONE)) == [("project", "absent", ONE)]
    assert moves(locked("toy", commit=ONE), None) == [("project", ONE, "absent")]


def test_a_moved_ref_is_told_with_all_that_it_brings() -> None:
    old = locked("toy", commit=ONE, ref="release/1.0")
    new = locked("toy", commit=TWO, ref="nightly", version="1.1", origin="https://other.example/toy.git")
    assert moves(old, new) == [
        ("origin", "https://host.example/toy.git", "https://other.example/toy.git"),
        ("ref", "release/1.0", "nightly"),
        ("commit", ONE, TWO),
        ("base version", "1.0", "1.1"),
    ]


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"recipe": "f" * 64}, ("recipe", "e" * 64, "f" * 64)),
        ({"hipify": "9" * 64}, ("hipify", "absent", "9" * 64)),
    ],
)
def test_recipe_and_tool_are_told(change: dict[str, str], row: tuple[str, str, str]) -> None:
    old = locked("toy")
    assert moves(old, msgspec.structs.replace(old, **change)) == [row]


def test_patches_and_tree_are_told() -> None:
    old = locked("toy")
    patches = msgspec.structs.replace(old.patches, line="1.0", digest=Sha256("d" * 64))
    sources = msgspec.structs.replace(old.sources, tree="9" * 40)
    assert moves(old, msgspec.structs.replace(old, patches=patches, sources=sources)) == [
        ("tree", "b" * 40, "9" * 40),
        ("patch line", "none", "1.0"),
        ("patches", "c" * 64, "d" * 64),
    ]


def test_submodules_that_came_went_moved_or_have_another_address_are_told() -> None:
    old = locked("toy", submodules=(pin("a", ONE), pin("b", ONE), pin("c", ONE), pin("same", ONE)))
    new = locked("toy", submodules=(pin("a", TWO), pin("c", ONE, "https://other.example/lib"), pin("d", TWO), pin("same", ONE)))
    assert moves(old, new) == [
        ("submodule a", ONE, TWO),
        ("submodule b", ONE, "absent"),
        ("submodule c url", "https://host.example/lib", "https://other.example/lib"),
        ("submodule d", "absent", TWO),
    ]


def test_a_submodule_that_a_patch_moves_is_told_apart_from_recorded_ones() -> None:
    old = locked("toy", submodules=(pin("lib", ONE),))
    patches = msgspec.structs.replace(old.patches, submodules=(pin("lib", TWO),))
    assert moves(old, msgspec.structs.replace(old, patches=patches)) == [("patched submodule lib", ONE, TWO)]


def test_packages_are_told_by_version_and_where_that_stays_by_file() -> None:
    old = msgspec.structs.replace(
        locked("toy"), rocm=rocm("7.10.0", ("rocm", "rocm-7.10.0.tar.gz", "1"), ("core", "core.whl", "1"))
    )
    other = msgspec.structs.replace(old, rocm=rocm("7.10.0", ("rocm", "rocm-7.10.0.tar.gz", "2"), ("core", "core2.whl", "1")))
    newer = msgspec.structs.replace(old, rocm=rocm("7.11.0", ("rocm", "rocm-7.11.0.tar.gz", "2")))
    assert moves(old, other) == [
        ("file core.whl", "1", "absent"),
        ("file core2.whl", "absent", "1"),
        ("file rocm-7.10.0.tar.gz", "1", "2"),
    ]
    assert moves(old, newer) == [
        ("ROCm version", "7.10.0", "7.11.0"),
        ("package core", "7.10.0", "absent"),
        ("package rocm", "7.10.0", "7.11.0"),
    ]
    assert moves(old, locked("toy"))[:2] == [("ROCm version", "7.10.0", "absent"), ("ROCm source", "a place", "absent")]


def test_a_table_shortens_commits_and_data_does_not(tmp_path: Path) -> None:
    memory = Memory()
    found = compare(Lock(projects={"toy": locked("toy", commit=ONE)}), Lock(projects={"toy": locked("toy", commit=TWO)}))
    data = show_moves(found, tmp_path / "old.json", Console(renderer=memory))
    assert data == [{"project": "toy", "what": "commit", "before": ONE, "after": TWO}]
    (table,) = memory.events
    assert isinstance(table, Table)
    assert str(tmp_path / "old.json") in table.note
    assert table.rows == (("toy", "commit", ONE[:12], TWO[:12]),)


def test_nothing_moved_is_said(tmp_path: Path) -> None:
    memory = Memory()
    assert show_moves((), tmp_path / "old.json", Console(renderer=memory)) == []
    assert memory.events == [Said(text=f"nothing moved since {tmp_path / 'old.json'}")]
