"""What ``--develop`` tells of a tree that was compiled otherwise before."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from build_tools.builds.workshop import Bench
from build_tools.console.events import Said
from build_tools.errors import HipwrightError
from build_tools.files import hold
from build_tools.pipeline import develop
from build_tools.pipeline.develop import _tell_launcher
from tests.support.builds import project, tree
from tests.support.workplaces import memory_of, workplace


def warnings(folder: Path, compiles: str, *programs: str | None) -> list[str]:
    """Return what is told when a tree is compiled with these launchers, one after the other; "gone" removes its build folder."""
    place = workplace(folder)
    cmake = folder / "tree" / "build" / "cp312" / "CMakeCache.txt"
    cmake.parent.mkdir(parents=True)
    (folder / "own").mkdir()
    toy = project(build={"compiles": compiles})
    chain: Any = SimpleNamespace(tree=folder / "tree", project=toy, workplace=place)
    for program in programs:
        if program == "gone":
            cmake.unlink()
            continue
        cache: Any = None if program is None else SimpleNamespace(program=Path(program))
        _tell_launcher(chain, folder / "own", folder / "tree", cache)
        cmake.touch()
    return [event.text for event in memory_of(place).events if isinstance(event, Said) and event.level == "warning"]


def test_cmake_keeps_the_launcher_that_a_tree_was_configured_with(tmp_path: Path) -> None:
    first, second = warnings(tmp_path, "cmake", None, "/bin/ccache", "/bin/ccache", None)
    assert first == second
    assert first.startswith(f"{tmp_path / 'tree'} was compiled with no compiler cache so far")
    assert first.endswith("for /bin/ccache to count")


def test_a_launcher_counts_once_the_build_folder_is_gone(tmp_path: Path) -> None:
    (told,) = warnings(tmp_path, "cmake", None, "gone", "/bin/ccache", "/bin/ccache", None)
    assert "was compiled with /bin/ccache so far" in told


def test_of_a_tree_that_somebody_else_has_configured_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "tree" / "build").mkdir(parents=True)
    (tmp_path / "tree" / "build" / "CMakeCache.txt").touch()
    assert warnings(tmp_path, "cmake", "/bin/ccache", None) == []


def test_a_setup_py_is_told_each_time(tmp_path: Path) -> None:
    assert warnings(tmp_path, "setuptools", None, "/bin/ccache", None) == []


def test_the_first_time_nothing_was_before(tmp_path: Path) -> None:
    assert warnings(tmp_path, "cmake", "/bin/ccache") == []


def test_cmake_s_logs_are_looked_for_in_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):  # noqa: N818 - ends the build where it would begin
        pass

    class OfTree(Bench):
        def watched(self, *_: object, sources: Path | None = None, **__: object) -> NoReturn:
            raise Stop(sources)

    plan = SimpleNamespace(version="1")
    subject = SimpleNamespace(
        prepare=lambda *_, **__: SimpleNamespace(plan=plan, generated={}, compiler=SimpleNamespace(path="cc")),
        require_met=lambda *_, **__: None,
    )
    workshop = SimpleNamespace(caching=lambda **_: contextlib.nullcontext(), cache=None)
    replaced = {"Bench": OfTree, "subject_of": lambda *_, **__: subject, "developing": lambda *_: workshop}
    replaced |= dict.fromkeys(("edits_before", "told_jobs", "_untracked", "_leave_out", "place_generated"), lambda *_: ())
    for name, value in replaced.items():
        monkeypatch.setattr(develop, name, value)
    chain: Any = SimpleNamespace(tree=tmp_path / "tree", project=project(), workplace=workplace(tmp_path), source=tree)
    with pytest.raises(Stop) as caught:
        develop._compile(
            chain, cast("Any", None), chain.tree / "python", folder=tmp_path / "x", runner=cast("Any", None), log=tmp_path
        )
    assert caught.value.args == (chain.tree,)


def test_a_tree_is_compiled_in_by_one_run_at_a_time(tmp_path: Path) -> None:
    place = workplace(tmp_path, wait=False)
    toy = project()
    log = place.work_dir / "logs" / toy.name / "develop-cp312.log"
    log.parent.mkdir(parents=True)
    log.write_text("of the run that compiles")
    chain: Any = SimpleNamespace(tree=tmp_path / "tree", project=toy, workplace=place, python_tag="cp312")
    with (
        hold(place.lock_file(f"src-{toy.name}"), purpose="the other build", wait=False, on_wait=lambda _text: None),
        pytest.raises(HipwrightError, match="the other build") as caught,
    ):
        develop.develop(chain)
    assert caught.value.code.name == "locked"
    assert log.read_text() == "of the run that compiles"
