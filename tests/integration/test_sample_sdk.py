"""The sample's SDK: what is compiled into its artifacts loads and runs, and its compiler driver puts device code into objects."""

from __future__ import annotations

import ctypes
import io
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.rocm.artifact_sources import compile_artifacts, load_artifact_sources
from build_tools.types import Platform
from tests.support.sample_sdk import HIPCC, SDK, driver, flattened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into ELF files")

KERNEL = "#include <hip/hip_runtime.h>\n__global__ void kernel_NAME(int* x) { *x = 1; }\nint NAME() { return 1; }\n"
SDK_7_10 = 71000000
"""How the HIP runtime writes the version 7.10.0."""


def runner() -> Runner:
    return Runner(environment=base_environment(os.environ))


def compiled(target: Path) -> Path:
    target.mkdir(parents=True)
    compile_artifacts(SDK, target, runner=runner(), platform=Platform.LINUX)
    return target


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("sample") / "artifacts")


@pytest.fixture(scope="module")
def root(artifacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flattened(artifacts, tmp_path_factory.mktemp("sdk") / "rocm")


def dynamic(path: Path, kind: str) -> list[str]:
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        return [getattr(tag, kind.removeprefix("DT_").lower()) for tag in section.iter_tags(kind)]


def section_of(path: Path, name: str) -> bytes | None:
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(name)
        return None if section is None else section.data()


def test_every_library_is_a_file_with_two_links_and_needs_what_the_table_says(root: Path) -> None:
    table = load_artifact_sources(SDK)
    sonames = {library.name: library.soname for library in table.library}
    for library in table.library:
        assert not (root / library.file).is_symlink()
        assert os.readlink(root / "lib" / library.soname) == Path(library.file).name  # noqa: PTH115
        assert os.readlink(root / "lib" / f"lib{library.name}.so") == library.soname  # noqa: PTH115
        assert dynamic(root / library.file, "DT_SONAME") == [library.soname]
        assert dynamic(root / library.file, "DT_NEEDED") == [sonames[name] for name in library.needs]


def test_a_math_library_finds_the_runtime_and_all_that_it_needs_in_turn(root: Path) -> None:
    script = (
        "import ctypes, sys\n"
        "version = ctypes.c_int()\n"
        "done = ctypes.CDLL(sys.argv[1]).hipsolver_get_version(ctypes.byref(version))\n"
        "print(done, version.value)\n"
    )
    command = [sys.executable, "-c", script, str(root / "lib" / "libhipsolver.so")]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(root / "lib")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0", str(SDK_7_10)], done.stderr


def test_the_runtime_answers_as_on_a_machine_without_a_gpu(root: Path) -> None:
    assert ctypes.CDLL(str(root / "lib" / "libhsa-runtime64.so")).hsa_init() == 0x1008


def test_clang_is_told_by_its_name_what_it_compiles(root: Path, tmp_path: Path) -> None:
    programs = root / "lib" / "llvm" / "bin"
    source = tmp_path / "a.txt"
    source.write_text("#ifdef __cplusplus\nint main() { return 3; }\n#else\nint main(void) { return 4; }\n#endif\n")
    for name, language, status in (("clang-20", "c", 4), ("amdclang", "c", 4), ("amdclang++", "c++", 3)):
        subprocess.run([programs / name, "-x", language, source, "-o", tmp_path / name], check=True)
        assert subprocess.run([tmp_path / name], check=False).returncode == status
        told = subprocess.run([programs / name, "--version"], capture_output=True, text=True, check=True).stdout
        assert f", {language.upper()} driver" in told


def test_the_same_sources_give_the_same_bytes_elsewhere(artifacts: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "deeper" / "sdk"
    shutil.copytree(SDK, elsewhere)
    target = tmp_path / "made"
    target.mkdir()
    compile_artifacts(elsewhere, target, runner=runner(), platform=Platform.LINUX)
    assert digest.of_folder(target) == digest.of_folder(artifacts)


def test_a_source_that_does_not_compile_is_told_with_the_compiler_s_words(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SDK, tmp_path / "sdk"))
    (folder / "sources" / "hiprtc.c").write_text("int hiprtcVersion(void) { return undeclared; }\n")
    (tmp_path / "made").mkdir()
    with pytest.raises(HipwrightError, match="compiling hiprtc") as caught:
        compile_artifacts(folder, tmp_path / "made", runner=runner(), platform=Platform.LINUX)
    assert "undeclared" in (caught.value.excerpt or "")


FAKE_CL = """#!/bin/sh
for word in "$@"; do
  case $word in
    /Fe:*) printf 'MZ%s' "$*" > "${word#/Fe:}"; touch "${word#/Fe:}.obj" ;;
    /IMPLIB:*) printf '!<arch>' > "${word#/IMPLIB:}" ;;
  esac
done
"""
"""Takes the words of Microsoft's compiler, and makes what it would."""


def test_windows_has_its_own_layout(tmp_path: Path) -> None:
    programs, target = tmp_path / "programs", tmp_path / "artifacts"
    programs.mkdir()
    target.mkdir()
    (programs / "cl").write_text(FAKE_CL)
    (programs / "cl").chmod(0o755)
    microsoft = Runner(environment=base_environment({"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}))
    compile_artifacts(SDK, target, runner=microsoft, platform=Platform.WINDOWS)
    root = flattened(target, tmp_path / "rocm")
    assert {path.name for path in root.glob("bin/*.dll")} == {
        library.windows for library in load_artifact_sources(SDK).library if library.windows
    }
    assert (root / "lib" / "amdhip64.lib").is_file()
    assert (
        f"{target}/amd-llvm_dev_generic/compiler/amd-comgr/stage/lib/amd_comgr.lib" in (root / "bin/amdhip64_7.dll").read_text()
    )
    assert {path.name for path in root.glob("lib/llvm/bin/*")} == {
        f"{name}.exe" for name in ("clang-20", "clang", "clang++", "amdclang", "amdclang++")
    }
    assert not [path for path in target.rglob("*") if path.is_symlink() or ".so" in path.name or path.suffix == ".obj"]


@pytest.fixture
def hipcc(root: Path, tmp_path: Path) -> Callable[..., Path]:
    """Compiles sources of these names and returns the output."""

    def run(output: str, *words: str, sources: tuple[str, ...] = ("a.hip",)) -> Path:
        for name in sources:
            (tmp_path / name).write_text(KERNEL.replace("NAME", Path(name).stem))
        command = [
            str(root / "bin" / "hipcc"),
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            *words,
            *sources,
            "-o",
            output,
        ]
        subprocess.run(command, cwd=tmp_path, check=True)
        return tmp_path / output

    return run


def bundles(path: Path) -> Iterator[dict[str, bytes]]:
    """Give the bundles of device code in an ELF file, one after the other: code by entry."""
    data = section_of(path, ".hip_fatbin")
    while data:
        assert data.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
        (count,) = struct.unpack_from("<Q", data, 24)
        place, end, found = 32, 0, {}
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, place)
            found[data[place + 24 : place + 24 + length].decode()] = data[offset : offset + size]
            assert offset % 4096 == 0
            place += 24 + length
            end = max(end, offset + size)
        yield found
        data = data[-(-end // 4096) * 4096 :]


def test_an_object_has_code_for_the_host_and_each_target_that_was_asked_for(hipcc: Callable[..., Path]) -> None:
    made = hipcc("a.o", "-c", "--offload-arch=gfx942:sramecc+:xnack-", "--offload-arch", "gfx1201,gfx942:sramecc+:xnack-")
    (found,) = bundles(made)
    host, *devices = found
    assert (host.startswith("host-"), found[host]) == (True, b"")
    assert devices == [f"hipv4-amdgcn-amd-amdhsa--{name}" for name in ("gfx942:sramecc+:xnack-", "gfx1201")]
    codes = [ELFFile(io.BytesIO(found[name])) for name in devices]
    assert {(code["e_machine"], code["e_type"]) for code in codes} == {("EM_AMDGPU", "ET_DYN")}
    assert [code["e_flags"] for code in codes] == [0x4C | 0xC00 | 0x200, 0x4E]


def test_a_library_has_the_device_code_of_each_of_its_objects(hipcc: Callable[..., Path]) -> None:
    library = hipcc("both.so", "-shared", "--offload-arch=gfx942", sources=("a.hip", "b.hip"))
    assert [list(found)[1:] for found in bundles(library)] == [["hipv4-amdgcn-amd-amdhsa--gfx942"]] * 2
    assert len(section_of(library, ".hipFatBinSegment") or b"") == 48
    ctypes.CDLL(str(library))


def test_many_targets_have_room(hipcc: Callable[..., Path]) -> None:
    targets = list(driver().MACHINES)
    (found,) = bundles(hipcc("a.o", "-c", *(f"--offload-arch={name}" for name in targets)))
    assert [name.rpartition("--")[2] for name in list(found)[1:]] == targets


def test_the_same_source_gives_the_same_object_wherever_the_sdk_lies(
    hipcc: Callable[..., Path], root: Path, tmp_path: Path
) -> None:
    made = hipcc("a.o", "-c", "-O2", "--offload-arch=gfx942")
    other = shutil.copytree(root, tmp_path / "other" / "rocm", symlinks=True)
    subprocess.run(
        [other / "bin" / "hipcc", "-fPIC", "-c", "-O2", "--offload-arch=gfx942", "a.hip", "-o", "b.o"], cwd=tmp_path, check=True
    )
    assert (tmp_path / "b.o").read_bytes() == made.read_bytes()


def test_without_a_target_there_is_no_device_code(hipcc: Callable[..., Path]) -> None:
    assert section_of(hipcc("a.o", "-c"), ".hip_fatbin") is None


def test_the_driver_takes_out_what_concerns_gpus() -> None:
    hipcc = driver()
    line = ["-x", "hip", "-c", "a.hip", "-o", "a.o", "--offload-arch=gfx942", "--offload-arch", "gfx1201", "-fgpu-rdc", "-DX=1"]
    found = hipcc.read_arguments(line)
    assert found.targets == ["gfx942", "gfx1201"]
    made = hipcc.arguments_for_gcc(found, Path("/r"))
    assert made[:3] == ["-D__HIP_PLATFORM_AMD__=1", f"-I{Path('/r/include')}", "-std=c++17"]
    assert made[3].startswith("-D__HIP_FATBIN__={")
    assert made[4:] == ["-include", "hip/hip_fatbin.h", "-x", "c++", "a.hip", "-x", "none", "-c", "-o", "a.o", "-DX=1"]
    linked = hipcc.arguments_for_gcc(hipcc.read_arguments(["a.o", "-o", "a", "--offload-arch=gfx942"]), Path("/r"))
    assert not [word for word in linked if "FATBIN" in word]


def test_the_driver_speaks_to_microsoft_s_compiler() -> None:
    hipcc = driver()
    compiled = hipcc.arguments_for_cl(hipcc.read_arguments(["-c", "a.hip", "-o", "a.o", "-fPIC", "-O2", "-Ix"]), Path("/r"))
    assert compiled[-6:] == ["/c", "/Foa.o", "/O2", "/Ix", "/std:c++17", "/Tpa.hip"]
    linked = hipcc.arguments_for_cl(hipcc.read_arguments(["-shared", "-o", "a.pyd", "a.o"]), Path("/r"))
    assert linked[-4:] == ["/LD", "/Fea.pyd", "a.o", "/std:c++17"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--offload-arch=gfx942,mi300", "unsupported HIP gpu architecture: 'mi300'"),
        ("--offload-arch=native", "cannot determine the architecture of this machine's GPUs"),
    ],
)
def test_the_driver_refuses_what_is_no_architecture(word: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        driver().read_arguments([word])


def test_the_driver_says_that_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="no C\\+\\+ compiler on PATH"):
        driver().find_compiler()


def test_the_driver_is_asked_for_its_version() -> None:
    done = subprocess.run([sys.executable, HIPCC, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("HIP version: 7.10.0\n")
