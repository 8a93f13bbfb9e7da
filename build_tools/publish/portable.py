"""Records as others may read them: without where things lay on the machine that made them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools.receipts.record import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.receipts.record import Record

__all__ = ["Portable", "is_local"]

_ABSOLUTE: Final = re.compile(r"(?:/|\\\\|[A-Za-z]:[\\/]|file:)", re.IGNORECASE)

_NAME: Final = r"[^\s/\\:;,=\"'<>|]+"
_FOLDER: Final = rf"{_NAME}(?: +(?!-){_NAME})*[\\/]+"
"""A folder's name may have spaces in it; words that are taken along by that tell less of the machine, not more."""

_PATH: Final = re.compile(
    r"(?:file:/+(?:[A-Za-z]:[\\/]+)?"
    r"|(?:(?<=-[BDFIL])|(?<=-isystem)|(?<=-iquote)|(?<=-idirafter)|(?<![\w.\-+~}*/\\]))/(?![/\s]|$)"
    r"|(?:(?<=-[BDFIL])|(?<![A-Za-z0-9]))[A-Za-z]:[\\/]+"
    r"|(?<![\w\\])\\\\+)"
    rf"(?:{_FOLDER})*(?:{_NAME})?",
    re.IGNORECASE,
)
"""An absolute path, or a ``file:`` URL, anywhere in a text: at its begin, behind what separates, or behind the letter of a compiler's option."""

_SYSTEM: Final = re.compile(
    r"/(?:usr|bin|sbin|lib|lib32|lib64|etc|dev|proc|sys|opt/rocm(?:-[\d.]+)?)(?:/|$)|[A-Za-z]:[\\/]+(?:Windows|Program Files(?: \(x86\))?)(?:[\\/]|$)",
    re.IGNORECASE,
)
"""Where systems keep their own programs: such a path says what it says on any machine. ROCm's own place is one of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Portable:
    """Takes the folders of a machine out of texts.

    Known folders are told by a word each. Of any other absolute path only the last name is told, as ``local:name``, unless the path is the
    system's own.

    Parameters
    ----------
    places
        Folders of the machine, by the word that stands for each: ``work-dir`` becomes ``{work-dir}``.
    mask
        Takes secrets out.
    """

    places: Mapping[str, Path]
    mask: Callable[[str], str]

    def text(self, text: str) -> str:
        """Return a text without the folders of this machine and without secrets."""
        for word, folder in sorted(self.places.items(), key=lambda item: -len(str(item[1]))):
            for spelled in dict.fromkeys((folder.as_uri(), str(folder), folder.as_posix())):
                text = re.sub(rf"{re.escape(spelled)}(?![A-Za-z0-9_.-])", lambda _found, word=word: f"{{{word}}}", text)  # type: ignore[misc]
        return self.mask(_PATH.sub(_last_name, text))

    def value(self, value: Any) -> Any:  # noqa: ANN401 - plain data
        """Return plain data with all texts so."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._entries(value)
        if isinstance(value, list | tuple):
            return [self.value(entry) for entry in value]
        return value

    def _entries(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return named entries; names that have become the same are numbered, so that none is lost."""
        found: dict[str, Any] = {}
        for key, entry in value.items():
            name = told = self.text(key)
            number = 1
            while name in found:
                number += 1
                name = f"{told} ({number})"
            found[name] = self.value(entry)
        return found

    def json(self, record: Record) -> bytes:
        """Return a record as JSON with all texts so; it reads back as the same kind of record."""
        return msgspec.json.format(msgspec.json.encode(self.value(plain(record)), order="sorted"), indent=2) + b"\n"

    def address(self, text: str) -> str:
        """Return an address, or of one on this machine only its last part."""
        return f"local:{Path(text.rstrip('/')).name}" if is_local(text) else self.text(text)


def is_local(text: str) -> bool:
    """Return whether an address is a place on a machine: an absolute path, or a ``file:`` URL.

    >>> is_local("/opt/rocm"), is_local("C:/rocm"), is_local("file:///opt"), is_local("https://host/x")
    (True, True, True, False)
    """
    return _ABSOLUTE.match(text) is not None


def _last_name(found: re.Match[str]) -> str:
    """Return what is told of a path."""
    path = found.group()
    names = [name for name in re.split(r"[/\\]+", path) if name]
    return path if _SYSTEM.match(path) else f"local:{names[-1] if names else 'root'}"
