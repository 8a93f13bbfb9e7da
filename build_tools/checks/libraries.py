"""The libraries that packages bring, by the names that a loader looks for: those that a wheel may need without having them."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Final

from build_tools.checks.binaries import base_name
from build_tools.wheels.archive import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["libraries_among", "libraries_of_folder", "libraries_of_wheels"]

_LIBRARY: Final = re.compile(r"(?P<name>[^/]+\.so(?:\.\d+)*|[^/]+\.(?:dll|pyd))$", re.IGNORECASE)


def libraries_of_wheels(wheels: Iterable[Path]) -> frozenset[str]:
    """Return the names of the libraries in wheels; only their directories are read.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when one is no archive.
    """
    return frozenset(name for wheel in wheels for name in _libraries(wheel, wheel.stat().st_mtime_ns))


def libraries_of_folder(folder: Path) -> frozenset[str]:
    """Return the names of the libraries below a folder, such as the root of an installed ROCm."""
    return libraries_among(name for _, _, files in os.walk(folder) for name in files)


def libraries_among(names: Iterable[str]) -> frozenset[str]:
    """Return the names of files that are libraries."""
    return frozenset(name for name in names if _LIBRARY.fullmatch(name))


@functools.lru_cache(maxsize=64)
def _libraries(wheel: Path, _changed: int) -> frozenset[str]:
    return libraries_among(base_name(member.name) for member in read_directory(wheel).members)
