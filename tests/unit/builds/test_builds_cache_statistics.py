from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.builds.cache_statistics import of_ccache, of_sccache, rows, warning
from build_tools.receipts.values import CacheUse

LOG = """# /work/src/a.cpp
direct_cache_hit
local_storage_hit
# ../src/b.c
cache_miss
direct_cache_miss
preprocessed_cache_miss
# kernels/k.hip
preprocessed_cache_hit
direct_cache_miss
# kernels/l.HIP
cache_miss
# start.S
direct_cache_hit
# a.o
called_for_link
# x.cpp
internal_error
"""


def test_ccache_is_counted_by_language_of_its_files() -> None:
    use = of_ccache(LOG.splitlines(), held=True)
    assert use.hits == {"C/C++": 1, "HIP": 1, "Assembler": 1}
    assert use.misses == {"C/C++": 1, "HIP": 1}
    assert (use.errors, use.held, use.tool) == (1, True, "ccache")


def sccache(**stats: object) -> str:
    usual: dict[str, object] = {
        "cache_hits": {"counts": {"C/C++": 28, "HIP": 10}},
        "cache_misses": {"counts": {"C/C++": 2}},
        "cache_errors": {"counts": {"C/C++": 1}},
        "cache_write_errors": 2,
        "cache_read_errors": 3,
        "cache_timeouts": 4,
    }
    return json.dumps({"stats": {**usual, **stats}})


def test_sccache_says_its_languages_itself() -> None:
    use = of_sccache(sccache(), held=False)
    assert (use.hits, use.misses, use.errors) == ({"C/C++": 28, "HIP": 10}, {"C/C++": 2}, 10)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"stats": 3}', sccache(cache_hits=None), b"\xff"])
def test_what_is_no_account_counts_nothing(text: str | bytes) -> None:
    use = of_sccache(text, held=True)
    assert (use.hits, use.misses, use.errors, use.held) == ({}, {}, 0, True)


@given(st.lists(st.text(max_size=20)))
def test_any_log_is_read(lines: list[str]) -> None:
    of_ccache(lines, held=False)


def test_rows_show_each_language_and_the_sum() -> None:
    use = CacheUse(tool="ccache", hits={"C/C++": 3}, misses={"C/C++": 1, "HIP": 2})
    assert rows(use) == [("C/C++", "3", "1", "75 %"), ("HIP", "0", "2", "0 %"), ("all", "3", "3", "50 %")]
    assert len(rows(CacheUse(tool="ccache", hits={"C/C++": 3}))) == 1
    assert rows(CacheUse(tool="ccache")) == [("all", "0", "0", "nothing went through it")]


def test_a_cache_that_held_something_and_gave_nothing_is_told() -> None:
    useless = warning(CacheUse(tool="sccache", misses={"C/C++": 7}, held=True), key="k")
    assert useless is not None
    assert "none of 7" in useless


@pytest.mark.parametrize(
    "use",
    [
        CacheUse(tool="sccache", misses={"C/C++": 7}),
        CacheUse(tool="sccache", hits={"HIP": 1}, misses={"C/C++": 7}, held=True),
    ],
)
def test_a_new_cache_or_one_that_gave_something_is_not_told(use: CacheUse) -> None:
    assert warning(use, key="k") is None


def test_launchers_that_nobody_used_and_failures_are_told() -> None:
    unused = warning(CacheUse(tool="ccache", held=True), key="k")
    failed = warning(CacheUse(tool="ccache", hits={"C/C++": 1}, errors=3), key="k")
    assert unused is not None
    assert "launchers" in unused
    assert failed is not None
    assert "3 times" in failed
