"""What readers of binaries have in common: parts of a file by place and size, and what is told of one that cannot be."""

from __future__ import annotations

import contextlib
import struct
from typing import IO, TYPE_CHECKING

from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["DamageError", "damage_told", "read_at", "read_exactly"]


class DamageError(ValueError):
    """What stands in the file cannot be."""


def read_at(stream: IO[bytes], place: int, size: int) -> bytes:
    """Return what a file has at a place, ``size`` bytes at the most."""
    stream.seek(place)
    return stream.read(size)


def read_exactly(stream: IO[bytes], place: int, size: int) -> bytes:
    """Return the bytes that a file has to have at a place.

    Raises
    ------
    DamageError
        The file ends before.
    """
    data = read_at(stream, place, size)
    if len(data) < size:
        message = f"the file ends within the {size} bytes at {place}"
        raise DamageError(message)
    return data


@contextlib.contextmanager
def damage_told(name: Path | str, form: str) -> Iterator[None]:
    """Tell what cannot be read of a file that begins as one of a form, with its article.

    Raises
    ------
    HipwrightError
        ``bad-binary``.
    """
    try:
        yield
    except (struct.error, ValueError, OverflowError, OSError) as error:
        message = f"{name} begins as {form} file, and its headers cannot be read: {error}"
        raise HipwrightError("bad-binary", message, where=Where(file=name)) from None
