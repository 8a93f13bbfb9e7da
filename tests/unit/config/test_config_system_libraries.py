"""The table of system libraries: lower-case names, each in one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config.system_libraries import system_libraries
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path


def test_each_name_is_in_lower_case_and_there_once() -> None:
    table = system_libraries()
    names = [*table.windows, *table.windows_python, *table.windows_redistributable]
    assert sorted(names) == sorted({name.lower() for name in names})


def test_an_unknown_list_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "libraries.toml"
    file.write_text("schema = 1\nwindows = []\nwindows-python = []\nwindows-redistributable = []\nlinux = []\n")
    with pytest.raises(HipwrightError) as caught:
        system_libraries(file)
    assert caught.value.code.name == "bad-data-file"
