"""The renderers: talk on stderr, tables on stdout, for a terminal or for GitHub's log."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from build_tools.console.events import (
    Annotated,
    Event,
    Failed,
    GroupBegan,
    GroupEnded,
    Line,
    Printed,
    Progress,
    Said,
    Summarised,
    Table,
)
from build_tools.console.markdown import fenced
from build_tools.console.pace import Pace
from build_tools.errors import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rich.console import Console as RichConsole
    from rich.status import Status

    from build_tools.errors import HipwrightError
    from build_tools.types import Severity

__all__ = ["GitHubRenderer", "TerminalRenderer", "failure_text", "markdown_table", "plain_table"]

_LEVELS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "note": "notice"}
"""The runner's words for how bad a finding is."""

_LONGEST_LINE: Final = 200
"""Characters of a program's line that a log has: commands of compilers have thousands."""

_COMMAND: Final = re.compile(r"(?P<start>(?:^|[\r\n])[\s\ufeff]*:)(?=:)|##(?=\[)")
"""What GitHub's runner takes for a command: ``::`` at the start of a line, blanks apart, and ``##[`` anywhere in it."""


def failure_text(error: HipwrightError) -> str:
    """Return a failure as people read it: code and message, where, the first real error, log, hint, how to repeat it."""
    lines = [f"error[{error.code.name}]: {error.message}"]
    if error.where is not None and str(error.where):
        lines.append(f"  where: {error.where}")
    if error.excerpt:
        # What a program said before it failed; anything else is the list that the message speaks of.
        lines += ["  first error:"] if error.code.kind is Kind.FINDING else []
        lines += [f"    {line}" for line in error.excerpt.splitlines()]
    if error.log is not None:
        lines.append(f"  log: {error.log}")
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    if error.reproduce:
        lines.append(f"  repeat this stage alone: {error.reproduce}")
    return "\n".join(lines)


def plain_table(table: Table, width: int | None, *, colour: bool = False) -> str:
    """Return a table as text of at most ``width`` characters a line (None: as wide as it is); of one without rows, title and note."""
    from rich.console import Console as RichConsole  # noqa: PLC0415 - rich costs more time than many a command has to show
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415

    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(table.columns):
        grid.add_column(escape(column), overflow="fold", no_wrap=number == 0)
    for row in table.rows:
        grid.add_row(*(escape(cell) for cell in row))
    console = RichConsole(
        file=io.StringIO(),
        width=width or 10_000,
        force_terminal=colour,
        highlight=False,
        color_system="standard" if colour else None,
    )
    with console.capture() as got:
        # As a title of the grid it would be folded to the width of that, which a table of no rows hardly has.
        console.print(escape(table.title), style="bold")
        if table.rows:
            console.print(grid)
    text = "\n".join(line.rstrip() for line in got.get().splitlines())
    return f"{text}\n{table.note}\n" if table.note else f"{text}\n"


def markdown_table(table: Table) -> str:
    """Return a table as GitHub Markdown; of one without rows, title and note."""

    def row(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"

    rule = "| " + " | ".join("---" for _ in table.columns) + " |"
    body = "\n".join([row(table.columns), rule, *(row(cells) for cells in table.rows)]) + "\n" if table.rows else ""
    note = f"{fenced(table.note)}" if table.note else ""
    return f"### {table.title}\n\n" + "\n".join(part for part in (body, note) if part) + "\n"


@dataclass(kw_only=True)
class TerminalRenderer:
    """Shows events to a person: a live line of what runs when stderr is a terminal, plain lines when it is not.

    ``coloured`` says that colours are wanted where it is none, too.
    """

    out: TextIO
    err: TextIO
    quiet_tables: bool = False
    coloured: bool = False
    clock: Callable[[float], str] = field(default=lambda seconds: f"{seconds:.1f} s")
    pace: Pace = field(default_factory=Pace)
    _talk: RichConsole | None = field(init=False, default=None)
    _status: Status | None = field(init=False, default=None)
    _title: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.coloured or self.err.isatty():
            self._talk = _rich_console(self.err)

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Said(text=text, level=level):
                warning = level == "warning"
                self._print(f"warning: {text}" if warning else text, "yellow" if warning else None)
            case Line() | Progress() | Annotated():
                self._tail(event)
            case GroupBegan(title=title):
                self._title = title
                if self._talk is not None and self._talk.is_terminal:
                    self._status = _live_line(title, self._talk)
                    self._status.start()
                else:
                    self._print(f"{title} ...", None)
            case GroupEnded(title=title, seconds=seconds, well=well):
                self.close()
                self._print(f"{title}: {'done' if well else 'failed'} in {self.clock(seconds)}", None if well else "red")
            case Table() | Printed():
                if not self.quiet_tables:
                    self.close()
                    self._result(event)
            case Summarised():
                # A terminal has no job summary.
                pass
            case Failed(error=error):
                self.close()
                self._print(failure_text(error), "red")

    def close(self) -> None:
        """Take the live line down."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _result(self, event: Table | Printed) -> None:
        if isinstance(event, Printed):
            text = event.text
        else:
            width = _rich_console(self.out).width if self.out.isatty() else None
            text = plain_table(event, width, colour=self.out.isatty())
        self.out.write(text)
        self.out.flush()

    def _tail(self, event: Line | Progress | Annotated) -> None:
        if isinstance(event, Annotated):
            return
        if self._status is not None and self._talk is not None and event.text.strip():
            from rich.markup import escape  # noqa: PLC0415 - see plain_table

            room = max(10, self._talk.width - len(self._title) - 8)
            self._status.update(f"{escape(self._title)}  [dim]{escape(event.text.strip()[:room])}[/dim]")
        elif event.text.strip() and self.pace.tells(event):
            self._print(event.text if isinstance(event, Progress) else f"  {event.text.strip()[:_LONGEST_LINE]}", None)

    def _print(self, text: str, style: str | None) -> None:
        self.pace.told()
        if self._talk is None:
            self.err.write(f"{text}\n")
            self.err.flush()
            return
        from rich.markup import escape  # noqa: PLC0415 - see plain_table

        self._talk.print(escape(text), style=style, soft_wrap=True)


def _rich_console(stream: TextIO) -> RichConsole:
    from rich.console import Console as RichConsole  # noqa: PLC0415 - see plain_table

    return RichConsole(file=stream, highlight=False, soft_wrap=True)


def _live_line(title: str, console: RichConsole) -> Status:
    from rich.markup import escape  # noqa: PLC0415 - see plain_table
    from rich.status import Status  # noqa: PLC0415

    return Status(escape(title), console=console)


@dataclass(kw_only=True)
class GitHubRenderer:
    """Shows events in GitHub's log: groups, annotations, program output in full, tables also in the job summary.

    Only what it says itself is a command to the runner; a space parts what would be one in a text.
    """

    out: TextIO
    err: TextIO
    summary: Path | None
    quiet_tables: bool = False
    pace: Pace = field(default_factory=Pace)

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Said() | Annotated():
                self._tell(event)
            case Line() | Progress():
                if isinstance(event, Line) or self.pace.tells(event):
                    self._write(f"  {event.text}")
            case GroupBegan(title=title):
                self._command(f"::group::{_data(title)}")
            case GroupEnded(title=title, seconds=seconds, well=well):
                self._command("::endgroup::")
                self._write(f"{title}: {'done' if well else 'failed'} in {seconds:.1f} s")
            case Table() | Printed():
                self._result(event)
            case Summarised(markdown=markdown):
                self._summarise(markdown)
            case Failed(error=error):
                self._fail(error)

    def close(self) -> None:
        """Nothing is live here."""

    def _tell(self, event: Said | Annotated) -> None:
        match event:
            case Annotated(text=text, title=title, level=level, file=file, line=line):
                place = "" if file is None else f"file={_property(file)}," + (f"line={line}," if line else "")
                self._command(f"::{_LEVELS[level]} {place}title={_property(title)}::{_data(text)}")
            case Said(text=text, level="warning"):
                self._command(f"::warning::{_data(text)}")
            case _:
                self._write(event.text)

    def _result(self, event: Table | Printed) -> None:
        if isinstance(event, Table):
            self._summarise(markdown_table(event))
        if not self.quiet_tables:
            self.out.write(_harmless(plain_table(event, None) if isinstance(event, Table) else event.text))
            self.out.flush()

    def _fail(self, error: HipwrightError) -> None:
        place = ""
        if error.where is not None and error.where.file is not None:
            line = f",line={error.where.line}" if error.where.line else ""
            place = f" file={_property(str(error.where.file))}{line}"
        self._command(f"::error{place}::{_data(f'{error.code.name}: {error.message}')}")
        self._write(failure_text(error))
        self._summarise(f"### Failed\n\n{fenced(failure_text(error))}\n")

    def _write(self, text: str) -> None:
        self._command(_harmless(text))

    def _command(self, text: str) -> None:
        self.err.write(f"{text}\n")
        self.err.flush()

    def _summarise(self, text: str) -> None:
        if self.summary is None:
            return
        try:
            with self.summary.open("a", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            # A summary is a courtesy: a run does not fail for want of it.
            self._command(f"::warning::{_data(f'the job summary {self.summary} cannot be written: {error.strerror}')}")
            self.summary = None


def _harmless(text: str) -> str:
    """Return a text in which the runner sees no command: ``: :error::`` and ``## [error]``."""
    return _COMMAND.sub(lambda found: f"{found[0]} ", text)


def _data(text: str) -> str:
    return _harmless(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
