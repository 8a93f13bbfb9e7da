"""Which GPUs may be used here, and of which architecture a verdict may speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.receipts.verdict import CPU_ONLY, TestedDevice
from build_tools.testing.choosing import see
from build_tools.testing.devices import DeviceFiles, find_devices
from build_tools.types import GfxTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.process import Runner
    from build_tools.testing.choosing import VisibleDevice
    from build_tools.types import Platform

__all__ = ["TARGET_PROPERTY", "rocm_targets", "tested_device", "verdict_target", "visible_devices"]

TARGET_PROPERTY: Final = "gpu-target"
"""The suite property by which a test says on which architecture it ran a kernel (``record_testsuite_property``)."""

_FILES: Final = DeviceFiles()


def visible_devices(
    platform: Platform, runner: Runner, machine: Mapping[str, str], *, described: DeviceFiles = _FILES
) -> tuple[VisibleDevice, ...]:
    """Return the GPUs that this machine has and its settings let programs see.

    Parameters
    ----------
    platform, runner, described
        As of :func:`build_tools.testing.devices.find_devices`.
    machine
        The environment as found; see :func:`build_tools.testing.choosing.see`.
    """
    return see(find_devices(platform, runner, described=described), machine)


def rocm_targets(seen: Iterable[VisibleDevice]) -> tuple[GfxTarget, ...]:
    """Return the architectures of the devices that ROCm can use, those of AMD, one entry for each device."""
    return tuple(GfxTarget(one.target) for one in seen if one.device.vendor == "amd")


def tested_device(device: VisibleDevice) -> TestedDevice:
    """Return what a verdict tells of a device."""
    known = device.device
    return TestedDevice(target=known.target, name=known.name, memory=known.memory, driver=known.driver, uuid=known.uuid)


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
