from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from build_tools.builds.preflight import find_compiler, prove_compiler
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake compilers are shell scripts")

MAKES_NOTHING = "#!/bin/sh\nexit 0\n"
FAILS = "#!/bin/sh\necho 'cc1plus: fatal error: no header' >&2\nexit 1\n"
MAKES_A_PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then echo "toy 1.0"; echo more; exit 0; fi
printf '#!/bin/sh\\nexit {status}\\n' > "$2"
chmod +x "$2"
"""


def compilers(folder: Path, **scripts: str) -> Runner:
    folder.mkdir()
    for name, text in scripts.items():
        program = folder / name.replace("xx", "++")
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    # chmod is the fakes' own need.
    (folder / "chmod").symlink_to("/bin/chmod")
    return Runner(environment={"PATH": str(folder)})


def test_the_machine_s_compiler_works(tmp_path: Path) -> None:
    found = prove_compiler(Runner(environment={"PATH": os.environ["PATH"]}), platform=Platform.LINUX, scratch=tmp_path)
    assert found.path.is_file()
    assert found.version
    assert list(tmp_path.iterdir()) == []


def test_no_compiler_says_what_was_looked_for_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        prove_compiler(compilers(tmp_path / "bin"), platform=Platform.LINUX, scratch=tmp_path / "scratch")
    assert caught.value.code.name == "no-compiler"
    assert "c++, g++, clang++" in caught.value.message
    assert "apt-get install g++" in str(caught.value.hint)


@pytest.mark.parametrize("broken", [MAKES_NOTHING, FAILS, MAKES_A_PROGRAM.format(status=1)])
def test_the_first_compiler_that_works_counts(tmp_path: Path, broken: str) -> None:
    runner = compilers(tmp_path / "bin", cxx=broken, gxx=MAKES_A_PROGRAM.format(status=0))
    found = prove_compiler(runner, platform=Platform.LINUX, scratch=tmp_path / "scratch")
    assert found.path == tmp_path / "bin" / "g++"
    assert found.version == "toy 1.0"


def test_a_compiler_that_does_not_work_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        prove_compiler(compilers(tmp_path / "bin", gxx=FAILS), platform=Platform.LINUX, scratch=tmp_path / "scratch")
    assert caught.value.code.name == "no-compiler"
    assert "g++ ended with status 1" in caught.value.message
    assert "no header" in str(caught.value.excerpt)


def test_a_compiler_that_the_project_names_is_the_one_that_must_work(tmp_path: Path) -> None:
    runner = compilers(tmp_path / "bin", cxx=MAKES_A_PROGRAM.format(status=0), mine=FAILS)
    with pytest.raises(HipwrightError, match="mine"):
        prove_compiler(runner, platform=Platform.LINUX, scratch=tmp_path / "s", environment={"CXX": "mine"})


def test_microsoft_s_compiler_is_called_its_own_way(tmp_path: Path) -> None:
    script = """#!/bin/sh
if [ $# = 0 ]; then echo "Microsoft (R) C/C++ 19.40" >&2; exit 0; fi
[ "$*" = "/nologo /EHsc /Fe:works.exe works.cpp" ] || exit 9
printf '#!/bin/sh\\nexit 0\\n' > works.exe
chmod +x works.exe
"""
    found = prove_compiler(compilers(tmp_path / "bin", cl=script), platform=Platform.WINDOWS, scratch=tmp_path / "scratch")
    assert found.version == "Microsoft (R) C/C++ 19.40"


def test_the_path_of_the_build_decides_which_compiler_is_found(tmp_path: Path) -> None:
    machine = compilers(tmp_path / "bin", cxx=MAKES_A_PROGRAM.format(status=0))
    own = compilers(tmp_path / "own", gxx=MAKES_A_PROGRAM.format(status=0))
    path = {"PATH": own.environment["PATH"]}
    found = find_compiler(machine, platform=Platform.LINUX, environment=path, cwd=tmp_path)
    assert found is not None
    assert found.path == tmp_path / "own" / "g++"
    assert found == prove_compiler(machine, platform=Platform.LINUX, scratch=tmp_path / "scratch", environment=path)


def test_the_compiler_of_a_build_is_found_without_proof(tmp_path: Path) -> None:
    machine = Runner(environment=base_environment(os.environ))
    found = find_compiler(machine, platform=Platform.LINUX, environment={}, cwd=tmp_path)
    assert found is not None
    assert found.version
    assert found == find_compiler(machine, platform=Platform.LINUX, environment={"CXX": str(found.path)}, cwd=tmp_path)
    bare = Runner(environment={"PATH": str(tmp_path)})
    assert find_compiler(bare, platform=Platform.LINUX, environment={}, cwd=tmp_path) is None
    assert find_compiler(bare, platform=Platform.LINUX, environment={"CXX": "no-such-compiler"}, cwd=tmp_path) is None
