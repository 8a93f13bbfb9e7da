"""GPU targets of a machine: read from what the kernel says, else asked of ``offload-arch``, never guessed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from build_tools.rocm.payload.rocm_sdk._gpus import detect_targets

if TYPE_CHECKING:
    from pathlib import Path


def topology(folder: Path, *versions: int) -> Path:
    for number, version in enumerate(versions):
        node = folder / str(number)
        node.mkdir(parents=True)
        (node / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\nvendor_id 4098\n", encoding="ascii")
    return folder


def test_gpus_that_are_hidden_are_not_seen_and_the_program_is_not_asked_for_them(tmp_path: Path) -> None:
    nodes = topology(tmp_path / "nodes", 0, 90402, *[110000] * 9, 120001)
    core = program(tmp_path / "core", "echo gfx906")

    def seen(**settings: str) -> tuple[str, ...]:
        return detect_targets(core, topology=nodes, settings=settings)

    assert seen() == ("gfx1100", "gfx1201", "gfx942")
    # The tenth of the driver's nodes comes after the second.
    assert seen(HIP_VISIBLE_DEVICES="10,0") == ("gfx1201", "gfx942")
    assert seen(ROCR_VISIBLE_DEVICES="10,0", HIP_VISIBLE_DEVICES="1") == ("gfx942",)
    for hidden in ("-1", "no number", "9" * 5000):
        assert seen(CUDA_VISIBLE_DEVICES=hidden) == ()


def program(folder: Path, text: str) -> Path:
    path = folder / "lib/llvm/bin/offload-arch"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("version", "target"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90012, "gfx90c"), (100306, "gfx1036"), (110501, "gfx1151"), (120001, "gfx1201")],
)
def test_the_kernel_is_asked(version: int, target: str, tmp_path: Path) -> None:
    # A CPU is a node too, with the number 0.
    assert detect_targets(None, topology=topology(tmp_path, 0, version, version)) == (target,)


def test_several_are_all_named(tmp_path: Path) -> None:
    assert detect_targets(None, topology=topology(tmp_path, 120001, 0, 90402)) == ("gfx1201", "gfx942")


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("echo gfx942; echo gfx942:sramecc+:xnack-", ("gfx942",)),
        ("echo no devices", ()),
        ("echo gfx942; exit 1", ()),
        ("exit 127", ()),
    ],
)
def test_the_program_is_asked_where_the_kernel_says_nothing(text: str, targets: tuple[str, ...], tmp_path: Path) -> None:
    core = program(tmp_path / "core", text)
    assert detect_targets(core, topology=tmp_path / "nothing") == targets
    assert detect_targets(core, topology=topology(tmp_path / "cpus", 0, 0)) == targets


def test_no_gpu_is_no_target(tmp_path: Path) -> None:
    assert detect_targets(None, topology=tmp_path) == ()
    assert detect_targets(tmp_path, topology=tmp_path) == ()
