"""The environments of the real builds, held against the table of settings that today's builds of the same projects have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from build_tools.builds.developer_prompt import VisualStudio
from build_tools.builds.hooks import load_hooks
from build_tools.builds.plan import BuildPlan, BuildWishes, plan_build
from build_tools.builds.variables import BuildFolders, SdkParts
from build_tools.config.project import load_project
from build_tools.receipts.values import EnvironmentRecord, Sdk
from build_tools.types import GfxTarget, Platform, ProjectName
from tests.support.builds import DIGEST, lock, tree

EXTERNAL_BUILDS: Final = Path(__file__).resolve().parents[3] / "external-builds"
LINUX, WINDOWS = Platform.LINUX, Platform.WINDOWS
PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13", "3.14", "3.14t")
NO_WARNINGS: Final = "-Wno-error=maybe-uninitialized -Wno-error=uninitialized -Wno-error=restrict"
ROCM: Final = "7.10.0"
TORCH: Final = "torch==2.9.0+rocm7.10.0"

COMMON: Final = {
    "PYTHONUTF8": "1",
    "CMAKE_PREFIX_PATH": "{cmake}",
    "ROCM_HOME": "{root}",
    "ROCM_PATH": "{root}",
    "HIP_DEVICE_LIB_PATH": "{bitcode}",
    "PYTORCH_ROCM_ARCH": "gfx942;gfx1201",
}
"""What every build against ROCm has on both systems."""

COMPILER: Final = {"HIP_CLANG_PATH": "{clang}", "CC": "{clang_cl}", "CXX": "{clang_cl}"}
"""What it has on Windows besides."""

APART: Final = "TRITON_APPEND_CMAKE_ARGS", "-DCMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH=FALSE"


@dataclass(frozen=True)
class Row:
    """A row of the table: a project on a system, and what its build must have; ``absent`` are names that it must not have."""

    project: str
    platform: Platform
    expected: dict[str, str]
    flags: str = ""
    absent: tuple[str, ...] = ()


TORCH_ROW: Final = {
    **COMMON,
    "USE_ROCM": "ON",
    "USE_CUDA": "OFF",
    "USE_MPI": "OFF",
    "USE_NUMA": "OFF",
    "USE_GLOO": "ON",
    "PYTORCH_BUILD_VERSION": "2.9.0+rocm7.10.0",
    "PYTORCH_BUILD_NUMBER": "1",
    "PYTORCH_EXTRA_INSTALL_REQUIREMENTS": "rocm[libraries]==7.10.0|triton==3.6.0+rocm7.10.0",
    "USE_FLASH_ATTENTION": "ON",
    "USE_MEM_EFF_ATTENTION": "ON",
    APART[0]: APART[1],
}
AUDIO_ROW: Final = {
    **COMMON,
    "BUILD_VERSION": "2.9.0+rocm7.10.0",
    "BUILD_NUMBER": "1",
    "PYTORCH_VERSION": "2.9.0+rocm7.10.0",
    "USE_ROCM": "1",
    "USE_CUDA": "0",
    "USE_FFMPEG": "1",
    "USE_OPENMP": "1",
    "BUILD_SOX": "0",
}
VISION_ROW: Final = {
    **COMMON,
    "BUILD_VERSION": "2.9.0+rocm7.10.0",
    "BUILD_NUMBER": "1",
    "PYTORCH_VERSION": "2.9.0+rocm7.10.0",
    "FORCE_CUDA": "1",
    "TORCHVISION_USE_NVJPEG": "0",
    "TORCHVISION_USE_VIDEO_CODEC": "0",
}
NUNCHAKU_ROW: Final = {
    **COMMON,
    "NUNCHAKU_HIP_ARCHES": "gfx942,gfx1201",
    "NUNCHAKU_VERSION": "2.9.0+rocm7.10.0",
    "NUNCHAKU_BLOCK_SPARSE": "0",
    "NUNCHAKU_BUILD_WHEELS": "1",
}
TABLE: Final = (
    Row(
        "pytorch",
        LINUX,
        {
            **TORCH_ROW,
            "USE_KINETO": "ON",
            "LDFLAGS": "-L{root}/lib/rocm_sysdeps/lib",
            "PKG_CONFIG_PATH": "{root}/lib/rocm_sysdeps/lib/pkgconfig",
            "LD_LIBRARY_PATH": "{root}/lib/rocm_sysdeps/lib",
            "CPPFLAGS": NO_WARNINGS,
        },
        flags=f"{NO_WARNINGS} -I{{root}}/lib/rocm_sysdeps/include -I{{root}}/include/roctracer",
        absent=("CC", "CXX", "HIP_CLANG_PATH", "DISTUTILS_USE_SDK", "BUILD_TEST", "BLAS"),
    ),
    Row(
        "pytorch",
        WINDOWS,
        {**TORCH_ROW, **COMPILER, "USE_KINETO": "OFF", "DISTUTILS_USE_SDK": "1", "BUILD_TEST": "0"},
        absent=("CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH"),
    ),
    Row("pytorch-audio", LINUX, {**AUDIO_ROW, "CPPFLAGS": NO_WARNINGS}, flags=NO_WARNINGS, absent=("DISTUTILS_USE_SDK", "CC")),
    Row("pytorch-audio", WINDOWS, {**AUDIO_ROW, **COMPILER, "DISTUTILS_USE_SDK": "1"}, absent=("CXXFLAGS", "CPPFLAGS")),
    Row("pytorch-vision", LINUX, {**VISION_ROW, "CPPFLAGS": NO_WARNINGS}, flags=NO_WARNINGS, absent=("DISTUTILS_USE_SDK", "CC")),
    Row("pytorch-vision", WINDOWS, {**VISION_ROW, **COMPILER, "DISTUTILS_USE_SDK": "1"}, absent=("CXXFLAGS", "CPPFLAGS")),
    Row(
        "triton",
        LINUX,
        {
            **{name: value for name, value in COMMON.items() if name != "PYTORCH_ROCM_ARCH"},
            "TRITON_WHEEL_VERSION_SUFFIX": "+rocm7.10.0",
            "TRITON_WHEEL_NAME": "triton",
            APART[0]: APART[1],
        },
        absent=("TRITON_BUILD_PROTON", "LLVM_BUILD_DIR", "LLVM_SYSPATH"),
    ),
    Row(
        "triton",
        WINDOWS,
        {
            "LLVM_BUILD_DIR": "D:\\llvm",
            "LLVM_INCLUDE_DIRS": "D:\\llvm\\include",
            "LLVM_LIBRARY_DIR": "D:\\llvm\\lib",
            "LLVM_SYSPATH": "D:\\llvm",
            "TRITON_BUILD_PROTON": "OFF",
            "TRITON_WHEEL_NAME": "triton",
            APART[0]: APART[1],
        },
        absent=(*COMPILER, *COMMON.keys() - {"PYTHONUTF8"}, "TRITON_WHEEL_VERSION_SUFFIX"),
    ),
    Row(
        "apex",
        LINUX,
        {**COMMON, "BUILD_VERSION": "2.9.0+rocm7.10.0", "BUILD_NUMBER": "1", "CPPFLAGS": NO_WARNINGS},
        flags=NO_WARNINGS,
        absent=("CC",),
    ),
    Row("nunchaku", LINUX, NUNCHAKU_ROW, absent=("DISTUTILS_USE_SDK", "CC")),
    Row("nunchaku", WINDOWS, {**NUNCHAKU_ROW, **COMPILER, "DISTUTILS_USE_SDK": "1"}),
)
IDS: Final = [f"{row.project} on {row.platform.value}" for row in TABLE]


def planned(
    name: str,
    platform: Platform,
    *,
    python: str = "3.12",
    wishes: BuildWishes | None = None,
    root: str | None = None,
    base: str = "2.9.0",
) -> tuple[BuildPlan, Sdk, SdkParts]:
    """Plan the build of a real project for two targets, as after a build of triton and of torch."""
    project = load_project(EXTERNAL_BUILDS, ProjectName(name))
    windows = platform is WINDOWS
    folder = "D:\\envs\\e" if windows else "/envs/e"
    root = root or (f"{folder}\\rocm" if windows else f"{folder}/rocm")
    slash = "\\" if windows else "/"
    number = python.removesuffix("t").replace("3.", "3")
    record = EnvironmentRecord(
        folder=folder,
        digest=DIGEST,
        python=f"{folder}\\Scripts\\python.exe" if windows else f"{folder}/bin/python",
        python_version=f"{python.removesuffix('t')}.1",
        python_tag=f"cp{number}{'t' if python.endswith('t') else ''}",
        packages=(),
    )
    sdk = Sdk(
        environment=record,
        version=ROCM,
        root=root,
        bin=f"{root}{slash}bin",
        cmake=f"{root}{slash}lib{slash}cmake",
        targets=("gfx942", "gfx1201"),
    )
    llvm = f"{root}{slash}lib{slash}llvm"
    parts = SdkParts(device_library=f"{llvm}{slash}amdgcn{slash}bitcode", clang=f"{llvm}{slash}bin")
    owned = {"pytorch": {"triton": "3.6.0+rocm7.10.0"}, "triton": {}}.get(name, {"torch": "2.9.0+rocm7.10.0"})
    plan = plan_build(
        project,
        EXTERNAL_BUILDS / name,
        source=tree(base_version=base),
        sdk=sdk,
        locked=lock(rocm=ROCM, owned=owned),
        hooks=load_hooks(EXTERNAL_BUILDS / name),
        parts=parts,
        folders=BuildFolders(tree=Path("/w/src"), home=Path("/w/home"), temporary=Path("/w/tmp")),
        platform=platform,
        path="C:\\Windows" if windows else "/usr/bin",
        targets=tuple(map(GfxTarget, sdk.targets)),
        jobs=4,
        wishes=wishes or BuildWishes(machine={"LLVM_BUILD_DIR": "D:\\llvm"}),
    )
    return plan, sdk, parts


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_a_build_has_the_settings_of_the_table(row: Row, python: str) -> None:
    plan, sdk, parts = planned(row.project, row.platform, python=python)
    places = {
        "root": sdk.root or "",
        "cmake": sdk.cmake or "",
        "bitcode": parts.device_library or "",
        "clang": parts.clang or "",
        "clang_cl": f"{parts.clang}\\clang-cl.exe",
    }
    expected = {name: value.format(**places) for name, value in row.expected.items()}
    assert {name: plan.environment.get(name) for name in expected} == expected
    assert row.flags.format(**places) in plan.environment.get("CXXFLAGS", "")
    assert [name for name in row.absent if name in plan.environment] == []


@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_programs_of_the_environment_and_its_rocm_come_before_the_machine_s(row: Row) -> None:
    plan, sdk, _ = planned(row.project, row.platform)
    windows = row.platform is WINDOWS
    first, second, *rest = plan.environment["PATH"].split(";" if windows else ":")
    assert first == (f"{sdk.environment.folder}\\Scripts" if windows else f"{sdk.environment.folder}/bin")
    assert second == sdk.bin
    assert rest == ["C:\\Windows" if windows else "/usr/bin"]


def test_rocms_own_blas_is_taken_where_the_sdk_has_it(tmp_path: Path) -> None:
    (tmp_path / "lib" / "host-math").mkdir(parents=True)
    environment = planned("pytorch", LINUX, root=str(tmp_path))[0].environment
    assert {name: environment[name] for name in ("BLAS", "OpenBLAS_HOME", "OpenBLAS_LIB_NAME")} == {
        "BLAS": "OpenBLAS",
        "OpenBLAS_HOME": str(tmp_path / "lib" / "host-math"),
        "OpenBLAS_LIB_NAME": "rocm-openblas",
    }


@pytest.mark.parametrize("name", ["pytorch", "pytorch-audio", "pytorch-vision", "apex", "triton"])
def test_versions_of_development_builds_name_the_commit(name: str) -> None:
    plan = planned(name, LINUX, wishes=BuildWishes(names_commit=True))[0]
    assert plan.version == "2.9.0+git11111111.rocm7.10.0"
    assert planned(name, LINUX)[0].version == "2.9.0+rocm7.10.0"


def test_triton_for_windows_has_the_version_of_its_sources() -> None:
    for wishes in (BuildWishes(), BuildWishes(names_commit=True)):
        assert planned("triton", WINDOWS, base="3.6.0", wishes=wishes)[0].version == "3.6.0"
    assert planned("triton", LINUX, base="3.6.0")[0].version == "3.6.0+rocm7.10.0"


def test_a_person_has_the_last_word_on_a_setting() -> None:
    said = {"USE_KINETO": "OFF", "CPPFLAGS": "-O1", "USE_GLOO": "", "MINE": "1"}
    environment = planned("pytorch", LINUX, wishes=BuildWishes(overrides=said))[0].environment
    assert (environment["USE_KINETO"], environment["CPPFLAGS"], environment["MINE"]) == ("OFF", "-O1", "1")
    assert "USE_GLOO" not in environment


@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_of_the_machine_s_environment_only_what_the_recipe_names_gets_in(row: Row) -> None:
    machine = {
        name: f"hostile {name}"
        for name in (
            *("HIP_PATH", "ROCM_PATH", "CFLAGS", "CXXFLAGS", "CC", "CXX", "PIP_INDEX_URL", "PYTHONPATH", "USE_CUDA", "MAX_JOBS"),
            *("HIP_PLATFORM", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "UV_INDEX", "PYTORCH_BUILD_VERSION"),
        )
    }
    named = load_project(EXTERNAL_BUILDS, ProjectName(row.project)).build.machine_variables
    machine |= {name: f"named {name}" for name in named}
    plan = planned(row.project, row.platform, wishes=BuildWishes(machine=machine))[0]
    assert [name for name, value in plan.environment.items() if "hostile" in value] == []
    assert dict(plan.context.machine) == {name: f"named {name}" for name in named}


STUDIO: Final = VisualStudio(
    about="Visual Studio 2022",
    variables={
        "INCLUDE": "C:\\vc\\include",
        "LIB": "C:\\vc\\lib",
        "VCTOOLSREDISTDIR": "C:\\vc\\redist",
        "DISTUTILS_USE_SDK": "1",
    },
    path=("C:\\vc\\bin", "C:\\kits\\bin"),
)


@pytest.mark.parametrize("name", ["pytorch", "pytorch-audio", "pytorch-vision", "triton"])
def test_what_visual_studio_sets_gets_into_builds_on_windows_alone(name: str) -> None:
    stray = {"INCLUDE": "stray", "LIB": "stray", "VCINSTALLDIR": "stray", "LLVM_BUILD_DIR": "D:\\llvm"}
    plan, sdk, _ = planned(name, WINDOWS, wishes=BuildWishes(machine=stray, studio=STUDIO))
    assert {"INCLUDE": "C:\\vc\\include", "LIB": "C:\\vc\\lib", "DISTUTILS_USE_SDK": "1"}.items() <= plan.environment.items()
    assert plan.environment["PATH"].split(";")[1:] == [sdk.bin, "C:\\vc\\bin", "C:\\kits\\bin", "C:\\Windows"]
    assert "stray" not in plan.environment.values()
    assert plan.studio is not None
    # A hook finds what the recipe names by the recipe's spelling, and no build gets a variable twice.
    named = "VCToolsRedistDir" if name == "pytorch" else "VCTOOLSREDISTDIR"
    assert plan.studio.variables.keys() == {"INCLUDE", "LIB", "DISTUTILS_USE_SDK", named}
    assert plan.context.machine[named] == plan.environment[named] == "C:\\vc\\redist"
    assert len({variable.upper() for variable in plan.environment}) == len(plan.environment)
    other = planned(name, LINUX, wishes=BuildWishes(machine=stray, studio=STUDIO))[0]
    assert other.studio is None
    assert not {"INCLUDE", "LIB", named} & other.environment.keys()
    assert "C:\\vc" not in other.environment["PATH"]


def test_a_person_has_the_last_word_on_visual_studio_s_variables_too() -> None:
    wishes = BuildWishes(studio=STUDIO, overrides={"Include": "mine", "DISTUTILS_USE_SDK": ""})
    environment = planned("pytorch", WINDOWS, wishes=wishes)[0].environment
    assert {name: value for name, value in environment.items() if name.upper() == "INCLUDE"} == {"Include": "mine"}
    assert "DISTUTILS_USE_SDK" not in environment
