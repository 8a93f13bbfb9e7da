"""Probes: what looks at the contents of a wheel's members while they are read for their hashes, so that they are read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from build_tools.wheels.archive import Member

__all__ = ["Probe", "Watcher"]


class Watcher(Protocol):
    """Sees the content of one member, in pieces and in order."""

    def feed(self, piece: bytes) -> None:
        """Take the next piece."""

    def end(self) -> object | None:
        """Return what was found, once all was seen; None when there is nothing to tell. The member may have been cut short."""


class Probe(Protocol):
    """Chooses the members that it looks at.

    ``name`` is what its findings are filed under. A probe is used by several threads at once, a watcher by one.
    """

    name: str

    def begin(self, member: Member) -> Watcher | None:
        """Return who looks at a member, None when nobody needs to."""
