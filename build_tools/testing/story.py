"""What the driver wrote down while tests ran: enough to say what a run was doing when it ended badly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Collected", "End", "Finish", "Start", "Story", "read_story"]


class Collected(msgspec.Struct, frozen=True, tag="collected", tag_field="event"):
    """Collection ended with this many tests chosen."""

    count: int


class Start(msgspec.Struct, frozen=True, tag="start", tag_field="event"):
    """A test began."""

    test: str


class Finish(msgspec.Struct, frozen=True, tag="finish", tag_field="event"):
    """A test ended, however it did."""

    test: str


class End(msgspec.Struct, frozen=True, tag="end", tag_field="event"):
    """The session ended and its report is written.

    ``status`` is pytest's; ``finished`` counts the tests that ended. ``loaded`` holds the packages under test that the process had
    imported by then, with their files, and ``foreign`` those of their modules that lie outside the environment.
    """

    status: int
    finished: int
    loaded: dict[str, str]
    foreign: dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """The events of a run, summed up.

    ``collected`` is None when collection did not end; ``running`` names the test that had begun and not ended; ``end`` is None when
    the session did not end.
    """

    collected: int | None = None
    running: str | None = None
    last: str | None = None
    end: End | None = field(default=None)

    def moment(self) -> str:
        """Return when in the run its story stops, for messages."""
        if self.end is not None:
            return "after the last test"
        if self.running is not None:
            return f"while {self.running} ran"
        if self.last is not None:
            return f"after {self.last}"
        return "before the first test" if self.collected is not None else "before tests were collected"


_DECODER: Final[msgspec.json.Decoder[Collected | Start | Finish | End]] = msgspec.json.Decoder(Collected | Start | Finish | End)


def read_story(events: Path) -> Story:
    """Read the driver's events; a missing file is a story in which nothing happened, a last line cut short did not happen."""
    try:
        lines = events.read_bytes().split(b"\n")
    except OSError:
        return Story()
    collected: int | None = None
    running: str | None = None
    last: str | None = None
    end: End | None = None
    for line in lines:
        try:
            event = _DECODER.decode(line)
        except msgspec.DecodeError:
            continue
        match event:
            case Collected(count=count):
                collected = count
            case Start(test=test):
                running = test
            case Finish(test=test):
                running, last = None, test
            case End():
                end = event
    return Story(collected=collected, running=running, last=last, end=end)
