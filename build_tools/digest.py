"""Digests: of bytes, of files, and of plain values in one canonical form."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["canonical_json", "of_bytes", "of_file", "of_folder", "of_value", "short"]


def canonical_json(value: object) -> bytes:
    """Return plain JSON data as bytes that are equal exactly when the data is equal: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def of_bytes(data: bytes) -> Sha256:
    """Return the SHA-256 of bytes."""
    return Sha256(hashlib.sha256(data).hexdigest())


def of_file(path: Path) -> Sha256:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return Sha256(hashlib.file_digest(stream, "sha256").hexdigest())


def of_value(value: object) -> Sha256:
    """Return the SHA-256 of plain JSON data (dicts, lists, strings, numbers, booleans, None)."""
    return of_bytes(canonical_json(value))


def of_folder(folder: Path, files: Iterable[Path] | None = None) -> Sha256:
    """Return one SHA-256 over the names and bytes of a folder's files, whatever order the system lists them in.

    Parameters
    ----------
    folder
        The folder that names are relative to.
    files
        The files to count; all regular files below ``folder`` when not given.
    """
    chosen = folder.rglob("*") if files is None else files
    rows = sorted((path.relative_to(folder).as_posix(), of_file(path)) for path in chosen if path.is_file())
    return of_value([list(row) for row in rows])


def short(digest: str, length: int = 8) -> str:
    """Return the first characters of a digest, for names that people read."""
    return digest[:length]
