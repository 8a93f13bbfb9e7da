"""Refusing a patch file that does not mean the same to ``git am`` as to whoever reads it.

``git am`` passes over what stands behind a hunk that has all its lines, makes up what a mail does not say, and names the wrong line where it
finds a hunk too short. The rules that a patch file is looked at by say it at the right line, before anything is applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.patches.lint import lint_patch

if TYPE_CHECKING:
    from build_tools.patches.series import Patch

__all__ = ["refuse_broken", "refuse_unsound"]

_UNSOUND: Final = frozenset(
    {
        "line-ends",
        "final-newline",
        "mail-headers",
        "one-patch",
        "no-diff",
        "outside",
        "hunk-header",
        "hunk-count",
        "stray-text",
        "binary-data",
    }
)
"""The rules whose breach changes what the patch does, or leaves it to the machine."""

_BROKEN: Final = _UNSOUND | {"hunk-line", "message-line"}
"""With those whose breach git may get over."""


def refuse_unsound(patch: Patch) -> None:
    """Refuse a patch of which git would pass over a part, or make up one.

    Raises
    ------
    HipwrightError
        ``bad-series`` with the file, the line and what to do about it.
    """
    _refuse(patch, _UNSOUND)


def refuse_broken(patch: Patch) -> None:
    """Refuse a patch that git did not take, for what is wrong with the file itself; nothing happens when that is in order.

    Raises
    ------
    HipwrightError
        As :func:`refuse_unsound`.
    """
    _refuse(patch, _BROKEN)


def _refuse(patch: Patch, rules: frozenset[str]) -> None:
    found = next((one for one in lint_patch(patch) if one.rule in rules), None)
    if found is None:
        return
    named = found.message if patch.name in found.message else f"{patch.name} is no patch that can be applied: {found.message}"
    hint = found.hint or "make the file as its author has it; or have it written by git: git format-patch"
    raise HipwrightError("bad-series", named, where=Where(file=patch.file, line=found.line, module=patch.module), hint=hint)
