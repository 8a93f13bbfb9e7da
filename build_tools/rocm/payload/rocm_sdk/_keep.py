"""What somebody put into the tree of development files, and that a tree which takes its place keeps."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from ._devices import list_name
from ._paths import RESERVED
from ._plan import FILES, PENDING, files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["keep_others"]

_CACHE = "__pycache__"


def keep_others(old: Path, tree: Path, *, recorded: Iterable[str], say: Callable[[str], None]) -> None:
    """Move what is not ours out of a tree into the one that took its place; a name that is taken there gets ``.kept`` behind it.

    Parameters
    ----------
    old
        The tree that is about to be removed.
    tree
        The other one.
    recorded
        Paths that an installer knows to be ours, for a tree that lost its own list.
    say
        Told of each file.
    """
    if old.is_symlink() or not old.is_dir():
        return
    ours = _ours(old) | frozenset(recorded)
    if not (old / FILES).is_file() and not ours:
        # Nothing tells its files apart. What an installer removed leaves only what others put there.
        if any(_others(old, ours)):
            aside = _free(tree.with_name(f"{tree.name}.kept"))
            old.rename(aside)
            say(f"what was in {tree}, and is not of this ROCm, is in {aside}")
        return
    for path in list(_others(old, ours)):
        target = _free(tree / path)
        target.parent.mkdir(parents=True, exist_ok=True)
        (old / path).rename(target)
        say(f"kept {target}, which is none of ROCm's files")


def _free(path: Path) -> Path:
    """Return a name that is not taken, beginning with a path's own."""
    while os.path.lexists(path):
        path = path.with_name(f"{path.name}.kept")
    return path


def _ours(tree: Path) -> frozenset[str]:
    """Return the paths that a tree's own lists name."""
    listed = set(files_of(tree))
    for path in tree.glob(list_name("*")):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            listed.update(path.read_text("utf-8").splitlines())
    try:
        pending = json.loads((tree / PENDING).read_bytes())
    except (OSError, ValueError):
        pending = ()
    return frozenset(listed) | frozenset(map(str, pending))


def _others(tree: Path, ours: frozenset[str], above: str = "") -> Iterator[str]:
    with os.scandir(tree / above) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = f"{above}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _CACHE:
                yield from _others(tree, ours, f"{path}/")
        elif path not in ours and not path.startswith(RESERVED):
            yield path
