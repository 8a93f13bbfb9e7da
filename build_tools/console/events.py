"""What is said while work goes on: events, and the console that passes them to a renderer."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import field

from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from build_tools.errors import HipwrightError
    from build_tools.types import Severity

__all__ = [
    "Annotated",
    "Console",
    "Event",
    "Failed",
    "GroupBegan",
    "GroupEnded",
    "Line",
    "Printed",
    "Progress",
    "Renderer",
    "Said",
    "Summarised",
    "Table",
]


class Said(Value, frozen=True, kw_only=True):
    """A sentence for people: ordinary talk, or a warning."""

    text: str
    level: Literal["talk", "warning"] = "talk"


class Annotated(Value, frozen=True, kw_only=True):
    """One finding, for renderers that pin such to a run, or to a line of a file of the clone; what shows tables alone has it there."""

    text: str
    title: str
    level: Severity
    file: str | None = None
    line: int | None = None


class Line(Value, frozen=True, kw_only=True):
    """One output line of a running program, for a live tail."""

    text: str


class Progress(Value, frozen=True, kw_only=True):
    """So many of a number of like things are done; a live line, and in a log a few lines (:class:`build_tools.console.pace.Pace`).

    ``total`` is 0 where nobody knows how many there will be; ``unit`` is what is counted, where the words before do not say it.
    """

    what: str
    done: int
    total: int
    unit: str = ""

    @property
    def text(self) -> str:
        """It as a sentence."""
        count = f"{self.done} of {self.total}" if self.total else f"{self.done} so far"
        return f"{self.what}: {count}{f' {self.unit}' if self.unit else ''}"


class GroupBegan(Value, frozen=True, kw_only=True):
    """A piece of work began; what follows belongs to it."""

    title: str


class GroupEnded(Value, frozen=True, kw_only=True):
    """The piece of work ended, after so many seconds."""

    title: str
    seconds: float
    well: bool


class Table(Value, frozen=True, kw_only=True):
    """A result as a table; goes to stdout, and into the job summary on GitHub."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Printed(Value, frozen=True, kw_only=True):
    """A result that is a text of its own, such as a script; goes to stdout as it is."""

    text: str


class Summarised(Value, frozen=True, kw_only=True):
    """Markdown for the job summary on GitHub, beside the tables that are there anyway; shown nowhere else."""

    markdown: str


class Failed(Value, frozen=True, kw_only=True):
    """A failure."""

    error: HipwrightError


Event = Said | Annotated | Line | Progress | GroupBegan | GroupEnded | Table | Printed | Summarised | Failed


class Renderer(Protocol):
    """Shows events; ``close`` takes away what is only shown while work goes on."""

    def show(self, event: Event) -> None:
        """Show one event."""

    def close(self) -> None:
        """Take down anything live."""


class Console(Value, frozen=True, kw_only=True):
    """What code talks to; it knows nothing of how things are shown.

    Parameters
    ----------
    renderer
        Shows what it is told.
    mask
        What every text passes through first, so that no secret is shown.
    """

    renderer: Renderer
    mask: Callable[[str], str] = field(default=lambda text: text)

    def say(self, text: str) -> None:
        """Say a sentence."""
        self.renderer.show(Said(text=self.mask(text)))

    def warn(self, text: str) -> None:
        """Say a sentence that wants attention."""
        self.renderer.show(Said(text=self.mask(text), level="warning"))

    def annotate(self, level: Severity, title: str, text: str, *, file: str | None = None, line: int | None = None) -> None:
        """Pin a finding to the run, or to a line of a file, where that can be done; it is shown elsewhere too."""
        self.renderer.show(Annotated(text=self.mask(text), title=self.mask(title), level=level, file=file, line=line))

    def line(self, text: str) -> None:
        """Pass on an output line of a running program."""
        self.renderer.show(Line(text=self.mask(text)))

    def progress(self, what: str, done: int, total: int, unit: str = "") -> None:
        """Say how many of a number of like things are done; see :class:`Progress`."""
        self.renderer.show(Progress(what=self.mask(what), done=done, total=total, unit=unit))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
        """Show a result as a table."""
        cells = tuple(tuple(map(self.mask, row)) for row in rows)
        self.renderer.show(Table(title=self.mask(title), columns=tuple(columns), rows=cells, note=self.mask(note)))

    def print(self, text: str) -> None:
        """Show a result that is a text of its own."""
        self.renderer.show(Printed(text=self.mask(text)))

    def summarise(self, markdown: str) -> None:
        """Put a text into the job summary; see :class:`Summarised`."""
        self.renderer.show(Summarised(markdown=self.mask(markdown)))

    def fail(self, error: HipwrightError) -> None:
        """Show a failure."""
        self.renderer.show(Failed(error=error.masked(self.mask)))

    @contextlib.contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Frame a piece of work."""
        title = self.mask(title)
        began = time.monotonic()
        self.renderer.show(GroupBegan(title=title))
        well = False
        try:
            yield
            well = True
        finally:
            self.renderer.show(GroupEnded(title=title, seconds=time.monotonic() - began, well=well))

    def close(self) -> None:
        """Take down anything live."""
        self.renderer.close()
