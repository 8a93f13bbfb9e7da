"""Which ROCm of a machine programs find, and how its folders get before the others, on both systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.rocm.reach import find_reach
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


def rocm(folder: Path, version: str = "7.0.2") -> Path:
    for name in ("bin", "lib", ".info"):
        (folder / name).mkdir(parents=True)
    (folder / ".info" / "version").write_text(version)
    return folder


@pytest.mark.parametrize("platform", list(Platform))
def test_names_count_in_their_order_and_places_that_are_gone_do_not(tmp_path: Path, platform: Platform) -> None:
    folders = {name: rocm(tmp_path / name) for name in NAMES}
    machine = {name: str(folder) for name, folder in folders.items()}
    for name in NAMES:
        found = find_reach(machine, platform=platform, usual=())
        assert (found.folder, found.told_by, found.version) == (folders[name], name, "7.0.2")
        machine[name] = str(tmp_path / "gone")
    assert not find_reach(machine, platform=platform, usual=()).found


def test_what_a_person_names_comes_first_and_the_usual_place_last(tmp_path: Path) -> None:
    rocm(tmp_path / "opt" / "rocm-7.2")
    usual = (tmp_path / "opt",)
    assert find_reach({}, platform=Platform.LINUX, usual=usual).folder == tmp_path / "opt" / "rocm-7.2"
    rocm(tmp_path / "opt" / "rocm-7.10")
    assert find_reach({}, platform=Platform.LINUX, usual=usual).folder == tmp_path / "opt" / "rocm-7.10"
    rocm(tmp_path / "opt" / "rocm")
    assert find_reach({}, platform=Platform.LINUX, usual=usual).folder == tmp_path / "opt" / "rocm"
    machine = {"HIP_PATH": str(rocm(tmp_path / "hip"))}
    assert find_reach(machine, platform=Platform.LINUX, usual=usual).told_by == "HIP_PATH"
    named = rocm(tmp_path / "named")
    assert find_reach(machine, platform=Platform.LINUX, usual=usual, named=named).folder == named


def test_the_usual_place_of_windows_is_below_its_program_folder(tmp_path: Path) -> None:
    rocm(tmp_path / "AMD" / "ROCm" / "7.1")
    newest = rocm(tmp_path / "AMD" / "ROCm" / "7.10")
    assert find_reach({"PROGRAMFILES": str(tmp_path)}, platform=Platform.WINDOWS).folder == newest


def test_folders_come_before_what_is_there(tmp_path: Path) -> None:
    root, more = rocm(tmp_path / "rocm"), tmp_path / "more"
    more.mkdir()
    # A path with a colon of Windows would be two on Linux: these have none.
    machine = {"ROCM_PATH": str(root), "ROCM_EXTRA_LIB_DIRS": f"{more}:{tmp_path / 'gone'}", "ROCM_EXTRA_BIN_DIRS": str(more)}
    env = find_reach(machine, platform=Platform.LINUX, usual=()).environment({"PATH": "/usr/bin"})
    assert env["PATH"] == f"{more}:{root / 'bin'}:/usr/bin"
    assert env["LD_LIBRARY_PATH"] == f"{more}:{root / 'lib'}"
    assert {env[name] for name in NAMES} == {str(root)}


def test_windows_looks_for_libraries_where_it_looks_for_programs(tmp_path: Path) -> None:
    root = rocm(tmp_path / "rocm")
    found = find_reach({"ROCM_PATH": str(root)}, platform=Platform.WINDOWS, usual=())
    env = found.environment({"PATH": r"C:\Windows"})
    assert env["PATH"] == ";".join([str(root / "bin"), str(root / "lib"), r"C:\Windows"])
    assert "LD_LIBRARY_PATH" not in env


def test_where_there_is_none_nothing_changes() -> None:
    found = find_reach({}, platform=Platform.LINUX, usual=())
    assert found.environment({"PATH": "/usr/bin"}) == {}
    assert found.describe() == "no ROCm"
