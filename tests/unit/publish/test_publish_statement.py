from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from build_tools.publish.portable import Portable
from build_tools.publish.statement import _parameters
from build_tools.receipts.lock import Requested

PORTABLE = Portable(places={}, mask=lambda text: text.replace("s3cret", "***"))


def parameters(requested: Requested) -> dict[str, Any]:
    build: Any = SimpleNamespace(locked=SimpleNamespace(requested=requested, patches=SimpleNamespace(line="2.9")), receipts={})
    return _parameters(build, PORTABLE)


def test_each_place_that_was_asked_for_is_told_and_no_folder_of_the_machine() -> None:
    found = parameters(
        Requested(
            ref="nightly", find_links=("/home/me/links", "https://h.invalid/wheels/"), rocm_find_links=("file:///srv/rocm",)
        )
    )
    assert found == {
        "requested": {
            "ref": "nightly",
            "find_links": ["local:links", "https://h.invalid/wheels/"],
            "rocm_find_links": ["local:rocm"],
        },
        "patchLine": "2.9",
    }


def test_what_nobody_asked_for_is_left_out() -> None:
    assert parameters(Requested()) == {"requested": {}, "patchLine": "2.9"}
