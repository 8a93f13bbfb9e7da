"""Visual Studio's compiler environment is captured; a stub of ``cmd.exe`` runs our batch file and one that stands for Visual Studio's."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.builds import visual_studio
from build_tools.builds.visual_studio import Programs, compiler_environment, machine_programs
from build_tools.config.project import load_project
from build_tools.config.windows import windows_table
from build_tools.errors import HipwrightError
from build_tools.locking import packages
from build_tools.options.model import Settings
from build_tools.options.resolve import Resolved
from build_tools.pipeline.build_wishes import wishes_of
from build_tools.process import Runner
from build_tools.types import Platform, ProjectName
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from build_tools.builds.developer_prompt import VisualStudio

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the stubs are scripts with a first line that names their interpreter"
)

COMPONENT = windows_table().visual_studio.component

VSWHERE = """#!{python}
import json, sys
from pathlib import Path
here = Path(__file__).parent
if not (here / "told.json").exists():
    sys.exit("Error 0x57: The parameter is incorrect.")
rows = json.loads((here / "told.json").read_text())
wanted = sys.argv[sys.argv.index("-requires") + 1] if "-requires" in sys.argv else None
with (here / "asked").open("a") as stream:
    stream.write(json.dumps(sys.argv[1:]) + "\\n")
print(json.dumps([row for row in rows if wanted is None or wanted in row["components"]]))
"""

SHELL = """#!{python}
import os, re, shlex, shutil, subprocess, sys
if sys.argv[1:3] != ["/d", "/c"] or not sys.argv[3].startswith(".\\\\"):
    sys.exit(f"not called as cmd.exe is: {{sys.argv}}")

def expand(line):
    return re.sub("%([^%]+)%", lambda name: os.environ.get(name[1], ""), line)

def run(name, arguments):
    os.environ["__ARGUMENTS"] = " ".join(arguments)
    for line in open(name, encoding="utf-8"):
        command, _, rest = expand(line.strip()).partition(" ")
        if command.lower() in ("@echo", "rem", ""):
            continue
        elif command == "set":
            key, _, value = rest.partition("=")
            os.environ[key] = value
        elif command == "echo":
            sys.stdout.buffer.write(rest.encode("cp1252") + b"\\r\\n")
            sys.stdout.flush()
        elif command == "exit":
            sys.exit(int(rest))
        elif command == "call":
            first, *more = shlex.split(rest)
            run(first, more)
        else:
            words = shlex.split(expand(line))
            if shutil.which(words[0]):
                subprocess.run(words, check=False)

run(sys.argv[3][2:], [])
"""

SETS = r"""@echo off
echo ** Visual Studio: Umgebung für %__ARGUMENTS% **
set INCLUDE=C:\VC\include;C:\Kits\include
set LIB=C:\VC\lib\x64
set LIBPATH=C:\VC\lib\x64
set VCTOOLSINSTALLDIR=C:\VC\Tools\MSVC\14.44.35207\
set VCTOOLSVERSION=14.44.35207
set VSCMD_ARG_TGT_ARCH=x64
set __VSCMD_PREINIT_PATH=%PATH%
set PATH=C:\VC\bin\Hostx64\x64;C:\Kits\bin;%PATH%
"""


@dataclass(frozen=True)
class Machine:
    """A machine with stubs: where Visual Studio lies, and its installer."""

    folder: Path
    studio: Path
    programs: Programs
    runner: Runner

    def installed(self, *components: str, name: str = "Visual Studio Build Tools 2022", version: str = "17.14.9") -> None:
        row = {"installationPath": str(self.studio), "installationVersion": version, "displayName": name}
        (self.folder / "told.json").write_text(json.dumps([{**row, "components": components}]), encoding="utf-8")

    def script(self, text: str = SETS, name: str = "VC/Auxiliary/Build/vcvarsall.bat") -> None:
        file = self.studio / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def environment(self, **machine: str) -> VisualStudio:
        return compiler_environment(machine, self.runner, self.programs)

    def refused(self, **machine: str) -> HipwrightError:
        with pytest.raises(HipwrightError) as caught:
            self.environment(**machine)
        assert caught.value.code.name == "no-compiler"
        assert caught.value.hint
        return caught.value


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    programs = Programs(vswhere=tmp_path / "vswhere.exe", shell=tmp_path / "cmd.exe", python=Path(sys.executable))
    for program, text in ((programs.vswhere, VSWHERE), (programs.shell, SHELL)):
        program.write_text(text.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
    studio = tmp_path / "Program Files (x86)" / "Möbel & Söhne" / "BuildTools"
    studio.mkdir(parents=True)
    return Machine(folder=tmp_path, studio=studio, programs=programs, runner=Runner(environment={"PATH": os.environ["PATH"]}))


def test_the_environment_of_the_newest_tools_is_captured(machine: Machine) -> None:
    machine.installed(COMPONENT)
    machine.script()
    found = machine.environment()
    assert found.about == f"Visual Studio Build Tools 2022 17.14.9 in {machine.studio}, tools 14.44.35207 for x64"
    assert found.variables == {
        "DISTUTILS_USE_SDK": "1",
        "INCLUDE": "C:\\VC\\include;C:\\Kits\\include",
        "LIB": "C:\\VC\\lib\\x64",
        "LIBPATH": "C:\\VC\\lib\\x64",
        "VCTOOLSINSTALLDIR": "C:\\VC\\Tools\\MSVC\\14.44.35207\\",
        "VCTOOLSVERSION": "14.44.35207",
        "VSCMD_ARG_TGT_ARCH": "x64",
    }
    assert found.path == ("C:\\VC\\bin\\Hostx64\\x64", "C:\\Kits\\bin")
    (asked,) = map(json.loads, (machine.folder / "asked").read_text(encoding="utf-8").splitlines())
    assert asked == ["-nologo", "-products", "*", "-prerelease", "-requires", COMPONENT, "-format", "json", "-utf8"]
    assert "INCLUDE" not in os.environ


def test_another_batch_file_is_taken_where_the_first_is_not_there(machine: Machine) -> None:
    machine.installed(COMPONENT)
    machine.script(f"set GIVEN=%__ARGUMENTS%\n{SETS}", "Common7/Tools/VsDevCmd.bat")
    assert machine.environment().variables["GIVEN"] == "-no_logo -arch=x64 -host_arch=x64"


def test_what_the_batch_file_ends_with_does_not_decide(machine: Machine) -> None:
    machine.installed(COMPONENT)
    machine.script("nosuchprogram\n" + SETS)
    assert machine.environment().path


def test_the_redistributable_files_are_found_where_the_batch_file_names_none(machine: Machine) -> None:
    machine.installed(COMPONENT)
    machine.script()
    named = machine.studio / "VC" / "Auxiliary" / "Build" / "Microsoft.VCRedistVersion.default.txt"
    named.write_text("14.44.35112\r\n", encoding="ascii")
    assert "VCTOOLSREDISTDIR" not in machine.environment().variables
    place = machine.studio / "VC" / "Redist" / "MSVC" / "14.44.35112"
    place.mkdir(parents=True)
    assert machine.environment().variables["VCTOOLSREDISTDIR"] == str(place)
    machine.script(f"{SETS}set VCTOOLSREDISTDIR=D:\\redist\n")
    assert machine.environment().variables["VCTOOLSREDISTDIR"] == "D:\\redist"


def test_a_machine_without_visual_studio_is_told(machine: Machine) -> None:
    machine.installed()
    machine.programs.vswhere.rename(machine.folder / "elsewhere.exe")
    assert "there is no Visual Studio on this machine" in machine.refused().message
    (machine.folder / "elsewhere.exe").rename(machine.programs.vswhere)
    (machine.folder / "told.json").write_text("[]", encoding="utf-8")
    error = machine.refused()
    assert "names none" in error.message
    assert "Desktop development with C++" in str(error.hint)


def test_visual_studio_without_its_compilers_is_told(machine: Machine) -> None:
    machine.installed(name="Visual Studio Community 2022")
    error = machine.refused()
    assert error.message == f"Visual Studio Community 2022 17.14.9 in {machine.studio} has no C++ tools for x64"
    assert COMPONENT in str(error.hint)


def test_a_vswhere_that_fails_is_told_with_its_words(machine: Machine) -> None:
    error = machine.refused()
    assert "could not be asked for" in error.message
    assert error.excerpt == "Error 0x57: The parameter is incorrect."


def test_an_installation_without_a_batch_file_is_told(machine: Machine) -> None:
    machine.installed(COMPONENT)
    assert "has no VC/Auxiliary/Build/vcvarsall.bat and no Common7/Tools/VsDevCmd.bat" in machine.refused().message


@pytest.mark.parametrize(
    ("text", "words", "excerpt"),
    [
        (
            "echo hello\necho [ERROR:vcvarsall.bat] no Windows SDK\n",
            "sets no INCLUDE and no LIB and no VCTOOLSINSTALLDIR",
            "[ERROR",
        ),
        (SETS.replace("set LIB=C", "set NOLIB=C"), "sets no LIB", "Visual Studio"),
        ("echo The system said no\nexit 3\n", "could not be read", "The system said no"),
        ("echo The input line is too long.\n", "sets no INCLUDE", "too long"),
    ],
)
def test_a_batch_file_that_sets_no_compilers_up_is_told_with_its_words(
    machine: Machine, text: str, words: str, excerpt: str
) -> None:
    machine.installed(COMPONENT)
    machine.script(text)
    error = machine.refused()
    assert words in error.message
    assert excerpt in str(error.excerpt)
    assert ("PATH" in str(error.hint)) == ("too long" in text)


def test_tools_that_are_too_old_are_told(machine: Machine) -> None:
    machine.installed(COMPONENT, name="Visual Studio Build Tools 2017", version="15.9.1")
    machine.script(SETS.replace("14.44.35207", "14.16.27023"))
    assert "the C++ tools 14.16.27023 of Visual Studio Build Tools 2017" in machine.refused().message


def test_in_a_developer_prompt_nothing_is_asked(machine: Machine) -> None:
    prompt = {"VCTOOLSINSTALLDIR": "C:\\t", "VSCMD_ARG_TGT_ARCH": "x64", "INCLUDE": "C:\\i", "LIB": "C:\\l"}
    assert machine.environment(**prompt).variables == {**prompt, "DISTUTILS_USE_SDK": "1"}
    error = machine.refused(**{**prompt, "VSCMD_ARG_TGT_ARCH": "x86"})
    assert "compiles for x86" in error.message
    assert not (machine.folder / "asked").exists()


def test_programs_are_where_windows_has_them() -> None:
    told = {"ProgramFiles(x86)": "D:/Files (x86)", "ComSpec": "D:/System/cmd.exe"}
    programs = machine_programs(told, Path("python"))
    assert programs.vswhere == Path("D:/Files (x86)/Microsoft Visual Studio/Installer/vswhere.exe")
    assert programs.shell == Path("D:/System/cmd.exe")
    bare = machine_programs({"SYSTEMROOT": "D:/Win"}, Path("python"))
    assert bare.vswhere.parts[0] == "C:"
    assert bare.shell == Path("D:/Win/System32/cmd.exe")


def test_the_batch_file_names_nothing_but_variables() -> None:
    text = visual_studio._BATCH.read_bytes()
    assert text.isascii()
    called = [line for line in text.decode().splitlines() if not line.startswith(("@echo", "rem "))]
    assert [line.split()[0] for line in called] == ['"%HIPWRIGHT_PYTHON%"', "call", '"%HIPWRIGHT_PYTHON%"']
    # An odd number of quotes would leave the rest of a line open.
    assert all(line.count('"') % 2 == 0 and "!" not in line and "^" not in line for line in called)


def test_builds_of_a_workplace_have_it_once_and_for_windows_alone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.installed(COMPONENT)
    machine.script()
    monkeypatch.setattr("build_tools.workplace.machine_programs", lambda _machine, _python: machine.programs)
    here = dataclasses.replace(workplace(machine.folder), machine={}, platform=Platform.LINUX)
    assert wishes_of(here).studio is None
    there = dataclasses.replace(here, platform=Platform.WINDOWS)
    assert wishes_of(there, compiling=False).studio is None
    first = wishes_of(there).studio
    assert first is not None
    assert wishes_of(there).studio is first
    assert len((machine.folder / "asked").read_text(encoding="utf-8").splitlines()) == 1


def test_the_rocm_that_a_project_brings_is_compiled_in_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_tools.workplace.machine_programs", lambda _machine, _python: machine.programs)
    projects = workplace(machine.folder).external_builds
    sample, other = (load_project(projects, ProjectName(name)) for name in ("sample", "pytorch"))
    there = dataclasses.replace(workplace(machine.folder), machine={}, platform=Platform.WINDOWS)
    # What was packed before needs no compiler.
    lacking = dataclasses.replace(there)
    with packages._packing(sample, lacking) as runner:
        assert runner is there.runner
    machine.installed(COMPONENT)
    machine.script()
    with packages._packing(sample, there) as runner:
        assert runner.environment["INCLUDE"] == "C:\\VC\\include;C:\\Kits\\include"
        assert runner.environment["PATH"] == f"C:\\VC\\bin\\Hostx64\\x64;C:\\Kits\\bin;{there.runner.environment['PATH']}"
    with packages._packing(other, there) as runner:
        assert runner is there.runner
    here = dataclasses.replace(there, platform=Platform.LINUX)
    with packages._packing(sample, here) as runner:
        assert runner is here.runner


def test_why_there_is_no_visual_studio_is_told_when_rocm_has_to_be_compiled(machine: Machine) -> None:
    there = dataclasses.replace(workplace(machine.folder), machine={"ProgramFiles(x86)": "/no/files"}, platform=Platform.WINDOWS)
    sample = load_project(there.external_builds, ProjectName("sample"))
    for code in ("no-compiler", "command-failed"):
        with pytest.raises(HipwrightError, match="no Visual Studio"), packages._packing(sample, there):
            raise HipwrightError(code, "compiling failed")
    with pytest.raises(HipwrightError, match="another matter"), packages._packing(sample, there):
        raise HipwrightError("lock-conflict", "another matter")
    # It is asked once, whatever the answer was.
    assert memory_of(there).said == ["asking Visual Studio for its compilers"]


def test_the_rocm_that_a_project_brings_is_compiled_with_what_a_person_sets(tmp_path: Path) -> None:
    said = {"INCLUDE": "i", "LIB": "l", "PATH": "p"}
    there = dataclasses.replace(workplace(tmp_path, build_env=said), platform=Platform.WINDOWS)
    with packages._packing(load_project(there.external_builds, ProjectName("sample")), there) as runner:
        assert {name: runner.environment[name] for name in said} == said


@pytest.mark.parametrize(
    ("said", "asked"), [({"CXX": "g++"}, True), ({"include": "i", "Lib": "l"}, False), ({"INCLUDE": "i"}, None)]
)
def test_a_person_may_bring_compilers_without_visual_studio(machine: Machine, said: dict[str, str], asked: bool | None) -> None:  # noqa: FBT001
    resolved = Resolved(settings=Settings(work_dir=machine.folder / "work", build_env=said))
    there = dataclasses.replace(
        workplace(machine.folder), machine={"ProgramFiles(x86)": "/no/files"}, platform=Platform.WINDOWS, resolved=resolved
    )
    if asked is None:
        with pytest.raises(HipwrightError, match="no Visual Studio"):
            wishes_of(there)
        return
    assert wishes_of(there).studio is None
    assert ("asking Visual Studio for its compilers" in memory_of(there).said) == asked
