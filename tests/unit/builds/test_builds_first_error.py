from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.builds.first_error import FirstError, find_first_error

if TYPE_CHECKING:
    from pathlib import Path

NINJA = """$ python -m build --wheel
# CXXFLAGS=-Werror=return-type
-- Performing Test HAS_ERROR_FLAG - Failed
[1/9] Building CXX object caffe2/errors.cpp.o
warning: error_code is deprecated
[2/9] Building CXX object c10/a.cpp.o
FAILED: c10/CMakeFiles/c10.dir/b.cpp.o
/usr/bin/c++ -DX -Werror=return-type -c /src/c10/b.cpp -o b.cpp.o
In file included from /src/c10/b.cpp:3:
/src/c10/b.h: In function 'int c10::f()':
/src/c10/b.h:7:10: error: 'missing' was not declared in this scope
    7 |   return missing;
      |          ^~~~~~~
[4/9] Building CXX object c10/d.cpp.o
/src/c10/d.cpp:1:1: error: a later one
ninja: build stopped: subcommand failed.
Traceback (most recent call last):
  File "setup.py", line 9, in <module>
subprocess.CalledProcessError: Command '['cmake']' returned non-zero exit status 1.

ERROR Backend subprocess exited when trying to invoke build_wheel
"""

CMAKE = """-- The C compiler identification is GNU 12.2.0
-- Looking for pthread_create in pthreads - not found
CMake Deprecation Warning at CMakeLists.txt:1 (cmake_minimum_required):
  Compatibility with CMake < 3.10 will be removed from a future version of
  CMake.


CMake Error at third_party/protobuf/cmake/CMakeLists.txt:2 (cmake_minimum_required):
  Compatibility with CMake < 3.5 has been removed from CMake.

  Update the VERSION argument <min> value.


-- Configuring incomplete, errors occurred!
Traceback (most recent call last):
  File "/src/tools/setup_helpers/cmake.py", line 1
subprocess.CalledProcessError: Command '['cmake', '-GNinja']' returned non-zero exit status 1.
"""

MSVC_STYLE = """[9/20] Building CXX object torch.cpp.obj
FAILED: torch.cpp.obj
C:\\PROGRA~1\\clang-cl.exe /nologo -c C:\\src\\torch.cpp
clang-cl: error: unknown argument: '/Zc:__cplusplus2'
[10/20] Building CXX object b.obj
"""

MSVC = """cl.exe -c a.cpp
C:\\src\\a.cpp(12): error C2065: 'x': undeclared identifier
C:\\src\\a.cpp(13): error C2065: 'y': undeclared identifier
"""

LINK = """[5/6] Linking CXX shared library libc10.so
FAILED: libc10.so
: && /usr/bin/c++ -shared -o libc10.so a.o
/usr/bin/ld: a.o: in function `c10::g()':
a.cpp:(.text+0x9): undefined reference to `c10::missing()'
collect2: error: ld returned 1 exit status
ninja: build stopped: subcommand failed.
"""

LLD = """ld.lld: error: undefined symbol: hipLaunchKernel
>>> referenced by saxpy.hip
clang++: error: linker command failed with exit code 1 (use -v to see invocation)
"""

MEMORY = """[700/7000] Building CXX object big.cpp.o
FAILED: big.cpp.o
/usr/bin/c++ -c big.cpp
c++: fatal error: Killed signal terminated program cc1plus
compilation terminated.
"""

DISK = """/src/x.cpp: compiling
fatal error: error writing to /tmp/cc.s: No space left on device
"""

PYTHON = """running build_ext
Traceback (most recent call last):
  File "/env/lib/python3.12/site-packages/pyproject_hooks/_in_process.py", line 389, in <module>
    main()
  File "/src/setup.py", line 12, in <module>
    raise RuntimeError("no kernels for these targets")
RuntimeError: no kernels for these targets
removing build
"""

DISTUTILS = """gcc -c a.c
error: command '/usr/bin/gcc' failed with exit code 1
"""

UNRESOLVED = """FAILED: gen.h
python gen.py
it did not work out
ninja: build stopped: subcommand failed.
"""


def find(folder: Path, text: str) -> FirstError:
    log = folder / "build.log"
    log.write_text(text)
    found = find_first_error(log)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (NINJA, "compiler", "/src/c10/b.h:7:10: error: 'missing' was not declared in this scope"),
        (CMAKE, "CMake", "CMake Error at third_party/protobuf/cmake/CMakeLists.txt:2 (cmake_minimum_required):"),
        (MSVC_STYLE, "compiler", "clang-cl: error: unknown argument: '/Zc:__cplusplus2'"),
        (MSVC, "compiler", "C:\\src\\a.cpp(12): error C2065: 'x': undeclared identifier"),
        (
            "FAILED: x.res\nRC : fatal error RC1106: invalid option: -gdwarf\n",
            "linker",
            "RC : fatal error RC1106: invalid option: -gdwarf",
        ),
        ("LINK : fatal error LNK1181: cannot open 'c10.lib'\n", "linker", "LINK : fatal error LNK1181: cannot open 'c10.lib'"),
        ("mt.exe : general error c101008d: failed\n", "linker", "mt.exe : general error c101008d: failed"),
        ("NMAKE : fatal error U1077: 'cl' : return code '0x2'\n", "make", "NMAKE : fatal error U1077: 'cl' : return code '0x2'"),
        (LINK, "linker", "a.cpp:(.text+0x9): undefined reference to `c10::missing()'"),
        (LLD, "linker", "ld.lld: error: undefined symbol: hipLaunchKernel"),
        (MEMORY, "out of memory", "c++: fatal error: Killed signal terminated program cc1plus"),
        (DISK, "disk", "fatal error: error writing to /tmp/cc.s: No space left on device"),
        (PYTHON, "Python", "Traceback (most recent call last):"),
        (DISTUTILS, "build", "error: command '/usr/bin/gcc' failed with exit code 1"),
        (UNRESOLVED, "ninja", "FAILED: gen.h"),
    ],
)
def test_the_first_real_error_of_a_log(tmp_path: Path, text: str, kind: str, line: str) -> None:
    found = find(tmp_path, text)
    assert (found.kind, text.splitlines().index(line) + 1) == (kind, found.number)
    assert line in found.lines
    assert f"line {found.number} of the log" in found.text


def test_what_belongs_to_an_error_is_shown_and_the_next_step_is_not(tmp_path: Path) -> None:
    shown = find(tmp_path, NINJA).text
    assert "FAILED: c10/CMakeFiles/c10.dir/b.cpp.o" in shown
    assert "    7 |   return missing;" in shown
    assert "In function 'int c10::f()'" in shown
    assert "a later one" not in shown
    assert "Building CXX object c10/d" not in shown


def test_a_message_of_cmake_is_whole(tmp_path: Path) -> None:
    shown = find(tmp_path, CMAKE).text
    assert "Update the VERSION argument <min> value." in shown
    assert "Configuring incomplete" not in shown


def test_of_a_traceback_the_end_is_shown(tmp_path: Path) -> None:
    found = find(tmp_path, PYTHON)
    assert found.lines[-1] == "RuntimeError: no kernels for these targets"
    long = PYTHON.replace("    main()\n", '  File "x.py", line 1\n' * 500)
    assert find(tmp_path, long).lines[-1] == "RuntimeError: no kernels for these targets"
    assert len(find(tmp_path, long).lines) < 12


@pytest.mark.parametrize(("text", "word"), [(MEMORY, "--jobs"), (DISK, "--work-dir")])
def test_where_the_machine_is_too_small_there_is_a_hint(tmp_path: Path, text: str, word: str) -> None:
    hint = find(tmp_path, text).hint
    assert hint is not None
    assert word in hint


def test_what_was_there_before_this_build_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(MSVC + LINK)
    found = find_first_error(log, len(MSVC))
    assert found is not None
    assert (found.kind, found.number) == ("linker", MSVC.count("\n") + 5)


@pytest.mark.parametrize("text", ["", "all is well\n", "-- Performing Test X - Failed\n", "cc -Werror=format a.c: error-free\n"])
def test_where_nothing_is_wrong_nothing_is_found(tmp_path: Path, text: str) -> None:
    log = tmp_path / "build.log"
    log.write_text(text)
    assert find_first_error(log) is None
    assert find_first_error(tmp_path / "none") is None


def test_lines_of_any_length_are_shown_short(tmp_path: Path) -> None:
    found = find(tmp_path, f"a.cpp:1:1: error: {'x' * 100_000}\n")
    assert len(found.text) < 500


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_any_log_is_read(tmp_path: Path, data: bytes) -> None:
    log = tmp_path / "any.log"
    log.write_bytes(data)
    find_first_error(log)
    find_first_error(log, 7)


@pytest.mark.parametrize(
    "front",
    ["TIP pass --env-dir and --sdist-extract-dir to keep", "\x1b[33mTIP\x1b[0m pass --env-dir", "ERROR Backend subprocess"],
)
@pytest.mark.parametrize(
    "error",
    [
        "a.cpp:9:7: error: expected something\n    9 | broken(",
        "error: hipcc could not make it",
        "Traceback (most recent call last):\n  File 'x'",
    ],
)
def test_what_the_front_end_says_of_itself_is_left_out(tmp_path: Path, front: str, error: str) -> None:
    log = tmp_path / "log"
    log.write_text(f"{error}\n{front} and more\nERROR Backend subprocess exited\n", encoding="utf-8")
    found = find_first_error(log)
    assert found is not None
    assert found.lines == tuple(error.splitlines())
