"""Packages that cannot be installed beside each other: an installer writes them all into one folder, and the last one wins."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from build_tools.rocm.packages.layout import Laid, Placed
    from build_tools.rocm.packages.scan import Facts

__all__ = ["refuse_clashes", "refuse_reserved", "shared_files"]

_RESERVED: Final = ("__init__.py", "_set.json", ".devel_links", ".rocm_sdk.*")
"""What hipwright's own files in a package, and those of the tree that is made of the devel package, are called, at the top."""


def refuse_reserved(paths: Iterable[tuple[str, Path]]) -> None:
    """Refuse files of artifacts, given with their places, that stand where ours belong.

    Raises
    ------
    HipwrightError
        ``bad-artifact``.
    """
    for path, source in paths:
        top = path.split("/", maxsplit=1)[0].casefold()
        if any(fnmatch.fnmatchcase(top, name) for name in _RESERVED):
            message = f"{path} is what a file of the packages themselves is called, and no artifact may bring it"
            raise HipwrightError("bad-artifact", message, where=Where(file=source))


def refuse_clashes(packages: Iterable[Laid], facts: Mapping[Path, Facts], *, platform: Platform) -> None:
    """Refuse packages that lie in one module and have other bytes at one place, or one a file where another has a folder.

    On Windows places that differ in case alone are one.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` naming the place and both packages.
    """
    files: dict[tuple[str, str], tuple[Laid, Placed]] = {}
    folders: dict[tuple[str, str], Laid] = {}
    for laid in packages:
        module = laid.portion.module
        for path, placed in laid.files.items():
            place = path.casefold() if platform is Platform.WINDOWS else path
            other, theirs = files.setdefault((module, place), (laid, placed))
            same = facts[theirs.item.source].sha256 == facts[placed.item.source].sha256 and theirs.launches == placed.launches
            if not same or theirs.path != path:
                raise _clash(f"{path} is in {other.portion.distribution} and, otherwise, in {laid.portion.distribution}")
            parts = place.split("/")
            for end in range(1, len(parts)):
                folders.setdefault((module, "/".join(parts[:end])), laid)
    for key in sorted(files.keys() & folders.keys()):
        laid, placed = files[key]
        raise _clash(
            f"{placed.path} is a file in {laid.portion.distribution} and a folder in {folders[key].portion.distribution}"
        )


def shared_files(packages: Iterable[Laid]) -> tuple[str, ...]:
    """Return a sentence about each group of packages that have the same files: uninstalling one takes them from the others."""
    owners: dict[tuple[str, str], list[str]] = {}
    for laid in packages:
        for path in laid.files:
            owners.setdefault((laid.portion.module, path), []).append(laid.portion.distribution)
    groups: dict[tuple[str, ...], list[str]] = {}
    for (_, path), names in owners.items():
        if len(names) > 1:
            groups.setdefault(tuple(names), []).append(path)
    return tuple(
        f"{', '.join(names)} have {len(paths)} file{'' if len(paths) == 1 else 's'} in common, such as {paths[0]}:"
        " where one of them is uninstalled, install the others again"
        for names, paths in groups.items()
    )


def _clash(message: str) -> HipwrightError:
    return HipwrightError("bad-artifact", f"packages do not fit together: {message}")
