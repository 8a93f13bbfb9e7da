"""Which GPUs tests run on: what the machine lets us see of them, which are of the wanted targets, and how many are taken.

Pure functions of the devices, of the machine's settings and of the policy; nothing is looked up here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from build_tools.config.targets import offers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from build_tools.testing.devices import GpuDevice

__all__ = ["HIDDEN", "POLICIES", "GpuPolicy", "VisibleDevice", "choose_devices", "of_targets", "see", "together"]

GpuPolicy: TypeAlias = Literal["single", "unique", "all"]

POLICIES: Final[tuple[GpuPolicy, ...]] = ("single", "unique", "all")
"""The first device, the first of each architecture, or every one."""

_ROCR: Final = "ROCR_VISIBLE_DEVICES"
_HIP: Final = "HIP_VISIBLE_DEVICES"
_CUDA: Final = "CUDA_VISIBLE_DEVICES"

HIDDEN: Final[Mapping[str, str]] = {_HIP: "-1", _CUDA: "-1"}
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
    below = _chosen(amd, machine.get(_ROCR))
    # HIP takes an empty value of its own variable for none at all.
    above = _chosen(below, machine.get(_HIP) or machine.get(_CUDA))
    passed_on = {_ROCR: machine[_ROCR]} if _ROCR in machine else {}
    found = [VisibleDevice(device=device, variables={**passed_on, _HIP: str(below.index(device))}) for device in above]
    nvidia = _chosen([device for device in devices if device.vendor == "nvidia"], machine.get(_CUDA))
    # By its name, as numbers depend on the order that a program asks for.
    found += [VisibleDevice(device=device, variables={_CUDA: device.uuid or str(device.index)}) for device in nvidia]
    return tuple(found)


def together(devices: Iterable[VisibleDevice]) -> Mapping[str, str]:
    """Return the environment names by which one child gets several devices and no other; none of them hide every GPU."""
    found: dict[str, str] = {}
    for device in devices:
        for name, value in device.variables.items():
            # What chooses first is the same for all; the numbers of the second are of what it leaves.
            found[name] = f"{found[name]},{value}" if name in found and name != _ROCR else value
    return found or HIDDEN


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


def _chosen(devices: Sequence[GpuDevice], setting: str | None) -> list[GpuDevice]:
    """Return the devices that a setting names, in its order; all of them where there is none."""
    if setting is None:
        return list(devices)
    found: list[GpuDevice] = []
    for entry in setting.split(","):
        device = _named(devices, entry.strip())
        if device is None or device in found:
            break
        found.append(device)
    return found


def _named(devices: Sequence[GpuDevice], entry: str) -> GpuDevice | None:
    if entry.isascii() and entry.isdigit():
        return devices[int(entry)] if int(entry) < len(devices) else None
    # A name may be cut short as long as one device alone begins with it.
    named = [device for device in devices if device.uuid and entry and device.uuid.lower().startswith(entry.lower())]
    return named[0] if len(named) == 1 else None
