"""Rule ``modes``: the permissions of members are those of files that are installed for everybody, and for nobody else to change.

pip takes from a mode only whether the file is a program; other installers, and everything that merely unpacks, take all of it.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.types import Severity

__all__ = ["RULE"]

_ANY_EXECUTE: Final = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def _judge(subject: Subject) -> Iterator[Problem]:
    for member in subject.wheel.members:
        mode = stat.S_IMODE(member.mode)
        if not stat.S_ISREG(member.mode) or member.is_folder:
            continue  # made where there are no modes, made anew by every installer, or told by the rule `member-names`
        for fault, severity in _faults(mode, member.name, subject.wheel.dist_info):
            yield Problem(message=f"its mode is {mode:04o}: {fault}", member=member.name, severity=severity)


def _faults(mode: int, name: str, dist_info: tuple[str, ...]) -> Iterator[tuple[str, Severity | None]]:
    if not mode & stat.S_IRUSR:
        yield "its owner cannot read it", None
    elif not mode & stat.S_IROTH:
        yield "only some can read it, and an install for all is used by all", "warning"
    if mode & stat.S_IWOTH:
        yield "everybody may change it", None
    if mode & _ANY_EXECUTE and not mode & stat.S_IXUSR:
        yield "others may run it, and its owner not", None
    if mode & _ANY_EXECUTE and name.rpartition("/")[0] in dist_info:
        yield "metadata is no program", "warning"


RULE: Final = Rule(
    name="modes",
    summary="Every member can be read by all, be changed by its owner alone, and is a program for its owner if it is one for anybody.",
    why="A wheel that was packed with another umask installs files that only root can read, or that every user of a shared machine can "
    "replace by others.",
    mend="Build with an ordinary umask (022), and correct modes in the step that copies files into the tree.",
    judge=_judge,
)
