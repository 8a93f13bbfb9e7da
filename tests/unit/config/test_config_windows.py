from __future__ import annotations

from build_tools.config.windows import windows_table


def test_the_table_names_what_is_asked_for_and_how_long_paths_may_be() -> None:
    table = windows_table()
    assert table.visual_studio.architecture == "x64"
    assert [script.file.rpartition("/")[2] for script in table.visual_studio.scripts] == ["vcvarsall.bat", "VsDevCmd.bat"]
    assert all("x64" in script.arguments for script in table.visual_studio.scripts)
    assert table.paths.longest_base < table.paths.longest
