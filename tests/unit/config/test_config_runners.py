from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from build_tools.config import runners
from build_tools.config.runners import Label, pick_label, runner_table
from build_tools.config.targets import family_name
from build_tools.errors import HipwrightError
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.config.runners import Tier

LINUX, WINDOWS = Platform.LINUX, Platform.WINDOWS


@pytest.mark.parametrize(
    ("tier", "platform", "count"),
    [
        ("presubmit", LINUX, 4),
        ("postsubmit", LINUX, 6),
        ("nightly", LINUX, 16),
        ("presubmit", WINDOWS, 3),
        ("postsubmit", WINDOWS, 4),
        ("nightly", WINDOWS, 13),
    ],
)
def test_a_tier_has_the_families_of_those_before_too(tier: Tier, platform: Platform, count: int) -> None:
    families = runner_table().families(tier, platform)
    assert len(families) == count
    assert {row.key for row in runner_table().families("presubmit", platform)} <= {row.key for row in families}


def label_names(family: str, platform: Platform, **more: object) -> list[str]:
    return [label.label for label in runner_table().test_labels(family, platform, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("family", "platform", "more", "wanted"),
    [
        (
            "gfx94X-dcgpu",
            LINUX,
            {"tier": "presubmit"},
            ["linux-gfx942-1gpu-ccs-csp-ossci-rocm", "linux-gfx942-1gpu-ccs-ossci-rocm"],
        ),
        ("gfx94x", LINUX, {"purpose": "multi-gpu"}, ["linux-gfx942-8gpu-ossci-rocm"]),
        ("gfx942", LINUX, {"purpose": "sandbox"}, ["linux-mi325-gpu-rocm-cpu-sandbox"]),
        ("gfx94x", WINDOWS, {}, []),
        ("gfx110x", LINUX, {"tier": "presubmit"}, []),
        ("gfx110x", LINUX, {}, ["linux-gfx110X-gpu-rocm"]),
        ("gfx110x", WINDOWS, {"tier": "presubmit"}, ["windows-gfx110X-gpu-rocm"]),
        ("gfx110x", WINDOWS, {"tier": "presubmit", "release": True}, []),
        ("gfx1151", LINUX, {"purpose": "oem"}, ["linux-strix-halo-gpu-rocm-oem"]),
        ("gfx1151", WINDOWS, {"release": True}, ["windows-gfx1151-gpu-rocm"]),
        ("gfx90a", LINUX, {"tier": "postsubmit"}, []),
        ("gfx90a", LINUX, {"tier": "postsubmit", "bump": True}, ["linux-gfx90a-1gpu-ossci-rocm"]),
        ("gfx90a", LINUX, {"tier": "presubmit", "bump": True}, []),
        ("gfx90a", WINDOWS, {}, []),
        ("gfx950", LINUX, {"tier": "postsubmit"}, ["linux-gfx950-1gpu-ccs-ossci-rocm"]),
        ("gfx1032", WINDOWS, {}, ["windows-gfx1030-gpu-rocm"]),
        ("gfx900", LINUX, {}, []),
        ("gfx1033", LINUX, {"tier": "postsubmit"}, []),
        ("gfx125x", WINDOWS, {}, []),
    ],
)
def test_a_family_is_tested_where_it_has_machines(
    family: str, platform: Platform, more: dict[str, object], wanted: list[str]
) -> None:
    assert label_names(family, platform, **more) == wanted


def test_a_family_that_does_not_exist_is_refused() -> None:
    with pytest.raises(HipwrightError) as caught:
        label_names("gfx9420", LINUX)
    assert caught.value.code.name == "bad-option-value"


def test_each_row_is_of_a_known_family() -> None:
    for row in runner_table().family:
        assert family_name(row.name) == row.name
        assert runner_table().find(row.key) is row
        assert runner_table().find(row.name) is row


@pytest.mark.parametrize(
    ("platform", "more", "wanted"),
    [
        (LINUX, {}, "aws-linux-scale-rocm-prod"),
        (LINUX, {"variant": "asan"}, "azure-linux-scale-rocm-heavy-ramdisk"),
        (LINUX, {"variant": "tsan", "fork": True}, "ubuntu-24.04"),
        (LINUX, {"pytorch": True}, "aws-linux-scale-rocm-prod"),
        (WINDOWS, {}, "azure-windows-scale-rocm"),
        (WINDOWS, {"variant": "asan"}, "azure-windows-scale-rocm"),
        (WINDOWS, {"pytorch": True}, "aws-windows-scale-rocm-prod"),
        (WINDOWS, {"fork": True}, "windows-2022"),
    ],
)
def test_what_is_built_has_a_machine(platform: Platform, more: dict[str, object], wanted: str) -> None:
    assert runner_table().build_label(platform, **more) == wanted  # type: ignore[arg-type]


def test_labels_are_picked_by_weight_and_the_same_for_the_same_seed() -> None:
    labels = (Label(label="a", weight=28), Label(label="b", weight=5))
    counts = Counter(pick_label(labels, f"run {number}") for number in range(3300))
    assert 2600 < counts["a"] < 3000
    assert counts["a"] + counts["b"] == 3300
    assert len({pick_label(labels, "the same") for _ in range(9)}) == 1
    assert pick_label((), "x") is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('key = "gfx950"', 'key = "gfx90a"', "the key gfx90a is there twice"),
        ('name = "gfx950-dcgpu"', 'name = "gfx90a"', "the family gfx90a is there twice"),
        ('name = "gfx950-dcgpu"', 'name = "gfx95-dcgpu"', "gfx95-dcgpu"),
        ('tier = "postsubmit"', 'tier = "weekly"', "weekly"),
    ],
)
def test_a_table_that_cannot_be_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = runners._FILE.read_text(encoding="utf-8")
    file = tmp_path / "runners.toml"
    file.write_text(text.replace(old, new))
    with pytest.raises(HipwrightError) as caught:
        runner_table(file)
    assert caught.value.code.name == "bad-data-file"
    assert said in caught.value.message
