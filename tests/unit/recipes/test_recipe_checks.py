"""What each recipe says that its wheels must be: nothing that the rules go by is left empty without a written reason."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Final

import pytest

from build_tools.checks.profile import demands_for
from build_tools.config.project import load_project, project_names
from build_tools.types import Platform, ProjectName

EXTERNAL_BUILDS: Final = Path(__file__).resolve().parents[3] / "external-builds"
NAMES: Final = project_names(EXTERNAL_BUILDS)
WHEEL: Final = ("required-members", "linux-members", "windows-members", "forbidden-members", "pinned-requirements")
CHECK: Final = ("device-code", "size-limit", "glibc")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_recipe_leaves_empty_has_its_reason(name: ProjectName) -> None:
    project = load_project(EXTERNAL_BUILDS, name)
    text = (EXTERNAL_BUILDS / name / "project.toml").read_text(encoding="utf-8")
    reasons = " ".join(line for line in text.splitlines() if line.startswith("# No "))
    for table, keys in ((project.wheel, WHEEL), (project.check, CHECK)):
        for key in keys:
            stated = bool(getattr(table, key.replace("-", "_")))
            told = re.search(rf"\b[Nn]o {key}\b[^#]*: \S", reasons) is not None
            assert stated != told, f"{name}: {key} is {'stated, and said to be left out' if stated else 'empty without a reason'}"


def _complains(name: str, platform: Platform, members: list[str]) -> tuple[list[str], list[str]]:
    """Return what is missing of a wheel with these members, and what must not be there."""
    demands = demands_for(load_project(EXTERNAL_BUILDS, ProjectName(name)), platform)
    missing = [wanted for wanted in demands.members if not fnmatch.filter(members, wanted)]
    wrong = [member for member in members if any(fnmatch.fnmatchcase(member, pattern) for pattern in demands.forbidden)]
    return missing, wrong


PUBLISHED: Final = {
    ("pytorch-vision", Platform.LINUX): ["__init__.py", "version.py", "_C.so", "image.so", "ops/misc.py"],
    ("pytorch-vision", Platform.WINDOWS): ["__init__.py", "version.py", "_C.pyd", "image.pyd", "jpeg8.dll", "libpng16.dll"],
    ("pytorch-audio", Platform.LINUX): [
        "__init__.py", "version.py", "lib/_torchaudio.abi3.so", "lib/libtorchaudio.abi3.so", "models/decoder/_cuda_ctc_decoder.py",
    ],
    ("pytorch-audio", Platform.WINDOWS): ["__init__.py", "version.py", "lib/_torchaudio.pyd", "lib/libtorchaudio.pyd"],
    ("triton", Platform.LINUX): [
        "__init__.py", "_C/libtriton.so", "_C/libproton.so", "backends/amd/compiler.py", "backends/amd/driver.py",
        "backends/nvidia/driver.py", "backends/nvidia/lib/cupti/libcupti.so",
    ],
    ("triton", Platform.WINDOWS): ["__init__.py", "_C/libtriton.pyd", "backends/amd/compiler.py", "backends/amd/driver.py"],
    ("pytorch", Platform.LINUX): [
        "__init__.py", "_rocm_init.py", "version.py", "utils/hipify/hipify_python.py", "_C.cpython-312-x86_64-linux-gnu.so",
        "lib/libc10_hip.so", "lib/libtorch_cpu.so", "lib/libtorch_hip.so", "lib/libcaffe2_nvrtc.so", "bin/test_api",
        "include/ATen/cuda/CUDAContext.h", "testing/_internal/common_cuda.py",
    ],
    ("pytorch", Platform.WINDOWS): [
        "__init__.py", "_rocm_init.py", "version.py", "utils/hipify/hipify_python.py", "_C.cp312-win_amd64.pyd",
        "lib/c10_hip.dll", "lib/torch_cpu.dll", "lib/torch_hip.dll", "lib/uv.dll", "lib/libomp140.x86_64.dll",
    ],
    ("apex", Platform.LINUX): [
        "__init__.py", "git_version_info_installed.py", "amp_C.cpython-312-x86_64-linux-gnu.so",
        "apex_C.cpython-312-x86_64-linux-gnu.so", "fused_layer_norm_cuda.cpython-312-x86_64-linux-gnu.so", "contrib/test/fmha/test_fmha.py",
    ],
}  # fmt: skip
"""Members as published wheels and upstream's sources name them, below the package's own folder."""

FOLDERS: Final = {"pytorch": "torch", "pytorch-vision": "torchvision", "pytorch-audio": "torchaudio"}


@pytest.mark.parametrize(("name", "platform"), PUBLISHED, ids=[f"{name} on {system.value}" for name, system in PUBLISHED])
def test_a_wheel_as_upstream_makes_it_is_right(name: str, platform: Platform) -> None:
    folder = FOLDERS.get(name, name)
    members = [f"{folder}/{member}" for member in PUBLISHED[name, platform]]
    assert _complains(name, platform, members) == ([], [])
    for left_out in demands_for(load_project(EXTERNAL_BUILDS, ProjectName(name)), platform).members:
        rest = [member for member in members if not fnmatch.fnmatchcase(member, left_out)]
        assert left_out in _complains(name, platform, rest)[0]


@pytest.mark.parametrize(
    ("name", "platform", "member"),
    [
        ("pytorch", Platform.LINUX, "torch/lib/libtorch_cuda.so"),
        ("pytorch", Platform.LINUX, "torch/lib/libcudart.faf08d9a.so.13"),
        ("pytorch", Platform.LINUX, "torch/lib/libamdhip64.so.7"),
        ("pytorch", Platform.WINDOWS, "torch/lib/c10_cuda.dll"),
        ("pytorch", Platform.WINDOWS, "torch/lib/cudart64_13.dll"),
        ("pytorch-vision", Platform.LINUX, "torchvision.libs/libnvjpeg.36e11081.so.13"),
        ("pytorch-vision", Platform.WINDOWS, "torchvision/python311.dll"),
        ("pytorch-audio", Platform.LINUX, "test/torchaudio_unittest/common.py"),
        ("apex", Platform.LINUX, "tests/L0/run_test.py"),
        ("triton", Platform.LINUX, "triton/backends/amd/lib/libamdhip64.so"),
        ("torch-spline-conv", Platform.LINUX, "torch_spline_conv/_basis_cuda.so"),
    ],
)
def test_what_has_no_business_in_a_wheel_for_rocm_is_told(name: str, platform: Platform, member: str) -> None:
    assert _complains(name, platform, [member])[1] == [member]


def test_rocm_in_a_folder_of_its_own_is_put_there_on_purpose() -> None:
    assert _complains("pytorch", Platform.LINUX, ["torch/lib/rocm/lib/libamdhip64.so.7"])[1] == []


def test_the_part_of_vision_with_few_kernels_stands_for_the_whole_nowhere() -> None:
    stable = ["torchvision/__init__.py", "torchvision/version.py", "torchvision/_C_stable.so", "torchvision/image.so"]
    assert _complains("pytorch-vision", Platform.LINUX, stable)[0] == ["torchvision/_C.*so"]
