"""Names by their parts: the same answers as whole names give, and no more work than the names are long."""

from __future__ import annotations

import collections

from hypothesis import given
from hypothesis import strategies as st

from build_tools.checks.name_tree import NameTree

_PART = st.text(alphabet="aAbßSs.", min_size=0, max_size=2)
_NAMES = st.lists(st.lists(_PART, min_size=1, max_size=4).map("/".join), max_size=8)


@given(_NAMES, _NAMES)
def test_it_answers_as_sets_of_whole_names_do(files: list[str], folders: list[str]) -> None:
    tree = NameTree()
    for name in files:
        tree.add(name)
    for name in folders:
        tree.add(name, folder=True)
    above = {name[:at] for name in [*files, *folders] for at, letter in enumerate(name) if letter == "/"}
    all_folders = above | set(folders)
    assert tree.both() == sorted(set(files) & all_folders)
    spellings = collections.defaultdict(set)
    for name in set(files) | all_folders:
        spellings[name.casefold()].add(name)
    assert sorted(tree.spelled_twice()) == sorted(sorted(same) for same in spellings.values() if len(same) > 1)


@given(_NAMES, st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join))
def test_the_highest_folder_that_is_missing_is_told(files: list[str], name: str) -> None:
    tree = NameTree()
    for each in files:
        tree.add(each)
    folders = {each[:at] for each in files for at, letter in enumerate(each) if letter == "/"}
    lost = [name[:at] for at, letter in enumerate(name) if letter == "/" and name[:at] not in folders]
    assert tree.highest_missing(name) == (lost[0] if lost else None)


def test_a_name_of_thousands_of_folders_is_no_more_work_than_it_is_long() -> None:
    tree = NameTree()
    # As whole names their folders would be 4 GB of text.
    for number in range(4):
        tree.add(f"{number}/{'a/' * 32_000}x")
    assert tree.both() == []
    assert list(tree.spelled_twice()) == []
    assert tree.highest_missing(f"3/{'a/' * 32_000}x") is None
