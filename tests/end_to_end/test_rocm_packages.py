"""ROCm's Python packages from a run's artifacts to a program that CMake builds with the installed ones, in a folder and on S3.

Every step is a command as a person gives it: fetch the artifacts, build packages, upload them into the run's outputs, install from
there, ask the SDK, build with it. The artifacts are the sample's, and a generated tree with every library and 20 targets.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.process import Runner, base_environment
from build_tools.rocm.artifact_sources import compile_artifacts
from build_tools.types import Platform
from tests.support.rocm_story import GROUP, RUN, Place, Story, build_with_cmake, content, folder_place, s3_place, tell
from tests.support.rocm_trees import TARGETS, make_tree
from tests.support.sample_sdk import SDK

if TYPE_CHECKING:
    from tests.support.commands import Desk
    from tests.support.s3 import S3Server

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(sys.platform != "linux", reason="compiles the Linux layout"),
]
needs_cmake = pytest.mark.skipif(
    not (shutil.which("cmake") and shutil.which("ninja")), reason="cmake and ninja are not both on this machine"
)

VERSION = "7.10.0.dev0"
LARGE = "7.13.0a20261128"
SAMPLE_LISTS = """
cmake_minimum_required(VERSION 3.21)
project(uses_rocm LANGUAGES CXX)
find_package(hip 7.10 REQUIRED CONFIG)
find_package(rocblas REQUIRED CONFIG)
add_executable(made main.cpp)
target_link_libraries(made PRIVATE hip::device roc::rocblas)
"""
SAMPLE_SOURCE = """
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>
#include <cstdio>

__global__ void twice(int* x) { *x *= 2; }

int main() {
    int driver = 0, blas = 0, x = 21;
    if (hipDriverGetVersion(&driver) != hipSuccess || rocblas_get_version(&blas) != 0) return 1;
    hipLaunchKernelGGL(twice, dim3(1), dim3(1), 0, 0, &x);
    std::printf("%d %d %d\\n", driver, blas, x);
}
"""
LARGE_LISTS = """
cmake_minimum_required(VERSION 3.21)
project(uses_rocm LANGUAGES CXX)
find_package(hip 7.13 REQUIRED CONFIG)
find_package(hipsolver REQUIRED CONFIG)
add_executable(made main.cpp)
target_link_libraries(made PRIVATE roc::hipsolver hip::host)
"""
LARGE_SOURCE = """
#include <hip/hip_runtime.h>
#include <hipsolver/hipsolver.h>
#include <cstdio>

extern "C" const char* rocm_tree_name();

int main() { std::printf("%s %d\\n", rocm_tree_name(), HIP_VERSION); }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's artifacts, as ROCm's build would leave them."""
    target = tmp_path_factory.mktemp("compiled")
    compile_artifacts(SDK, target, runner=Runner(environment=base_environment(os.environ)), platform=Platform.LINUX)
    return target


@pytest.fixture(scope="module", params=["folder", "s3"])
def place(request: pytest.FixtureRequest, compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place whose run has the artifacts, packed as archives."""
    folder = tmp_path_factory.mktemp("store")
    if request.param == "folder":
        return folder_place(compiled, folder)
    server: S3Server = request.getfixturevalue("s3_server")
    return s3_place(compiled, folder, server)


@pytest.fixture(scope="module")
def story(desk: Desk, place: Place, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("story")
    install = "rocm[libraries,devel,device-gfx942]"
    return tell(desk, place, folder, version=VERSION, targets="gfx942,gfx1201", install=install)


def test_what_is_fetched_is_what_the_run_has(story: Story, compiled: Path) -> None:
    there = {artifact.name: content(artifact) for artifact in compiled.iterdir()}
    fetched = {name: content(story.artifacts / name) for name in there}
    # Each has the mark that it is whole.
    assert all(files.pop(".fetched.json", None) for files in fetched.values())
    assert fetched == there


def test_the_packages_are_those_of_the_two_targets(story: Story) -> None:
    names = {path.name.split("-")[0] if path.suffix == ".whl" else path.name for path in (story.packages / "dist").iterdir()}
    assert names == {
        *("rocm", f"rocm-{VERSION}.tar.gz", "rocm_sdk_core", "rocm_sdk_libraries", "rocm_sdk_devel"),
        *("rocm_sdk_device_gfx942", "rocm_sdk_device_gfx1201"),
    }


def test_packages_that_are_there_are_not_made_again(story: Story) -> None:
    before = content(story.packages), {path: path.stat().st_mtime_ns for path in story.packages.rglob("*")}
    words = ("--artifact-dir", story.artifacts, "--dest-dir", story.packages, "--version", VERSION)
    story.desk.nox("build_rocm_packages", *words, "--json").well()
    assert (content(story.packages), {path: path.stat().st_mtime_ns for path in story.packages.rglob("*")}) == before


def test_the_environment_has_these_packages_and_no_other_of_rocm(story: Story) -> None:
    listed = json.loads(story.said("python", "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"))
    assert {row["name"]: row["version"] for row in listed if row["name"].startswith("rocm")} == dict.fromkeys(
        ("rocm", "rocm-sdk-core", "rocm-sdk-libraries", "rocm-sdk-devel", "rocm-sdk-device-gfx942"), VERSION
    )
    assert "No broken requirements" in story.said("python", "-m", "pip", "check")


def test_the_sdk_says_what_it_is(story: Story) -> None:
    assert story.said("rocm-sdk", "version") == VERSION
    assert story.said("rocm-sdk", "targets").replace(";", " ").split() == ["gfx942", "gfx1201"]
    root = Path(story.said("rocm-sdk", "path", "--root"))
    assert root.is_relative_to(story.environment)
    assert Path(story.said("rocm-sdk", "path", "--cmake"), "hip", "hip-config.cmake").is_file()
    assert (root / "lib" / "rocblas" / "library" / "TensileLibrary_gfx942.dat").is_file()
    assert not (root / "lib" / "rocblas" / "library" / "TensileLibrary_gfx1201.dat").exists()


def test_programs_keep_the_names_that_they_are_called_by(story: Story) -> None:
    assert story.said("amdclang++", "--version").endswith("C++ driver")
    assert story.said("amdclang", "--version").endswith("C driver")
    assert story.said("hipcc", "--version").startswith("HIP version: 7.10.0")


def test_the_sdk_tests_itself_and_says_what_it_could_not(story: Story) -> None:
    document = json.loads(story.said("rocm-sdk", "test", "--json"))
    assert document["status"] == "passed"
    suites = document["suites"]
    assert {name: suite["status"] for name, suite in suites.items()} == {
        **dict.fromkeys(("base", "core", "libraries", "devel", "device"), "passed"),
        "profiler": "untested",
    }
    assert all(suite["passed"] for name, suite in suites.items() if name != "profiler")
    assert not any(suite["failed"] for suite in suites.values())
    assert "no AMD GPU is found here" in json.dumps(suites["device"]["untested"])


def test_the_command_that_tests_packages_installs_them_from_the_run(story: Story) -> None:
    words = ("--rocm-run-id", RUN, "--artifact-group", GROUP, *story.place.words)
    ran = story.desk.nox("test_rocm", *words, "--json").well()
    assert ran.document["ok"] is True
    (told,) = ran.document["tests"]
    assert Path(told["verdict"]).is_file()
    # Its verdict lies beside the packages, which were written with the same words.
    assert "the verdict could not be put" not in ran.talk


@needs_cmake
def test_cmake_builds_with_the_installed_sdk(story: Story, tmp_path: Path) -> None:
    said = build_with_cmake(story, tmp_path, lists=SAMPLE_LISTS, source=SAMPLE_SOURCE)
    assert said.split() == ["71000000", "71000000", "42"]


@pytest.fixture(scope="module")
def large(desk: Desk, s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The generated tree, on the server."""
    folder = tmp_path_factory.mktemp("large")
    tree = make_tree(folder / "tree")
    assert tree.count > 2500
    place = s3_place(tree.folder, folder / "archives", s3_server)
    install = "rocm[libraries,devel,profiler,device-gfx942,device-gfx1201]"
    return tell(desk, place, folder, version=LARGE, targets=",".join(TARGETS), install=install)


def test_a_large_tree_gives_a_package_for_each_target(large: Story) -> None:
    names = {path.name.split("-")[0] for path in (large.packages / "dist").glob("*.whl")}
    host = {"rocm", "rocm_sdk_core", "rocm_sdk_libraries", "rocm_sdk_devel", "rocm_profiler"}
    assert names == host | {f"rocm_sdk_device_{target}" for target in TARGETS}


def test_all_libraries_of_a_large_tree_are_found_and_load(large: Story) -> None:
    document = json.loads(large.said("rocm-sdk", "test", "--json"))
    assert {name: suite["status"] for name, suite in document["suites"].items()} == dict.fromkeys(document["suites"], "passed")
    untested = {row["test"] for suite in document["suites"].values() for row in suite["untested"]}
    assert not [test for test in untested if "libraries_are_found" in test]
    script = "import rocm_sdk; print(len(rocm_sdk.find_libraries('amdhip64', 'miopen', 'rccl', 'roctx64', 'rocm-openblas')))"
    assert large.said("python", "-c", script) == "5"


@needs_cmake
def test_cmake_builds_with_a_large_sdk(large: Story, tmp_path: Path) -> None:
    assert build_with_cmake(large, tmp_path, lists=LARGE_LISTS, source=LARGE_SOURCE) == "hipsolver of generic 71300000"
