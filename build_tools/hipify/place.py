"""Putting hipify's output into the work folder of a module: what is to be written is planned first, then each file is replaced whole."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools import files
from build_tools.hipify.merge import merged
from build_tools.sources.contents import GITLINK, Entry
from build_tools.sources.modules import temporary_index, temporary_name
from build_tools.sources.written import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.hipify.carry import Standing
    from build_tools.sources.git import Repository

__all__ = ["Planned", "is_ours", "plan", "put"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """What is to become of one module's work folder.

    ``files`` are to be written, or removed where there is none. ``collide`` cannot be: a person or a patch changed them otherwise.
    ``written`` are all files that differ from the stages' last commit by hipify's doing alone, by spelled path. ``translated`` are files of
    a person's that hipify changes where they stand.
    """

    files: dict[bytes, Entry | None] = field(default_factory=dict)
    collide: list[bytes] = field(default_factory=list)
    written: dict[str, str | None] = field(default_factory=dict)
    translated: list[bytes] = field(default_factory=list)


def plan(standing: Standing, changes: Mapping[bytes, Entry | None], after: Mapping[bytes, Entry], *, scratch: Path) -> Planned:
    """Return what a new output of hipify makes of a module's work folder.

    Parameters
    ----------
    standing
        The module.
    changes
        What of a person's was carried into the input.
    after
        The new output.
    scratch
        A folder for files that are there while git compares them.
    """
    planned = Planned()
    given = {**standing.base, **changes}
    removed = {path for path in standing.finished if spelled(path) in standing.written}
    for path in sorted(standing.before.keys() | after.keys() | removed):
        old = standing.before.get(path) if spelled(path) in standing.outputs else given.get(path)
        new = after.get(path)
        now = _now(standing, path) if new is not None or path in standing.now else None
        if any(entry is not None and entry.mode == GITLINK for entry in (old, new, now)):
            continue
        ours = is_ours(standing, path, now)
        if old != new:
            store, finished = standing.module.store, standing.finished.get(path)
            result, fits = _met(store, scratch, ours=now, base=old, theirs=new)
            if not fits or (result is not None and _blocked(standing.module.folder, path)):
                planned.collide.append(path)
                continue
            if result != now:
                planned.files[path] = result
            if path in changes:
                planned.translated.append(path)
                continue
            # A patch of ours may be in it, and nothing else.
            ours = ours or now in {old, new} or (result, True) == _met(store, scratch, ours=finished, base=old, theirs=new)
            now = result
        # What hipify wrote earlier is still its own when there is nothing new of it.
        if ours and _blob(now) != _blob(standing.finished.get(path)):
            planned.written[spelled(path)] = _blob(now)
    return planned


def put(tree: Path, standing: Standing, planned: Planned) -> None:
    """Write and remove the planned files of a module; line ends and modes are as git checks them out, the index stays as it is."""
    module = standing.module
    whole = {path: entry for path, entry in planned.files.items() if entry is not None}
    fresh = temporary_name(tree, "files")
    fresh.mkdir()
    try:
        # Written apart first, by git, which knows their line ends and modes.
        lines = b"".join(b"%s %s\t%s\0" % (entry.mode, entry.object_id.encode(), path) for path, entry in sorted(whole.items()))
        with temporary_index(tree) as env:
            module.repository.capture("update-index", "-z", "--index-info", env=env, stdin=lines)
            module.repository.capture("checkout-index", "--all", f"--prefix={fresh}{os.sep}", env=env)
        for path in planned.files.keys() - whole.keys():
            _remove(module.folder, path)
        for path in whole:
            target = module.folder / os.fsdecode(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            (fresh / os.fsdecode(path)).replace(target)
    finally:
        files.remove_tree(fresh)


def _met(
    store: Repository, scratch: Path, *, ours: Entry | None, base: Entry | None, theirs: Entry | None
) -> tuple[Entry | None, bool]:
    """Return what becomes of a file when another edition of it comes, and whether the two fit."""
    if ours in {base, theirs}:
        return theirs, True
    entry = merged(store, scratch, ours=ours, base=base, theirs=theirs)
    return entry, entry is not None


def is_ours(standing: Standing, path: bytes, now: Entry | None) -> bool:
    """Return whether a file is as hipify wrote it into the work folder."""
    name = spelled(path)
    return name in standing.written and _blob(now) == standing.written[name]


def _now(standing: Standing, path: bytes) -> Entry | None:
    """Return a file as it stands, one that ``.gitignore`` hides included."""
    known = standing.now.get(path)
    file = standing.module.folder / os.fsdecode(path)
    if known is not None or file.is_symlink() or not file.is_file():
        return known
    mode = b"100755" if file.stat().st_mode & 0o100 else b"100644"
    blob = standing.module.repository.text("hash-object", "-w", "--", os.fsdecode(path))
    return Entry(mode=mode, object_id=blob)


def _blocked(folder: Path, path: bytes) -> bool:
    """Return whether something else than a file, or a file where a folder is needed, stands at a path."""
    target = folder / os.fsdecode(path)
    if target.is_dir() and not target.is_symlink():
        return True
    inside = target.parent
    while inside != folder:
        if os.path.lexists(inside) and (inside.is_symlink() or not inside.is_dir()):
            return True
        inside = inside.parent
    return False


def _remove(folder: Path, path: bytes) -> None:
    target = folder / os.fsdecode(path)
    target.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        while (target := target.parent) != folder:
            target.rmdir()


def _blob(entry: Entry | None) -> str | None:
    return None if entry is None else entry.object_id
