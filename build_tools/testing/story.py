"""What the driver wrote down while tests ran: each test's result, and enough to say what a run was doing when it ended badly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.files import open_regular
from build_tools.receipts.verdict import TestCounts
from build_tools.testing.junit import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["Begin", "Collected", "End", "Finish", "Forked", "Result", "Start", "Story", "count", "read_story"]


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """``at`` is when it happened, in seconds of the machine's monotonic clock."""

    at: float = 0.0


class Begin(_Event, frozen=True, kw_only=True, tag="begin"):
    """The process is there and begins to collect."""


class Collected(_Event, frozen=True, kw_only=True, tag="collected"):
    """Collection ended with these tests chosen."""

    tests: tuple[str, ...]


class Start(_Event, frozen=True, kw_only=True, tag="start"):
    """A test began."""

    test: str


class Result(_Event, frozen=True, kw_only=True, tag="result"):
    """How a test ended, or a file of tests that could not be collected or that skipped itself.

    ``message`` is the first line of the reason, ``seconds`` the time of all its phases, and ``attempts`` how often it was tried.
    """

    test: str
    outcome: Outcome
    message: str = ""
    seconds: float = 0.0
    attempts: int = 1

    @property
    def bad(self) -> bool:
        """Whether it failed."""
        return self.outcome in {"failed", "error"}

    @property
    def flaky(self) -> bool:
        """Whether it passed after an attempt that did not."""
        return self.attempts > 1 and self.outcome == "passed"


class Finish(_Event, frozen=True, kw_only=True, tag="finish"):
    """A test ended, however it did."""

    test: str


class Forked(_Event, frozen=True, kw_only=True, tag="forked"):
    """A process that a test forked came back out of it, into pytest, with this error where there was one; it was ended."""

    test: str
    message: str = ""


class End(_Event, frozen=True, kw_only=True, tag="end"):
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

    ``collected`` is None when collection did not end; ``results`` is by test id, in the order of their ends; ``running`` names the test
    that had begun and not ended; ``end`` is None when the session did not end. ``latest`` is when the last event happened, None when
    there is none. ``forked`` is the first process that a test forked and that came back out of it.
    """

    collected: tuple[str, ...] | None = None
    results: Mapping[str, Result] = field(default_factory=dict)
    running: str | None = None
    last: str | None = None
    end: End | None = None
    latest: float | None = None
    forked: Forked | None = None

    def moment(self) -> str:
        """Return when in the run its story stops, for messages."""
        if self.end is not None:
            return "after the last test"
        if self.running is not None:
            return f"while {self.running} ran"
        if self.last is not None:
            return f"after {self.last}"
        return "before the first test" if self.collected is not None else "before tests were collected"


_DECODER: Final[msgspec.json.Decoder[Begin | Collected | Start | Result | Finish | Forked | End]] = msgspec.json.Decoder(
    Begin | Collected | Start | Result | Finish | Forked | End
)


class StoryReader:
    """Follows the driver's events while they are written: each look reads only what has come since the last.

    Parameters
    ----------
    events
        The file that the driver writes; while it is missing nothing has happened.
    """

    def __init__(self, events: Path) -> None:
        self._events = events
        self._offset = 0
        self._collected: tuple[str, ...] | None = None
        self._results: dict[str, Result] = {}
        self._running: str | None = None
        self._last: str | None = None
        self._end: End | None = None
        self._latest: float | None = None
        self._forked: Forked | None = None

    def read(self) -> Story:
        """Return the story so far; its results grow with later looks, and a last line cut short has not happened yet."""
        for line in self._fresh_lines():
            try:
                event = _DECODER.decode(line)
            except msgspec.DecodeError:
                continue
            self._take(event)
        return Story(
            collected=self._collected,
            results=self._results,
            running=self._running,
            last=self._last,
            end=self._end,
            latest=self._latest,
            forked=self._forked,
        )

    def _fresh_lines(self) -> list[bytes]:
        try:
            with open_regular(self._events) as stream:
                stream.seek(self._offset)
                fresh = stream.read()
        except OSError:
            return []
        whole = fresh.rfind(b"\n") + 1
        self._offset += whole
        return fresh[:whole].split(b"\n")

    def _take(self, event: Begin | Collected | Start | Result | Finish | Forked | End) -> None:
        self._latest = event.at
        match event:
            case Collected(tests=tests):
                self._collected = tests
            case Start(test=test):
                self._running = test
            case Result(test=test):
                self._results[test] = event
            case Finish(test=test):
                self._running, self._last = None, test
            case End():
                self._end = event
            case Forked():
                self._forked = self._forked or event
            case Begin():
                pass


def read_story(events: Path) -> Story:
    """Read the driver's events; a missing file is a story in which nothing happened, a last line cut short did not happen."""
    return StoryReader(events).read()


def count(results: Iterable[Result]) -> TestCounts:
    """Return how many tests ended how."""
    found = Counter(result.outcome for result in results)
    return TestCounts(
        passed=found["passed"], failed=found["failed"], errors=found["error"], skipped=found["skipped"], not_run=found["not-run"]
    )
