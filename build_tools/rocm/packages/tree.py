"""The one ROCm tree that artifacts make together: their files and links by path, and where links lead in it."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from build_tools.rocm.artifacts.catalog import Artifact, Item
    from build_tools.rocm.packages.scan import Facts
    from build_tools.types import Platform

__all__ = ["Tree", "flatten"]

_HOPS: Final = 40
"""As many links in a row as Linux follows."""

_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree: items by path, sorted, and all its folders."""

    items: Mapping[str, Item]
    folders: frozenset[str] = field(default_factory=frozenset)

    def resolve(self, path: str) -> Item | str | None:
        """Return what a path leads to when links are followed: a file, a folder's path, or None when nothing is there."""
        done: list[str] = []
        rest = posixpath.normpath(path).split("/")[::-1]
        hops = 0
        while rest:
            part = rest.pop()
            if part == ".":
                continue
            if part == "..":
                if not done:
                    return None
                done.pop()
                continue
            here = "/".join([*done, part])
            item = self.items.get(here)
            if item is None:
                if here not in self.folders:
                    return None
                done.append(part)
            elif item.link is None:
                return item if not rest else None
            else:
                hops += 1
                if hops > _HOPS:
                    return None
                rest += item.link.split("/")[::-1]
        return "/".join(done)


def flatten(artifacts: Iterable[Artifact], facts: Mapping[Path, Facts], *, platform: Platform) -> Tree:
    """Lay artifacts over each other.

    Two of them may bring the same place when they bring the same: the same bytes, or links with the same text.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` naming the places that two artifacts fill differently, those where one has a file and another a folder, and,
        for Windows, those whose names differ in case alone.
    """
    items: dict[str, Item] = {}
    faults: list[str] = []
    for artifact in artifacts:
        for item in artifact.items:
            other = items.setdefault(item.path, item)
            if other is not item and not _same(other, item, facts):
                faults.append(f"{item.path} is in {other.artifact} and, otherwise, in {item.artifact}")
    folders = {"/".join(parts[:end]) for parts in (path.split("/") for path in items) for end in range(1, len(parts))}
    faults += [f"{path} is a file in {items[path].artifact} and a folder elsewhere" for path in sorted(folders & items.keys())]
    if platform == "windows":
        by_case: dict[str, str] = {}
        faults += [
            f"{path} and {by_case[path.casefold()]} are one file on Windows"
            for path in items
            if by_case.setdefault(path.casefold(), path) != path
        ]
    if faults:
        first = items[min(items)].source
        shown = "; ".join(faults[:_SHOWN]) + (f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else "")
        raise HipwrightError("bad-artifact", f"artifacts do not fit together: {shown}", where=Where(file=first))
    return Tree(items={path: items[path] for path in sorted(items)}, folders=frozenset(folders))


def _same(one: Item, other: Item, facts: Mapping[Path, Facts]) -> bool:
    if one.link is not None or other.link is not None:
        return one.link == other.link
    return facts[one.source].sha256 == facts[other.source].sha256
