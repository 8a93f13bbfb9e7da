from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.stores.s3_read import listed_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def paged(keys: Sequence[str], asked: list[Mapping[str, Any]], more: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer as a server does that gives a page, and where the next one begins."""
    asked.append(more)
    start = int(more.get("ContinuationToken", "0"))
    end = start + int(more["MaxKeys"])
    page = {"Contents": [{"Key": key, "Size": 5} for key in keys[start:end]]}
    return {**page, "NextContinuationToken": str(end)} if end < len(keys) else page


def test_ten_thousand_keys_are_read_page_by_page() -> None:
    keys = [f"a/prefix/dist/{number:05}+x.whl" for number in range(10_000)]
    asked: list[Mapping[str, Any]] = []
    rows = listed_rows(lambda more: paged(keys, asked, more), "a/prefix/", page=1000, cut=len("a/prefix/"))
    assert next(rows).key == "dist/00000+x.whl"
    # What comes first is used before what comes last is asked for.
    assert len(asked) == 1
    assert [one.key for one in rows] == [key.removeprefix("a/prefix/") for key in keys[1:]]
    assert len(asked) == 10
    assert {one["Prefix"] for one in asked} == {"a/prefix/"}


def test_what_is_no_object_of_a_store_is_left_out() -> None:
    rows = {"folder/": 0, "page/": 5, "a//b": 5, "../a": 5, "a:b?": 5, "": 5, "/": 0}
    answer = {"Contents": [{"Key": f"p/{key}", "Size": size} for key, size in rows.items()]}
    assert [one.key for one in listed_rows(lambda _more: answer, "p/", page=9, cut=2)] == ["page/", "a:b?"]


def test_a_listing_without_an_end_is_told() -> None:
    with pytest.raises(HipwrightError) as caught:
        list(listed_rows(lambda _more: {"NextContinuationToken": "again"}, "", page=9, cut=0))
    assert caught.value.code.name == "source-unreachable"
