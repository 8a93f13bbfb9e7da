"""Names of files that left an index: they stay taken by their bytes, and no bytes are put where some are being deleted.

Retention writes down what it deletes before it does, by the same compare-and-swap as publishers move the index. So of the two that meet
over a name one loses the swap and looks again: retention leaves a file that came back, a publisher goes to another key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.index.layout import file_key, superseding_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.receipts.snapshot import RetiredFile, Snapshot
    from build_tools.types import ObjectKey, Sha256

__all__ = ["key_beside", "refuse_deleted", "retired_by_filename"]


def retired_by_filename(snapshot: Snapshot) -> Mapping[str, RetiredFile]:
    """Return the files that left an index by their names; of two of one name, which have the same bytes, the one that was deleted."""
    return {one.file.filename: one for one in sorted(snapshot.retired, key=lambda one: one.deleted is not None)}


def key_beside(filename: str, sha256: Sha256, left: RetiredFile | None) -> ObjectKey:
    """Return where a file goes whose name an index does not hold: never where bytes of that name were, or are being, deleted."""
    key = file_key(filename)
    is_taken = left is not None and left.deleted is not None and left.file.key == key
    return superseding_key(filename, sha256) if is_taken else key


def refuse_deleted(filename: str, key: str, left: RetiredFile | None) -> None:
    """Refuse to name a key in an index whose bytes are written down as deleted.

    Raises
    ------
    HipwrightError
        ``write-conflict``: the same done again goes to another key.
    """
    if left is not None and left.deleted is not None and left.file.key == key:
        message = f"the bytes of {filename} were deleted by retention just now, while they came back"
        raise HipwrightError("write-conflict", message, hint="run the same once more: it puts them beside the old place")
