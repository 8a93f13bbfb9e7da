"""The bundled sample by itself: its patches apply in order with plain git, and its smoke tests need each of them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

SAMPLE = Path(__file__).parents[2] / "external-builds" / "sample"
SOURCES = SAMPLE / "sources"
CORE = SAMPLE / "sdk" / "rocm_sdk_core-7.10.0-py3-none-any" / "_rocm_sdk_core"
GREETER = Path("third_party", "greeter")
SERIES = [patch["file"] for patch in tomllib.loads((SAMPLE / "patches" / "1.0" / "series.toml").read_text())["patch"]]

PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
from hipwright_sample.functions import architecture, device_count, greet, runtime_version, saxpy, wave_size
print(saxpy(2.0, [1.0] * 300, [0.5] * 300) == [2.5] * 300, architecture(), wave_size(), runtime_version(), greet("x"), device_count())
"""
WHOLE = "True gfx000 64 (7, 10) hello x, from 1 device 1"


SETUP = """
import runpy, sys, types

class Refused(Exception):
    pass

for name in ("setuptools", "setuptools.command", "setuptools.command.build_ext", "setuptools.command.build_py", "setuptools.errors"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["setuptools"].__dict__.update(setup=lambda **_: None, Extension=lambda *_, **__: None)
sys.modules["setuptools.command.build_ext"].build_ext = sys.modules["setuptools.command.build_py"].build_py = object
sys.modules["setuptools.errors"].__dict__.update(SetupError=Refused, CompileError=Refused)
recipe = runpy.run_path("setup.py")
try:
    print(recipe["targets"](), recipe["find_hipcc"]().name, recipe["sources"]())
except Refused as refused:
    print(refused)
"""
"""Asks setup.py for what a build starts from; setuptools itself is no part of that."""


def run(*command: str | Path, cwd: Path) -> str:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@localhost",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@localhost",
    }
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commit(tree: Path) -> None:
    run("git", "add", "--all", "--force", ".", cwd=tree)
    run("git", "commit", "--quiet", "--message", "one", cwd=tree)


def upstream_tree(folder: Path, *branches: str) -> Path:
    for branch in branches:
        shutil.copytree(SOURCES / branch, folder, dirs_exist_ok=True)
    shutil.copytree(SOURCES / "greeter", folder / GREETER)
    shutil.copytree(SOURCES / "words", folder / GREETER / "words")
    if "nightly" in branches:
        shutil.move(folder / GREETER / "words", folder / GREETER / "phrases")
        shutil.copytree(SOURCES / "words-next", folder / GREETER / "phrases", dirs_exist_ok=True)
        shutil.copytree(SOURCES / "greeter-next", folder / GREETER, dirs_exist_ok=True)
    for module in (folder / GREETER, folder):
        run("git", "init", "--quiet", ".", cwd=module)
        commit(module)
    return folder


def apply(tree: Path, phase: str, without: str | None = None) -> None:
    for file in SERIES:
        module, name, _ = file.rsplit("/", 2)
        if name == phase and file != without:
            where = tree if module == "root" else tree / module
            run("git", "am", "--quiet", SAMPLE / "patches" / "1.0" / file, cwd=where)


def prepared_tree(folder: Path, *branches: str, without: str | None = None) -> Path:
    tree = upstream_tree(folder, *branches)
    apply(tree, "base", without)
    run(sys.executable, "tools/amd_build/build_amd.py", cwd=tree)
    for module in (tree / GREETER, tree):
        commit(module)
    apply(tree, "hipified", without)
    return tree


def what_it_does(tree: Path) -> str:
    """Compile the kernels with the SDK's driver, as setup.py does, and call them from another process."""
    sources = [*tree.glob("csrc/*.cpp"), *tree.glob("csrc/hip/*.hip"), *tree.glob("third_party/*/hip/*.hip")]
    library = tree / "hipwright_sample" / "_kernels.so"
    options = ("-O0", "-fPIC", "-fvisibility=hidden", "-shared", "--offload-arch=gfx942", "-Icsrc")
    run(sys.executable, CORE / "bin" / "hipcc.py", *options, *sources, "-o", library, cwd=tree)
    (tree / "hipwright_sample" / "__init__.py").write_text("")
    return run(sys.executable, "-c", PROBE, tree, cwd=tree).strip()


def driver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hipcc", CORE / "bin" / "hipcc.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("branches", [("release",), ("release", "nightly")], ids=["release", "nightly"])
def test_patches_apply_in_order_and_the_kernels_work(tmp_path: Path, branches: tuple[str, ...]) -> None:
    tree = prepared_tree(tmp_path / "tree", *branches)
    assert run("git", "status", "--porcelain", cwd=tree / GREETER) == ""
    assert what_it_does(tree) == WHOLE


def test_there_is_a_patch_in_all_four_places() -> None:
    assert {file.rsplit("/", 1)[0] for file in SERIES} == {
        "root/base",
        "root/hipified",
        "third_party/greeter/base",
        "third_party/greeter/hipified",
    }


@pytest.mark.parametrize("without", SERIES)
def test_each_patch_is_needed(tmp_path: Path, without: str) -> None:
    assert what_it_does(prepared_tree(tmp_path / "tree", "release", without=without)) != WHOLE


def test_hipify_translates_in_place_and_makes_hip_files(tmp_path: Path) -> None:
    tree = upstream_tree(tmp_path / "tree", "release")
    run(sys.executable, "tools/amd_build/build_amd.py", cwd=tree)
    assert "hipGetDeviceCount" in (tree / "csrc" / "device_count.cpp").read_text()
    made = (tree / "csrc" / "hip" / "saxpy.hip").read_text()
    assert "hipLaunchKernelGGL(saxpy_kernel, dim3(blocks), dim3(kThreads), 0, 0, n, a, device_x, device_y);" in made
    assert "cuda" not in made
    assert (tree / GREETER / "hip" / "greeter.hip").is_file()
    # .gitignore hides the new files, as it does in PyTorch.
    assert run("git", "status", "--porcelain", cwd=tree) == " M csrc/device_count.cpp\n"


def test_hipify_is_for_fresh_trees_only(tmp_path: Path) -> None:
    tree = upstream_tree(tmp_path / "tree", "release")
    run(sys.executable, "tools/amd_build/build_amd.py", cwd=tree)
    made = tree / "csrc" / "hip" / "saxpy.hip"
    made.write_text("edited")
    run(sys.executable, "tools/amd_build/build_amd.py", cwd=tree)
    assert "edited" not in made.read_text()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "['gfx942'] hipcc ['csrc/device_count.cpp', 'csrc/hip/architecture.hip', 'csrc/hip/saxpy.hip'"),
        ({"ROCM_HOME": ""}, "ROCM_HOME is not set"),
        ({"ROCM_HOME": os.devnull}, f"there is no compiler hipcc in {os.devnull}/bin"),
        ({"SAMPLE_ROCM_ARCH": ";"}, "SAMPLE_ROCM_ARCH names no GPU architecture"),
        ({"USE_ROCM": "0"}, "CUDA_HOME is not set: without USE_ROCM=1 this is a CUDA build"),
    ],
    ids=["whole", "no-home", "no-hipcc", "no-target", "no-backend"],
)
def test_a_build_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], said: str) -> None:
    whole = {"USE_ROCM": "1", "ROCM_HOME": str(CORE), "SAMPLE_ROCM_ARCH": "gfx942"}
    for name, value in {**whole, **change}.items():
        monkeypatch.setenv(name, value)
    tree = upstream_tree(tmp_path / "tree", "release")
    run(sys.executable, "tools/amd_build/build_amd.py", cwd=tree)
    assert run(sys.executable, "-c", SETUP, cwd=tree).startswith(said)


def test_a_build_of_an_untranslated_tree_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"USE_ROCM": "1", "ROCM_HOME": str(CORE), "SAMPLE_ROCM_ARCH": "gfx942"}.items():
        monkeypatch.setenv(name, value)
    tree = upstream_tree(tmp_path / "tree", "release")
    assert run(sys.executable, "-c", SETUP, cwd=tree).startswith("csrc/hip is missing: run tools/amd_build/build_amd.py")


def test_the_driver_takes_out_what_concerns_gpus() -> None:
    hipcc = driver()
    line = ["-x", "hip", "-c", "a.hip", "-o", "a.o", "--offload-arch=gfx942", "--offload-arch", "gfx1201", "-fgpu-rdc", "-DX=1"]
    found = hipcc.read_arguments(line)
    assert found.targets == ["gfx942", "gfx1201"]
    made = hipcc.arguments_for_gcc(found, Path("/r"))
    assert made == [
        *("-D__HIP_PLATFORM_AMD__=1", f"-I{Path('/r/include')}", "-std=c++17", "-x", "c++", "a.hip", "-x", "none"),
        *("-c", "-o", "a.o", "-DX=1"),
    ]


def test_the_driver_speaks_to_microsoft_s_compiler() -> None:
    hipcc = driver()
    compiled = hipcc.arguments_for_cl(hipcc.read_arguments(["-c", "a.hip", "-o", "a.o", "-fPIC", "-O2", "-Ix"]), Path("/r"))
    assert compiled[-6:] == ["/c", "/Foa.o", "/O2", "/Ix", "/std:c++17", "/Tpa.hip"]
    linked = hipcc.arguments_for_cl(hipcc.read_arguments(["-shared", "-o", "a.pyd", "a.o"]), Path("/r"))
    assert linked[-4:] == ["/LD", "/Fea.pyd", "a.o", "/std:c++17"]


def test_the_driver_refuses_what_is_no_architecture() -> None:
    with pytest.raises(SystemExit, match="unsupported HIP gpu architecture: 'mi300'"):
        driver().read_arguments(["--offload-arch=gfx942,mi300"])


def test_the_driver_says_that_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="no C\\+\\+ compiler on PATH"):
        driver().find_compiler()
