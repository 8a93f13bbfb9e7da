"""The bundled sample by itself: its patches apply in order with plain git, and its smoke tests need each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.sample_sdk import SAMPLE, SDK, flattened

SOURCES = SAMPLE / "sources"
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


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SDK's files that need no compiler: the driver and the headers."""
    return flattened(SDK / "artifacts", tmp_path_factory.mktemp("sdk") / "rocm")


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


def what_it_does(tree: Path, sdk: Path) -> str:
    """Compile the kernels with the SDK's driver, as setup.py does, and call them from another process."""
    sources = [*tree.glob("csrc/*.cpp"), *tree.glob("csrc/hip/*.hip"), *tree.glob("third_party/*/hip/*.hip")]
    library = tree / "hipwright_sample" / "_kernels.so"
    options = ("-O0", "-fPIC", "-fvisibility=hidden", "-shared", "--offload-arch=gfx942", "-Icsrc")
    run(sys.executable, sdk / "bin" / "hipcc.py", *options, *sources, "-o", library, cwd=tree)
    (tree / "hipwright_sample" / "__init__.py").write_text("")
    return run(sys.executable, "-c", PROBE, tree, cwd=tree).strip()


@pytest.mark.parametrize("branches", [("release",), ("release", "nightly")], ids=["release", "nightly"])
def test_patches_apply_in_order_and_the_kernels_work(tmp_path: Path, sdk: Path, branches: tuple[str, ...]) -> None:
    tree = prepared_tree(tmp_path / "tree", *branches)
    assert run("git", "status", "--porcelain", cwd=tree / GREETER) == ""
    assert what_it_does(tree, sdk) == WHOLE


def test_there_is_a_patch_in_all_four_places() -> None:
    assert {file.rsplit("/", 1)[0] for file in SERIES} == {
        "root/base",
        "root/hipified",
        "third_party/greeter/base",
        "third_party/greeter/hipified",
    }


@pytest.mark.parametrize("without", SERIES)
def test_each_patch_is_needed(tmp_path: Path, sdk: Path, without: str) -> None:
    assert what_it_does(prepared_tree(tmp_path / "tree", "release", without=without), sdk) != WHOLE


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
def test_a_build_says_what_it_lacks(
    tmp_path: Path, sdk: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], said: str
) -> None:
    whole = {"USE_ROCM": "1", "ROCM_HOME": str(sdk), "SAMPLE_ROCM_ARCH": "gfx942"}
    for name, value in {**whole, **change}.items():
        monkeypatch.setenv(name, value)
    tree = upstream_tree(tmp_path / "tree", "release")
    run(sys.executable, "tools/amd_build/build_amd.py", cwd=tree)
    assert run(sys.executable, "-c", SETUP, cwd=tree).startswith(said)


def test_a_build_of_an_untranslated_tree_says_so(tmp_path: Path, sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"USE_ROCM": "1", "ROCM_HOME": str(sdk), "SAMPLE_ROCM_ARCH": "gfx942"}.items():
        monkeypatch.setenv(name, value)
    tree = upstream_tree(tmp_path / "tree", "release")
    assert run(sys.executable, "-c", SETUP, cwd=tree).startswith("csrc/hip is missing: run tools/amd_build/build_amd.py")
