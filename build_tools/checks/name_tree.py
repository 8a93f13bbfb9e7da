"""Names of files and folders, kept by their parts: a name of thousands of folders costs what it is long, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NameTree"]


class NameTree:
    """What files and folders there are once an archive is unpacked; the folders above a name are there too."""

    def __init__(self) -> None:
        self._steps: dict[tuple[int, str], int] = {}
        self._parents: list[int] = [-1]
        self._parts: list[str] = [""]
        self._folders: set[int] = set()
        self._files: set[int] = set()

    def add(self, name: str, *, folder: bool = False) -> None:
        """Add a file, or a folder."""
        here = 0
        for part in name.split("/"):
            if here:
                self._folders.add(here)
            step = (here, part)
            there = self._steps.get(step)
            if there is None:
                there = self._steps[step] = len(self._parts)
                self._parents.append(here)
                self._parts.append(part)
            here = there
        (self._folders if folder else self._files).add(here)

    def both(self) -> list[str]:
        """Return the names that are a file's and a folder's too, sorted."""
        return sorted(map(self._name, self._files & self._folders))

    def spelled_twice(self) -> Iterator[list[str]]:
        """Give the names that differ in the case of letters alone, sorted, where there are several."""
        folded: dict[tuple[int, str], int] = {}
        # A name's place among the folded ones, by its own; parents come before what is in them.
        places = [0]
        groups: dict[int, list[int]] = {}
        for node in range(1, len(self._parts)):
            step = (places[self._parents[node]], self._parts[node].casefold())
            place = folded.setdefault(step, node)
            places.append(place)
            groups.setdefault(place, []).append(node)
        for nodes in groups.values():
            if len(nodes) > 1:
                yield sorted(map(self._name, nodes))

    def highest_missing(self, name: str) -> str | None:
        """Return the highest of the folders above a name that is not there, None when all are."""
        here, parts = 0, name.split("/")[:-1]
        for count, part in enumerate(parts, start=1):
            found = self._steps.get((here, part))
            if found is None or found not in self._folders:
                return "/".join(parts[:count])
            here = found
        return None

    def _name(self, node: int) -> str:
        parts = []
        while node > 0:
            parts.append(self._parts[node])
            node = self._parents[node]
        return "/".join(reversed(parts))
