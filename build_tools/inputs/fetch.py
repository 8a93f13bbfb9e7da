"""Fetching: every pinned file once, verified by its bytes, then what is made of them; finished or absent at any moment.

Files lie under ``<cache>/inputs/files/<sha256>/<name>`` with a mark beside them that is written last; what is made of them lies
under ``<cache>/inputs/made/<key>-<digest>``, named by what it is made of. A run that was stopped leaves what it had finished.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

import humanize

from build_tools import digest
from build_tools.environments.download import fetch_sdist
from build_tools.environments.settings import read_base_index
from build_tools.errors import HipwrightError
from build_tools.files import finished_folder, free_space, hold, make_folder, temporary_folder, write_bytes
from build_tools.inputs.catalogue import (
    CollectionInput,
    DebianFile,
    DebianPackage,
    FileInput,
    FolderInput,
    PackagesInput,
    RepositoryInput,
    SdistFile,
    Tier,
    WheelFile,
    branches_of,
    files_of,
    inputs_of,
    known_inputs,
)
from build_tools.inputs.debian import fetch_debian
from build_tools.inputs.unpack import make_origin, unpack, unpack_package
from build_tools.inputs.wheels import fetch_wheels
from build_tools.sources.git import Git
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.inputs.catalogue import Catalogue, Input, PinnedFile
    from build_tools.process import Runner

__all__ = ["fetch_inputs"]

_LAYOUT: Final = 1  # changes whenever the same files are made into something else
_TREE_FACTOR: Final = 12  # how much larger an unpacked archive with its objects is


def fetch_inputs(
    tier: Tier | str,
    *,
    cache: Path,
    runner: Runner,
    machine: Mapping[str, str],
    say: Callable[[str], None],
    catalogue: Catalogue | None = None,
    wait: bool = True,
) -> dict[str, Path]:
    """Return where each input of a tier lies, after fetching what is not there yet.

    Parameters
    ----------
    tier
        Which inputs, as a tier or its name.
    cache
        hipwright's cache folder.
    runner
        Starts apt, pip and git.
    machine
        The machine's environment; the settings of its package index are used.
    say
        Called with one line for each thing that takes time.
    catalogue
        What there is; hipwright's own when not given.
    wait
        Whether to wait for another run that is fetching.

    Raises
    ------
    HipwrightError
        ``input-unavailable`` when something could not be fetched or has other bytes than pinned; ``disk-space``; ``locked``.
    """
    tier = Tier(tier)
    known = known_inputs() if catalogue is None else catalogue
    room = cache / "inputs"
    wanted = inputs_of(known, tier)
    places = {entry.key: _place(entry, tier, known, room) for entry in wanted}
    if all(_is_there(entry, places[entry.key], known, room) for entry in wanted):
        return places
    make_folder(room)
    with hold(room / "fetch.lock", purpose="fetching inputs", wait=wait, on_wait=say):
        missing = [entry for entry in wanted if not _is_there(entry, places[entry.key], known, room)]
        files = dict.fromkeys(name for entry in missing for name in files_of(entry, tier))
        _fetch_files([known.pinned(name) for name in files], room=room, runner=runner, machine=machine, say=say)
        for entry in missing:
            _make(entry, places[entry.key], tier=tier, catalogue=known, room=room, runner=runner, say=say)
    return places


def _file_place(pinned: PinnedFile, room: Path) -> Path:
    return room / "files" / pinned.sha256 / pinned.file


def _mark(place: Path) -> Path:
    return place.with_name(f"{place.name}.verified")


def _place(entry: Input, tier: Tier, catalogue: Catalogue, room: Path) -> Path:
    """Return where an input lies; names that say what it is made of never have to be looked into."""
    if isinstance(entry, FileInput):
        return _file_place(catalogue.pinned(entry.file), room)
    parts: list[object] = [_LAYOUT, [catalogue.pinned(name).sha256 for name in files_of(entry, tier)]]
    if isinstance(entry, RepositoryInput):
        parts += [[branch.name, branch.date.isoformat()] for branch in branches_of(entry, tier)]
    if isinstance(entry, FolderInput):
        parts.append(entry.folder)
    folder = room / "made" / f"{entry.key}-{digest.short(digest.of_value(parts), 16)}"
    return folder / f"{entry.key}.git" if isinstance(entry, RepositoryInput) else folder


def _is_there(entry: Input, place: Path, catalogue: Catalogue, room: Path) -> bool:
    match entry:
        case FileInput():
            return _file_is_there(catalogue.pinned(entry.file), room)
        case FolderInput() | CollectionInput() | PackagesInput() | RepositoryInput():
            return place.is_dir()


def _file_is_there(pinned: PinnedFile, room: Path) -> bool:
    place = _file_place(pinned, room)
    return _mark(place).is_file() and place.is_file() and place.stat().st_size == pinned.size


def _fetch_files(
    files: Sequence[PinnedFile], *, room: Path, runner: Runner, machine: Mapping[str, str], say: Callable[[str], None]
) -> None:
    missing = [pinned for pinned in files if not _file_is_there(pinned, room) and not _found_right(pinned, room, say)]
    if not missing:
        return
    free_space(room, 2 * sum(pinned.size for pinned in missing))
    log = room / "fetch.log"
    for pinned in missing:
        say(f"fetching {pinned.file} ({humanize.naturalsize(pinned.size, binary=True)}) from {pinned.origin}")
    debian = [pinned for pinned in missing if isinstance(pinned, DebianFile | DebianPackage)]
    wheels = [pinned for pinned in missing if isinstance(pinned, WheelFile)]
    sdists = [pinned for pinned in missing if isinstance(pinned, SdistFile)]
    with temporary_folder(room, "scratch") as scratch:
        if debian:
            _keep(fetch_debian(debian, scratch=scratch, runner=runner, log=log), room)
        if wheels:
            _keep(fetch_wheels(wheels, scratch=scratch, runner=runner, machine=machine, log=log), room)
        if sdists:
            _keep(_fetch_sdists(sdists, scratch=scratch, runner=runner, machine=machine), room)


def _fetch_sdists(
    files: Sequence[SdistFile], *, scratch: Path, runner: Runner, machine: Mapping[str, str]
) -> Iterator[tuple[PinnedFile, Path]]:
    base = read_base_index(machine, runner)
    for file in files:
        try:
            yield file, fetch_sdist(file.name, file.version, Sha256(file.sha256), base=base, cache=scratch)
        except HipwrightError as error:
            message = f"{file.file} could not be fetched: {error.message}"
            raise HipwrightError("input-unavailable", message, hint=error.hint) from error


def _found_right(pinned: PinnedFile, room: Path, say: Callable[[str], None]) -> bool:
    """Return whether a file without a mark, put there by hand or by a run that was stopped, has the right bytes; mark it then."""
    place = _file_place(pinned, room)
    if not place.is_file():
        return False
    if digest.of_file(place) != pinned.sha256:
        say(f"{place} has other bytes than pinned and is fetched again")
        return False
    write_bytes(_mark(place), b"")
    return True


def _keep(fetched: Iterable[tuple[PinnedFile, Path]], room: Path) -> None:
    """Give fetched files their places once their bytes are proved to be the pinned ones.

    Raises
    ------
    HipwrightError
        ``input-unavailable``.
    """
    for pinned, path in fetched:
        place = _file_place(pinned, room)
        found = digest.of_file(path)
        if found != pinned.sha256:
            message = f"{pinned.file} has other bytes than pinned: sha256 {found} instead of {pinned.sha256}"
            hint = f"it came from {pinned.origin}; the right file can be put at {place} by hand"
            raise HipwrightError("input-unavailable", message, hint=hint)
        place.parent.mkdir(parents=True, exist_ok=True)
        path.replace(place)
        write_bytes(_mark(place), b"")


def _make(
    entry: Input, place: Path, *, tier: Tier, catalogue: Catalogue, room: Path, runner: Runner, say: Callable[[str], None]
) -> None:
    archives = [_file_place(catalogue.pinned(name), room) for name in files_of(entry, tier)]
    match entry:
        case FileInput():
            return
        case CollectionInput():
            with finished_folder(place) as folder:
                for file in archives:
                    shutil.copyfile(file, folder / file.name)
        case FolderInput():
            say(f"unpacking {entry.key}")
            free_space(room, _TREE_FACTOR * archives[0].stat().st_size)
            with finished_folder(place) as folder:
                unpack(archives[0], folder, folder=entry.folder)
        case PackagesInput():
            say(f"unpacking {entry.key}")
            free_space(room, _TREE_FACTOR * sum(file.stat().st_size for file in archives))
            with finished_folder(place) as folder:
                for file in archives:
                    unpack_package(file, folder, runner=runner, log=room / "fetch.log")
        case RepositoryInput():
            say(f"making the repository {entry.key}")
            free_space(room, _TREE_FACTOR * sum(file.stat().st_size for file in archives))
            with finished_folder(place.parent) as folder:
                branches = zip(branches_of(entry, tier), archives, strict=True)
                make_origin(folder / place.name, tuple(branches), git=Git(runner=runner))
