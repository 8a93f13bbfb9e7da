"""The installed torch is whole: versions agree, and a ROCm wheel knows its ROCm packages."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from pathlib import Path

import pytest
import torch

VERSION = importlib.metadata.version("torch")
LOCAL = VERSION.partition("+")[2]

# hipwright's wheels for ROCm say so in their version; a wheel from elsewhere may be for CPUs.
rocm_only = pytest.mark.skipif(re.match(r"(dev)?rocm", LOCAL) is None, reason=f"torch {VERSION} is not a ROCm wheel")


def test_the_module_says_what_the_metadata_say() -> None:
    assert torch.__version__ == VERSION


def test_math_libraries_are_in() -> None:
    assert re.search(r"LAPACK_INFO=(?!none)\w+|LAPACK is enabled", torch.__config__.show())


@rocm_only
def test_it_was_built_for_hip() -> None:
    assert torch.version.hip is not None
    assert torch.version.cuda is None


@rocm_only
@pytest.mark.skipif(not Path("/dev/kfd").exists(), reason="this machine has no AMD GPU driver")
def test_it_sees_the_gpu_of_this_machine() -> None:
    assert torch.cuda.is_available()


@rocm_only
def test_it_loads_the_rocm_packages_that_it_requires() -> None:
    assert importlib.util.find_spec("torch._rocm_init") is not None
    pins = [text for text in importlib.metadata.requires("torch") or () if re.match(r"rocm\b", text)]
    assert pins, "no requirement on rocm"
    assert all("==" in pin for pin in pins)
    assert importlib.metadata.version("rocm") in pins[0]
