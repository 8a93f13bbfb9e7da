"""The real PyTorch tree, checked out, hipified and patched by the command that a person types."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.real_runs import Ran, nox

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(600), pytest.mark.xdist_group("real-checkout")]

STAGES = ("lock", "checkout", "base-patches", "hipify", "hipified-patches")


def git(tree: Path, *words: str) -> str:
    """Run git as a person does."""
    command = ["git", "-c", "safe.directory=*", "-C", str(tree), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip("\n")


def checkout(place: Path, inputs: dict[str, Path], ref: str = "release/2.6") -> Ran:
    words = ("--pytorch-origin", inputs["pytorch-origin"], "--pytorch-ref", ref)
    return nox("checkout_pytorch", *words, "--work-dir", place / "work", "--cache-dir", place / "cache", cwd=place)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pytorch")


@pytest.fixture(scope="module")
def first(place: Path, inputs: dict[str, Path]) -> Ran:
    """The first run."""
    ran = checkout(place, inputs)
    assert ran.status == 0, ran.talk
    return ran


@pytest.fixture
def tree(place: Path, first: Ran) -> Path:
    assert first.status == 0
    return place / "work" / "src" / "pytorch"


def test_every_stage_ran(first: Ran) -> None:
    assert first.states() == dict.fromkeys(STAGES, "run")


def test_the_tree_is_clean(tree: Path) -> None:
    assert git(tree, "status", "--porcelain", "--ignored") == ""


def test_the_trees_own_tool_did_what_it_does(tree: Path) -> None:
    changes = git(tree, "diff", "--name-status", "--no-renames", "refs/hipwright/base", "refs/hipwright/hipified").splitlines()
    kinds = [line.split("\t")[0] for line in changes]
    assert (kinds.count("M"), kinds.count("A"), len(kinds)) == (96, 593, 689)
    module = (tree / "torch" / "csrc" / "cuda" / "Module.cpp").read_text(encoding="utf-8")
    assert "hip/hip/driver_types.h" not in module, "hipify ran on what it had made before"


def test_hipwrights_patches_lie_on_top_with_their_reasons(tree: Path) -> None:
    base = git(tree, "log", "--format=%s", "refs/hipwright/upstream..refs/hipwright/base").splitlines()
    assert base == ["Record the ROCm version as torch.version.rocm"]
    hipified = git(tree, "log", "--reverse", "--format=%s", "refs/hipwright/hipified..HEAD").splitlines()
    assert hipified == [
        "Load ROCm's libraries out of its Python packages",
        "Find ROCm's Python packages when building extensions",
    ]
    assert git(tree, "log", "-1", "--format=%b", "HEAD").strip()


def test_the_preload_hook_does_what_it_says(tree: Path, tmp_path: Path) -> None:
    """The hook's own lines, run in a package that is as empty as can be."""
    text = (tree / "torch" / "__init__.py").read_text(encoding="utf-8")
    start = text.index("try:\n    _rocm_init")
    hook = text[start : text.index("\nif sys.platform", start)]
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(f"import importlib\n{hook}\n", encoding="utf-8")

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", "-c", "import torch; print(sorted(n for n in vars(torch) if 'rocm' in n))"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run().stdout == "[]\n", "a build without ROCm must import as before"
    (package / "_rocm_init.py").write_text("def initialize():\n    print('ready')\n", encoding="utf-8")
    assert run().stdout == "ready\n[]\n"
    (package / "_rocm_init.py").write_text("import rocm_sdk_that_is_missing\n", encoding="utf-8")
    assert "No module named 'rocm_sdk_that_is_missing'" in run().stderr


def test_extensions_are_built_with_the_rocm_of_the_environment(tree: Path, tmp_path: Path) -> None:
    """The function that looks for ROCm, alone, with packages that are as empty as can be."""
    text = (tree / "torch" / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    # The module imports setuptools too, which this function does not use and which not every environment has.
    imports = [line for line in text.splitlines() if re.fullmatch(r"import (?!torch|setuptools)[a-z.]+", line)]
    start = text.index("def _find_rocm_home()")
    function = text[start : text.index("\ndef ", start + 1)]
    rest = "from typing import Optional\nclass torch:\n    class version:\n        hip = None\nIS_WINDOWS = False\nSUBPROCESS_DECODE_ARGS = ()\n"
    script = tmp_path / "find.py"
    said = "print(_find_rocm_home())\n"
    script.write_text("\n".join([*imports, rest, function, said]), encoding="utf-8")
    hipcc = tmp_path / "other" / "bin" / "hipcc"
    hipcc.parent.mkdir(parents=True)
    hipcc.write_text("#!/bin/sh\n", encoding="utf-8")
    hipcc.chmod(0o755)
    packages = tmp_path / "site-packages"
    packages.mkdir()

    def find(**names: str) -> str:
        environment = {"PATH": str(hipcc.parent), "PYTHONPATH": str(packages), **names}
        done = subprocess.run([sys.executable, "-B", str(script)], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert find() == str(tmp_path / "other"), "without the packages it is as before"
    for name in ("_rocm_sdk_core", "_rocm_sdk_devel"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("raise SystemExit('nothing is to be imported')\n", encoding="utf-8")
        assert find() == str(packages / name), "the development package has everything, so it goes first"
    assert find(ROCM_HOME="/mine") == "/mine"


def test_the_version_script_takes_the_rocm_version(tree: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tree"
    for name in ("tools/generate_torch_version.py", "version.txt"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((tree / name).read_bytes())
    (copy / "torch").mkdir()
    assert "--rocm-version=${ROCM_VERSION_DEV}" in (tree / "torch" / "CMakeLists.txt").read_text(encoding="utf-8")
    # The script imports distutils out of setuptools for one function.
    stand_in = tmp_path / "setuptools.py"
    stand_in.write_text("class distutils:\n    class util:\n        strtobool = bool\n", encoding="utf-8")
    words = ["--is-debug=", "--cuda-version=", "--hip-version=7.2.1", "--rocm-version=7.10.0"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTORCH_BUILD_VERSION": "2.6.0", "PYTORCH_BUILD_NUMBER": "1"}
    subprocess.run([sys.executable, "-B", copy / "tools" / "generate_torch_version.py", *words], env=environment, check=True)
    found: dict[str, str] = {}
    exec((copy / "torch" / "version.py").read_text(encoding="utf-8"), found)  # noqa: S102 - what the script has just written
    assert (found["hip"], found["rocm"]) == ("7.2.1", "7.10.0")


def test_a_second_run_does_nothing(place: Path, inputs: dict[str, Path], tree: Path) -> None:
    before = git(tree, "rev-parse", "HEAD")
    again = checkout(place, inputs)
    assert again.status == 0, again.talk
    assert again.states() == dict.fromkeys(STAGES, "skipped")
    assert git(tree, "rev-parse", "HEAD") == before
    assert sum(stage["seconds"] for stage in again.document["stages"]) < 10


def test_a_ref_that_is_not_there_names_the_origin_and_a_close_one(inputs: dict[str, Path], tmp_path: Path) -> None:
    ran = checkout(tmp_path, inputs, ref="release/2.7")
    assert ran.status != 0
    error = ran.document["error"]
    assert error["code"] == "unknown-ref"
    assert str(inputs["pytorch-origin"]) in error["message"]
    assert "release/2.6" in error["hint"]


@pytest.mark.real("real")
def test_a_release_without_patches_is_hipified_too(inputs: dict[str, Path], tmp_path: Path) -> None:
    ran = checkout(tmp_path, inputs, ref="release/1.13")
    assert ran.status == 0, ran.talk
    tree = tmp_path / "work" / "src" / "pytorch"
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "rev-parse", "refs/hipwright/base") == git(tree, "rev-parse", "refs/hipwright/upstream")
    changes = git(tree, "diff", "--name-status", "--no-renames", "refs/hipwright/base", "HEAD").splitlines()
    kinds = [line.split("\t")[0] for line in changes]
    assert (kinds.count("M"), kinds.count("A")) == (98, 777)
