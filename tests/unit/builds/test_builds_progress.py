from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.builds.progress import BuildProgress, Earlier


class Watcher:
    def __init__(self, earlier: Earlier | None = None) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.steps: list[tuple[str, int, int]] = []
        self.progress = BuildProgress(
            name="torch",
            say=self.said.append,
            progress=lambda *step: self.steps.append(step),
            earlier=earlier,
            clock=lambda: self.now,
        )

    def read(self, *lines: str, each: float = 0.0) -> None:
        for line in lines:
            self.now += each
            self.progress.line(line)


def test_phases_are_told_once_each() -> None:
    watcher = Watcher()
    watcher.read(
        "-- The CXX compiler identification is GNU 12.2.0",
        "-- Configuring done",
        "[1/3] Building CXX object a.cpp.o",
        "-- a line of an external project",
        "[2/3] Building CXX object b.cpp.o",
        "[3/3] Linking CXX shared library liba.so",
        "running bdist_wheel",
        "adding 'torch/__init__.py'",
    )
    assert watcher.said == ["torch: configuring", "torch: compiling", "torch: packing"]


def test_nothing_is_packed_before_it_is_compiled_nor_configured_after() -> None:
    watcher = Watcher()
    watcher.read(
        "running bdist_wheel",
        "running build_ext",
        "gcc -O2 -c a.c -o a.o",
        "running install_lib",
        "-- Install configuration: Release",
        "adding 'toy/__init__.py'",
    )
    assert watcher.said == ["torch: compiling", "torch: packing"]


def test_ninja_is_counted_and_objects_are_only_what_is_compiled() -> None:
    watcher = Watcher()
    watcher.read(
        "[1/4] Generating x.h",
        "[2/4] Building CXX object a.cpp.o",
        "[3/4] Building HIPCC object b.hip.o",
        "[4/4] Linking CXX shared library l.so",
    )
    assert [step[1:] for step in watcher.steps] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert watcher.progress.objects == 2


def test_counts_of_several_tools_add_up() -> None:
    watcher = Watcher()
    for _ in range(3):
        watcher.read("[1/2] Building CXX object a.o", "[2/2] Building C object b.o")
    assert watcher.progress.objects == 6


def test_make_and_a_setup_py_are_counted() -> None:
    watcher = Watcher()
    watcher.read("[ 50%] Building CXX object a.cpp.o", "[100%] Built target a")
    assert watcher.progress.objects == 1
    watcher.read("gcc -O2 -c a.c -o a.o", "+ /opt/rocm/bin/hipcc -c b.hip -o b.o", "g++ -shared a.o b.o -o x.so", "echo gcc -c")
    assert watcher.progress.objects == 3


def test_the_command_of_a_step_that_failed_is_no_other_object() -> None:
    watcher = Watcher()
    watcher.read("[1/2] Building CXX object a.o", "FAILED: a.o", "/usr/bin/c++ -O2 -c a.cpp -o a.o", "a.cpp:1:1: error: x")
    assert watcher.progress.objects == 1


def test_a_build_that_does_not_tell_has_no_count() -> None:
    watcher = Watcher()
    watcher.read("hello", "", "[x/y] no", "[5/0] no", "[9/3] no")
    assert (watcher.progress.objects, watcher.steps) == (None, [])


def test_the_time_that_is_left_comes_from_the_pace() -> None:
    watcher = Watcher(Earlier(objects=100, seconds=6000))
    watcher.read("[1/100] Building CXX object 1.o")
    assert watcher.steps[-1][0] == "torch: compiling, about 1 h 39 min left"
    watcher.read(*(f"[{number}/100] Building CXX object {number}.o" for number in range(2, 12)), each=60)
    assert watcher.steps[-1][0] == "torch: compiling, about 1 h 29 min left"


def test_nothing_is_promised_without_a_pace_or_an_earlier_build() -> None:
    watcher = Watcher()
    watcher.read("[1/100] Building CXX object 1.o")
    assert watcher.steps[-1][0] == "torch: compiling"


@pytest.mark.parametrize("objects", [None, 2])
def test_a_setup_py_is_measured_by_an_earlier_build(objects: int | None) -> None:
    watcher = Watcher(Earlier(objects=objects, seconds=100))
    watcher.read("gcc -c a.c", "gcc -c b.c", "gcc -c c.c")
    assert [step[1:] for step in watcher.steps] == ([(1, 0), (2, 0), (3, 0)] if objects is None else [(1, 2), (2, 2), (3, 0)])


@given(st.lists(st.one_of(st.text(max_size=30), st.from_regex(r"\[[0-9]{1,3}/[0-9]{1,3}\] .*", fullmatch=True))))
def test_steps_are_always_possible_ones(lines: list[str]) -> None:
    watcher = Watcher(Earlier(objects=5, seconds=50))
    watcher.read(*lines, each=1)
    assert all(0 <= done <= total and total > 0 for _, done, total in watcher.steps)
