"""Prove that an environment holds what was meant: owned packages exactly as locked, no other owned name, all requirements met."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools.config.owned import is_owned, owned_places
from build_tools.environments.installed import Distribution, installed_files, unmet_requirements
from build_tools.environments.network import path_of
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from packaging.requirements import Requirement

    from build_tools.receipts.lock import LockedFile

__all__ = ["Stamp", "prove_installed", "prove_untouched", "stamp_files"]

Stamp = tuple[int, int, int, int]
"""What tells a file from another one in its place without reading it: inode, size, and when it and its inode were changed."""

_SHOWN: Final = 3


def prove_installed(
    installed: Sequence[Distribution],
    owned: Sequence[LockedFile],
    places: Mapping[NormalizedName, Path],
    *,
    wanted: Sequence[Requirement],
    markers: Mapping[str, str],
    by: str,
    log: Path,
) -> None:
    """Compare what is installed with what was meant.

    Parameters
    ----------
    installed
        What is in the environment.
    owned
        The locked files.
    places
        The file that each owned package was installed from, by name: the locked one, or the wheel that was built of it.
    wanted
        What must be there.
    markers
        What environment markers see.
    by
        Who wants it, for messages.
    log
        The installer's log, for errors.

    Raises
    ------
    HipwrightError
        ``owned-name-leak`` naming the package; ``install-failed`` naming the requirements that are not met.
    """
    here = {one.name: one for one in installed}
    meant = {canonicalize_name(file.distribution): file for file in owned}
    for name, file in meant.items():
        found = here.get(name)
        if found is None:
            raise HipwrightError("install-failed", f"{file.filename} was installed, and no {name} is there", log=log)
        if not _is_file(found, file, places[name]):
            message = f"{name} {found.version} is in the environment, and {file.filename} of {file.url} was meant"
            raise HipwrightError("owned-name-leak", message, log=log)
    for name, found in here.items():
        if name not in meant and is_owned(name):
            askers = sorted(one.name for one in installed for need in one.requirements if canonicalize_name(need.name) == name)
            message = f"{name} {found.version} came from the base index, and it is an owned name"
            reason = f"; it is required by {', '.join(askers)}" if askers else ""
            hint = "name a source that has it, so that it can be locked"
            raise HipwrightError("owned-name-leak", message + reason, hint=hint, log=log)
    unmet = unmet_requirements(installed, wanted, markers=markers, by=by)
    if unmet:
        raise HipwrightError("install-failed", "; ".join(map(str, unmet)), log=log)


def stamp_files(packages: Path, names: Collection[NormalizedName]) -> dict[str, Stamp | None]:
    """Return a stamp of every file of some installed packages, before others are installed beside them."""
    files = installed_files(packages)
    return {path: _stamp(path) for name in names for path in files.get(name, {})}


def prove_untouched(
    stamps: Mapping[str, Stamp | None], packages: Path, owned: Collection[NormalizedName], *, folder: Path, log: Path
) -> None:
    """Compare stamped files with what is in their place now: a wheel of any name may hold files with an owned package's paths.

    Raises
    ------
    HipwrightError
        ``owned-name-leak`` naming files that were replaced, or packages that put files of their own where an owned package's belong.
    """
    hint = "leave out the package that brings them"
    others = {name: files for name, files in installed_files(packages).items() if name not in owned}
    changed = {path for path, stamp in stamps.items() if _stamp(path) != stamp}
    if changed:
        names = sorted(name for name, files in others.items() if files.keys() & changed)
        replaced = sorted(os.path.relpath(path, folder).replace(os.sep, "/") for path in changed)
        more = f" and {len(replaced) - _SHOWN} more" if len(replaced) > _SHOWN else ""
        who = ", ".join(names) or "a package of the base index"
        message = f"{who} put other files in the place of owned ones: {', '.join(replaced[:_SHOWN])}{more}"
        raise HipwrightError("owned-name-leak", message, hint=hint, log=log)
    below = f"{packages}{os.sep}"
    for name, files in sorted(others.items()):
        inside = (path.removeprefix(below).replace(os.sep, "/") for path in files if path.startswith(below))
        if places := owned_places(inside):
            message = f"{name} holds files of {', '.join(places)}, which come only from a source that is named for them"
            raise HipwrightError("owned-name-leak", message, hint=hint, log=log)


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_file(found: Distribution, file: LockedFile, place: Path) -> bool:
    """Return whether an installed package is the locked file, going by what the installer wrote down (PEP 610)."""
    same_place = found.url is not None and path_of(found.url) == place
    # pip writes the hash down, uv does not; both compared it with the requirement before they unpacked the file. What a source
    # distribution was built into has a hash of its own.
    same_bytes = found.sha256 in {None, file.sha256} or place.name != file.filename
    try:
        return same_place and same_bytes and Version(found.version) == Version(file.version)
    except InvalidVersion:
        return False
