"""Rule ``file-name``: installers can read the file name, and it is spelled as the format has it.

A ``_`` or ``%2B`` where ``+`` belongs, a space or a wrong number of parts makes an installer say "is not a supported wheel".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.version import Version

from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.wheels.name import escaped_name

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    name = subject.name
    if name is None:
        yield Problem(message=subject.unreadable["name"], hint="give the file the name that its metadata says")
        return
    if name.distribution != escaped_name(name.distribution):
        message = f"the name part is {name.distribution}; normalised it is {escaped_name(name.distribution)}"
        yield Problem(message=message, severity="warning")
    if name.version != str(Version(name.version)):
        yield Problem(message=f"the version part is {name.version}; normalised it is {Version(name.version)}", severity="warning")


RULE: Final = Rule(
    name="file-name",
    summary="The file name has the parts of a wheel's name, each readable and normalised.",
    why="Installers and indexes read name, version and tags from the file name; with another spelling they say `is not a supported wheel`.",
    mend="Give the file the name that its metadata says, with `+` as it is.",
    judge=_judge,
)
