"""Rule ``forbidden-members``: what must not be delivered is not in the wheel.

Some of it never belongs into one (compiled caches, a repository's own folder); the rest is what ``project.toml`` forbids.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.rule import Problem, Rule, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RULE"]

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
_NEVER_ONE: Final = re.compile("|".join(fnmatch.translate(pattern) for pattern in _NEVER))


def _judge(subject: Subject) -> Iterator[Problem]:
    names = [member.name for member in subject.wheel.members if not member.is_folder]
    for name in filter(_NEVER_ONE.match, names):
        yield Problem(message="no wheel needs it: the build or a tool left it behind", member=name, severity="warning")
    forbidden = subject.demands.forbidden if subject.demands is not None else ()
    found = filter(re.compile("|".join(map(fnmatch.translate, forbidden))).match, names) if forbidden else ()
    for name in found:
        for pattern in forbidden:
            if fnmatch.fnmatchcase(name, pattern):
                yield Problem(message=f"project.toml forbids {pattern}", member=name)


RULE: Final = Rule(
    name="forbidden-members",
    summary="No member is one that project.toml forbids, or one that only a build leaves behind.",
    why="Caches, half-applied patches and files of another system make a wheel larger, leak what was on the build machine, or are loaded "
    "instead of what was meant.",
    mend="Leave the files out in the project's packaging rules. Patterns of a project's own are `wheel.forbidden-members`.",
    judge=_judge,
)
