"""Every test is in exactly one shard, and the longest shard is as short as can be."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.testing.upstream.shards import Costs, balance, cut, file_of, refuse_bad_shard

NOTHING = Costs(tests={}, files={})


@st.composite
def suites(draw: st.DrawFn) -> tuple[list[str], Costs]:
    """Tests of several files, side by side, with odd names, some measured."""
    tests: list[str] = []
    for number in range(draw(st.integers(0, 5))):
        names = draw(st.lists(st.text(alphabet="ab[]:/é \x00'", max_size=6), max_size=8, unique=True))
        tests += [f"f{number}.py::T::test_{name}" for name in names]
    measured = {test: draw(st.floats(0, 100)) for test in tests if draw(st.booleans())}
    files = {name: draw(st.floats(0, 10)) for name in dict.fromkeys(map(file_of, tests)) if draw(st.booleans())}
    return tests, Costs(tests=measured, files=files)


@given(suites(), st.integers(1, 9))
def test_every_test_is_in_exactly_one_shard_in_its_order(suite: tuple[list[str], Costs], num_shards: int) -> None:
    tests, costs = suite
    shards = cut(tests, num_shards, costs)
    assert len(shards) == num_shards
    assert list(itertools.chain.from_iterable(shards)) == tests
    assert cut(tests, num_shards, costs) == shards


@given(suites(), st.integers(1, 9))
def test_no_shard_is_empty_while_there_are_tests_for_it(suite: tuple[list[str], Costs], num_shards: int) -> None:
    tests, costs = suite
    assert sum(bool(shard) for shard in cut(tests, num_shards, costs)) == min(num_shards, len(tests))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(1, 4))
def test_no_other_cut_has_a_shorter_longest_shard(seconds: list[int], num_shards: int) -> None:
    tests = [f"a.py::test_{number}" for number in range(len(seconds))]
    weights = dict(zip(tests, map(float, seconds), strict=True))
    found = max(sum(weights[test] for test in shard) for shard in cut(tests, num_shards, Costs(tests=weights, files={})))
    best = min(
        max(sum(seconds[start:end]) for start, end in itertools.pairwise((0, *cuts, len(seconds))))
        for cuts in itertools.combinations_with_replacement(range(len(seconds) + 1), num_shards - 1)
    )
    assert found == best


def test_a_test_that_was_never_measured_counts_as_the_median() -> None:
    tests = [f"a.py::test_{number}" for number in range(5)]
    costs = Costs(tests={tests[0]: 1.0, tests[1]: 3.0, tests[2]: 50.0}, files={})
    assert costs.of(tests)[0] == [10_000, 30_000, 500_000, 30_000, 30_000]


def test_a_file_that_takes_long_to_load_is_not_cut_for_a_little_balance() -> None:
    tests = [*(f"a.py::test_{number}" for number in range(4)), *(f"b.py::test_{number}" for number in range(6))]
    costs = Costs(tests=dict.fromkeys(tests, 1.0), files={"a.py": 30.0, "b.py": 30.0})
    first, second = cut(tests, 2, costs)
    assert ({file_of(test) for test in first}, {file_of(test) for test in second}) == ({"a.py"}, {"b.py"})
    even = cut(tests, 2, NOTHING)
    assert [len(shard) for shard in even] == [5, 5]


def test_balance_is_the_longest_over_the_mean() -> None:
    assert balance([10.0, 10.0, 10.0]) == 1.0
    assert balance([30.0, 0.0, 0.0]) == 3.0
    assert balance([0.0, 0.0]) == 1.0


@pytest.mark.parametrize(("shard", "num_shards"), [(0, 3), (4, 3), (-1, 3), (1, 0), (1, None), (None, 3), (1, -2), (1, 1001)])
def test_numbers_that_name_no_shard_are_refused(shard: int | None, num_shards: int | None) -> None:
    with pytest.raises(HipwrightError) as caught:
        refuse_bad_shard(shard, num_shards)
    assert caught.value.code.name == "bad-option-value"


def test_without_numbers_there_is_one_shard() -> None:
    assert refuse_bad_shard(None, None) == (1, 1)
    assert refuse_bad_shard(2, 3) == (2, 3)
