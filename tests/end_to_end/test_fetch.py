"""Sources from an origin with a history: as little of it as is asked for, and submodules from where a person says."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import CASES
from tests.support.source_trees import Person, git, head

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def origin(tmp_path: Path) -> Person:
    """The tiny project's sources as a repository in which people have worked for a while."""
    person = Person(tmp_path / "origin")
    shutil.copytree(CASES / "tiny-project" / "sources" / "main", person.folder, dirs_exist_ok=True)
    for number in range(3):
        person.commit({"notes.txt": f"{number}\n"})
    return person


def kinds_of_mirrors(desk: Desk, name: str) -> list[str]:
    found = [path.name.partition(f"{name}-")[2] for path in (desk.cache / "git").iterdir() if path.name.startswith(f"{name}-")]
    return sorted(kind.partition(".")[2] for kind in found if kind.endswith(".git"))


def test_a_build_from_one_commit_of_history_asks_no_origin_any_more(desk: Desk, origin: Person) -> None:
    desk = desk.with_work("shallow")
    place = origin.folder.with_name("shallow-origin")
    origin.folder.rename(place)
    asked = ("--tiny-project-origin", place.as_uri())
    desk.nox("lock", "--projects", "tiny-project", *asked).well()
    assert kinds_of_mirrors(desk, "shallow-origin") == ["facts.git"]
    desk.nox("checkout_tiny_project", *asked, "--depth", "1", "--partial").well()
    assert kinds_of_mirrors(desk, "shallow-origin") == ["depth-1.partial.git", "facts.git"]
    tree = desk.work / "src" / "tiny-project"
    assert git(tree, "rev-list", "--count", "HEAD") == "1"
    assert git(tree, "log", "-1", "--format=%H", "origin/main") == head(place)
    place.rename(place.with_name("gone"))
    desk.nox("build_tiny_project", *asked).well()


def test_an_address_of_a_persons_own_for_a_submodule(desk: Desk, origin: Person, tmp_path: Path) -> None:
    desk = desk.with_work("other-address")
    lib = Person(tmp_path / "lib")
    lib.commit({"lib.txt": "here\n"})
    origin.submodule(lib, "third_party/lib")
    moved = tmp_path / "elsewhere" / "lib"
    moved.parent.mkdir()
    lib.folder.rename(moved)
    asked = ("--tiny-project-origin", origin.folder.as_uri())
    error = desk.nox("checkout_tiny_project", *asked, "--json").failed("origin-unreachable")
    for part in (str(lib.folder), "third_party/lib", head(moved), head(origin.folder)):
        assert part in error["message"]
    assert "--tiny-project-submodule-url third_party/lib=URL" in error["hint"]
    error = desk.nox("checkout_tiny_project", *asked, "--tiny-project-submodule-url", f"lib={moved}", "--json").failed(
        "bad-option-value"
    )
    assert "third_party/lib" in error["hint"]
    desk.nox("checkout_tiny_project", *asked, "--tiny-project-submodule-url", f"third_party/lib={moved}").well()
    assert (desk.work / "src" / "tiny-project" / "third_party" / "lib" / "lib.txt").read_text() == "here\n"
    locked = json.loads((desk.work / "lock.json").read_text(encoding="utf-8"))["projects"]["tiny-project"]
    assert locked["sources"]["submodules"] == [{"path": "third_party/lib", "url": str(moved), "commit": head(moved)}]
    # What is locked is asked for again by itself.
    desk.nox("checkout_tiny_project", "--relock").well()
