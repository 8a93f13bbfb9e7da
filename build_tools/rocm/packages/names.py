"""Names that files of artifacts may not have: those of the packages' own files, and on Windows those that it has no files of.

A wheel holds any name, and so does an archive: without this it would be the person who installs them that finds out.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.files import is_windows_name
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["refuse_names"]

_RESERVED: Final = ("__init__.py", "_set.json", ".devel_links", ".rocm_sdk.*")
"""What hipwright's own files in a package, and those of the tree that is made of the devel package, are called, at the top."""


def refuse_names(paths: Iterable[tuple[str, Path]], *, platform: Platform) -> None:
    """Refuse files of artifacts by their names.

    Parameters
    ----------
    paths
        The place of each below the ROCm tree, and the file.
    platform
        The operating system that packages are made for.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` for one that stands where a file of ours belongs, or that Windows, where packages are made for it, cannot have.
    """
    for path, source in paths:
        fault = _fault(path, platform)
        if fault is not None:
            raise HipwrightError("bad-artifact", f"{path} {fault}", where=Where(file=source))


def _fault(path: str, platform: Platform) -> str | None:
    parts = path.split("/")
    if any(fnmatch.fnmatchcase(parts[0].casefold(), name) for name in _RESERVED):
        return "is what a file of the packages themselves is called, and no artifact may bring it"
    if platform is Platform.WINDOWS:
        part = next((part for part in parts if not is_windows_name(part)), None)
        if part is not None:
            return f"cannot be on Windows, which has no file or folder {part!r}"
    return None
