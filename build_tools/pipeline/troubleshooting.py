"""What the commands about machines and extensions say when something is wrong, and what mends it: made by the functions that say it.

The page of them is generated, so that every row is what a command prints, and no remedy is written twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, cast

from build_tools.config.fitness import fitness_table
from build_tools.errors import HipwrightError
from build_tools.pipeline.bundling import second_rocm
from build_tools.pipeline.compare_profiles import worse_than_base
from build_tools.pipeline.hip_check import no_targets, no_tree
from build_tools.receipts.machine import MachineFacts
from build_tools.receipts.profile import ExampleDelta
from build_tools.testing.fitness import judge_machine
from build_tools.testing.hip import HipAnswer, why_unavailable
from build_tools.testing.judge import ProcessEnd, judge
from build_tools.testing.profile import REMEDIES, judge_run
from build_tools.testing.story import Story
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Section", "sections"]

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

_ENDS: Final = (
    ProcessEnd(returncode=-11, limit=3600.0),
    ProcessEnd(returncode=0xC0000005, limit=3600.0),
    ProcessEnd(returncode=None, limit=300.0, phase="collection"),
    ProcessEnd(returncode=None, limit=600.0, phase="test"),
    ProcessEnd(returncode=None, limit=3600.0),
    ProcessEnd(returncode=1, limit=3600.0),
)
"""How a test process can end without a report that speaks for itself."""

_CHANGES: Final = (
    ExampleDelta(example="example.py", change="slower", duration_delta_percent=40.0, peak_memory_delta_mb=0.0),
    ExampleDelta(example="example.py", change="broken", new_status="crashed"),
    ExampleDelta(example="example.py", change="missing"),
)
_LIMIT: Final = 0.1

_KILLED: Final = -9
_SEGMENTATION_FAULT: Final = -11


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A table of the page."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sections() -> tuple[Section, ...]:
    """Return the tables of the page, in the order in which the commands of an extension's CI run."""
    points = ("point", "roles", "found", "wanted", "fix")
    return (
        *(
            Section(
                title=f"A machine with {platform.value.capitalize()} that is not fit",
                head=points,
                rows=tuple(_machine_rows(platform)),
            )
            for platform in Platform
        ),
        _coded("HIP cannot be used", "error", "hip_check", _hip_rows()),
        _coded("A wheel is not built", "error", "pipeline", _build_rows()),
        _coded("Tests of an extension did not pass", "error", "test_extension", _test_rows()),
        _coded("Examples that did not pass", "status", "profile", _example_rows()),
        _coded("A profile is worse than the one before", "error", "compare_profiles", _change_rows()),
    )


def _coded(title: str, code: str, session: str, rows: list[tuple[str, str, str]]) -> Section:
    head = (code, f"what `nox -s {session}` says", "hint")
    return Section(title=title, head=head, rows=tuple((f"`{row[0]}`", *row[1:]) for row in rows))


def _row(error: HipwrightError) -> tuple[str, str, str]:
    return error.code.name, error.message, error.hint or ""


def _machine_rows(platform: Platform) -> list[tuple[str, str, str, str, str]]:
    """Return the points that ``doctor`` shows of a machine that lacks everything: point, roles, found, wanted, fix."""
    demands = [one for one in fitness_table().demand if one.platform == platform.value]
    points = judge_machine(demands, _NOTHING[platform])
    return [
        (point.what, ", ".join(one.roles), point.found, point.wanted, point.fix)
        for one, point in zip(demands, points, strict=True)
    ]


def _hip_rows() -> list[tuple[str, str, str]]:
    """Return what ``hip_check`` says: the code, the reason, and the hint."""
    rows = [("hip-unavailable", *why_unavailable(answer, driver=driver)) for answer, driver in _ANSWERS]
    return [*rows, _row(no_targets(Platform.LINUX, "EXT_HIP_ARCHES"))]


def _example_rows() -> list[tuple[str, str, str]]:
    """Return what ``profile`` says of examples that did not pass: the status, the error, and what helps."""
    ends = [(None, None), (_SEGMENTATION_FAULT, "Fatal Python error: Segmentation fault"), (_KILLED, None), (0, None)]
    runs = [judge_run(None, code, seconds=0.0, limit=1800.0, peak=None, excerpt=words) for code, words in ends]
    return [(run.status, run.error or "", REMEDIES[run.code or ""]) for run in runs]


def _build_rows() -> list[tuple[str, str, str]]:
    """Return what a build says that cannot have what was asked for: the code, the message, and the hint."""
    return [_row(second_rocm("my-extension", "pytorch"))]


def _test_rows() -> list[tuple[str, str, str]]:
    """Return what ``test_extension`` says of tests that ended badly: the code, the message, and the hint."""
    tree = cast("Path", PurePosixPath(".work/src/my-extension"))
    running = Story(collected=("tests/test_a.py::test_one",), running="tests/test_a.py::test_one")
    return [
        _row(no_tree("my-extension", tree)),
        *(_row(_judged(Story() if end.phase == "collection" else running, end)) for end in _ENDS),
    ]


def _change_rows() -> list[tuple[str, str, str]]:
    """Return what ``compare_profiles`` says of examples that got worse: the code, the message, and the hint."""
    return [_row(worse_than_base([one], len(_CHANGES), _LIMIT)) for one in _CHANGES]


def _judged(story: Story, end: ProcessEnd) -> HipwrightError:
    """Return what is raised for tests that left no report."""
    try:
        judge(HipwrightError("no-report", "there is none"), story, end)
    except HipwrightError as error:
        return error
    raise AssertionError(end)
