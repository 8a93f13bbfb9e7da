from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.process import Runner
from build_tools.testing.devices import DeviceFiles, gfx_name
from build_tools.testing.gpu import rocm_targets, verdict_target, visible_devices
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("version", "name"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90500, "gfx950"), (110000, "gfx1100"), (120001, "gfx1201"), (100306, "gfx1036")],
    ids=str,
)
def test_names_of_architectures(version: int, name: str) -> None:
    assert gfx_name(version) == name


def machine(folder: Path, versions: list[int]) -> DeviceFiles:
    device = folder / "kfd"
    device.touch()
    for number, version in enumerate(versions):
        node = folder / "nodes" / str(number)
        node.mkdir(parents=True)
        (node / "properties").write_text(f"cpu_cores_count 8\ngfx_target_version {version}\nvendor_id 4098\n", encoding="ascii")
    return DeviceFiles(device=device, nodes=folder / "nodes")


def seen(described: DeviceFiles, tmp_path: Path, platform: Platform = Platform.LINUX, **machine: str) -> tuple[str, ...]:
    runner = Runner(environment={"PATH": str(tmp_path)})
    return rocm_targets(visible_devices(platform, runner, machine, described=described))


def test_lists_devices_in_the_drivers_order_without_the_cpu(tmp_path: Path) -> None:
    described = machine(tmp_path, [0, 90402, *[110000] * 9, 120001])
    assert seen(described, tmp_path) == ("gfx942", *["gfx1100"] * 9, "gfx1201")


def test_a_device_that_the_machines_settings_hide_is_not_here(tmp_path: Path) -> None:
    described = machine(tmp_path, [0, 90402, 110000, 120001])
    assert seen(described, tmp_path, HIP_VISIBLE_DEVICES="2,0") == ("gfx1201", "gfx942")
    assert seen(described, tmp_path, ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="0") == ("gfx1100",)
    assert seen(described, tmp_path, ROCR_VISIBLE_DEVICES="") == ()


def test_no_device_file_means_no_gpu(tmp_path: Path) -> None:
    described = machine(tmp_path, [90402])
    described.device.unlink()
    assert seen(described, tmp_path) == ()


def test_nothing_is_claimed_on_windows(tmp_path: Path) -> None:
    described = machine(tmp_path, [90402])
    assert seen(described, tmp_path, Platform.WINDOWS) == ()


@pytest.mark.parametrize(
    ("claimed", "visible", "target"),
    [
        ([], ["gfx942"], "cpu-only"),
        (["gfx942"], [], "cpu-only"),
        (["gfx1201"], ["gfx942"], "cpu-only"),
        (["gfx942", "gfx942"], ["gfx942", "gfx1201"], "gfx942"),
    ],
    ids=["tests-claim-nothing", "no-such-device", "another-device", "ran-there"],
)
def test_a_verdict_speaks_of_a_gpu_only_when_tests_ran_on_it(claimed: list[str], visible: list[str], target: str) -> None:
    assert verdict_target(claimed, [GfxTarget(name) for name in visible]) == target
