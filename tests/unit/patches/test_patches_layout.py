"""Where a patch lies is said in one way, and no name leads out of the line's folder on any system."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.patches.layout import PHASES, fresh_name, is_patch_file, module_folder, place_of


@given(
    module=st.lists(st.sampled_from(["root", "base", "a b", "é", "hipified", "x.patch"]), min_size=1, max_size=4).map("/".join),
    phase=st.sampled_from(PHASES),
)
def test_a_module_is_found_again_from_the_name_of_its_patch(module: str, phase: str) -> None:
    assert place_of(f"{module_folder(module)}/{phase}/0001-a.patch") == (module, phase)


@given(
    parts=st.lists(st.sampled_from(["..", ".", "", "C:", "x", "\\", "..\\..", "\0", "\n", "nul:", "/"]), min_size=1, max_size=4)
)
def test_a_name_stays_in_the_folder_of_its_line_or_is_none(parts: list[str]) -> None:
    name = f"{'/'.join(parts)}/base/a.patch"
    if place_of(name) is not None:
        for kind in (PurePosixPath, PureWindowsPath):
            path = kind("/lines/1") / name
            assert path.is_relative_to(kind("/lines/1"))
            assert ".." not in path.parts
            assert name.isprintable()


@pytest.mark.parametrize("module", ["a\\b", "C:", "x:y/z", "a\nb", "a\x7fb"])
def test_a_submodule_that_some_system_has_no_folder_for_gets_no_patches(module: str) -> None:
    with pytest.raises(HipwrightError, match="no folder's on every system") as caught:
        fresh_name(module, "base", "a subject", ())
    assert caught.value.code.name == "bad-series"
    assert caught.value.message.isprintable()


def test_patch_files_are_told_by_their_suffix_in_any_letters() -> None:
    assert [
        name for name in ("a.patch", "a.PATCH", "x/b.diff", "c.Diff", "d.patch.orig", "patch", "e.txt") if is_patch_file(name)
    ] == [
        "a.patch",
        "a.PATCH",
        "x/b.diff",
        "c.Diff",
    ]
