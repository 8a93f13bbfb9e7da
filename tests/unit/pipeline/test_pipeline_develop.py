"""What ``--develop`` tells of a tree that was compiled otherwise before."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from build_tools.console.events import Said
from build_tools.pipeline.develop import _tell_launcher
from tests.support.builds import project
from tests.support.workplaces import memory_of, workplace


def warnings(folder: Path, compiles: str, *programs: str | None) -> list[str]:
    """Return what is told when a tree is compiled with these launchers, one after the other."""
    place = workplace(folder)
    (folder / "own").mkdir()
    toy = project(build={"compiles": compiles})
    chain: Any = SimpleNamespace(tree=folder / "tree", project=toy, workplace=place)
    for program in programs:
        cache: Any = None if program is None else SimpleNamespace(program=Path(program))
        _tell_launcher(chain, folder / "own", cache)
    return [event.text for event in memory_of(place).events if isinstance(event, Said) and event.level == "warning"]


def test_cmake_keeps_the_launcher_that_a_tree_was_configured_with(tmp_path: Path) -> None:
    first, second = warnings(tmp_path, "cmake", None, None, "/bin/ccache", "/bin/ccache", None)
    assert first.startswith(f"{tmp_path / 'tree'} was compiled with no compiler cache so far")
    assert first.endswith("for /bin/ccache to count")
    assert "was compiled with /bin/ccache so far" in second


def test_a_setup_py_is_told_each_time(tmp_path: Path) -> None:
    assert warnings(tmp_path, "setuptools", None, "/bin/ccache", None) == []


def test_the_first_time_nothing_was_before(tmp_path: Path) -> None:
    assert warnings(tmp_path, "cmake", "/bin/ccache") == []
