"""What a hipify run did, as a record: the files that the tool read, and those that it added, changed and removed, in every module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.modules import own_folder
from build_tools.sources.written import note_written, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["HipifyRecord", "ModuleFiles", "TreeRecord", "read_tree_record", "spelled", "write_tree_record"]

_RECORD: Final = "hipify-record.json"
"""Where a tree keeps what it knows of its hipify run; ``hipify.json`` beside it is the receipt of the stage."""


class ModuleFiles(Record, frozen=True, kw_only=True):
    """One module's part: paths from the module's root, as :func:`spelled` writes them, sorted.

    ``read`` are files of the module that the tool opened for reading and did not make itself.
    """

    path: str
    read: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class HipifyRecord(Record, frozen=True, kw_only=True):
    """One run of a tool: ``key`` is the digest of all that went in, ``tool`` the digest of the tool itself.

    ``generation`` is the version that the tool's engine states of itself: sources made by one do not fit what was made by another.
    """

    schema: Literal[1] = 1
    key: Sha256
    tool: Sha256
    generation: str | None = None
    python: str
    seconds: float
    modules: tuple[ModuleFiles, ...]


class TreeRecord(Record, frozen=True, kw_only=True):
    """What a source tree knows of the hipify run that it stands on; lies inside its ``.git``.

    ``carried`` are, by module and path, the files of a person's that the tool read other than the base has them (their blob, or None for
    one that was deleted). The files that were written into the work folder because of them are noted apart, for those who move trees: see
    :func:`build_tools.sources.written.written_in`.
    """

    schema: Literal[1] = 1
    record: HipifyRecord
    carried: dict[str, dict[str, str | None]] = {}


def read_tree_record(tree: Path) -> TreeRecord | None:
    """Return what a tree knows of its hipify run, or None when it stands on none, or what it keeps cannot be read.

    Nothing is lost by that but the knowledge of what the tool read: it is asked for where a tree has changes, and running hipify again
    brings it back.
    """
    try:
        return read_record(own_folder(tree) / _RECORD, TreeRecord)
    except HipwrightError:
        return None


def write_tree_record(
    tree: Path, record: TreeRecord | None, *, written: Mapping[str, Mapping[str, str | None]] | None = None
) -> None:
    """Note the hipify run that a tree stands on, or with None that it stands on none, and the files ``written`` anew.

    The record comes last: between the two, files that hipify wrote are known for what they are.
    """
    note_written(tree, written or {})
    path = own_folder(tree) / _RECORD
    if record is None:
        path.unlink(missing_ok=True)
        return
    data = to_json(record)
    if not path.is_file() or path.read_bytes() != data:
        files.write_bytes(path, data)
