"""Dropping a person's changes when they say so: named, and kept in a bundle before anything goes."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from build_tools import files
from build_tools.sources.guard import OPERATIONS, hidden_edits, link_line, show_to_git
from build_tools.sources.modules import ROOT, Module, link_over, markers_of, own_folder, temporary_index
from build_tools.types import TreeId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["drop", "keep"]

_MESSAGE = "Changes that were discarded\n"
_KEPT = "refs/hipwright-discarded/changes"
_BELOW = "refs/hipwright-discarded/below/"


def keep(
    tree: Path, module: Module, lines: list[str], *, hidden: Sequence[bytes] = (), say: Callable[[str], None]
) -> Path | None:
    """Keep a module's commits, edits and untracked files in a bundle, and name them; its files stay as they are.

    Returns the bundle (``git fetch --no-recurse-submodules BUNDLE refs/hipwright-discarded/changes`` brings its one commit back), or None
    when nothing was ever committed in the module, or a link in its place is all there is. Of ignored files, those in ``hidden`` are part
    of it. So is what stages made below the changes, because no ref holds that once the module has moved; the upstream commit below is
    not, and a ref holds that from then on.
    """
    for line in lines:
        say(f"discarding {line}")
    if lines == [link_line(module)]:
        return None
    head = module.store.head()
    markers = markers_of(module)
    if head is None and markers is not None:
        # A branch that a person began anew, without history, has files all the same.
        head = markers.finished
    if head is None:
        return None
    repository = module.store
    # Commits can be all that is left of a module whose folder a person removed.
    there = module.folder.is_dir() and link_over(module) is None
    content = _content(tree, module, hidden) if there else repository.tree_of(head)
    commit = repository.commit(content, parent=head, message=_MESSAGE, date=repository.date_of(head))
    bundle = _fresh_name(tree, module)
    below = [] if markers is None else [markers.upstream]
    repository.set_refs({_KEPT: commit, **{f"{_BELOW}{known}": known for known in below}})
    repository.capture("bundle", "create", "--quiet", bundle, _KEPT, *(f"^{known}" for known in below))
    repository.capture("update-ref", "-d", _KEPT)
    say(f"kept in {bundle}")
    return bundle


def drop(module: Module, *, hidden: Sequence[bytes] = ()) -> None:
    """Remove a module's untracked files and the ignored ones in ``hidden``, and end its unfinished operations.

    Edits of tracked files go when the tree is moved. Of a link in a module's place, or above it, only the link itself goes.
    """
    link = link_over(module)
    if link is not None:
        link.unlink()
        return
    if not module.folder.is_dir():
        return
    edits = hidden_edits(module)
    if edits:
        show_to_git(module, edits)
    for path in [*module.repository.records("ls-files", "-z", "--others", "--exclude-standard"), *hidden]:
        # A slash ends the name of a repository of a person's own.
        if not path.endswith(b"/"):
            files.remove_tree(module.folder / os.fsdecode(path))
    for name in OPERATIONS:
        files.remove_tree(module.git_dir / name)


def _content(tree: Path, module: Module, hidden: Sequence[bytes]) -> TreeId:
    repository = module.repository
    edits = hidden_edits(module)
    with temporary_index(tree, copy_of=module.git_dir / "index") as env:
        if edits:
            show_to_git(module, edits, env=env)
        repository.capture("add", "--all", "--", ".", env=env)
        if hidden:
            # Takes names as they are, and asks no .gitignore.
            repository.capture("update-index", "--add", "--replace", "-z", "--stdin", env=env, stdin=b"\0".join(hidden) + b"\0")
        return TreeId(repository.text("write-tree", env=env))


def _fresh_name(tree: Path, module: Module) -> Path:
    """Return a file for a bundle; one that is there already is somebody's only copy."""
    folder = own_folder(tree) / "discarded"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = files.utc_now().replace(":", "")
    name = "root" if module.path == ROOT else module.path.replace("/", "-")
    names = (f"{stamp}-{name}{more}.bundle" for more in itertools.chain([""], (f"-{number}" for number in itertools.count(2))))
    return next(folder / name for name in names if not (folder / name).exists())
