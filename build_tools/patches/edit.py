"""Editing ``series.toml`` as a person would: what is not meant keeps its words, comments and layout to the byte."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import tomlkit

from build_tools.config.load import parse_toml
from build_tools.config.tables import Cut, TextTable, cut_tables
from build_tools.errors import HipwrightError, Where
from build_tools.patches.layout import NAME
from build_tools.patches.series import PatchEntry, SeriesFile
from build_tools.patches.write import settle_series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["SeriesText"]

_TABLE: Final = "patch"
_EVERYWHERE: Final = ("linux", "windows")


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesText:
    """The text of a ``series.toml`` and the entries that it says, in order; every change gives another one.

    A comment right above an entry goes where the entry goes. Names are those of files as the series has them; one that it has not is a
    :exc:`KeyError`.
    """

    path: Path
    cut: Cut
    entries: tuple[PatchEntry, ...]

    @classmethod
    def read(cls, place: Path) -> SeriesText:
        """Return the text of a line's series; ``place`` is the line's folder.

        Raises
        ------
        HipwrightError
            ``bad-data-file`` when it is not there or does not fit its model; ``bad-series`` when its patches are no tables of their own.
        """
        settle_series(place)
        path = place / NAME
        try:
            # Read as bytes, which keep their line ends.
            text = path.read_bytes().decode()
        except FileNotFoundError:
            message = f"there is no file {NAME} in {place}"
            raise HipwrightError("bad-data-file", message, where=Where(file=path)) from None
        except (OSError, UnicodeDecodeError) as error:
            raise HipwrightError("bad-data-file", f"cannot read {path}: {error}", where=Where(file=path)) from error
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: str, path: Path) -> SeriesText:
        """Return a text as what it says; ``path`` is named in errors, which are those of :meth:`read`."""
        entries = parse_toml(text, path, SeriesFile).patch
        cut = cut_tables(text)
        if len(cut.places(_TABLE)) != len(entries) or (_TABLE in cut_keys(cut) and not entries):
            message = f"{path} lists its patches in one value"
            hint = "write each as a table of its own, which begins with the line [[patch]]"
            raise HipwrightError("bad-series", message, where=Where(file=path), hint=hint)
        return cls(path=path, cut=cut, entries=entries)

    @classmethod
    def begin(cls, place: Path) -> SeriesText:
        """Return a series without patches; ``place`` is the line's folder."""
        return cls.parse("schema = 1\n", place / NAME)

    @property
    def names(self) -> tuple[str, ...]:
        """The files in order."""
        return tuple(entry.file for entry in self.entries)

    @property
    def data(self) -> bytes:
        """The text as it is written.

        Raises
        ------
        HipwrightError
            ``bad-data-file`` when an entry that was put in says what no series may say.
        """
        text = self.cut.text
        parse_toml(text, self.path, SeriesFile)
        return text.encode()

    def add(self, entry: PatchEntry, *, after: str | None = None) -> SeriesText:
        """Put an entry in behind the one of a file, or at the end."""
        places = self.cut.places(_TABLE)
        number = len(places) if after is None else self._number(after) + 1
        place = places[number] if number < len(places) else (places[-1] + 1 if places else len(self.cut.tables))
        newline = self.cut.newline
        table = TextTable(name=_TABLE, lead=newline, body=_lines(entry, newline))
        return replace(self, cut=self.cut.insert(place, table), entries=(*self.entries[:number], entry, *self.entries[number:]))

    def remove(self, file: str) -> SeriesText:
        """Take an entry out with the comment right above it."""
        number = self._number(file)
        cut = self.cut.remove(self.cut.places(_TABLE)[number])
        return replace(self, cut=cut, entries=(*self.entries[:number], *self.entries[number + 1 :]))

    def rename(self, file: str, new: str) -> SeriesText:
        """Give the file of an entry another name."""
        return self.replace(file, msgspec.structs.replace(self.entries[self._number(file)], file=new))

    def replace(self, file: str, entry: PatchEntry) -> SeriesText:
        """Put an entry in the place of the one of a file; keys that say the same stay as they are written."""
        number = self._number(file)
        old = self.entries[number]
        if entry == old:
            return self
        place = self.cut.places(_TABLE)[number]
        tables = list(self.cut.tables)
        tables[place] = replace(tables[place], body=_changed(tables[place].body, old, entry, self.cut.newline))
        entries = (*self.entries[:number], entry, *self.entries[number + 1 :])
        return replace(self, cut=replace(self.cut, tables=tuple(tables)), entries=entries)

    def reorder(self, files: Sequence[str]) -> SeriesText:
        """Bring all entries into an order; ``files`` names each of them once.

        Raises
        ------
        ValueError
            When it does not.
        """
        if sorted(files) != sorted(self.names):
            message = f"not the files of the series: {', '.join(files)}"
            raise ValueError(message)
        numbers = [self._number(file) for file in files]
        if numbers == sorted(numbers):
            return self
        places = self.cut.places(_TABLE)
        # All but the last line of a text ends.
        newline = self.cut.newline
        ended = [
            replace(table, body=table.body if table.body.endswith("\n") else table.body + newline) for table in self.cut.tables
        ]
        tables = list(ended)
        for place, number in zip(places, numbers, strict=True):
            tables[place] = ended[places[number]]
        entries = tuple(self.entries[number] for number in numbers)
        return replace(self, cut=replace(self.cut, tables=tuple(tables)), entries=entries)

    def _number(self, file: str) -> int:
        try:
            return self.names.index(file)
        except ValueError:
            raise KeyError(file) from None


def cut_keys(cut: Cut) -> Iterable[str]:
    """Return the keys that stand before all tables."""
    return tomlkit.parse(cut.head).keys()


def _fields(entry: PatchEntry) -> dict[str, Any]:
    """Return an entry's keys and values as a series has them; what is the same without being said is left out."""
    values: dict[str, Any] = {"file": entry.file}
    # Texts of a person's commits may hold bytes that are no text.
    words = {"why": entry.why, "upstream": entry.upstream, "owner": entry.owner}
    values |= {key: text.encode("utf-8", "backslashreplace").decode() for key, text in words.items()}
    if entry.platforms != _EVERYWHERE:
        values["platforms"] = entry.platforms
    values["added"] = entry.added
    if entry.drop_when is not None:
        values["drop-when"] = msgspec.to_builtins(entry.drop_when)
    return values


def _literal(value: Any) -> str:  # noqa: ANN401 - a text, a date, a list of texts, a table of texts
    match value:
        case str():
            return tomlkit.string(value).as_string()
        case tuple():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            return f"{{ {', '.join(f'{key} = {_literal(text)}' for key, text in value.items())} }}"
        case _:
            return str(value)


def _lines(entry: PatchEntry, newline: str) -> str:
    rows = [f"[[{_TABLE}]]", *(f"{key} = {_literal(value)}" for key, value in _fields(entry).items())]
    return "".join(f"{row}{newline}" for row in rows)


def _changed(body: str, old: PatchEntry, new: PatchEntry, newline: str) -> str:
    """Return an entry's lines with those keys changed that say another thing."""
    document = tomlkit.parse(body)
    table: Any = document[_TABLE][0]
    before, after = _fields(old), _fields(new)
    for key in table.keys() - after.keys():
        if key in before:
            del table[key]
    for key, value in after.items():
        if before.get(key) != value:
            table[key] = tomlkit.parse(f"{key} = {_literal(value)}")[key]
    text = tomlkit.dumps(document)
    text = text if text.endswith("\n") else f"{text}{newline}"
    return text if newline == "\n" else text.replace("\r\n", "\n").replace("\n", newline)
