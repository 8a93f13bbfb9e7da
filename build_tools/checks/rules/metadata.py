"""Rule ``metadata``: ``METADATA`` is valid, and every requirement can be met from an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]


def _judge(subject: Subject) -> Iterator[Problem]:
    if len(subject.wheel.dist_info) != 1:
        return  # the rule `identity` says so
    member = f"{subject.wheel.dist_info[0]}/METADATA"
    if subject.metadata is None:
        yield Problem(message=subject.unreadable["METADATA"], member=member)
        return
    for oddity in subject.metadata.oddities:
        yield Problem(message=f"METADATA has {oddity}", member=member, severity="note")
    for requirement in subject.metadata.requires_dist:
        if requirement.url is not None:
            yield Problem(message=f"METADATA requires {requirement}, an address that no index has", member=member)


RULE: Final = Rule(
    name="metadata",
    summary="METADATA is valid core metadata, and requires nothing by an address.",
    why="An index refuses a wheel with malformed metadata, and one that requires an address can be installed by nobody else.",
    mend="Correct the project's metadata.",
    judge=_judge,
)
