"""Rule ``version``: the version is written as every tool that reads it writes it again (PEP 440).

A local part such as ``+ROCm7.10-dev`` becomes ``+rocm7.10.dev`` in one tool and stays in another: the file name, the index's page and the
pin of a companion then name three different things.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion

from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.wheels.limits import read_version

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]

_FIELD: Final = re.compile(rb"^version[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


def _judge(subject: Subject) -> Iterator[Problem]:
    data = subject.wheel.texts.get("METADATA")
    if data is None:
        return  # the rule `metadata` says so
    found = _FIELD.search(data)
    if found is None:
        return
    stated = found[1].decode("utf-8", "replace")
    try:
        normal = str(read_version(stated))
    except InvalidVersion:
        return  # the rule `metadata` says so
    if stated != normal:
        yield Problem(
            message=f"METADATA has the version {stated}, which other tools write as {normal}",
            member=f"{subject.wheel.dist_info[0]}/METADATA",
            severity=None if subject.expectation is not None else "warning",
        )


RULE: Final = Rule(
    name="version",
    summary="The version in METADATA is written in the one form that every tool gives it.",
    why="Tools normalise versions. One that changes under that is another text in the file name, in an index's page and in the pins of "
    "companion packages, and what compares texts finds no such version.",
    mend="Give the build a suffix in lower case, its parts joined by dots, numbers without leading zeros.",
    judge=_judge,
)
