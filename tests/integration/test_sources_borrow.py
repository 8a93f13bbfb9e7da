"""A repository that reads the objects of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.sources.borrow import borrow, borrow_more
from tests.support.source_trees import Person, git, head

if TYPE_CHECKING:
    from pathlib import Path


def knows(folder: Path, commit: str) -> bool:
    return git(folder, "cat-file", "-t", commit) == "commit"


def test_objects_of_several_repositories_are_read(tmp_path: Path) -> None:
    one, other, third = (Person(tmp_path / name) for name in ('a "quoted"', "#b", "c d"))
    commits = [person.commit({"f": name}) for person, name in ((one, "1"), (other, "2"), (third, "3"))]
    own = Person(tmp_path / "own")
    borrow(own.folder / ".git", lender=one.folder / ".git", more=[other.folder / ".git"])
    for _ in range(2):
        borrow_more(own.folder / ".git", lender=third.folder / ".git")
    assert all(knows(own.folder, commit) for commit in commits)
    assert len((own.folder / ".git" / "objects" / "info" / "alternates").read_bytes().splitlines()) == 3


def test_a_history_that_is_cut_off_stays_so(tmp_path: Path) -> None:
    whole, plain = Person(tmp_path / "whole"), Person(tmp_path / "plain")
    whole.commit({"f": "1"})
    whole.commit({"f": "2"})
    plain.commit({"g": "1"})
    cut, own = tmp_path / "cut", Person(tmp_path / "own")
    git(tmp_path, "clone", "--quiet", "--depth=1", whole.folder.as_uri(), cut)
    borrow(own.folder / ".git", lender=plain.folder / ".git", more=[cut / ".git"])
    assert git(own.folder, "rev-list", "--count", head(cut)) == "1"
    borrow(own.folder / ".git", lender=plain.folder / ".git")
    assert not (own.folder / ".git" / "shallow").exists()
