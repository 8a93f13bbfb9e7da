"""Pieces of Markdown as GitHub shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["command_block", "fenced"]

_FENCE: Final = re.compile(r"^ *(`{3,})", re.MULTILINE)


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code, whatever fences it has itself."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def command_block(title: str, lines: Iterable[str]) -> str:
    """Return command lines under a title, to be copied; nothing when there are none."""
    listed = list(lines)
    return f"### {title}\n\n{fenced(chr(10).join(listed), 'sh')}\n" if listed else ""
