"""Which GPUs tests run on: what the machine lets us see of them, which are of the wanted targets, and how many are taken.

Pure functions of the devices, of the machine's settings and of the policy; nothing is looked up here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from build_tools.config.targets import offers
from build_tools.rocm.payload.rocm_sdk._visible import CUDA, HIP, NAMES, ROCR, chosen, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from build_tools.testing.devices import GpuDevice

__all__ = ["HIDDEN", "POLICIES", "GpuPolicy", "VisibleDevice", "choose_devices", "of_targets", "see", "sight", "together"]

GpuPolicy: TypeAlias = Literal["single", "unique", "all"]

POLICIES: Final[tuple[GpuPolicy, ...]] = ("single", "unique", "all")
"""The first device, the first of each architecture, or every one."""

HIDDEN: Final[Mapping[str, str]] = {HIP: "-1", CUDA: "-1"}
"""What keeps a process from seeing any GPU."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VisibleDevice:
    """A device that this process may use, and the environment names by which a child gets it and no other."""

    device: GpuDevice
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """Its architecture."""
        return self.device.target


def see(devices: Sequence[GpuDevice], machine: Mapping[str, str]) -> tuple[VisibleDevice, ...]:
    """Return the devices that the machine's settings let programs see, in the order in which programs count them.

    ``ROCR_VISIBLE_DEVICES`` chooses among AMD's devices, ``HIP_VISIBLE_DEVICES`` among what is left of them, by their numbers there;
    ``CUDA_VISIBLE_DEVICES`` stands for the latter where it is not set, and chooses among NVIDIA's. As in these runtimes a list
    ends at the first entry that names no device, so that ``-1`` and an empty list hide all of them.

    Parameters
    ----------
    devices
        What the machine has.
    machine
        Its environment.
    """
    amd = [device for device in devices if device.vendor == "amd"]
    left, seen = visible([device.uuid for device in amd], machine)
    passed_on = {ROCR: machine[ROCR]} if ROCR in machine else {}
    found = [VisibleDevice(device=amd[left[place]], variables={**passed_on, HIP: str(place)}) for place in seen]
    nvidia = [device for device in devices if device.vendor == "nvidia"]
    nvidia = [nvidia[place] for place in chosen([device.uuid for device in nvidia], machine.get(CUDA))]
    # By its name, as numbers depend on the order that a program asks for.
    found += [VisibleDevice(device=device, variables={CUDA: device.uuid or str(device.index)}) for device in nvidia]
    return tuple(found)


def together(devices: Iterable[VisibleDevice]) -> Mapping[str, str]:
    """Return the environment names by which one child gets several devices and no other; none of them hide every GPU."""
    found: dict[str, str] = {}
    for device in devices:
        for name, value in device.variables.items():
            # What chooses first is the same for all; the numbers of the second are of what it leaves.
            found[name] = f"{found[name]},{value}" if name in found and name != ROCR else value
    return found or HIDDEN


def sight(machine: Mapping[str, str]) -> Mapping[str, str]:
    """Return what of a machine's environment says which GPUs programs see: a child that gets it sees those that a person may use."""
    return {name: machine[name] for name in NAMES if name in machine}


def of_targets(seen: Iterable[VisibleDevice], targets: Sequence[str]) -> tuple[VisibleDevice, ...]:
    """Return the devices that code for some targets or families runs on; all of them where none is named.

    Names are compared by their parts, so that ``gfx942`` is never taken for ``gfx9420``.
    """
    devices = tuple(seen)
    if not targets:
        return devices
    names = {name for wanted in targets for name in offers(wanted, {one.target for one in devices})}
    return tuple(one for one in devices if one.target in names)


def choose_devices(seen: Sequence[VisibleDevice], policy: GpuPolicy) -> tuple[VisibleDevice, ...]:
    """Return the devices that a policy takes; see :data:`POLICIES`."""
    match policy:
        case "single":
            return tuple(seen[:1])
        case "unique":
            return tuple({one.target: one for one in reversed(seen)}[target] for target in dict.fromkeys(o.target for o in seen))
        case "all":
            return tuple(seen)
