"""Rule ``size``: the wheel is no larger than the project allows.

Indexes and release assets have limits, and one target or one debug build too many is seen here first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import humanize

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]

_MIB: Final = 1 << 20


def _judge(subject: Subject) -> Iterator[Problem]:
    limit = subject.demands.check.size_limit if subject.demands is not None else None
    if limit is None or subject.wheel.size <= limit * _MIB:
        return
    largest = max(subject.wheel.members, key=lambda member: member.packed, default=None)
    hint = None
    if largest is not None:
        hint = f"the largest member is {largest.name} with {humanize.naturalsize(largest.packed, binary=True)} of it"
    size = humanize.naturalsize(subject.wheel.size, binary=True)
    yield Problem(message=f"the wheel has {size}, and project.toml allows {limit} MiB", hint=hint)


def _unable(subject: Subject) -> str | None:
    stated = subject.demands is not None and subject.demands.check.size_limit is not None
    return None if stated else "no check.size-limit is stated"


RULE: Final = Rule(
    name="size",
    summary="The wheel is no larger than the limit in project.toml.",
    why="Package indexes refuse files above their limit when everything is built already, and every user downloads what is too much.",
    mend="Build for fewer targets in one wheel, without debug sections; or raise `check.size-limit`.",
    judge=_judge,
    unable=_unable,
    keys=("size-limit = 2048  # MiB, of the whole wheel",),
)
