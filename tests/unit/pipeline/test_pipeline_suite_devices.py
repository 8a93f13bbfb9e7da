"""Which GPUs a suite runs on, and which of them each of its processes sees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.config.suite import SuiteConfiguration
from build_tools.pipeline import test_stage as stage
from build_tools.pipeline.suite_devices import seats_of, suite_devices
from build_tools.testing.choosing import VisibleDevice
from build_tools.testing.devices import GpuDevice
from build_tools.types import GfxTarget, Platform
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.testing.choosing import GpuPolicy
    from build_tools.workplace import Workplace

ONE = SuiteConfiguration(files=("**",))
MANY = SuiteConfiguration(files=("**",), many_gpus=True)


def device(number: int, target: str) -> VisibleDevice:
    found = GpuDevice(vendor="amd", index=number, target=GfxTarget(target))
    return VisibleDevice(device=found, variables={"HIP_VISIBLE_DEVICES": str(number)})


SEEN = (device(0, "gfx942"), device(1, "gfx1201"), device(2, "gfx942"))


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "visible_devices", lambda *_machine: SEEN)


def place_with(folder: Path, policy: GpuPolicy | None = None) -> Workplace:
    place = workplace(folder, **({} if policy is None else {"gpu_policy": policy}))
    origins = {} if policy is None else {"gpu_policy": "command line"}
    return replace(place, resolved=replace(place.resolved, origins=origins))


@pytest.mark.parametrize(
    ("configuration", "policy", "targets", "numbers"),
    [
        (ONE, None, (), [0]),
        (ONE, "single", (), [0]),
        (ONE, "all", (), [0, 2]),
        (ONE, "all", ("gfx1201",), [1]),
        (ONE, "all", ("gfx90a",), []),
        (MANY, None, (), [0, 2]),
        (MANY, "single", (), [0]),
    ],
)
def test_the_policy_chooses_among_those_of_one_architecture(
    tmp_path: Path, configuration: SuiteConfiguration, policy: GpuPolicy | None, targets: tuple[str, ...], numbers: list[int]
) -> None:
    found = suite_devices(configuration, targets, place_with(tmp_path, policy))
    assert [one.device.index for one in found] == numbers


def test_the_other_architectures_are_named(tmp_path: Path) -> None:
    place = place_with(tmp_path, "all")
    suite_devices(ONE, (), place)
    assert any("--gfx gfx1201" in line for line in memory_of(place).said)


def test_each_process_sees_its_own_gpu_or_all_where_tests_use_several(tmp_path: Path) -> None:
    place = replace(workplace(tmp_path), platform=Platform.LINUX, machine={"HIP_VISIBLE_DEVICES": "3"})
    two = (SEEN[0], SEEN[2])
    assert seats_of(two, ONE, place) == ({"HIP_VISIBLE_DEVICES": "0"}, {"HIP_VISIBLE_DEVICES": "2"})
    assert seats_of(two, MANY, place) == ({"HIP_VISIBLE_DEVICES": "0,2"},)
    (hidden,) = seats_of((), ONE, place)
    assert hidden["HIP_VISIBLE_DEVICES"] == "-1"
    assert seats_of((), MANY, replace(place, platform=Platform.WINDOWS)) == ({"HIP_VISIBLE_DEVICES": "3"},)
