"""Dropping a person's changes when they say so: named, and kept in a bundle before anything goes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from build_tools import files
from build_tools.sources.guard import OPERATIONS
from build_tools.sources.modules import MARKERS, ROOT, Module, markers_of, own_folder, temporary_index
from build_tools.types import TreeId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["drop", "keep"]

_MESSAGE = "Changes that were discarded\n"
_KEPT = "refs/hipwright-discarded/changes"


def keep(tree: Path, module: Module, lines: list[str], *, say: Callable[[str], None]) -> Path | None:
    """Keep a module's commits, edits and untracked files in a bundle, and name them; its files stay as they are.

    Returns the bundle (``git fetch BUNDLE refs/hipwright-discarded/changes`` brings its one commit back), or None when nothing was
    ever committed in the module. Ignored files are no part of it.
    """
    for line in lines:
        say(f"discarding {line}")
    head = module.store.head()
    markers = markers_of(module)
    if head is None and markers is not None:
        # A branch that a person began anew, without history, has files all the same.
        head = markers.finished
    if head is None:
        return None
    repository = module.repository
    with temporary_index(tree, copy_of=module.git_dir / "index") as env:
        repository.capture("add", "--all", "--", ".", env=env)
        content = TreeId(repository.text("write-tree", env=env))
    commit = repository.commit(content, parent=head, message=_MESSAGE, date=repository.date_of(head))
    stamp = files.utc_now().replace(":", "")
    name = "root" if module.path == ROOT else module.path.replace("/", "-")
    bundle = own_folder(tree) / "discarded" / f"{stamp}-{name}.bundle"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    repository.set_refs({_KEPT: commit})
    known = [value for value in [repository.commit_of(f"{MARKERS}finished")] if value is not None]
    repository.capture("bundle", "create", "--quiet", bundle, _KEPT, *(f"^{marker}" for marker in known))
    repository.capture("update-ref", "-d", _KEPT)
    say(f"kept in {bundle}")
    return bundle


def drop(module: Module) -> None:
    """Remove a module's untracked files and end its unfinished operations; edits of tracked files go when the tree is moved."""
    for path in module.repository.records("ls-files", "-z", "--others", "--exclude-standard"):
        # A slash ends the name of a repository of a person's own.
        if not path.endswith(b"/"):
            files.remove_tree(module.folder / os.fsdecode(path))
    for name in OPERATIONS:
        files.remove_tree(module.git_dir / name)
