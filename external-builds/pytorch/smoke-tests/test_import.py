"""The installed torch is whole: versions agree, its operators are there, and a ROCm wheel knows its ROCm packages."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re

import pytest
import torch

VERSION = importlib.metadata.version("torch")
LOCAL = VERSION.partition("+")[2]

# hipwright's wheels for ROCm say so in their version; a wheel from elsewhere may be for CPUs.
rocm_only = pytest.mark.skipif(re.match(r"(dev)?rocm", LOCAL) is None, reason=f"torch {VERSION} is not a ROCm wheel")


def test_the_module_says_what_the_metadata_say() -> None:
    assert torch.__version__ == VERSION


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", str(torch.version.git_version))


def test_it_was_built_without_debugging() -> None:
    assert not torch.version.debug


@pytest.mark.parametrize(
    "operator", ["aten::mm", "aten::convolution", "aten::linalg_eig", "aten::_fft_r2c", "aten::native_layer_norm"]
)
def test_an_operator_has_an_implementation_for_the_cpu(operator: str) -> None:
    assert torch._C._dispatch_has_kernel_for_dispatch_key(operator, "CPU") or torch._C._dispatch_has_kernel_for_dispatch_key(  # noqa: SLF001
        operator, "CompositeExplicitAutograd"
    )


@rocm_only
def test_it_was_built_for_hip() -> None:
    assert torch.version.hip is not None
    assert torch.version.cuda is None


@rocm_only
def test_it_has_code_for_gpus() -> None:
    """Known without a GPU; empty when the build was given no architectures, so that no kernel is in the wheel."""
    found = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None  # noqa: SLF001
    assert found
    assert all(name.startswith("gfx") for name in found.split())


@rocm_only
def test_its_hip_is_that_of_the_installed_rocm() -> None:
    """HIP's major and minor version are ROCm's."""
    built, installed = str(torch.version.hip), importlib.metadata.version("rocm")
    assert built.split(".")[:2] == installed.split(".")[:2]


@rocm_only
def test_it_loads_the_rocm_packages_that_it_requires() -> None:
    assert importlib.util.find_spec("torch._rocm_init") is not None
    pins = [text for text in importlib.metadata.requires("torch") or () if re.match(r"rocm\b", text)]
    assert pins, "no requirement on rocm"
    assert all("==" in pin for pin in pins)
    assert importlib.metadata.version("rocm") in pins[0]
