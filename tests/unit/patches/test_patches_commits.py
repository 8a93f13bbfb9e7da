"""Commits as people are told of them."""

from __future__ import annotations

import pytest

from build_tools.patches.commits import Commit
from build_tools.types import CommitId, TreeId


@pytest.mark.parametrize(("subject", "told"), [("Short", "Short"), ("x" * 100, "x" * 100), ("x" * 101, "x" * 100 + "…")])
def test_a_long_subject_is_cut_where_people_are_told(subject: str, told: str) -> None:
    commit = Commit(
        id=CommitId("1" * 40),
        tree=TreeId("2" * 40),
        parents=(),
        author=b"A <a@b.c> 1 +0000",
        committer=b"A <a@b.c> 1 +0000",
        message=subject.encode(),
        changes={},
    )
    assert commit.label == f"{'1' * 12} {told!r}"
    assert commit.subject == subject
