"""The kernels, called through their plain C interface."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

__all__ = ["architecture", "device_count", "greet", "kernels", "runtime_version", "saxpy", "wave_size"]

TEXT_SIZE = 256


def _load() -> ctypes.CDLL:
    folder = Path(__file__).resolve().parent
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"_kernels{suffix}"
        if path.is_file():
            return ctypes.CDLL(str(path))
    message = f"there is no library of kernels for this Python in {folder}"
    raise ImportError(message)


kernels = _load()


def _check(status: int) -> None:
    if status != 0:
        message = f"the device reports error {status}"
        raise RuntimeError(message)


def saxpy(a: float, x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Return ``a * x + y``, element by element, in single precision."""
    if len(x) != len(y):
        message = f"x has {len(x)} elements and y has {len(y)}"
        raise ValueError(message)
    vector = ctypes.c_float * len(x)
    result = vector(*y)
    _check(kernels.sample_saxpy(len(x), ctypes.c_float(a), vector(*x), result))
    return list(result)


def architecture(device: int = 0) -> str:
    """Return the architecture of a device, as compilers spell it."""
    text = ctypes.create_string_buffer(TEXT_SIZE)
    _check(kernels.sample_architecture(device, text, TEXT_SIZE))
    return text.value.decode()


def device_count() -> int:
    """Return how many devices there are."""
    count = ctypes.c_int()
    _check(kernels.sample_device_count(ctypes.byref(count)))
    return count.value


def greet(name: str) -> str:
    """Return a greeting."""
    text = ctypes.create_string_buffer(TEXT_SIZE)
    _check(kernels.greeter_greet(name.encode(), text, TEXT_SIZE))
    return text.value.decode()


def wave_size() -> int:
    """Return how many lanes of a device run in step."""
    lanes = ctypes.c_int()
    _check(kernels.greeter_wave_size(ctypes.byref(lanes)))
    return lanes.value


def runtime_version() -> tuple[int, int]:
    """Return major and minor version of the GPU runtime that the library was built against."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(kernels.greeter_runtime_version(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value
