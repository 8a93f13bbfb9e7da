"""Rule ``binaries``: every binary in the wheel can be read as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import binaries_of, probe_binaries
from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    for member, binary in binaries_of(subject).items():
        if binary.fault is not None:
            yield Problem(message=binary.fault, member=member)


RULE: Final = Rule(
    name="binaries",
    summary="What is named like a binary, or begins like one, can be read as one.",
    judge=_judge,
    probe=probe_binaries,
    why="A library that is cut short, or a text file in its place (a link that was checked out as a file), fails when it is loaded, "
    "and no other rule can judge it.",
    mend="See what wrote the member: a full disk, a link that became a file, or a tool that edits binaries.",
)
