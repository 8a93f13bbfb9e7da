"""A few kernels for CUDA and ROCm."""

from __future__ import annotations

# A ROCm build may bring a module that makes the ROCm packages ready before a library is loaded.
try:
    from hipwright_sample import _rocm_init
except ImportError:
    pass
else:
    _rocm_init.initialize()

from hipwright_sample.functions import architecture, device_count, greet, runtime_version, saxpy, wave_size
from hipwright_sample.version import __version__, git_version, targets

__all__ = [
    "__version__",
    "architecture",
    "device_count",
    "git_version",
    "greet",
    "runtime_version",
    "saxpy",
    "targets",
    "wave_size",
]
