"""The GPUs that a suite runs on: those of one architecture, and which of them each of its processes sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.pipeline.test_stage import devices_to_test_on
from build_tools.testing.choosing import HIDDEN, sight, together
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.config.suite import SuiteConfiguration
    from build_tools.testing.choosing import VisibleDevice
    from build_tools.workplace import Workplace

__all__ = ["seats_of", "suite_devices"]


def suite_devices(configuration: SuiteConfiguration, targets: Sequence[str], workplace: Workplace) -> tuple[VisibleDevice, ...]:
    """Return the GPUs that a suite runs on, as many as ``--gpu-policy`` says; a result speaks of one architecture, that of the first.

    Parameters
    ----------
    configuration
        The configuration; one whose tests use several GPUs gets all of them where nobody says otherwise.
    targets
        What the wheel has code for; every GPU suits one that names none.
    workplace
        The machine and its settings.
    """
    by_default = workplace.resolved.origin("gpu_policy") == "default"
    chosen = devices_to_test_on(workplace, targets, policy="all" if configuration.many_gpus and by_default else None)
    if others := sorted({one.target for one in chosen} - {one.target for one in chosen[:1]}):
        message = f"the suite runs on {chosen[0].target}, and one result speaks of one architecture"
        workplace.console.warn(f"{message}; --gfx {others[0]} runs it on {' or '.join(others)} instead")
    return tuple(one for one in chosen if one.target == chosen[0].target)


def seats_of(
    devices: Sequence[VisibleDevice], configuration: SuiteConfiguration, workplace: Workplace
) -> tuple[Mapping[str, str], ...]:
    """Return what processes that run at the same time have in their environments, so that each sees its own GPU and no other.

    Where tests use several GPUs every process sees all that were chosen. Where there are none, they are hidden; on Windows none is listed,
    and tests find by themselves what a person may use.
    """
    if not devices:
        return (HIDDEN if workplace.platform is Platform.LINUX else sight(workplace.machine),)
    return (together(devices),) if configuration.many_gpus else tuple(one.variables for one in devices)
