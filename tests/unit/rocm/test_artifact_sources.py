"""What is compiled into an artifact tree, as data and as commands; compilers run in the integration tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.errors import HipwrightError
from build_tools.process import Runner
from build_tools.rocm.artifact_sources import (
    CompiledLibrary,
    CompiledProgram,
    compile_artifacts,
    find_c_compiler,
    library_command,
    load_artifact_sources,
    program_command,
)
from build_tools.types import Platform

SAMPLE = Path(__file__).parents[3] / "external-builds" / "sample" / "rocm"
LIBRARY = CompiledLibrary(
    name="hsa-runtime64",
    artifact="core-runtime_lib_generic",
    base="core/x/stage",
    source="a.c",
    version="1.18.3",
    windows="hsa.dll",
)
TABLE = """
schema = 1
version = "1.0"

[[library]]
name = "one"
artifact = "base_lib_generic"
base = "base/stage"
source = "one.c"
version = "1.2.3"
"""


def sources(folder: Path, table: str = TABLE) -> Path:
    (folder / "artifacts").mkdir(parents=True)
    (folder / "sources").mkdir()
    (folder / "sources" / "one.c").write_text("int one(void) { return 1; }\n")
    (folder / "compiled.toml").write_text(table)
    return folder


def test_a_library_is_named_as_linux_names_it() -> None:
    assert (LIBRARY.file, LIBRARY.soname) == ("lib/libhsa-runtime64.so.1.18.3", "libhsa-runtime64.so.1")


def test_the_command_of_a_library_names_what_it_is_called_and_needs() -> None:
    command = library_command(
        LIBRARY, compiler=Path("/usr/bin/cc"), output=Path("/t/out.so"), links=[Path("/t/liba.so")], platform=Platform.LINUX
    )
    assert command[0] == Path("/usr/bin/cc")
    assert {"-shared", "-nostdlib", "-Wl,-soname,libhsa-runtime64.so.1", "-DNAME=hsa_runtime64", "-fno-ident"} <= set(command)
    assert command[-4:] == ["-o", Path("/t/out.so"), "a.c", Path("/t/liba.so")]


def test_microsoft_s_compiler_gets_its_own_words() -> None:
    output, needed = Path("t/bin/hsa.dll"), Path("t/lib/a.lib")
    command = library_command(
        LIBRARY,
        compiler=Path("cl"),
        output=output,
        links=[needed],
        platform=Platform.WINDOWS,
        import_library=Path("t/lib/hsa-runtime64.lib"),
    )
    assert command[1:4] == ["/nologo", "/O2", "/Brepro"]
    assert {"/LD", "/DNAME=hsa_runtime64", f"/Fe:{output}", "a.c", needed} <= set(command)
    assert command[command.index("/link") :] == ["/link", "/Brepro", f"/IMPLIB:{Path('t/lib/hsa-runtime64.lib')}"]
    program = CompiledProgram(name="clang-20", artifact="amd-llvm_run_generic", base="x", source="clang.c")
    made = program_command(program, compiler=Path("cl"), output=Path("clang-20.exe"), platform=Platform.WINDOWS)
    assert {"/Fe:clang-20.exe", "clang.c"} <= set(made)
    assert not [word for word in made if str(word).startswith("-")]


def test_the_sample_s_table_says_what_an_sdk_cannot_lack() -> None:
    found = load_artifact_sources(SAMPLE)
    assert found.version == "7.10.0"
    assert {"amdhip64", "hsa-runtime64", "rocblas"} <= {library.name for library in found.library}
    (clang,) = found.program
    assert "amdclang++" in clang.links


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("one.c", "two.c", "one is made of two.c, which is not in sources"),
        ("base_lib_generic", "base", "one goes into base, which is no name of an artifact"),
        ('version = "1.2.3"', 'version = "1.2.3"\nneeds = ["other"]', "one needs other, which does not come before it"),
        ("base/stage", "../stage", "base"),
        ("base/stage", "/stage", "base"),
        ("base/stage", "a/./b", "base"),
        ('name = "one"', 'name = "one/../../x"', "name"),
        ('"1.2.3"', '"one"', "version"),
        ("schema = 1", "schema = 2", "schema"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert TABLE.count(old) == 1
    with pytest.raises(HipwrightError) as caught:
        load_artifact_sources(sources(tmp_path, TABLE.replace(old, new)))
    assert caught.value.code.name == "bad-data-file"
    assert said in f"{caught.value.message} {caught.value.where}"


def test_a_folder_without_a_tree_is_refused(tmp_path: Path) -> None:
    folder = sources(tmp_path)
    assert [library.name for library in load_artifact_sources(folder).library] == ["one"]
    (folder / "artifacts").rmdir()
    with pytest.raises(HipwrightError, match="has no folder artifacts"):
        load_artifact_sources(folder)
    (folder / "compiled.toml").unlink()
    with pytest.raises(HipwrightError) as caught:
        load_artifact_sources(folder)
    assert caught.value.code.name == "bad-data-file"


@pytest.mark.parametrize(("platform", "said"), [(Platform.LINUX, "cc, gcc, clang"), (Platform.WINDOWS, "cl, clang-cl")])
def test_a_machine_without_a_compiler_is_told(tmp_path: Path, platform: Platform, said: str) -> None:
    runner = Runner(environment={"PATH": str(tmp_path)})
    assert find_c_compiler(runner, platform) is None
    with pytest.raises(HipwrightError, match=said) as caught:
        compile_artifacts(SAMPLE, tmp_path, runner=runner, platform=platform)
    assert not list(tmp_path.iterdir())
    assert caught.value.code.name == "no-compiler"
    assert caught.value.hint
