"""Yank files of an index, so that only who names one exactly still gets it (PEP 592), and take that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs
from packaging.utils import canonicalize_name, is_normalized_name
from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError
from build_tools.index.snapshots import merged, parsed_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.snapshot import IndexedFile, Snapshot

__all__ = ["named_files", "unyanked", "yanked"]


def named_files(snapshot: Snapshot, names: Sequence[str]) -> tuple[IndexedFile, ...]:
    """Return the files that names mean, in the index's order: each a file name, or ``PROJECT==VERSION`` for all files of a release.

    A version is meant as PEP 440 compares it, its local part included: ``torch==2.9.0`` is not ``2.9.0+rocm7.1``.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for no name, or one that is neither; ``not-in-index`` naming all that mean no file.
    """
    if not names:
        raise HipwrightError("bad-option-value", "no file is named", hint="name files, or releases as PROJECT==VERSION")
    found: set[str] = set()
    missing = []
    for name in names:
        meant = _meant(snapshot, name)
        found |= meant
        if not meant:
            missing.append(f"{name}{_near(snapshot, name)}")
    if missing:
        raise HipwrightError(
            "not-in-index",
            f"the index holds nothing of {'; '.join(missing)}",
            hint="name a release as PROJECT==VERSION, as its page lists it",
        )
    return tuple(file for file in snapshot.files if file.filename in found)


def yanked(snapshot: Snapshot, names: Sequence[str], *, reason: str) -> Snapshot:
    """Return a snapshot with files yanked; one that is yanked already gets the reason that is given.

    Raises
    ------
    HipwrightError
        As :func:`named_files`.
    """
    return _marked(snapshot, names, reason)


def unyanked(snapshot: Snapshot, names: Sequence[str]) -> Snapshot:
    """Return a snapshot with files yanked no longer.

    Raises
    ------
    HipwrightError
        As :func:`named_files`.
    """
    return _marked(snapshot, names, None)


def _marked(snapshot: Snapshot, names: Sequence[str], reason: str | None) -> Snapshot:
    return merged(snapshot, [structs.replace(file, yanked=reason) for file in named_files(snapshot, names)])


def _meant(snapshot: Snapshot, name: str) -> set[str]:
    project, equal, version = name.partition("==")
    if not equal or not is_normalized_name(canonicalize_name(project.strip())):
        if equal or "/" in name or not name.endswith((".whl", ".tar.gz", ".zip")):
            meant = name if is_normalized_name(canonicalize_name(name)) else "PROJECT"
            message = f"{name!r} names neither a file nor a release"
            raise HipwrightError("bad-option-value", message, hint=f"name the file, or the release as {meant}==VERSION")
        return {file.filename for file in snapshot.files if file.filename == name}
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        raise HipwrightError(
            "bad-option-value", f"{name!r} names no release: {version!r} is no version", hint="say NAME==VERSION"
        ) from error
    normal = canonicalize_name(project.strip())
    return {file.filename for file in snapshot.files if file.project == normal and parsed_version(file.version) == wanted}


def _near(snapshot: Snapshot, name: str) -> str:
    project = canonicalize_name(name.partition("==" if "==" in name else "-")[0].strip())
    there = [file.version for file in snapshot.files if file.project == project]
    return f" (it has {project} {', '.join(dict.fromkeys(there[-3:]))})" if there else ""
