"""The snapshot: an immutable description of an index."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record

__all__ = ["Action", "Change", "IndexedFile", "PageWriter", "PublishedIndex", "RetiredFile", "ShownPages", "Snapshot"]

Action = Literal["publish", "promote", "yank", "unyank", "rollback", "retain"]
"""What was done to an index."""


class IndexedFile(Record, frozen=True, kw_only=True):
    """One file of an index: everything that its pages say.

    ``key`` is relative to the index (``dist/name.whl``), raw, never URL-encoded. ``uploaded`` is UTC in ISO 8601 with a final ``Z``.
    ``provenance`` names the papers of the set that it was published with; None when it came without.
    """

    project: str
    filename: str
    key: str
    version: str
    sha256: Sha256
    size: int
    uploaded: str
    metadata_sha256: Sha256 | None = None
    requires_python: str | None = None
    yanked: str | None = None
    provenance: Sha256 | None = None


class Change(Record, frozen=True, kw_only=True):
    """What made a snapshot of the one before it: what was done, when (UTC, ISO 8601), why, and to which projects, files or snapshot."""

    action: Action
    time: str
    reason: str | None = None
    what: tuple[str, ...] = ()


class RetiredFile(Record, frozen=True, kw_only=True):
    """A file that left an index: its name stays taken by its bytes. Where it came back, one that says that it was deleted under another key.

    ``since`` is when it left, ``by`` what took it out; ``deleted`` is when its bytes were, None while they lie there. Times are UTC in
    ISO 8601.
    """

    file: IndexedFile
    since: str
    by: Literal["rollback", "retain"]
    deleted: str | None = None


class Snapshot(Record, frozen=True, kw_only=True):
    """All files of an index, sorted by project, version and file name; its digest is its name in the history.

    ``previous`` names the snapshot before it and ``change`` says what was done to that one; both are None in the first, and in those
    that were written before the history was a chain. ``retired`` are the files that left the index.
    """

    schema: Literal[1] = 1
    files: tuple[IndexedFile, ...]
    previous: Sha256 | None = None
    change: Change | None = None
    retired: tuple[RetiredFile, ...] = ()


class PageWriter(Record, frozen=True, kw_only=True):
    """A publisher that may be writing pages: its own name, the snapshot that it writes them for, and since when (UTC, ISO 8601)."""

    writer: str
    snapshot: Sha256
    since: str


class ShownPages(Record, frozen=True, kw_only=True):
    """What the pages of an index can show: each of them is as one of the snapshots that are named here has it.

    ``snapshot`` is the one that all were brought to, None when nothing is known; ``writers`` are those that may have written others since.
    ``format`` is the number of the pages' form, ``slash_keys`` whether they lie under keys that end in ``/`` too.
    """

    schema: Literal[1] = 1
    format: int
    slash_keys: bool
    snapshot: Sha256 | None
    writers: tuple[PageWriter, ...] = ()


class PublishedIndex(Record, frozen=True, kw_only=True):
    """Where an index stands: the store's address, the prefix in it, its snapshot's digest, and the addresses that installers take."""

    store: str
    prefix: str
    snapshot: Sha256
    files: tuple[IndexedFile, ...]
    index_url: str
    find_links_url: str
