"""Whether a machine is fit, for machines of both systems as facts say them, judged on either."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.config.fitness import fitness_table
from build_tools.errors import HipwrightError
from build_tools.options.machine import ROLES
from build_tools.testing.fitness import Point, judge_machine, worst_of
from tests.support.machines import FACTS

if TYPE_CHECKING:
    from pathlib import Path


def judged(platform: str, role: str, *, targets: tuple[str, ...] = (), **changed: Any) -> dict[str, Point]:  # noqa: ANN401 - as the facts are
    facts = msgspec.structs.replace(FACTS[platform], **changed)
    points = judge_machine(fitness_table().demands(role, platform), facts, targets=targets)
    return {point.what: point for point in points}


@pytest.mark.parametrize(("platform", "role"), list(itertools.product(FACTS, ROLES)))
def test_a_machine_as_demanded_is_fit(platform: str, role: str) -> None:
    points = judged(platform, role)
    assert points
    assert worst_of(tuple(points.values())) == "ok"
    assert not any(point.fix for point in points.values())


@pytest.mark.parametrize(
    ("platform", "role", "what", "changed", "fix"),
    [
        ("linux", "build", "operating system", {"os_version": "20.04"}, "do-release-upgrade"),
        ("linux", "test", "driver", {"driver": ""}, "amdgpu-dkms"),
        ("linux", "build", "rocm", {"rocm": "7.0.1"}, "apt-get install rocm-dev"),
        ("linux", "build", "rocm", {"rocm": ""}, "apt-get install rocm-dev"),
        ("linux", "build", "memory", {"memory_bytes": 34_000_000_000}, "64 GB"),
        ("linux", "build", "disk", {"disk_bytes": 199_000_000_000}, "--work-dir DIR"),
        ("linux", "publish", "python", {"python": "3.9.19"}, "apt-get install python3"),
        ("linux", "publish", "python-venv", {"python_venv": False}, "apt-get install python3-venv"),
        ("linux", "publish", "git", {"tools": {}}, "apt-get install git"),
        ("linux", "build", "cmake", {"tools": {"cmake": "3.22.1"}}, "cmake>=3.26"),
        ("linux", "build", "ninja", {"tools": {"ninja": "1.9"}}, "apt-get install ninja-build"),
        ("linux", "build", "packages", {"packages": {"rocblas": "5"}}, "apt-get install rocm-dev hipblaslt hipfft"),
        ("linux", "test", "groups", {"groups": ("me", "video")}, "usermod -a -G render $USER"),
        ("linux", "test", "gpus", {"gpus": ()}, "gfx90a or gfx942"),
        ("linux", "test", "gpus", {"gpus": ("gfx1100",)}, "gfx90a or gfx942"),
        ("linux", "build", "labels", {"labels": ("self-hosted",)}, "--labels Linux,ROCm"),
        ("linux", "build", "network", {"reached": {"a.example": True, "b.example": False}}, "reach b.example,"),
        ("windows", "build", "operating system", {"os_version": "10.0.19045"}, "22H2"),
        ("windows", "test", "driver", {"driver": "6"}, "ROCm 7"),
        ("windows", "test", "driver", {"driver": ""}, "amdhip64_7.dll"),
        ("windows", "build", "memory", {"memory_bytes": 16_000_000_000}, "32 GB"),
        ("windows", "build", "disk", {"disk_bytes": 1}, "cleanmgr"),
        ("windows", "build", "python", {"python": ""}, "winget install Python"),
        ("windows", "build", "visual-studio", {"visual_studio": "16.11.30"}, "VisualStudio.2022.BuildTools"),
        ("windows", "build", "visual-studio", {"visual_studio": ""}, "VisualStudio.2022.BuildTools"),
        ("windows", "build", "git", {"tools": {"cmake": "3.26"}}, "winget install Git.Git"),
        ("windows", "build", "cmake", {"tools": {"cmake": "3.25.9"}}, "winget install Kitware.CMake"),
        ("windows", "build", "ninja", {"tools": {}}, "winget install Ninja-build.Ninja"),
        ("windows", "test", "gpus", {"gpus": ("gfx1100",)}, "gfx1201"),
        ("windows", "test", "labels", {"labels": ("self-hosted", "Linux", "ROCm")}, "--labels Windows"),
    ],
)
def test_each_point_fails_alone_with_what_mends_it(
    platform: str, role: str, what: str, changed: dict[str, Any], fix: str
) -> None:
    points = judged(platform, role, **changed)
    assert points[what].status == "failed"
    assert fix in points[what].fix
    others = {name for name, point in points.items() if point.status != "ok"} - {what}
    assert others <= ({"git", "cmake", "ninja"} if "tools" in changed else set())
    assert worst_of(tuple(points.values())) == "failed"


UNKNOWN = {
    "operating system": "os_version",
    "driver": "driver",
    "rocm": "rocm",
    "memory": "memory_bytes",
    "disk": "disk_bytes",
    "python": "python",
    "python-venv": "python_venv",
    "visual-studio": "visual_studio",
    "git": "tools",
    "packages": "packages",
    "groups": "groups",
    "gpus": "gpus",
}


@pytest.mark.parametrize(("platform", "role"), list(itertools.product(FACTS, ROLES)))
def test_what_nobody_found_out_is_no_pass(platform: str, role: str) -> None:
    blank: dict[str, Any] = dict.fromkeys(UNKNOWN.values())
    points = judged(platform, role, **blank)
    for what, point in points.items():
        if what not in {"labels", "network"}:
            assert (point.status, point.found) == ("unknown", "unknown")
            assert point.fix
    assert worst_of(tuple(points.values())) == "unknown"


def test_what_nobody_named_is_told_and_not_judged() -> None:
    points = judged("linux", "build", labels=None, reached=None)
    assert {what for what, point in points.items() if point.status == "unasked"} == {"labels", "network"}
    assert worst_of(tuple(points.values())) == "ok"


def test_another_distribution_is_not_known_to_do() -> None:
    point = judged("linux", "build", os_name="debian", os_version="13")["operating system"]
    assert (point.status, point.found) == ("unknown", "debian 13")


def test_a_version_that_is_none_is_not_known() -> None:
    assert judged("linux", "build", rocm="the newest")["rocm"].status == "unknown"


def test_targets_that_a_person_names_stand_for_those_of_the_data() -> None:
    assert judged("linux", "test", gpus=("gfx1100",), targets=("gfx1100", "gfx1101"))["gpus"].status == "ok"
    point = judged("linux", "test", targets=("gfx1100",))["gpus"]
    assert (point.status, point.wanted) == ("failed", "gfx1100")
    assert "gfx1100" in point.fix


def test_no_group_keeps_root_out() -> None:
    assert judged("linux", "test", groups=("root",))["groups"].status == "ok"


@pytest.mark.parametrize(
    "row",
    [
        'measure = "memory"\nroles = []',
        'measure = "memory"\nroles = ["build"]\nname = "ram"',
        'measure = "tool"\nroles = ["build"]',
        'measure = "packages"\nroles = ["build"]',
        'measure = "memory"\nroles = ["build"]\nall-of = ["a"]',
        'measure = "memory"\nroles = ["build"]\nat-least = "much"',
        'measure = "memory"\nroles = ["deploy"]',
        'measure = "weather"\nroles = ["build"]',
    ],
)
def test_a_demand_that_cannot_be_meant_is_refused(tmp_path: Path, row: str) -> None:
    path = tmp_path / "fitness.toml"
    path.write_text(f'schema = 1\n[[demand]]\nplatform = "linux"\nfix = "x"\n{row}\n')
    with pytest.raises(HipwrightError) as caught:
        fitness_table(path)
    assert caught.value.code.name == "bad-data-file"


def test_a_fix_names_only_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "fitness.toml"
    path.write_text('schema = 1\n[[demand]]\nplatform = "linux"\nfix = "{more}"\nmeasure = "memory"\nroles = ["build"]\n')
    with pytest.raises(HipwrightError, match="more"):
        fitness_table(path)
