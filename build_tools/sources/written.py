"""Files of a source tree that differ from its commits only because hipify wrote them anew, and so are no work of a person's.

Running hipify again on a person's changes writes into the work folder, not into commits. What it wrote is noted by path and blob inside the
tree's ``.git``, by whoever ran it. A file counts as hipify's only while it equals what was written.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final, Literal

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.modules import Module, own_folder, status_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = [
    "hidden_written",
    "note_written",
    "spelled",
    "take_back",
    "unchanged_since_written",
    "written_by_hipify",
    "written_in",
]

_WRITTEN: Final = "hipify-written.json"
_AT_ONCE: Final = 200
_UNSTAGED: Final = (b" ", b"?", b"!")


class _Written(Record, frozen=True, kw_only=True):
    """The files of a tree that hipify wrote anew, by module and spelled path: the blob, or None for one that it removed."""

    schema: Literal[1] = 1
    files: dict[str, dict[str, str | None]]


def spelled(path: bytes) -> str:
    """Return a path as records spell it; bytes that are no UTF-8 are written as escapes."""
    return path.decode("utf-8", "backslashreplace")


def written_in(tree: Path) -> Mapping[str, Mapping[str, str | None]]:
    """Return the files of a tree that hipify wrote anew, by module and spelled path: the blob, or None for one that it removed.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when what the tree keeps of them cannot be read.
    """
    path = own_folder(tree) / _WRITTEN
    if not path.exists():
        return {}
    try:
        return read_record(path, _Written, code="bad-source-tree").files
    except HipwrightError as error:
        hint = f"remove {path}: what hipify wrote anew counts as yours then"
        raise HipwrightError("bad-source-tree", error.message, where=error.where, hint=hint) from error


def written_by_hipify(module: Module) -> Mapping[str, str | None]:
    """Return one module's part of :func:`written_in`, which says what is raised."""
    return written_in(tree_of(module)).get(module.path, {})


def note_written(tree: Path, written: Mapping[str, Mapping[str, str | None]]) -> None:
    """Note which files of a tree hipify wrote anew, in place of what was noted before; by module and spelled path."""
    path = own_folder(tree) / _WRITTEN
    found = {module: dict(part) for module, part in written.items() if part}
    if found:
        files.write_bytes(path, to_json(_Written(files=found)))
    else:
        path.unlink(missing_ok=True)


def unchanged_since_written(module: Module, listed: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Return the paths, of those that git lists with a state, whose files are as hipify wrote them.

    What a person put into the index counts as theirs, whatever it is.
    """
    written = written_by_hipify(module)
    if not written:
        return frozenset()
    paths = [path for state, path in listed if state[:1] in _UNSTAGED and spelled(path) in written]
    found = {path for path in paths if written[spelled(path)] is None and not os.path.lexists(_file(module, path))}
    whole = [path for path in paths if _file(module, path).is_file() and not _file(module, path).is_symlink()]
    for start in range(0, len(whole), _AT_ONCE):
        some = whole[start : start + _AT_ONCE]
        blobs = module.repository.text("hash-object", "--", *map(os.fsdecode, some)).split()
        found |= {path for path, blob in zip(some, blobs, strict=True) if written[spelled(path)] == blob}
    return frozenset(found)


def hidden_written(module: Module) -> list[bytes]:
    """Return the files that hipify wrote anew and that ``.gitignore`` hides: parts of the tree all the same."""
    written = written_by_hipify(module)
    if not any(written.values()):
        return []
    hidden = module.repository.records("ls-files", "-z", "--others", "--ignored", "--exclude-standard")
    return [path for path in hidden if spelled(path) in written]


def take_back(module: Module) -> None:
    """Put files that are as hipify wrote them back to what HEAD has, before the module moves; all else stays."""
    if not written_by_hipify(module):
        return
    listed = status_of(module, ignored=True)
    ours = unchanged_since_written(module, listed)
    tracked = [path for state, path in listed if path in ours and state not in {b"??", b"!!"}]
    for state, path in listed:
        if path in ours and state in {b"??", b"!!"}:
            file = _file(module, path)
            file.unlink()
            with contextlib.suppress(OSError):
                while (file := file.parent) != module.folder:
                    file.rmdir()
    if tracked:
        module.repository.capture("checkout-index", "--force", "--index", "-z", "--stdin", stdin=b"\0".join(tracked))


def _file(module: Module, path: bytes) -> Path:
    return module.folder / os.fsdecode(path)
