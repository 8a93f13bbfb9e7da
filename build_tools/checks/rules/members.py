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
    files = {member.name: member for member in subject.wheel.members if not member.is_folder}
    planned = subject.expectation.members if subject.expectation is not None else ()
    demanded = subject.demands.members if subject.demands is not None else ()
    for wanted in dict.fromkeys((*planned, *demanded)):
        if wanted not in files and not fnmatch.filter(files, wanted):
            yield Problem(
                message=f"the wheel has no {wanted}",
                member=wanted,
                hint="see whether the build backend ignores it: a generated file, or one that .gitignore names",
            )


def _unable(subject: Subject) -> str | None:
    known = subject.expectation is not None or subject.demands is not None
    return None if known else "it is a wheel of no project here"


RULE: Final = Rule(
    name="required-members",
    summary="Every member that project.toml requires for this system is in the wheel.",
    why="A generated file that .gitignore names is left out by build backends that honour it, and the build ends well; the import fails, "
    "on one system alone.",
    mend="Tell the backend of the file (`artifacts`, `package_data`, `MANIFEST.in`), or let the hooks generate it.",
    judge=_judge,
    unable=_unable,
)
