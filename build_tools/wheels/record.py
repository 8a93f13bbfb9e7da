"""``RECORD``: the list of a wheel's members with their hashes and sizes, read and written.

The format is that of the installed-projects specification (PEP 376, PEP 627): CSV with path, ``algorithm=hash`` and size, the hash in
URL-safe base64 without padding.
"""

from __future__ import annotations

import base64
import csv
import io
import re
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["STRONG_HASHES", "UNRECORDED", "RecordRow", "encode_hash", "parse_record", "render_record"]

STRONG_HASHES: Final = ("sha256", "sha384", "sha512")
"""The algorithms that a ``RECORD`` may use: SHA-256 or better, as the wheel format demands."""

UNRECORDED: Final = ("RECORD.jws", "RECORD.p7s")
"""Signatures of ``RECORD``, which therefore cannot list them."""

_COLUMNS: Final = 3
_SIZE: Final = re.compile(r"[0-9]{1,20}")
"""A number of 64 bits; Python reads no number of thousands of digits."""

_TOLD: Final = 40


class RecordRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row: the member's path as it stands there, the hash's algorithm and its encoded value, and the size in bytes.

    Hash and size are empty for ``RECORD`` itself. ``line`` counts from 1.
    """

    path: str
    algorithm: str = ""
    value: str = ""
    size: int | None = None
    line: int = 0


def encode_hash(digest: bytes) -> str:
    """Return a digest as ``RECORD`` spells it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def parse_record(data: bytes) -> tuple[RecordRow, ...]:
    """Read a ``RECORD`` file.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` naming the line: not UTF-8, not CSV, a row without three columns, without a path, a hash without an algorithm,
        a size that is no number.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HipwrightError("bad-wheel", f"RECORD is not UTF-8: byte {error.start}") from None
    rows: list[RecordRow] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for columns in reader:
            if columns:
                rows.append(_row(columns, line))
            line = reader.line_num + 1
    except csv.Error as error:
        raise HipwrightError("bad-wheel", f"RECORD line {line} is not CSV: {error}") from None
    return tuple(rows)


def render_record(rows: Iterable[RecordRow]) -> bytes:
    """Return rows as the bytes of a ``RECORD`` file, in the order given, each line ended by a line feed."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        hashed = f"{row.algorithm}={row.value}" if row.algorithm else ""
        writer.writerow((row.path, hashed, "" if row.size is None else row.size))
    return out.getvalue().encode()


def _row(columns: list[str], line: int) -> RecordRow:
    if len(columns) != _COLUMNS:
        raise HipwrightError("bad-wheel", f"RECORD line {line} has {len(columns)} columns, not {_COLUMNS}")
    path, hashed, size = columns
    algorithm, equals, value = hashed.partition("=")
    if not path:
        raise HipwrightError("bad-wheel", f"RECORD line {line} names no file")
    if hashed and not (equals and algorithm and value):
        raise HipwrightError("bad-wheel", f"RECORD line {line} has the hash {hashed!r}, which is not algorithm=value")
    if size and not _SIZE.fullmatch(size):
        raise HipwrightError("bad-wheel", f"RECORD line {line} has the size {size[:_TOLD]!r}")
    return RecordRow(path=path, algorithm=algorithm, value=value, size=int(size) if size else None, line=line)
