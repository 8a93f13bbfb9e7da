"""The GPUs of this machine, as its drivers list them: no framework is loaded, and nothing is started on a device.

AMD's kernel driver lists its devices under ``/sys/class/kfd``, in the order in which ROCm's runtime counts them; a device counts when
``/dev/kfd`` can be opened for reading and writing too. Of NVIDIA's devices its own tool tells, ``nvidia-smi``. On Windows nothing is
looked up for AMD: a verdict reached there is ``cpu-only``, the weaker claim.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError
from build_tools.rocm.payload.rocm_sdk import _gpus
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.process import Runner

__all__ = ["DeviceFiles", "GpuDevice", "amd_devices", "find_devices", "gfx_name", "parse_nvidia"]

_TOOL: Final = "nvidia-smi"
_FIELDS: Final = ("index", "uuid", "name", "compute_cap", "memory.total", "driver_version")
_SECONDS: Final = 30.0
_VIDEO_HEAPS: Final = frozenset({1, 2})
"""The kinds of memory bank that lie on the device (``HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC`` and ``_PRIVATE`` of the driver's interface)."""
_MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuDevice:
    """A GPU: whose it is, its place in its runtime's count, its architecture, memory in bytes, driver, and the name that never moves."""

    vendor: Literal["amd", "nvidia"]
    index: int
    target: str
    memory: int | None = None
    driver: str | None = None
    uuid: str | None = None
    name: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceFiles:
    """Where AMD's driver describes its devices."""

    device: Path = Path("/dev/kfd")
    nodes: Path = Path("/sys/class/kfd/kfd/topology/nodes")
    module: Path = Path("/sys/module/amdgpu/version")
    kernel: Path = Path("/proc/sys/kernel/osrelease")


_FILES: Final = DeviceFiles()


def gfx_name(version: int) -> GfxTarget:
    """Return the name of the architecture that the driver states as a number, ``gfx_target_version`` (``90402`` is gfx942)."""
    return GfxTarget(_gpus.gfx_name(version))


def find_devices(platform: Platform, runner: Runner, *, described: DeviceFiles = _FILES) -> tuple[GpuDevice, ...]:
    """Return the usable GPUs of this machine, those of AMD first; each vendor's in the order of its runtime.

    Parameters
    ----------
    platform
        The platform of this machine.
    runner
        Starts ``nvidia-smi`` where there is one.
    described
        Where AMD's driver describes its devices.
    """
    return (*amd_devices(platform, described=described), *_nvidia_devices(runner))


def parse_nvidia(text: str) -> tuple[GpuDevice, ...]:
    """Return the devices of a listing by ``nvidia-smi --format=csv,noheader,nounits``; a line that says something else is of none."""
    found = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) != len(_FIELDS) or not parts[0].isdigit():
            continue
        index, uuid, name, capability, memory, driver = parts
        major, _, minor = capability.partition(".")
        if not (major.isdigit() and minor.isdigit()):
            continue
        found.append(
            GpuDevice(
                vendor="nvidia",
                index=int(index),
                target=f"sm_{major}{minor}",
                memory=int(memory) * _MEGABYTE if memory.isdigit() else None,
                driver=driver,
                uuid=uuid,
                name=name,
            )
        )
    return tuple(found)


def _nvidia_devices(runner: Runner) -> tuple[GpuDevice, ...]:
    tool = runner.find(_TOOL)
    if tool is None:
        return ()
    command: list[str | Path] = [tool, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = runner.capture(command, cwd=tool.parent, timeout=_SECONDS, check=False)
    except HipwrightError:
        # A driver that does not answer has no device that could be used.
        return ()
    return parse_nvidia(done.text) if done.returncode == 0 else ()


def amd_devices(platform: Platform, *, described: DeviceFiles = _FILES) -> tuple[GpuDevice, ...]:
    """Return AMD's usable GPUs; parameters as of :func:`find_devices`."""
    device, nodes = described.device, described.nodes
    if platform is not Platform.LINUX or not os.access(device, os.R_OK | os.W_OK) or not nodes.is_dir():
        return ()
    driver = _text(described.module) or _text(described.kernel)
    found: list[GpuDevice] = []
    for node in sorted(nodes.iterdir(), key=lambda node: (len(node.name), node.name)):
        known = _properties(node / "properties")
        version = known.get("gfx_target_version", 0)
        # A CPU is a node too, and has version 0; a device that this process may not use does not tell its properties.
        if version:
            found.append(
                GpuDevice(
                    vendor="amd",
                    index=len(found),
                    target=gfx_name(version),
                    memory=_memory(node),
                    driver=driver,
                    uuid=_gpus.uuid_of(known.get("unique_id", 0)),
                    name=_text(node / "name"),
                )
            )
    return tuple(found)


def _memory(node: Path) -> int | None:
    banks = [_properties(bank / "properties") for bank in sorted((node / "mem_banks").glob("*"))]
    sizes = [bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in _VIDEO_HEAPS]
    return sum(sizes) or None


def _properties(path: Path) -> Mapping[str, int]:
    """Return the numbers that a file of the driver states, a name and a number a line."""
    pairs = (line.split() for line in (_text(path) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}  # noqa: PLR2004 - name and number


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
