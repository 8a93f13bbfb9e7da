from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.builds.compiler_cache import CacheKey, CacheSettings
from build_tools.builds.preflight import Compiler
from build_tools.builds.workshop import Bench, Workshop
from build_tools.console.events import Console, Said, Table
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.receipts.values import BuiltWheels, SourceTree, WheelFile
from build_tools.sources.git import Git
from build_tools.types import Platform
from tests.support.builds import COMMIT, DIGEST, copy_sources_plainly, plan, project
from tests.support.builds import tree as source_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.console.events import Event

GXX = Compiler(path=Path("/usr/bin/c++"), version="c++ 12")
NAME = "toy-1-py3-none-any.whl"
CCACHE = """#!/bin/sh
# Stands for ccache: notes a hit for what it is asked to compile, and compiles nothing.
case "$1" in
--get-config) ;;
*) printf '# %s\\ncache_miss\\n' "$1" >> "$CCACHE_STATSLOG" ;;
esac
"""


@dataclass(kw_only=True)
class Memory:
    events: list[Event] = field(default_factory=list)

    def show(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None: ...


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = Memory()
        self.runner = Runner(environment=base_environment(os.environ))
        self.git = Git(runner=self.runner)
        self.sources = folder / "sources"
        self.sources.mkdir()
        (self.sources / "a.cpp").write_text("one")
        self.log = folder / "build.log"
        self.workshop = Workshop(
            folder=folder / "trees" / "toy" / "cp312",
            lock=folder / "lock",
            wait=True,
            console=Console(renderer=self.memory),
        )

    def source(self, *, edited: bool = False) -> SourceTree:
        return source_tree(folder=str(self.sources), local=DIGEST if edited else None)

    def with_cache(self) -> Workshop:
        program = self.folder / "ccache"
        program.write_text(CCACHE)
        program.chmod(0o755)
        key = CacheKey(platform=Platform.LINUX, rocm="7.10.0", targets=("gfx942",), project="toy", line="1", python_tag="cp312")
        return replace(
            self.workshop,
            cache=CacheSettings(
                tool="ccache",
                program=program,
                store=self.folder / "objects",
                size_mib=10,
                key=key,
                base=self.folder,
                platform=Platform.LINUX,
            ),
        )

    def bring(self, bench: Bench, source: SourceTree) -> None:
        bench.bring(source, plan(project()), {"the compiler": GXX.version}, git=self.git)

    def fail(self, source: SourceTree, *said: str) -> HipwrightError:
        """Build what fails after it began, with lines of output."""
        script = f"printf '%s\\n' {' '.join(repr(line) for line in said)}; exit 1"
        with pytest.raises(HipwrightError) as caught, self.workshop.bench(source, runner=self.runner) as bench:
            self.bring(bench, source)
            (bench.folder / "src" / "a.o").write_text("object")
            with bench.watched(self.runner, project(), log=self.log) as runner:
                runner.run(["sh", "-c", script], cwd=self.folder, log=self.log, code="build-failed")
        return caught.value

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.memory.events if isinstance(event, Said)]

    @property
    def kept(self) -> list[str]:
        folder = self.workshop.folder
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    copy_sources_plainly(monkeypatch)
    return Desk(tmp_path)


def test_a_good_build_of_pristine_sources_leaves_nothing(desk: Desk) -> None:
    with desk.workshop.bench(desk.source(), runner=desk.runner) as bench:
        desk.bring(bench, desk.source())
        (bench.folder / "home").mkdir()
    assert not desk.workshop.folder.exists()


def test_a_persons_sources_stay_for_the_next_edit(desk: Desk) -> None:
    source = desk.source(edited=True)
    with desk.workshop.bench(source, runner=desk.runner) as bench:
        desk.bring(bench, source)
        (bench.folder / "tmp").mkdir()
        (bench.folder / "src" / "a.o").write_text("object")
    assert desk.kept == ["build.json", "src/a.cpp", "src/a.o"]
    with desk.workshop.bench(source, runner=desk.runner) as bench:
        desk.bring(bench, source)
        assert (bench.folder / "src" / "a.o").is_file()


def test_what_is_published_leaves_nothing_even_of_a_persons(desk: Desk) -> None:
    source = desk.source(edited=True)
    with replace(desk.workshop, exactly="digest").bench(source, runner=desk.runner) as bench:
        desk.bring(bench, source)
    assert not desk.workshop.folder.exists()


def test_a_build_that_failed_stays_and_one_that_never_began_does_not(desk: Desk) -> None:
    desk.fail(desk.source(), "no")
    assert "src/a.o" in desk.kept
    assert any("goes on there" in text for text in desk.said)
    other = replace(desk.workshop, folder=desk.folder / "other")
    with pytest.raises(RuntimeError), other.bench(desk.source(), runner=desk.runner) as bench:
        desk.bring(bench, desk.source())
        raise RuntimeError
    assert not other.folder.exists()


def test_what_a_killed_build_left_beside_the_sources_goes_and_objects_stay(desk: Desk) -> None:
    desk.fail(desk.source(), "killed")
    for name in ("home", "tmp", "run", "out", "cache"):
        (desk.workshop.folder / name).mkdir()
        (desk.workshop.folder / name / "left").touch()
    with desk.workshop.bench(desk.source(), runner=desk.runner) as bench:
        assert sorted(path.name for path in bench.folder.iterdir()) == ["build.json", "src"]
        desk.bring(bench, desk.source())
        assert (bench.folder / "src" / "a.o").is_file()


def test_a_failure_has_its_first_real_error_and_a_hint(desk: Desk) -> None:
    error = desk.fail(
        desk.source(), "[1/2] Building CXX object a.o", "c++: fatal error: Killed signal terminated program cc1plus", "x"
    )
    assert error.code.name == "build-failed"
    assert "Killed signal" in (error.excerpt or "")
    assert "--jobs" in (error.hint or "")
    assert error.log == desk.log


def test_a_failure_without_one_has_what_the_log_says(desk: Desk) -> None:
    error = desk.fail(desk.source(), "it did not work")
    assert "it did not work" in (error.excerpt or "")


def test_jobs_and_versions_do_not_make_a_folder_another_one(desk: Desk) -> None:
    source = desk.source(edited=True)
    toy = project()
    with desk.workshop.bench(source, runner=desk.runner) as bench:
        bench.bring(source, plan(toy, jobs=2), {}, git=desk.git)
        (bench.folder / "src" / "a.o").write_text("object")
    with desk.workshop.bench(source, runner=desk.runner) as bench:
        bench.bring(source, plan(toy, source=source, jobs=8), {}, git=desk.git)
        assert (bench.folder / "src" / "a.o").is_file()
        bench.bring(source, plan(toy, source=source, targets=("gfx90a",)), {}, git=desk.git)
        assert not (bench.folder / "src" / "a.o").exists()


def test_objects_stay_when_a_cache_comes_and_not_when_it_goes(desk: Desk) -> None:
    source = desk.source(edited=True)
    toy = project(build={"compiles": "setuptools"})

    def build(workshop: Workshop) -> bool:
        with workshop.bench(source, runner=desk.runner) as bench:
            made = plan(project())
            made = replace(made, environment=bench.variables(toy, made, GXX))
            bench.bring(source, made, {}, git=desk.git)
            kept = (bench.folder / "src" / "a.o").is_file()
            (bench.folder / "src" / "a.o").write_text("object")
        return kept

    assert [build(desk.workshop), build(desk.with_cache()), build(desk.with_cache())] == [False, True, True]
    # CMake has noted it, and would start it with settings of a person's.
    assert not build(desk.workshop)
    assert any("the compiler cache changed" in line for line in desk.said)


def test_a_cache_adds_to_the_environment_and_a_persons_word_counts(desk: Desk) -> None:
    with desk.with_cache().bench(desk.source(), runner=desk.runner) as bench:
        made = plan(project())
        found = bench.variables(project(), made, GXX)
        program = str(desk.folder / "ccache")
        assert found["CMAKE_CXX_COMPILER_LAUNCHER"] == program
        assert found["PATH"] == made.environment["PATH"]
        assert "CXX" not in found
        toy = project(build={"compiles": "setuptools"})
        script = Path(bench.variables(toy, made, GXX)["CXX"])
        assert script.read_text() == f'#!/bin/sh\nexec {program} /usr/bin/c++ "$@"\n'
        assert os.access(script, os.X_OK)
        told = replace(made, context=replace(made.context, overrides={"CMAKE_CXX_COMPILER_LAUNCHER": ""}))
        assert "CMAKE_CXX_COMPILER_LAUNCHER" not in bench.variables(project(), told, GXX)


def test_what_a_cache_did_is_a_table(desk: Desk) -> None:
    with desk.with_cache().bench(desk.source(), runner=desk.runner) as bench:
        environment = {**bench.variables(project(), plan(project()), GXX)}
        desk.runner.capture([desk.folder / "ccache", "a.cpp"], cwd=desk.folder, env=environment)
        desk.runner.capture([desk.folder / "ccache", "b.hip"], cwd=desk.folder, env=environment)
        use = bench.tell_cache()
    assert use is not None
    assert use.misses == {"C/C++": 1, "HIP": 1}
    [table] = [event for event in desk.memory.events if isinstance(event, Table)]
    assert [row[:3] for row in table.rows] == [("C/C++", "0", "1"), ("HIP", "0", "1"), ("all", "0", "2")]
    assert "linux/rocm-7.10.0/gfx942/toy-1/cp312" in table.note


def test_without_a_cache_nothing_is_told(desk: Desk) -> None:
    with desk.workshop.bench(desk.source(), runner=desk.runner) as bench:
        made = plan(project())
        assert bench.variables(project(), made, GXX) is made.environment
        assert bench.tell_cache() is None


def built(folder: Path, text: str) -> BuiltWheels:
    path = folder / "dist" / NAME
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("toy/made.py"), text)
    wheel = WheelFile(path=f"dist/{NAME}", filename=NAME, distribution="toy", version="1", sha256=DIGEST, size=1)
    return BuiltWheels(project="toy", version="1", upstream=COMMIT, python_tag="py3", wheels=(wheel,))


def compare(desk: Desk, again: Callable[[Bench, Path], BuiltWheels]) -> None:
    with desk.workshop.bench(desk.source(), runner=desk.runner) as bench:
        bench.compare(built(desk.folder / "out", "one\n"), desk.folder / "out", again, log=desk.log)


def test_two_equal_builds_in_folders_of_different_length(desk: Desk) -> None:
    folders: list[Path] = []

    def again(bench: Bench, output: Path) -> BuiltWheels:
        folders.append(bench.folder)
        assert bench.tree is None
        return built(output, "one\n")

    compare(desk, again)
    [folder] = folders
    assert len(folder.name) != len(desk.workshop.folder.name)
    assert not folder.exists()


def test_a_second_build_that_is_another_is_named_by_its_first_difference(desk: Desk) -> None:
    with pytest.raises(HipwrightError, match=r"toy/made\.py: 4 bytes, line 1: 'one' and 'two'") as caught:
        compare(desk, lambda _bench, output: built(output, "two\n"))
    assert caught.value.code.name == "not-reproducible"
    assert caught.value.where is not None
    assert caught.value.where.member == "toy/made.py"


def test_a_second_build_compiles_all_itself(desk: Desk) -> None:
    def again(bench: Bench, output: Path) -> BuiltWheels:
        assert bench.variables(project(), plan(project()), GXX)["CCACHE_RECACHE"] == "1"
        return built(output, "one\n")

    with desk.with_cache().bench(desk.source(), runner=desk.runner) as bench:
        assert "CCACHE_RECACHE" not in bench.variables(project(), plan(project()), GXX)
        bench.compare(built(desk.folder / "out", "one\n"), desk.folder / "out", again, log=desk.log)


def test_a_second_build_that_fails_is_the_failure(desk: Desk) -> None:
    def again(_bench: Bench, _output: Path) -> BuiltWheels:
        raise HipwrightError("build-failed", "the second time")

    with pytest.raises(HipwrightError, match="the second time"):
        compare(desk, again)
    assert msgspec.structs.asdict(built(desk.folder / "left", "x"))["reproducible"] is None


def test_a_configure_step_that_fails_is_told_with_cmake_s_own_log(desk: Desk) -> None:
    own = desk.sources / "build" / "CMakeFiles" / "CMakeConfigureLog.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("kind: try_compile", encoding="utf-8")
    kept = desk.log.with_suffix(".configure") / "src" / "build" / own.name
    error = desk.fail(
        desk.source(), "-- Performing Test HAS_IT - Failed", "CMake Error at CMakeLists.txt:7 (message):", "  no HIP"
    )
    assert "no HIP" in str(error.excerpt)
    assert error.hint == f"read why in CMake's own log, {kept}"
    assert kept.read_text(encoding="utf-8") == "kind: try_compile"
    # What fails after it is another matter, and the log is there all the same.
    assert "CMake" not in str(desk.fail(desk.source(), "a.cpp:1:2: error: no").hint)
    assert kept.is_file()


def test_a_build_in_a_tree_is_told_with_cmake_s_log_there(desk: Desk) -> None:
    own = desk.sources / "build" / "CMakeFiles" / "CMakeConfigureLog.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("kind: try_compile", encoding="utf-8")
    bench = Bench(workshop=desk.workshop, folder=desk.folder / "toy.build", tree=None, cache=None)
    script = "echo 'CMake Error at CMakeLists.txt:7 (message):'; echo '  no HIP'; exit 1"
    watched = bench.watched(desk.runner, project(), log=desk.log, sources=desk.sources)
    with pytest.raises(HipwrightError) as caught, watched as runner:
        runner.run(["sh", "-c", script], cwd=desk.folder, log=desk.log, code="build-failed")
    assert caught.value.hint == f"read why in CMake's own log, {desk.log.with_suffix('.configure') / 'build' / own.name}"


def test_a_build_that_goes_well_leaves_no_configure_log_of_an_earlier_one(desk: Desk) -> None:
    stale = desk.log.with_suffix(".configure") / "CMakeError.log"
    stale.parent.mkdir(parents=True)
    stale.touch()
    with desk.workshop.bench(desk.source(), runner=desk.runner) as bench, bench.watched(desk.runner, project(), log=desk.log):
        pass
    assert not stale.parent.exists()


def test_links_that_became_files_are_told_before_the_build_fails_on_them(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "build_tools.builds.workshop.links_as_files", lambda _source, _folder, *, git: ("include/a b",) if git else ()
    )
    with desk.workshop.bench(desk.source(), runner=desk.runner) as bench:
        desk.bring(bench, desk.source())
    (warning,) = [text for text in desk.said if "links" in text]
    assert "links of the sources (1, such as include/a b) are files in" in warning
    assert "developer mode" in warning
