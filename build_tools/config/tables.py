"""A TOML text cut into its tables, so that one can be put in, taken out or moved without a change to any other byte.

A table's lead is what stands between it and the one before: blank lines and comments. A comment right above a table speaks of it; one
with a blank line behind it stands alone.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from typing import Final

__all__ = ["Cut", "TextTable", "cut_tables"]

_HEADER: Final = re.compile(r"[ \t]*(?P<open>\[\[?)[ \t]*(?P<key>[^\[\]#]+?)[ \t]*\]\]?[ \t]*(?:#.*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTable:
    """One table with those inside it: the first key of its name, what stands above it, and its own lines.

    A table inside another that does not stand right behind it is a piece of its own.
    """

    name: str
    lead: str
    body: str

    @property
    def free_lead(self) -> str:
        """What stands above the table and does not speak of it."""
        lines = _lines(self.lead)
        count = next((number for number, line in enumerate(reversed(lines)) if not line.strip()), len(lines))
        return "".join(lines[: len(lines) - count])


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A text in pieces, which make the text again when they are put together: what comes before all tables, they, and what is behind."""

    head: str
    tables: tuple[TextTable, ...]
    tail: str

    @property
    def text(self) -> str:
        """The whole."""
        return "".join([self.head, *(table.lead + table.body for table in self.tables), self.tail])

    @property
    def newline(self) -> str:
        """How lines end here."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def places(self, name: str) -> list[int]:
        """Return where the tables of a name are among all of them."""
        return [place for place, table in enumerate(self.tables) if table.name == name]

    def insert(self, place: int, table: TextTable) -> Cut:
        """Return the text with one more table, before the one that is at ``place`` so far."""
        ended = self if self.text.endswith("\n") or not self.text else self._with_last_line_ended()
        return replace(ended, tables=(*ended.tables[:place], table, *ended.tables[place:]))

    def remove(self, place: int) -> Cut:
        """Return the text without a table and the comment right above it; comments that stand alone stay."""
        table = self.tables[place]
        rest = (*self.tables[:place], *self.tables[place + 1 :])
        kept = table.free_lead if table.free_lead.strip() else ""
        if not kept:
            return replace(self, tables=rest)
        if place < len(rest):
            following = replace(rest[place], lead=kept.rstrip() + self.newline + rest[place].lead)
            return replace(self, tables=(*rest[:place], following, *rest[place + 1 :]))
        return replace(self, tables=rest, tail=kept.rstrip() + self.newline + self.tail)

    def _with_last_line_ended(self) -> Cut:
        if self.tail or not self.tables:
            piece = "tail" if self.tail else "head"
            return replace(self, **{piece: getattr(self, piece) + self.newline})
        last = replace(self.tables[-1], body=self.tables[-1].body + self.newline)
        return replace(self, tables=(*self.tables[:-1], last))


def cut_tables(text: str) -> Cut:
    """Cut a TOML text into its tables; the text is one that a TOML reader takes."""
    lines = _lines(text)
    starts: list[tuple[int, str]] = []
    begun = 0
    for number, line in enumerate(lines):
        header = _HEADER.fullmatch(line.rstrip("\r\n"))
        # What looks like a header may be a line of a text or a list that goes on: what came before is not whole then.
        if header is None or not _is_whole("".join(lines[begun:number])):
            continue
        begun = number
        name = _first_key(header["key"])
        inside = "." in header["key"] and starts and starts[-1][1] == name and header["open"] == "["
        if not inside:
            starts.append((number, name))
    bounds = [number for number, _ in starts] + [len(lines)]
    head_end = _content_end(lines, 0, bounds[0])
    tables = []
    before = head_end
    for (start, name), end in zip(starts, bounds[1:], strict=True):
        stop = _content_end(lines, start, end)
        tables.append(TextTable(name=name, lead="".join(lines[before:start]), body="".join(lines[start:stop])))
        before = stop
    return Cut(head="".join(lines[:head_end]), tables=tuple(tables), tail="".join(lines[before:]))


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends; TOML knows fewer of these than Python."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _first_key(key: str) -> str:
    (name,) = tomllib.loads(f"[{key}]")
    return name


def _content_end(lines: list[str], start: int, end: int) -> int:
    """Return the number behind the last line that is neither blank nor a comment."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end
