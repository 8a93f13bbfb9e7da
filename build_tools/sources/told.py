"""How people are told of modules, of files in them, and of what became of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.shown import shown
from build_tools.sources.modules import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["called", "change_word", "prefix_of", "shortened"]


def called(module: str) -> str:
    """Return what people are told a module is, by its path.

    >>> called("."), called("third_party/lib")
    ('the root', 'third_party/lib')
    """
    return "the root" if module == ROOT else shown(module)


def prefix_of(module: str) -> str:
    """Return what stands before a file of a module, by the module's path: nothing in the root.

    >>> prefix_of("."), prefix_of("third_party/lib")
    ('', 'third_party/lib: ')
    """
    return "" if module == ROOT else f"{shown(module)}: "


def change_word(state: bytes) -> str:
    """Return the word for a state of a file, as ``git status`` and ``git diff-tree`` give it.

    >>> [change_word(state) for state in (b"??", b" D", b"A ", b"M")]
    ['untracked', 'deleted', 'added', 'edited']
    """
    if state == b"??":
        return "untracked"
    if b"D" in state:
        return "deleted"
    return "added" if b"A" in state else "edited"


def shortened(lines: Sequence[str], most: int, *, total: int | None = None) -> list[str]:
    """Return no more than ``most`` lines, and one that says how many more there are; ``total`` where not all are among ``lines``.

    >>> shortened(["a", "b", "c"], 2)
    ['a', 'b', 'and 1 more']
    """
    left = (len(lines) if total is None else total) - most
    return [*lines[:most], *([f"and {left} more"] if left > 0 else [])]
