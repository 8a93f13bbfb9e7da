"""Machines of both systems that have all that their roles demand, as doctor describes them."""

from __future__ import annotations

from typing import Final

from build_tools.receipts.machine import MachineFacts

__all__ = ["FACTS"]

_LINUX: Final = MachineFacts(
    platform="linux",
    os_name="ubuntu",
    os_version="22.04",
    driver="6.14.14",
    rocm="7.0.2",
    memory_bytes=67_000_000_000,
    disk_bytes=250_000_000_000,
    python="3.10.12",
    python_venv=True,
    tools={"git": "2.34.1", "cmake": "3.26.4", "ninja": "1.10.1"},
    packages={"rocm-dev": "7.0.2", "rocblas": "5.0", "hipblaslt": "1.0", "hipfft": "1.0"},
    groups=("me", "video", "render"),
    gpus=("gfx942", "gfx942"),
    labels=("self-hosted", "linux", "rocm", "mi300"),
    reached={"example.org": True},
)
_WINDOWS: Final = MachineFacts(
    platform="windows",
    os_name="windows",
    os_version="10.0.22631",
    driver="7",
    memory_bytes=34_000_000_000,
    disk_bytes=300_000_000_000,
    python="3.12.4",
    python_venv=True,
    visual_studio="17.14.2",
    tools={"git": "2.50.1", "cmake": "4.0.1", "ninja": "1.13.0"},
    gpus=("gfx1201",),
    labels=("self-hosted", "Windows", "ROCm"),
    reached={"example.org": True},
)
FACTS: Final = {"linux": _LINUX, "windows": _WINDOWS}
"""By platform."""
