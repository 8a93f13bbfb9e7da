"""Where the parts of an index lie, relative to it.

Files and pages have folders of their own, so that a plain bucket or folder serves HTML under ``simple/`` and JSON under
``simple-json/`` with no rule on a server.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from build_tools.types import ObjectKey, Sha256

__all__ = [
    "DIST",
    "FLAT_PAGE",
    "HISTORY",
    "HTML_TYPE",
    "JSON_TYPE",
    "SIMPLE",
    "SIMPLE_JSON",
    "SNAPSHOT",
    "file_key",
    "history_key",
    "metadata_key",
    "quoted",
    "superseding_key",
]

DIST: Final = "dist"
SIMPLE: Final = "simple"
SIMPLE_JSON: Final = "simple-json"
FLAT_PAGE: Final = "index.html"
SNAPSHOT: Final = "snapshot.json"
HISTORY: Final = "snapshots"

HTML_TYPE: Final = "text/html; charset=utf-8"
JSON_TYPE: Final = "application/vnd.pypi.simple.v1+json"


def file_key(filename: str) -> ObjectKey:
    """Return where a file lies."""
    return ObjectKey(f"{DIST}/{filename}")


def superseding_key(filename: str, sha256: Sha256) -> ObjectKey:
    """Return where a file lies whose name is taken by other bytes: beside them, never over them.

    A page or a snapshot that names the older bytes stays true, so an installer that read it a moment ago does not fail.
    """
    return ObjectKey(f"{DIST}/{sha256[:16]}/{filename}")


def metadata_key(key: str) -> ObjectKey:
    """Return where the metadata side file of a file lies (PEP 658: the file's own URL with ``.metadata``)."""
    return ObjectKey(f"{key}.metadata")


def history_key(sha256: Sha256) -> ObjectKey:
    """Return where a snapshot lies in the history."""
    return ObjectKey(f"{HISTORY}/{sha256}.json")


def quoted(key: str) -> str:
    """Return a key as it stands in a link: all but unreserved characters percent-encoded, ``+`` too.

    Object stores and some web servers read a bare ``+`` as a space.
    """
    return quote(key, safe="/")
