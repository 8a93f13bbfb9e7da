"""What is wrong with a patch file, as its readers note it: a reader goes on after a fault, so that a person is told all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Fault"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault: the name of its rule, the line of the patch file, counted from 1, what is wrong, and what to do about it."""

    rule: str
    line: int
    message: str
    hint: str | None = None
