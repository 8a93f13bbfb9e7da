"""What becomes of each file and link of a ROCm tree in a package of what is needed to run.

A wheel holds no links. Of ``libfoo.so``, ``libfoo.so.1`` and ``libfoo.so.1.2``, which are links to one library, the one with the name
that the library gives itself (its SONAME) is there, as a file. A link to a program becomes a launcher of it, since what a program does
may depend on the name that it is called by. Links to folders and links to nothing are left out, and any other is a copy.
"""

from __future__ import annotations

import fnmatch
import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.rocm.artifacts.catalog import Item
    from build_tools.rocm.packages.scan import Facts
    from build_tools.rocm.packages.select import Portion
    from build_tools.rocm.packages.tree import Tree

__all__ = ["Laid", "Placed", "lay_out", "matches"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A file of a package: its place below the package's module, and the file of an artifact that it is.

    ``launches`` is set for a launcher: the program that it starts, relative to its own folder. ``run_path`` is what the binary's run
    path is set to; None where it stays as it is. ``content`` are the bytes that take the place of the artifact's file.
    """

    path: str
    item: Item
    executable: bool
    launches: str | None = None
    run_path: tuple[str, ...] | None = None
    content: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Laid:
    """A package laid out: its files by path, sorted, and the names of libraries that were left out, each with the one to link to.

    ``dropped`` are the links that were left out because they lead to a folder or to nothing.
    """

    portion: Portion
    files: Mapping[str, Placed]
    aliases: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()


def lay_out(
    portion: Portion, tree: Tree, facts: Mapping[Path, Facts], *, platform: Platform, leave_out: Sequence[str] = ()
) -> Laid:
    """Say what becomes of each file and link of a package's tree.

    Parameters
    ----------
    portion
        The package.
    tree
        What its artifacts make together.
    facts
        What the files are.
    platform
        The operating system that the package is for; only Linux has libraries of several names and launchers.
    leave_out
        Patterns of paths that are not for the package; ``**/`` stands for any folders, also for none.
    """
    files: dict[str, Placed] = {}
    aliases: dict[str, str] = {}
    dropped: list[str] = []
    for path, item in tree.items.items():
        if any(matches(path, pattern) for pattern in leave_out):
            continue
        target = tree.resolve(path)
        if target is None or isinstance(target, str):
            dropped.append(path)
            continue
        elf = facts[target.source].elf if platform is Platform.LINUX else None
        launches = None
        if elf is not None and not elf.is_program:
            if elf.soname and elf.soname != item.name and _has_soname(tree, facts, item.folder, elf.soname):
                aliases[path] = elf.soname
                continue
        elif elf is not None and item.link is not None and target.path in tree.items:
            launches = posixpath.relpath(target.path, item.folder or ".")
        executable = target.executable and platform is Platform.LINUX
        files[path] = Placed(path=path, item=target, executable=executable or launches is not None, launches=launches)
    files = {path: _startable(placed, files) for path, placed in files.items()}
    return Laid(portion=portion, files=files, aliases=aliases, dropped=tuple(dropped))


def _startable(placed: Placed, files: Mapping[str, Placed]) -> Placed:
    """Return a launcher as a copy of its program when that is not in the package."""
    return placed if placed.launches is None or placed.item.path in files else replace(placed, launches=None)


def _has_soname(tree: Tree, facts: Mapping[Path, Facts], folder: str, soname: str) -> bool:
    """Return whether the library is in the folder by the name that it gives itself; without that, its other name must stay."""
    target = tree.resolve(posixpath.join(folder, soname))
    if target is None or isinstance(target, str):
        return False
    elf = facts[target.source].elf
    return elf is not None and elf.soname == soname


def matches(path: str, pattern: str) -> bool:
    """Return whether a path below a ROCm tree is one that a pattern of the data files means.

    ``*`` stays within a folder; ``**/`` at the start stands for any folders, also for none, and ``/**`` at the end for all below.
    """
    if pattern.startswith("**/"):
        rest = pattern.removeprefix("**/")
        starts = [0, *(number + 1 for number, character in enumerate(path) if character == "/")]
        return any(matches(path[start:], rest) for start in starts)
    head, slash, tail = pattern.partition("/**")
    if slash and not tail:
        parts = path.split("/")
        depth = head.count("/") + 1
        return len(parts) > depth and fnmatch.fnmatchcase("/".join(parts[:depth]), head)
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)
