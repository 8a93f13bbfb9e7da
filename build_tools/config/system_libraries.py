"""The libraries that a system has by itself, read from ``data/system_libraries.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml

__all__ = ["SystemLibraries", "system_libraries"]

_FILE: Final = Path(__file__).with_name("data") / "system_libraries.toml"


class SystemLibraries(Table, frozen=True, kw_only=True):
    """The table: what Windows has, what its Python brings, and what Microsoft's redistributable package brings."""

    schema: Literal[1]
    windows: tuple[NonEmpty, ...]
    windows_python: tuple[NonEmpty, ...]
    windows_redistributable: tuple[NonEmpty, ...]


@functools.cache
def system_libraries(path: Path = _FILE) -> SystemLibraries:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``.
    """
    return load_toml(path, SystemLibraries)
