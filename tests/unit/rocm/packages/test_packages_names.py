"""No artifact brings a file whose name is ours, or one that somebody who installs the packages could not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.errors import HipwrightError
from build_tools.rocm.packages.names import refuse_names
from build_tools.types import Platform


def refused(path: str, platform: Platform) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        refuse_names([("lib/other", Path("o")), (path, Path("x"))], platform=platform)
    return caught.value


@pytest.mark.parametrize("platform", Platform)
@pytest.mark.parametrize(
    "path", ["lib/_set.json", "include/auxiliary.h", "share/console/a b.txt", "lib/.hidden", "lib/com10.dll"]
)
def test_ordinary_names_are_taken(path: str, platform: Platform) -> None:
    refuse_names([(path, Path("x"))], platform=platform)


@pytest.mark.parametrize("platform", Platform)
@pytest.mark.parametrize("path", ["_set.json", ".ROCM_SDK.files", "__init__.py", ".devel_links/gfx942.json"])
def test_names_of_our_own_files_are_ours(path: str, platform: Platform) -> None:
    assert "no artifact may bring it" in refused(path, platform).message


@pytest.mark.parametrize("path", ["lib/aux.h", "NUL", "Com1/a", "lib/a.", "lib /a", "lib/a:b", "lib/what?", "bin/[*]"])
def test_names_that_windows_cannot_have_are_refused_for_it_alone(path: str) -> None:
    refuse_names([(path, Path("x"))], platform=Platform.LINUX)
    error = refused(path, Platform.WINDOWS)
    assert error.code.name == "bad-artifact"
    assert f"{path} cannot be on Windows" in error.message
    assert error.where is not None
    assert error.where.file == Path("x")
