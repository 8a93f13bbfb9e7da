"""Where the binaries of packages look for libraries: folders relative to themselves, so that packages work wherever they are installed.

The packages of a set lie side by side in one folder, and their modules hold parts of what was one ROCm tree.
"""

from __future__ import annotations

import collections
import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.rocm.packages.layout import Laid, Placed
    from build_tools.rocm.packages.scan import Facts
    from build_tools.wheels.elf import Elf

__all__ = ["Room", "room_of", "run_path", "with_run_paths"]

_ORIGINS: Final = ("$ORIGIN", "${ORIGIN}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A module's folders, and the folders in it that have a file of a name."""

    module: str
    folders: frozenset[str]
    places: Mapping[str, tuple[str, ...]]


def room_of(module: str, paths: Iterable[str]) -> Room:
    """Return a module with files at these paths."""
    folders = {""}
    places: dict[str, list[str]] = collections.defaultdict(list)
    for path in paths:
        folder, _, name = path.rpartition("/")
        places[name].append(folder)
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return Room(
        module=module,
        folders=frozenset(folders),
        places={name: tuple(sorted(found, key=lambda folder: (folder.count("/"), folder))) for name, found in places.items()},
    )


def with_run_paths(
    laid: Laid, facts: Mapping[Path, Facts], *, rooms: Sequence[Room], extra: Iterable[tuple[str, str]] = ()
) -> Laid:
    """Return a package whose binaries have their run paths.

    Parameters
    ----------
    laid
        The package.
    facts
        What its files are.
    rooms
        The modules that its binaries may look in, its own first.
    extra
        Module and folder of further places; those that are not there are left out.
    """
    known = {room.module: room for room in rooms}
    further = tuple((module, folder) for module, folder in extra if module in known and folder in known[module].folders)

    def mended(placed: Placed) -> Placed:
        elf = facts[placed.item.source].elf
        if elf is None or placed.launches is not None:
            return placed
        return replace(placed, run_path=run_path(elf, placed.path, rooms=rooms, extra=further))

    return replace(laid, files={path: mended(placed) for path, placed in laid.files.items()})


def run_path(elf: Elf, path: str, *, rooms: Sequence[Room], extra: Sequence[tuple[str, str]] = ()) -> tuple[str, ...] | None:
    """Return what a binary's DT_RPATH is set to, None when it stays as it is.

    These are, in this order: the folders that it named itself, relative to its own; those with the libraries that it needs; and
    ``extra``. A folder of another module is taken for the same folder of the ROCm tree. Absolute ones, which lead to the machine that
    it was built on, are left out.

    Parameters
    ----------
    elf, path
        The binary, and its place in the first of the modules.
    rooms
        The modules that it may look in, its own first.
    extra
        Module and folder of further places that are there.
    """
    if not elf.is_dynamic or not (elf.needed or elf.run_path or elf.runpath):
        return None
    folder = path.rpartition("/")[0]
    found: dict[tuple[str, str], None] = {}
    for entry in elf.run_path or elf.runpath:
        found |= dict.fromkeys(_named(entry, folder, rooms))
    for name in elf.needed:
        holding = [(room.module, place) for room in rooms for place in room.places.get(name, ())]
        if holding and not any(place in found for place in holding):
            own = (rooms[0].module, folder)
            found[own if own in holding else holding[0]] = None
    if elf.needed:
        found |= dict.fromkeys(extra)
    origin = posixpath.join(rooms[0].module, folder)
    wanted = tuple(_relative(posixpath.join(*place), origin) for place in found)
    # DT_RPATH and not DT_RUNPATH: LD_LIBRARY_PATH comes before the latter, so that another ROCm on the machine could slip in.
    return None if wanted == elf.run_path and not elf.runpath else wanted


def _named(entry: str, folder: str, rooms: Sequence[Room]) -> Iterator[tuple[str, str]]:
    origin = next((text for text in _ORIGINS if entry == text or entry.startswith(f"{text}/")), None)
    if origin is None:
        return
    place = posixpath.normpath(posixpath.join(folder, entry.removeprefix(origin).lstrip("/")))
    place = "" if place == "." else place
    yield from ((room.module, place) for room in rooms if place in room.folders)


def _relative(place: str, origin: str) -> str:
    relative = posixpath.relpath(place, origin)
    return "$ORIGIN" if relative == "." else f"$ORIGIN/{relative}"
