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


@dataclass(frozen=True, kw_only=True, slots=True)
class Portable:
    """Takes the folders of a machine out of texts.

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
        """Return a text without the folders and without secrets."""
        for word, folder in sorted(self.places.items(), key=lambda item: -len(str(item[1]))):
            for spelled in dict.fromkeys((folder.as_uri(), str(folder), folder.as_posix())):
                text = re.sub(rf"{re.escape(spelled)}(?![A-Za-z0-9_.-])", lambda _found, word=word: f"{{{word}}}", text)  # type: ignore[misc]
        return self.mask(text)

    def value(self, value: Any) -> Any:  # noqa: ANN401 - plain data
        """Return plain data with all texts so."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(entry) for entry in value]
        return value

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
