"""Merging three editions of a file that lie in a module's repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools import files
from build_tools.sources.contents import Entry

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.sources.git import Repository

__all__ = ["merged"]

_FILES = (b"100644", b"100755")


def merged(store: Repository, scratch: Path, *, ours: Entry | None, base: Entry | None, theirs: Entry | None) -> Entry | None:
    """Return the merge of two editions of a file that both come from ``base``, put into the repository; None when they collide.

    One that is missing collides with one that was changed, and so do links and files that are no text.

    Parameters
    ----------
    store
        The repository that holds all three.
    scratch
        A folder for files that are there while git compares them.
    ours, base, theirs
        The editions. Where both changed whether the file can be executed, ours counts.
    """
    if ours is None or base is None or theirs is None or any(one.mode not in _FILES for one in (ours, base, theirs)):
        return None
    mode = theirs.mode if ours.mode == base.mode else ours.mode
    if base.object_id in {ours.object_id, theirs.object_id} or ours.object_id == theirs.object_id:
        blob = theirs.object_id if ours.object_id == base.object_id else ours.object_id
        return Entry(mode=mode, object_id=blob)
    with files.temporary_folder(scratch, "merge") as folder:
        for name, entry in (("ours", ours), ("base", base), ("theirs", theirs)):
            (folder / name).write_bytes(store.capture("cat-file", "blob", entry.object_id).stdout)
        names = (folder / "ours", folder / "base", folder / "theirs")
        done = store.capture("merge-file", "--stdout", "--quiet", *names, check=False)
    if done.returncode != 0:
        return None
    return Entry(mode=mode, object_id=store.text("hash-object", "-w", "--stdin", stdin=done.stdout))
