"""Packages that cannot be installed beside each other: all of a set go into one folder, so what two of them have there is nobody's.

Installers write one over the other in silence, and uninstalling either takes the file away from both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["refuse_clashes"]


def refuse_clashes(packages: Iterable[tuple[str, Iterable[str]]], *, platform: Platform) -> None:
    """Refuse packages of which two own one installed path, be it with the same bytes, or that have a file where there is a folder.

    Two files of one package clash too where the system takes their names for one.

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
            other, spelled = files.setdefault(place, (name, path))
            if other != name:
                raise _clash(f"{path} is in both {other} and {name}")
            if spelled != path:
                message = (
                    f"{spelled} and {path} of {name} are one file on Windows, which does not tell capital letters from small ones"
                )
                raise HipwrightError(
                    "bad-artifact", message, hint="give one of them another name, or leave it out of the artifact"
                )
            parts = place.split("/")
            for end in range(1, len(parts)):
                folders.setdefault("/".join(parts[:end]), name)
    for place in sorted(files.keys() & folders.keys()):
        name, path = files[place]
        raise _clash(f"{path} is a file in {name} and a folder in {folders[place]}")


def _clash(message: str) -> HipwrightError:
    hint = "a file for all targets belongs into a generic artifact, one for a target into that of the target alone"
    return HipwrightError("bad-artifact", f"packages do not fit together: {message}", hint=hint)
