"""The base of values: immutable, compared by what they hold, and declared in a fraction of the time that a dataclass takes."""

from __future__ import annotations

import msgspec

__all__ = ["Value"]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """What code hands to code; it is never read from a file, so its annotations are for people and type checkers alone.

    For a dataclass Python writes and compiles each method anew whenever it starts; of the time before a command began, that was a third.
    """
