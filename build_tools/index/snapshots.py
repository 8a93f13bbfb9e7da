"""Snapshots as values: their order, their digest, and how files join one."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from packaging.version import Version

from build_tools import digest
from build_tools.receipts.record import to_json
from build_tools.receipts.snapshot import IndexedFile, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.receipts.snapshot import RetiredFile
    from build_tools.types import Sha256

__all__ = [
    "by_filename",
    "by_project",
    "changed_projects",
    "is_deleted_beside",
    "is_same",
    "merged",
    "parsed_version",
    "snapshot_digest",
    "versions_of",
]


def snapshot_digest(snapshot: Snapshot) -> Sha256:
    """Return the SHA-256 of a snapshot's bytes, which is its name in the history."""
    return digest.of_bytes(to_json(snapshot))


def merged(snapshot: Snapshot, files: Iterable[IndexedFile]) -> Snapshot:
    """Return a snapshot with files added; one of the same name takes the place of what was there.

    A file that came back is retired no longer; where it came back under another key, that the bytes under the old one were deleted
    stays written down, as the deletion may still be under way.
    """
    rows = {**by_filename(snapshot), **{file.filename: file for file in files}}
    retired = tuple(one for one in snapshot.retired if one.file.filename not in rows or is_deleted_beside(one, rows))
    return Snapshot(files=tuple(sorted(rows.values(), key=_order)), retired=retired)


def is_deleted_beside(one: RetiredFile, files: Mapping[str, IndexedFile]) -> bool:
    """Return whether a file's bytes were deleted under another key than the one that it has among files by their names."""
    now = files.get(one.file.filename)
    return one.deleted is not None and now is not None and now.key != one.file.key


def is_same(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two snapshots say the same of their files, however either came to be."""
    return one.files == other.files and one.retired == other.retired


def by_filename(snapshot: Snapshot) -> Mapping[str, IndexedFile]:
    """Return a snapshot's files by their names."""
    return {file.filename: file for file in snapshot.files}


def by_project(snapshot: Snapshot) -> Mapping[str, tuple[IndexedFile, ...]]:
    """Return a snapshot's files by project, both in order."""
    rows: dict[str, list[IndexedFile]] = {}
    for file in sorted(snapshot.files, key=_order):
        rows.setdefault(file.project, []).append(file)
    return {project: tuple(files) for project, files in rows.items()}


def versions_of(files: Iterable[IndexedFile]) -> tuple[str, ...]:
    """Return the versions of a project's files, each once, oldest first."""
    return tuple(str(version) for version in sorted({parsed_version(file.version) for file in files}))


def changed_projects(before: Snapshot, after: Snapshot) -> frozenset[str]:
    """Return the projects whose pages differ between two snapshots: those of every row that is in one of them only."""
    old, new = by_filename(before), by_filename(after)
    differ = [(old.get(name), file) for name, file in new.items() if old.get(name) != file]
    gone = [(file, None) for name, file in old.items() if name not in new]
    return frozenset(row.project for pair in (*differ, *gone) for row in pair if row is not None)


@functools.lru_cache(maxsize=1 << 14)
def parsed_version(text: str) -> Version:
    """Return a version's text as a version; an index has many files of one version.

    Raises
    ------
    packaging.version.InvalidVersion
        It is none (PEP 440).
    """
    return Version(text)


def _order(file: IndexedFile) -> tuple[str, Version, str]:
    return (file.project, parsed_version(file.version), file.filename)
