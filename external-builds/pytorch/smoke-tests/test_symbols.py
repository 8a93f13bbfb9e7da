"""What extensions build and link against is in the wheel, and is visible."""

from __future__ import annotations

import ctypes
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch

FOLDER = Path(torch.__file__).parent
ROCM = re.search(r"\+(dev)?rocm", metadata.version("torch")) is not None

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="as the ELF files of Linux have it")
rocm_only = pytest.mark.skipif(not ROCM, reason="this torch is not a ROCm wheel")


@pytest.mark.parametrize(
    "path",
    ["include/torch/extension.h", "include/ATen/ATen.h", "include/c10/macros/Export.h", "share/cmake/Torch/TorchConfig.cmake"],
)
def test_what_extensions_include_is_there(path: str) -> None:
    assert (FOLDER / path).is_file()


@rocm_only
@pytest.mark.parametrize("path", ["include/ATen/hip/HIPContext.h", "include/c10/hip/HIPStream.h"])
def test_what_extensions_for_hip_include_is_there(path: str) -> None:
    assert (FOLDER / path).is_file()


@linux_only
@pytest.mark.parametrize(
    ("library", "symbol"),
    [("libtorch_cpu.so", "aoti_torch_empty_strided"), ("libtorch_python.so", "THPVariableClass")],
)
def test_a_symbol_that_extensions_need_is_visible(library: str, symbol: str) -> None:
    assert hasattr(ctypes.CDLL(str(FOLDER / "lib" / library)), symbol)


@linux_only
@rocm_only
@pytest.mark.parametrize(
    ("library", "symbol"),
    [
        ("libamdhip64", "hipGetDeviceCount"),
        ("libhipblas", "hipblasCreate"),
        ("libMIOpen", "miopenCreate"),
        ("librccl", "ncclCommInitAll"),
    ],
)
def test_a_library_of_rocm_is_loaded_once_and_from_its_package(library: str, symbol: str) -> None:
    """Two copies in one process, one of them of the machine's own ROCm, are the cause of failures that nobody can explain."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    loaded = {line.split(maxsplit=5)[5] for line in maps.splitlines() if f"/{library}.so" in line}
    if library in {"libMIOpen", "librccl"} and not loaded:
        pytest.skip("loaded only when it is used")
    assert len(loaded) == 1, loaded
    (path,) = loaded
    assert Path(path).resolve().is_relative_to(FOLDER.resolve().parent), path
    assert hasattr(ctypes.CDLL(path), symbol)


@linux_only
@rocm_only
@pytest.mark.parametrize("symbol", ["hipGetDeviceCount", "hipblasCreate"])
def test_symbols_are_visible_to_what_is_loaded_later(symbol: str) -> None:
    """An extension that was not linked to ROCm finds them only when they were loaded for all to see."""
    assert hasattr(ctypes.CDLL(None), symbol)
