"""What a look at a part of an index found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Seen"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What is wrong with the part, each with its key relative to the index, and what could not be judged."""

    faults: tuple[tuple[str, str], ...] = ()
    unjudged: tuple[str, ...] = ()
