"""Which architecture a verdict may speak of, and which AMD GPUs are here at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.receipts.verdict import CPU_ONLY
from build_tools.testing.devices import DeviceFiles, amd_devices
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TARGET_PROPERTY", "verdict_target", "visible_targets"]

TARGET_PROPERTY: Final = "gpu-target"
"""The suite property by which a test says on which architecture it ran a kernel (``record_testsuite_property``)."""

_FILES: Final = DeviceFiles()


def visible_targets(platform: Platform, *, described: DeviceFiles = _FILES) -> tuple[GfxTarget, ...]:
    """Return the architectures of AMD's usable GPUs, one entry for each device; see :func:`build_tools.testing.devices.find_devices`."""
    return tuple(GfxTarget(device.target) for device in amd_devices(platform, described=described))


def verdict_target(claimed: Iterable[str], visible: Iterable[str]) -> str:
    """Return the target that a verdict may speak of.

    A GPU counts only when a test said that it ran a kernel there and the machine has such a device: a machine with a GPU does not
    turn tests of the CPU into tests of the GPU.

    Parameters
    ----------
    claimed
        What the tests recorded as :data:`TARGET_PROPERTY`.
    visible
        The architectures of the devices that the tests were given.
    """
    return min(set(claimed) & set(visible), default=CPU_ONLY)
