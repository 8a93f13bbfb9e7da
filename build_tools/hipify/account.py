"""The account of a hipify run: from what the driver noted, and from the files before and after, to each module's part of the record."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.hipify.record import ModuleFiles, spelled
from build_tools.sources.contents import GITLINK, Entry, entries
from build_tools.sources.modules import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from build_tools.sources.modules import Module
    from build_tools.types import CommitId, TreeId

__all__ = ["Notes", "account_of", "read_notes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What the driver noted: the version of the interpreter, and the files that were opened for reading, by absolute name."""

    python: str
    opened: frozenset[bytes]


def read_notes(path: Path) -> Notes:
    """Return what the driver noted in a file."""
    python, *names = path.read_bytes().split(b"\0")[:-1]
    return Notes(python=python.decode("ascii", "replace"), opened=frozenset(names))


def account_of(
    notes: Notes, folder: Path, before: Mapping[Module, CommitId], after: Mapping[str, TreeId]
) -> tuple[ModuleFiles, ...]:
    """Return each module's part of the record.

    Parameters
    ----------
    notes
        What the driver noted.
    folder
        The copy that the tool worked on.
    before
        The commits whose files the tool was given.
    after
        Each module's files afterwards, by path.
    """
    old = {module.path: entries(module.store, commit) for module, commit in before.items()}
    read = _read(notes.opened, os.fsencode(os.path.realpath(folder)), old)
    parts = []
    for module in before:
        was, now = old[module.path], entries(module.store, after[module.path])
        common = was.keys() & now.keys()
        parts.append(
            ModuleFiles(
                path=module.path,
                read=_spelled(read[module.path]),
                added=_spelled(now.keys() - was.keys()),
                # The commit that a submodule stands at is no file.
                changed=_spelled(path for path in common if was[path] != now[path] and now[path].mode != GITLINK),
                removed=_spelled(was.keys() - now.keys()),
            )
        )
    return tuple(parts)


def _read(opened: Iterable[bytes], root: bytes, old: Mapping[str, Mapping[bytes, Entry]]) -> dict[str, set[bytes]]:
    """Return the files that were there before and were opened, by module."""
    found: dict[str, set[bytes]] = {path: set() for path in old}
    # The module that a file belongs to is the deepest one around it.
    modules = sorted(old, key=len, reverse=True)
    for name in opened:
        for path in _names(name, root):
            for module in modules:
                inside = _inside(path, b"" if module == ROOT else os.fsencode(module))
                entry = old[module].get(inside)
                if entry is not None and entry.mode != GITLINK:
                    found[module].add(inside)
                    break
    return found


def _names(name: bytes, root: bytes) -> Iterator[bytes]:
    """Return what a file may be called from the root of the copy: as it was named, and what it is where links led to it."""
    for path in {os.path.normpath(name), os.path.realpath(name)}:
        inside = _inside(path.replace(os.fsencode(os.sep), b"/"), root.replace(os.fsencode(os.sep), b"/"))
        if inside:
            yield inside


def _inside(path: bytes, folder: bytes) -> bytes:
    """Return a path from a folder; empty when it does not lie there."""
    if not folder:
        return path
    return path[len(folder) + 1 :] if path.startswith(folder + b"/") else b""


def _spelled(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted({spelled(path) for path in paths}))
