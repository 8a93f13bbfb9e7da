"""Go back to a snapshot of the history: the files that it names are in the index again, and no others.

What leaves the index by it stays where it is, and its name stays taken; so one can go forward again, which is a rollback too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.index.layout import metadata_key
from build_tools.index.snapshots import by_filename, is_deleted_beside
from build_tools.publish.holdings import AT_ONCE
from build_tools.receipts.snapshot import RetiredFile, Snapshot
from build_tools.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder

__all__ = ["gone_files", "require_files", "rolled_back"]


def rolled_back(current: Snapshot, past: Snapshot, *, time: str) -> Snapshot:
    """Return the snapshot that has the files of one of the past, and keeps what left the index since.

    Parameters
    ----------
    current
        Where the index stands.
    past
        Whose files it is to have.
    time
        When it is done, UTC in ISO 8601.

    Raises
    ------
    HipwrightError
        ``files-gone`` when bytes of its files are written down as deleted.
    """
    wanted = by_filename(past)
    keys = {file.key for file in past.files}
    deleted = [one.file.key for one in current.retired if one.deleted is not None and one.file.key in keys]
    if deleted:
        message = f"retention deleted files of the snapshot to go back to: {', '.join(deleted)}"
        raise HipwrightError("files-gone", message, hint="name another snapshot; nox -s rollback lists them")
    kept = [one for one in current.retired if one.file.filename not in wanted or is_deleted_beside(one, wanted)]
    kept += [RetiredFile(file=file, since=time, by="rollback") for file in current.files if file.filename not in wanted]
    return Snapshot(files=past.files, retired=tuple(sorted(kept, key=lambda one: (one.file.filename, one.file.key))))


def gone_files(store: Store, place: IndexFolder, files: Iterable[IndexedFile]) -> tuple[str, ...]:
    """Return what of files is not in the store as the index says: the bytes of each and its side file, by the store's own word."""

    def faults(file: IndexedFile) -> list[str]:
        key = place.key(file.key)
        there = store.head(key)
        found = []
        if there is None:
            found.append(f"{key} is gone")
        elif there.size != file.size or (there.sha256 is not None and there.sha256 != file.sha256):
            found.append(f"{key} has other bytes")
        if file.metadata_sha256 is not None:
            side = store.head(metadata_key(key))
            if side is None:
                found.append(f"{metadata_key(key)} is gone")
            elif side.sha256 is not None and side.sha256 != file.metadata_sha256:
                found.append(f"{metadata_key(key)} has other bytes")
        return found

    with Threads(AT_ONCE) as pool:
        return tuple(fault for found in pool.map(faults, files) for fault in found)


def require_files(store: Store, place: IndexFolder, files: Iterable[IndexedFile], *, name: str) -> None:
    """Prove that a store has the files of a snapshot.

    Raises
    ------
    HipwrightError
        ``files-gone`` naming all that it has not.
    """
    gone = gone_files(store, place, files)
    if gone:
        message = f"the index at {store.url(place.prefix)} cannot stand at the snapshot {name[:12]}: {'; '.join(gone)}"
        hint = "bring these back from a copy of the store, or name another snapshot; nox -s rollback lists them"
        raise HipwrightError("files-gone", message, hint=hint)
