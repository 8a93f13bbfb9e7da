"""Rule ``wheel-set``: the wheels are exactly the planned ones, each once."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, SetRule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.checks.expectation import Expectation

__all__ = ["RULE"]


def _judge(subjects: Sequence[Subject], plan: Mapping[str, Expectation] | None) -> Iterator[tuple[str, Problem]]:
    counts = collections.Counter(subject.wheel.filename for subject in subjects)
    for filename, count in counts.items():
        if count > 1:
            yield filename, Problem(message=f"{count} files have this name, and an index has one")
    if plan is None:
        return
    for filename in plan.keys() - counts.keys():
        yield filename, Problem(message="the wheel was planned, and it is not there")
    for filename in counts.keys() - plan.keys():
        yield filename, Problem(message="the wheel was not planned")


RULE: Final = SetRule(
    name="wheel-set",
    summary="Every planned wheel is there, none is there that was not planned, and no file name is there twice.",
    why="A build that lost a wheel on the way must not pass for want of something to judge.",
    mend="Build what is missing, or take away what was not meant.",
    judge=_judge,
)
