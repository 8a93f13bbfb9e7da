"""Rule ``pins``: requirements on packages that belong together are exact, and are the planned ones.

A wheel that takes any ROCm or any torch gets the newest, from whatever index has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]

_QUOTED: Final = re.compile(r'"[^"]*"')
_EXTRA: Final = re.compile(r"\bextras?\b")


def _judge(subject: Subject) -> Iterator[Problem]:
    plan, metadata = subject.expectation, subject.metadata
    if plan is None or metadata is None:
        return
    member = f"{subject.wheel.dist_info[0]}/METADATA"
    pins = [Requirement(pin) for pin in plan.pins]
    for name in sorted({canonicalize_name(name) for name in (*plan.pinned, *(pin.name for pin in pins))}):
        stated = [requirement for requirement in metadata.requires_dist if canonicalize_name(requirement.name) == name]
        wanted = [pin for pin in pins if canonicalize_name(pin.name) == name]
        for message in _faults(name, stated, wanted):
            yield Problem(message=message, member=member)


def _faults(name: str, stated: list[Requirement], wanted: list[Requirement]) -> Iterator[str]:
    always = [requirement for requirement in stated if not _needs_extra(requirement)]
    for pin in wanted:
        if not any(_meets(requirement, pin) for requirement in always):
            yield f"METADATA does not require {pin}"
    if not wanted and not always:
        yield f"METADATA does not require {name}"
    versions = {_exact_version(pin) for pin in wanted}
    for requirement in stated:
        exact = _exact_version(requirement)
        if exact is None:
            yield f"METADATA requires {requirement}, which is no pin of one version"
        elif versions and exact not in versions:
            yield f"METADATA requires {requirement}; planned was {' and '.join(map(str, wanted))}"


def _meets(requirement: Requirement, pin: Requirement) -> bool:
    return _exact_version(requirement) == _exact_version(pin) and pin.extras <= requirement.extras


def _needs_extra(requirement: Requirement) -> bool:
    """Tell whether a requirement holds with some extra alone; a condition on the system does not count."""
    without_values = _QUOTED.sub("", str(requirement.marker or ""))
    return _EXTRA.search(without_values) is not None


def _exact_version(requirement: Requirement) -> Version | None:
    """Return the version that a requirement pins; None when it leaves a choice."""
    specifiers = list(requirement.specifier)
    if len(specifiers) != 1 or specifiers[0].operator != "==" or specifiers[0].version.endswith(".*"):
        return None
    return Version(specifiers[0].version)


RULE: Final = Rule(
    name="pins",
    summary="Requirements on ROCm and on companion packages are exact pins of the planned versions.",
    why="A wheel that takes any ROCm or any torch gets the newest, from whatever index has it, and breaks with it.",
    mend="Set the requirements from the packages that the build had: `build.variables` names the variable that the sources read them from.",
    judge=_judge,
    planned=True,
)
