"""Rule ``required-members``: what the project says must be in the wheel is in the wheel.

A build backend that honours ``.gitignore`` leaves generated files out and ends well; the wheel then fails at import, on one system
alone.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    if subject.expectation is None:
        return
    files = {member.name: member for member in subject.wheel.members if not member.is_folder}
    for wanted in subject.expectation.members:
        if wanted not in files and not fnmatch.filter(files, wanted):
            yield Problem(
                message=f"the wheel has no {wanted}",
                member=wanted,
                hint="see whether the build backend ignores it: a generated file, or one that .gitignore names",
            )


RULE: Final = Rule(
    name="required-members",
    summary="Every member that project.toml requires for this system is in the wheel.",
    judge=_judge,
    planned=True,
)
