"""Rule ``leaked-paths``: no member names a folder of the machine that built it, a ROCm of the system, or somebody's home.

CMake files and scripts with such a path work where they were made, and nowhere else. Binaries have them in messages and in what debuggers
read; they tell of the builder, and make two builds differ.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import matches
from build_tools.checks.path_probe import PATHS, Hit, PathProbe
from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.checks.demands import Demands
    from build_tools.types import Severity
    from build_tools.wheels.probe import Probe

__all__ = ["RULE"]

_FOLLOWED: Final = (".cmake", ".pc", ".la", ".pth", ".cfg", ".toml", ".ini", ".json", ".sh")
"""What other tools read paths from; other texts may speak of folders, in examples and in places that are looked at."""

_ROCM: Final = "/opt/rocm"
_HOMES: Final = re.compile(r"/home/|[/\\][Uu]sers[/\\]")


def _judge(subject: Subject) -> Iterator[Problem]:
    allowed = subject.demands.check.may_name_paths if subject.demands is not None else ()
    for member, hits in subject.wheel.seen.get(PATHS, {}).items():
        for hit in hits if isinstance(hits, tuple) else ():
            if isinstance(hit, Hit):
                yield Problem(
                    message=_sentence(hit), member=member, severity=_severity(hit, member, known=matches(member, allowed))
                )


def _sentence(hit: Hit) -> str:
    times = f", {hit.count} times" if hit.count > 1 else ""
    return f"it names {_kind(hit)}, {hit.place}{times}: {hit.text}"


def _kind(hit: Hit) -> str:
    if hit.built:
        return "a folder of the machine that built it"
    if hit.place.startswith(_ROCM):
        return "a ROCm of the system"
    return "a folder of somebody" if _HOMES.search(hit.place) else "a folder of some build"


def _severity(hit: Hit, member: str, *, known: bool) -> Severity | None:
    if hit.binary:
        return "warning" if hit.built else "note"
    if known:
        return "warning"
    if hit.built:
        return None
    # A place below a ROCm was written by a build; the folder alone is where people look for one.
    fixed = not hit.place.startswith(_ROCM) or "/" in hit.place.removeprefix(_ROCM)
    return None if fixed and member.endswith(_FOLLOWED) else "warning"


def _probe(filename: str, demands: Demands | None) -> Probe | None:
    # Nothing that was built for Linux alone has been on Windows, and to look costs a tenth of reading the wheel.
    on_windows = "linux" not in filename.rpartition("-")[2]
    return PathProbe(demands.build_places if demands is not None else (), windows=on_windows)


RULE: Final = Rule(
    name="leaked-paths",
    summary="No member names a folder of the build machine, /opt/rocm or somebody's home folder.",
    why="A CMake file or script that names such a folder fails on every other machine, or takes up the ROCm of the system beside that of "
    "the packages. In a binary it tells who built it, and two builds differ.",
    mend="Make the path relative to the file (`${CMAKE_CURRENT_LIST_DIR}`, `$ORIGIN`), or find the package at run time. Compilers leave "
    "source paths out with `-ffile-prefix-map`. Binaries, and texts that no tool reads paths from, give warnings or notes; so do members in `check.may-name-paths`.",
    judge=_judge,
    probe=_probe,
    keys=('may-name-paths = ["demo/share/cmake/*"]  # members in which such a folder is a warning',),
)
