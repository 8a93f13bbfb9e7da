"""Packages that cannot be installed beside each other: all of a set go into one folder, so what two of them have there is nobody's.

Installers write one over the other in silence, and uninstalling either takes the file away from both.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["refuse_clashes", "refuse_reserved"]

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


def refuse_clashes(packages: Iterable[tuple[str, Iterable[str]]], *, platform: Platform) -> None:
    """Refuse packages of which two own one installed path, be it with the same bytes, or one has a file where another has a folder.

    Parameters
    ----------
    packages
        The name of each with the paths that it installs, from the folder that all are installed into.
    platform
        The operating system that they are for; on Windows paths that differ in case alone are one.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` naming the path and both packages.
    """
    files: dict[str, tuple[str, str]] = {}
    folders: dict[str, str] = {}
    for name, paths in packages:
        for path in paths:
            place = path.casefold() if platform is Platform.WINDOWS else path
            other, _ = files.setdefault(place, (name, path))
            if other != name:
                raise _clash(f"{path} is in both {other} and {name}")
            parts = place.split("/")
            for end in range(1, len(parts)):
                folders.setdefault("/".join(parts[:end]), name)
    for place in sorted(files.keys() & folders.keys()):
        name, path = files[place]
        raise _clash(f"{path} is a file in {name} and a folder in {folders[place]}")


def _clash(message: str) -> HipwrightError:
    hint = "a file for all targets belongs into a generic artifact, one for a target into that of the target alone"
    return HipwrightError("bad-artifact", f"packages do not fit together: {message}", hint=hint)
