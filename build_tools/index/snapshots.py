"""Snapshots as values: their order, their digest, and how files join one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from build_tools import digest
from build_tools.receipts.record import to_json
from build_tools.receipts.snapshot import IndexedFile, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.types import Sha256

__all__ = ["by_filename", "by_project", "merged", "snapshot_digest", "versions_of"]


def snapshot_digest(snapshot: Snapshot) -> Sha256:
    """Return the SHA-256 of a snapshot's bytes, which is its name in the history."""
    return digest.of_bytes(to_json(snapshot))


def merged(snapshot: Snapshot, files: Iterable[IndexedFile]) -> Snapshot:
    """Return a snapshot with files added; one of the same name takes the place of what was there."""
    rows = {**by_filename(snapshot), **{file.filename: file for file in files}}
    return Snapshot(files=tuple(sorted(rows.values(), key=_order)))


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
    return tuple(str(version) for version in sorted({Version(file.version) for file in files}))


def _order(file: IndexedFile) -> tuple[str, Version, str]:
    return (file.project, Version(file.version), file.filename)
