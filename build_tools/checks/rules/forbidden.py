"""Rule ``forbidden-members``: what must not be delivered is not in the wheel.

Some of it never belongs into one (compiled caches, a repository's own folder); the rest is what ``project.toml`` forbids.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["RULE", "matching"]

_NEVER: Final = (
    ".git/*",
    "*/.git/*",
    "*/__pycache__/*",
    "__pycache__/*",
    "*.pyc",
    "*.orig",
    "*.rej",
    "*/.DS_Store",
    "*/CMakeCache.txt",
)
_WILD: Final = re.compile(r"\[!?\]?[^\]]*\]|[*?[]")
"""What in a pattern stands for something else."""


def _judge(subject: Subject) -> Iterator[Problem]:
    names = [member.name for member in subject.wheel.members if not member.is_folder]
    for name in dict.fromkeys(name for pattern in _NEVER for name in matching(names, pattern)):
        yield Problem(message="no wheel needs it: the build or a tool left it behind", member=name, severity="warning")
    for pattern in subject.demands.forbidden if subject.demands is not None else ():
        for name in matching(names, pattern):
            yield Problem(message=f"project.toml forbids {pattern}", member=name)


def matching(names: Sequence[str], pattern: str) -> Iterator[str]:
    """Give the names that a pattern matches; nearly all of many lack a part of it that stands for itself, which costs the least to see."""
    own = max(_WILD.split(pattern), key=len)
    matches = re.compile(fnmatch.translate(pattern)).match
    return (name for name in names if own in name and matches(name))


RULE: Final = Rule(
    name="forbidden-members",
    summary="No member is one that project.toml forbids, or one that only a build leaves behind.",
    why="Caches, half-applied patches and files of another system make a wheel larger, leak what was on the build machine, or are loaded "
    "instead of what was meant.",
    mend="Leave the files out in the project's packaging rules. Patterns of a project's own are `wheel.forbidden-members`.",
    judge=_judge,
)
