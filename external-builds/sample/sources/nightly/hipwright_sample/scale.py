"""Scaling: new, and not yet among the package's public names."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from hipwright_sample.functions import kernels

__all__ = ["scale"]


def scale(a: float, x: Sequence[float]) -> list[float]:
    """Return ``a * x``, element by element, in single precision."""
    result = (ctypes.c_float * len(x))(*x)
    status = kernels.sample_scale(len(x), ctypes.c_float(a), result)
    if status != 0:
        message = f"the device reports error {status}"
        raise RuntimeError(message)
    return list(result)
