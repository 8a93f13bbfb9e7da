"""Rule ``path-length``: on Windows every file has a path that Windows takes.

A path has 260 characters there unless the machine and the program say otherwise; the folder that packages are installed in takes its
share, deep below a person's own. An installer then stops in the middle with "No such file or directory".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.config.wheel_demands import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    limit = (subject.demands.check if subject.demands is not None else Check()).path_limit
    for member in subject.wheel.members:
        path = member.name.rstrip("/")
        # `demo-1.0.data/purelib/` goes away when the file is installed.
        top, _, rest = path.partition("/")
        path = rest.partition("/")[2] if top.endswith(".data") else path
        units = len(path.encode("utf-16-le")) // 2
        if units > limit:
            yield Problem(
                message=f"the path has {units} characters below the folder of packages, and {limit} are allowed",
                member=member.name,
            )


def _unable(subject: Subject) -> str | None:
    platforms = subject.name.platform.split(".") if subject.name is not None else ["any"]
    return None if any(each == "any" or each.startswith("win") for each in platforms) else "the wheel is not for Windows"


RULE: Final = Rule(
    name="path-length",
    summary="In a wheel for Windows no path is so long that an install below an ordinary folder fails.",
    why="Windows takes paths of 260 characters unless told otherwise, and the folder of packages has its share of them. The install "
    "stops in the middle, on machines with long user names alone.",
    mend="Shorten the names of folders, leave the files out of the wheel, or raise `check.path-limit` in `project.toml` and say in the "
    "install guide that long paths must be turned on.",
    judge=_judge,
    unable=_unable,
    keys=("path-limit = 180  # characters below the folder of packages, on Windows; 180 when it is not said",),
)
