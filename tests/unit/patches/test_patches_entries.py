from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.patches.commits import Commit
from build_tools.patches.entries import Place, entry_of, in_order, with_kept
from build_tools.types import CommitId, TreeId


def commit(message: str, *, author: str = "Some One <a@b>", when: str = "1709521567 +0200") -> Commit:
    return Commit(
        id=CommitId("1" * 40),
        tree=TreeId("2" * 40),
        parents=(),
        author=f"{author} {when}".encode(),
        committer=b"",
        message=message.encode(),
        changes={},
    )


@pytest.mark.parametrize(
    ("message", "why", "upstream"),
    [
        ("One\n", "One", "not sent"),
        ("One\n\nBecause\nof this.\n\nMore.\n", "Because of this.", "not sent"),
        ("One\n\nSigned-off-by: A <a@b>\n", "One", "not sent"),
        ("One\n\nWhy.\n\nUpstream: merged as abc\nSigned-off-by: A <a@b>\n", "Why.", "merged as abc"),
        ("One\n\nWhy.\n\nForwarded: not-needed\n", "Why.", "not-needed"),
        (
            "One\n\nSee https://github.com/a/b/pull/12 for more.\n",
            "See https://github.com/a/b/pull/12 for more.",
            "https://github.com/a/b/pull/12",
        ),
        ("One\n\nWhy.\n\nLink: https://host.example/x\n", "Why.", "https://host.example/x"),
    ],
)
def test_a_commit_says_why_and_where_it_stands_upstream(message: str, why: str, upstream: str) -> None:
    entry = entry_of(commit(message), "root/base/0001-x.patch")
    assert (entry.why, entry.upstream, entry.owner) == (why, upstream, "Some One <a@b>")


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("1709521567 +0200", dt.date(2024, 3, 4)),
        ("1709510400 -0100", dt.date(2024, 3, 3)),
        ("1709506800 +0100", dt.date(2024, 3, 4)),
        ("-86400 +0000", dt.date(1969, 12, 31)),
    ],
)
def test_the_day_is_the_authors_own(when: str, day: dt.date) -> None:
    assert entry_of(commit("One\n", when=when), "f").added == day


def test_an_author_without_a_name_is_named_by_the_address() -> None:
    assert entry_of(commit("One\n", author=" <a@b>"), "f").owner == "<a@b>"


BASE: Place = (".", "base")
HIPIFIED: Place = (".", "hipified")
NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(before=NAMES, history=NAMES, kept=st.frozensets(st.sampled_from("abcdefgh")))
def test_all_are_there_once_and_the_history_keeps_its_order(before: list[str], history: list[str], kept: frozenset[str]) -> None:
    kept = frozenset(kept & set(before)) - set(history)
    found = with_kept(before, history, kept)
    assert sorted(found) == sorted({*history, *kept})
    assert [name for name in found if name not in kept] == history


@given(
    before=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([BASE, HIPIFIED])), unique_by=lambda pair: pair[0]),
    data=st.data(),
)
def test_each_group_has_its_order_and_unchanged_ones_do_not_move(before: list[tuple[str, Place]], data: st.DataObject) -> None:
    own = {group: [name for name, where in before if where == group] for group in (BASE, HIPIFIED)}
    assert in_order(before, own) == [name for name, _ in before]
    groups = {
        BASE: data.draw(st.permutations([*own[BASE], "new", "other"])),
        HIPIFIED: own[HIPIFIED],
        ("lib", "hipified"): ["last"],
    }
    found = in_order(before, groups)
    for names in groups.values():
        assert [name for name in found if name in names] == list(names)
    assert len(found) == len(set(found))


def test_a_modules_first_base_patches_come_before_its_hipified_ones() -> None:
    before: list[tuple[str, Place]] = [("a", BASE), ("h", ("lib", "hipified")), ("i", ("lib", "hipified"))]
    groups = {BASE: ["a"], ("lib", "hipified"): ["h", "i"], ("lib", "base"): ["one", "two"]}
    assert in_order(before, groups) == ["a", "one", "two", "h", "i"]
