"""Which GPUs are here, which of them are seen, and which are tested on; drivers' own descriptions, no GPU needed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.process import Runner
from build_tools.testing.choosing import HIDDEN, POLICIES, choose_devices, of_targets, see, together
from build_tools.testing.devices import DeviceFiles, GpuDevice, find_devices, parse_nvidia
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

SMI = """0, GPU-11111111-aaaa, NVIDIA H200, 9.0, 143771, 570.86
1, GPU-22222222-bbbb, NVIDIA A100-SXM4-80GB, 8.0, 81920, 570.86
"""


def amd(*targets: str) -> list[GpuDevice]:
    return [
        GpuDevice(vendor="amd", index=number, target=target, uuid=f"GPU-{number + 10:016x}")
        for number, target in enumerate(targets)
    ]


def numbers(devices: list[GpuDevice], **machine: str) -> list[int]:
    return [one.device.index for one in see(devices, machine)]


def described(folder: Path) -> DeviceFiles:
    device = folder / "kfd"
    device.touch()
    for number, (version, unique) in enumerate([(0, 0), (90402, 0xABC), (120001, 0)]):
        node = folder / "nodes" / str(number)
        (node / "mem_banks" / "0").mkdir(parents=True)
        (node / "mem_banks" / "1").mkdir()
        text = f"gfx_target_version {version}\nunique_id {unique}\nsimd_count 4\n"
        (node / "properties").write_text(text, encoding="utf-8")
        (node / "name").write_text("ip discovery\n", encoding="utf-8")
        (node / "mem_banks" / "0" / "properties").write_text("heap_type 1\nsize_in_bytes 1000\n", encoding="utf-8")
        (node / "mem_banks" / "1" / "properties").write_text("heap_type 4\nsize_in_bytes 64\n", encoding="utf-8")
    module = folder / "version"
    module.write_text("6.12.12\n", encoding="utf-8")
    return DeviceFiles(device=device, nodes=folder / "nodes", module=module)


@pytest.mark.skipif(sys.platform == "win32", reason="a program with a first line")
def test_devices_of_both_makers_with_memory_and_driver(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{SMI}END\n", encoding="utf-8")
    tool.chmod(0o755)
    runner = Runner(environment={"PATH": f"{tool.parent}:/usr/bin:/bin"})
    found = find_devices(Platform.LINUX, runner, described=described(tmp_path))
    assert [(one.vendor, one.index, one.target, one.memory, one.driver) for one in found] == [
        ("amd", 0, "gfx942", 1000, "6.12.12"),
        ("amd", 1, "gfx1201", 1000, "6.12.12"),
        ("nvidia", 0, "sm_90", 143771 << 20, "570.86"),
        ("nvidia", 1, "sm_80", 81920 << 20, "570.86"),
    ]
    assert [one.uuid for one in found[:3]] == ["GPU-0000000000000abc", None, "GPU-11111111-aaaa"]


def test_no_driver_no_devices(tmp_path: Path) -> None:
    runner = Runner(environment={"PATH": str(tmp_path)})
    nowhere = DeviceFiles(device=tmp_path / "kfd", nodes=tmp_path / "nodes")
    assert find_devices(Platform.LINUX, runner, described=nowhere) == ()
    assert find_devices(Platform.WINDOWS, runner, described=described(tmp_path)) == ()


@pytest.mark.skipif(sys.platform == "win32", reason="a program with a first line")
def test_a_driver_that_fails_has_no_devices(tmp_path: Path) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho '{SMI.splitlines()[0]}'\nexit 9\n", encoding="utf-8")
    tool.chmod(0o755)
    nowhere = DeviceFiles(device=tmp_path / "kfd", nodes=tmp_path / "nodes")
    assert find_devices(Platform.LINUX, Runner(environment={"PATH": str(tmp_path)}), described=nowhere) == ()


@given(st.text())
def test_any_listing_is_read(text: str) -> None:
    assert all(one.target.startswith("sm_") for one in parse_nvidia(text))


@pytest.mark.parametrize(
    ("machine", "found"),
    [
        ({}, [0, 1, 2, 3]),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "1"}, [3]),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "-1"}, []),
        ({"HIP_VISIBLE_DEVICES": "1," + "9" * 5000}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1,9,2"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1,1,2"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
        ({"ROCR_VISIBLE_DEVICES": "3,1"}, [3, 1]),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-000000000000000c"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0"}, []),
    ],
    ids=str,
)
def test_the_machines_settings_are_mapped_through(machine: dict[str, str], found: list[int]) -> None:
    assert numbers(amd("gfx942", "gfx942", "gfx950", "gfx1201"), **machine) == found


def test_a_child_gets_one_device_by_its_number_among_those_that_are_left() -> None:
    (first, second) = see(amd("gfx942", "gfx942", "gfx950", "gfx1201"), {"ROCR_VISIBLE_DEVICES": "3,1"})
    assert first.variables == {"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "0"}
    assert second.variables == {"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}


@pytest.mark.parametrize(
    ("setting", "found"), [(None, [0, 1]), ("1", [1]), ("GPU-2222", [1]), ("GPU-", []), ("-1", []), ("", []), ("MIG-1", [])]
)
def test_devices_of_nvidia_are_named_by_what_never_moves(setting: str | None, found: list[int]) -> None:
    devices = parse_nvidia(SMI)
    seen = see(devices, {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting})
    assert [one.device.index for one in seen] == found
    assert [one.variables for one in seen] == [{"CUDA_VISIBLE_DEVICES": devices[index].uuid} for index in found]


@given(
    st.lists(st.sampled_from(["gfx942", "gfx950", "gfx1201"]), max_size=8),
    st.sampled_from(["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"]),
    st.text(alphabet="0123456789,- GPU", max_size=12),
)
def test_any_setting_names_devices_that_are_there_each_once(targets: list[str], name: str, value: str) -> None:
    seen = see(amd(*targets), {name: value})
    indexes = [one.device.index for one in seen]
    assert len(set(indexes)) == len(indexes) <= len(targets)
    for policy in POLICIES:
        chosen = choose_devices(seen, policy)
        assert {one.device.index for one in chosen} <= set(indexes)
        assert bool(chosen) == bool(seen)


def test_policies() -> None:
    seen = see(amd("gfx942", "gfx942", "gfx1201", "gfx942"), {})
    assert [one.device.index for one in choose_devices(seen, "single")] == [0]
    assert [one.device.index for one in choose_devices(seen, "unique")] == [0, 2]
    assert [one.device.index for one in choose_devices(seen, "all")] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("targets", "found"),
    [
        ([], ["gfx942", "gfx9420", "gfx1201"]),
        (["gfx942"], ["gfx942"]),
        (["gfx94X-dcgpu"], ["gfx942"]),
        (["gfx942:xnack+"], ["gfx942"]),
        (["gfx1201", "gfx942"], ["gfx942", "gfx1201"]),
        (["gfx1100"], []),
    ],
    ids=str,
)
def test_families_match_by_parsed_names(targets: list[str], found: list[str]) -> None:
    seen = see(amd("gfx942", "gfx9420", "gfx1201"), {})
    assert [one.target for one in of_targets(seen, targets)] == found


def test_one_child_gets_all_that_is_seen_and_no_other() -> None:
    devices = amd("gfx942", "gfx1100", "gfx1201")
    seen = see(devices, {"ROCR_VISIBLE_DEVICES": "2,0", "HIP_VISIBLE_DEVICES": "1,0"})
    assert [one.target for one in seen] == ["gfx942", "gfx1201"]
    # A child that is given these names sees the same devices in the same order.
    assert [one.target for one in see(devices, together(seen))] == ["gfx942", "gfx1201"]
    assert see(devices, together(())) == ()
    assert together(()) == HIDDEN
    other = see(parse_nvidia(SMI), {})
    assert together(other) == {"CUDA_VISIBLE_DEVICES": "GPU-11111111-aaaa,GPU-22222222-bbbb"}
