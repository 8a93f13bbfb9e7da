"""Rule ``source-commit``: what the wheel says it was built from is the upstream commit.

A module such as ``torch/version.py`` is written during the build, mostly from what ``git rev-parse HEAD`` answers there: a commit that a
tool made on the builder's machine, or none at all, is told there to everybody who gets the wheel.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE", "assigned_text"]

_SHORTEST: Final = 7
"""The fewest digits to which git itself shortens a commit id."""


def _judge(subject: Subject) -> Iterator[Problem]:
    stated = subject.expectation.source_commit if subject.expectation is not None else None
    if stated is None:
        return
    if not any(member.name == stated.member for member in subject.wheel.members):
        yield Problem(message=f"the wheel has no {stated.member}, which is to name its commit", member=stated.member)
        return
    data = subject.wheel.asked.get(stated.member)
    if data is None:
        yield Problem(message="the member is to name the wheel's commit, and was not read", member=stated.member)
        return
    try:
        value = assigned_text(stated.name, data)
    except (SyntaxError, ValueError) as error:
        yield Problem(message=f"the member is to name the wheel's commit, and is no Python: {error}", member=stated.member)
        return
    if value is None:
        yield Problem(message=f"no commit: nothing assigns a text to {stated.name}", member=stated.member)
    elif value != stated.commit and not (len(value) >= _SHORTEST and stated.commit.startswith(value)):
        yield Problem(
            message=f"{stated.name} is {value!r}, and the wheel was built from {stated.commit}",
            member=stated.member,
            hint="the sources have to ask git for HEAD in the tree that is built, or take the commit from a variable of build.variables",
        )


def assigned_text(name: str, data: bytes) -> str | None:
    """Return the text that a module assigns to a name, at its top; the last assignment counts, and one of anything else is none.

    Raises
    ------
    SyntaxError, ValueError
        The module is no Python.
    """
    value = None
    for node in ast.parse(data).body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            constant = node.value.value if isinstance(node.value, ast.Constant) else None
            value = constant if isinstance(constant, str) else None
    return value


RULE: Final = Rule(
    name="source-commit",
    summary="The member that names the commit of a wheel names the upstream commit that it was built from.",
    why="What the wheel says of its sources is what bug reports name; a commit that exists on the build machine alone helps nobody.",
    mend="Let the sources take the commit from a variable of `build.variables`.",
    judge=_judge,
    planned=True,
)
