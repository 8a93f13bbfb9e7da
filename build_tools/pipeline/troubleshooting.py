"""What the commands about machines and extensions say when something is wrong, and what mends it: made by the functions that say it.

The page of them is generated, so that every row is what a command prints, and no remedy is written twice.
"""

from __future__ import annotations

from typing import Final

from build_tools.config.fitness import fitness_table
from build_tools.pipeline.hip_check import no_targets
from build_tools.receipts.machine import MachineFacts
from build_tools.testing.fitness import judge_machine
from build_tools.testing.hip import HipAnswer, why_unavailable
from build_tools.testing.profile import REMEDIES, judge_run
from build_tools.types import Platform

__all__ = ["example_rows", "hip_rows", "machine_rows"]

_NOTHING: Final = {
    Platform.LINUX: MachineFacts(
        platform="linux",
        os_name="ubuntu",
        os_version="18.04",
        driver="",
        rocm="",
        memory_bytes=8 * 10**9,
        disk_bytes=10 * 10**9,
        python="3.8",
        python_venv=False,
        tools={},
        packages={},
        groups=(),
        gpus=(),
        labels=(),
        reached={"HOST": False},
    ),
    Platform.WINDOWS: MachineFacts(
        platform="windows",
        os_name="windows",
        os_version="10.0.19045",
        driver="",
        memory_bytes=8 * 10**9,
        disk_bytes=10 * 10**9,
        python="3.8",
        python_venv=False,
        visual_studio="",
        tools={},
        gpus=(),
        labels=(),
        reached={"HOST": False},
    ),
}
"""Machines that have nothing of what is demanded."""

_ANSWERS: Final = (
    (HipAnswer(error="ModuleNotFoundError: No module named 'torch'"), False),
    (HipAnswer(torch="2.13.0+cu128", cuda="12.8"), False),
    (HipAnswer(torch="2.13.0+cpu"), False),
    (HipAnswer(torch="2.13.0", hip="7.0", error="RuntimeError: HIP error: out of memory"), True),
    (HipAnswer(torch="2.13.0", hip="7.0"), False),
    (HipAnswer(torch="2.13.0", hip="7.0"), True),
)
"""What torch says in each case in which HIP cannot be used, and whether the driver lists a GPU."""

_KILLED: Final = -9
_SEGMENTATION_FAULT: Final = -11


def machine_rows(platform: Platform) -> list[tuple[str, str, str, str, str]]:
    """Return the points that ``doctor`` shows of a machine that lacks everything: point, roles, found, wanted, fix."""
    demands = [one for one in fitness_table().demand if one.platform == platform.value]
    points = judge_machine(demands, _NOTHING[platform])
    return [
        (point.what, ", ".join(one.roles), point.found, point.wanted, point.fix)
        for one, point in zip(demands, points, strict=True)
    ]


def hip_rows() -> list[tuple[str, str, str]]:
    """Return what ``hip_check`` says: the code, the reason, and the hint."""
    rows = [("hip-unavailable", *why_unavailable(answer, driver=driver)) for answer, driver in _ANSWERS]
    lacking = no_targets(Platform.LINUX, "EXT_HIP_ARCHES")
    return [*rows, (lacking.code.name, lacking.message, lacking.hint or "")]


def example_rows() -> list[tuple[str, str, str]]:
    """Return what ``profile`` says of examples that did not pass: the status, the error, and what helps."""
    ends = [(None, None), (_SEGMENTATION_FAULT, "Fatal Python error: Segmentation fault"), (_KILLED, None), (0, None)]
    runs = [judge_run(None, code, seconds=0.0, limit=1800.0, peak=None, excerpt=words) for code, words in ends]
    return [(run.status, run.error or "", REMEDIES[run.code or ""]) for run in runs]
