"""No two packages of a set own one installed path."""

from __future__ import annotations

import pytest

from build_tools.errors import HipwrightError
from build_tools.rocm.packages.clashes import refuse_clashes
from build_tools.types import Platform


@pytest.mark.parametrize(
    ("first", "second", "platform", "told"),
    [
        ("lib/a.so", "lib/a.so", Platform.LINUX, "lib/a.so is in both one and two"),
        ("lib/A.dll", "lib/a.dll", Platform.WINDOWS, "lib/a.dll is in both one and two"),
        ("lib/a", "lib/a/b", Platform.LINUX, "lib/a is a file in one and a folder in two"),
        ("lib/a/b", "lib/a", Platform.LINUX, "lib/a is a file in two and a folder in one"),
        ("lib/A.so", "lib/a.so", Platform.LINUX, None),
        ("lib/a.so", "lib/b.so", Platform.WINDOWS, None),
    ],
)
def test_one_path_has_one_owner(first: str, second: str, platform: Platform, told: str | None) -> None:
    packages = [("one", ["lib/other", first]), ("two", [second])]
    if told is None:
        refuse_clashes(packages, platform=platform)
        return
    with pytest.raises(HipwrightError, match=told) as caught:
        refuse_clashes(packages, platform=platform)
    assert caught.value.code.name == "bad-artifact"


@pytest.mark.parametrize("paths", [["lib/A.dll", "lib/a.dll"], ["Lib/a.dll", "lib/a.dll"], ["lib/A", "lib/a/b"]])
def test_names_that_windows_takes_for_one_are_not_in_one_package(paths: list[str]) -> None:
    refuse_clashes([("one", paths)], platform=Platform.LINUX)
    with pytest.raises(HipwrightError) as caught:
        refuse_clashes([("one", paths)], platform=Platform.WINDOWS)
    assert caught.value.code.name == "bad-artifact"
    assert paths[0] in caught.value.message
