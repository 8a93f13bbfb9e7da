"""Which AMD GPUs this machine lets programs use, without loading a framework.

On Linux the kernel driver lists its devices under ``/sys/class/kfd``; a device counts when ``/dev/kfd`` can be opened for
reading and writing too. On Windows nothing is looked up: a verdict reached there is ``cpu-only``, the weaker claim.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.receipts.verdict import CPU_ONLY
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TARGET_PROPERTY", "gfx_name", "verdict_target", "visible_targets"]

TARGET_PROPERTY: Final = "gpu-target"
"""The suite property by which a test says on which architecture it ran a kernel (``record_testsuite_property``)."""

_DEVICE: Final = Path("/dev/kfd")
_NODES: Final = Path("/sys/class/kfd/kfd/topology/nodes")


def gfx_name(version: int) -> GfxTarget:
    """Return the name of the architecture that the driver states as a number, ``gfx_target_version`` (``90402`` is gfx942)."""
    return GfxTarget(f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}")


def visible_targets(platform: Platform, *, device: Path = _DEVICE, nodes: Path = _NODES) -> tuple[GfxTarget, ...]:
    """Return the architectures of the usable GPUs, one entry for each device, in the driver's order.

    Parameters
    ----------
    platform
        The platform of this machine.
    device
        The driver's device file.
    nodes
        The folder in which the driver describes its devices (a CPU's description has version 0).
    """
    if platform is not Platform.LINUX or not os.access(device, os.R_OK | os.W_OK) or not nodes.is_dir():
        return ()
    versions = [_version(node / "properties") for node in sorted(nodes.iterdir(), key=lambda node: (len(node.name), node.name))]
    return tuple(gfx_name(version) for version in versions if version)


def verdict_target(claimed: Iterable[str], visible: Iterable[GfxTarget]) -> str:
    """Return the target that a verdict may speak of.

    A GPU counts only when a test said that it ran a kernel there and the machine has such a device: a machine with a GPU does not
    turn tests of the CPU into tests of the GPU.

    Parameters
    ----------
    claimed
        What the tests recorded as :data:`TARGET_PROPERTY`.
    visible
        The architectures that :func:`visible_targets` found.
    """
    return min(set(claimed) & set(visible), default=CPU_ONLY)


def _version(properties: Path) -> int:
    try:
        text = properties.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return 0
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "gfx_target_version" and value.strip().isdigit():
            return int(value)
    return 0
