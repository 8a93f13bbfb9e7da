"""The files of wheels that state the wheel's own version, as data in ``data/version_members.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml

__all__ = ["VersionMembers", "version_members"]

_FILE: Final = Path(__file__).with_name("data") / "version_members.toml"


class VersionMembers(Table, frozen=True, kw_only=True):
    """The names of the files, without folders."""

    schema: Literal[1]
    names: tuple[NonEmpty, ...]


@functools.cache
def version_members(path: Path = _FILE) -> frozenset[str]:
    """Return the names, without folders, of the files that state the version of the wheel that they are in.

    Raises
    ------
    HipwrightError
        ``bad-data-file``.
    """
    return frozenset(load_toml(path, VersionMembers).names)
