"""The owned names: packages that come only from the source that is named for them, as data in ``data/owned.toml``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from packaging.utils import canonicalize_name

from build_tools.config.load import load_toml

__all__ = ["OwnedNames", "is_owned", "is_rocm", "owned_names"]

_FILE: Final = Path(__file__).with_name("data") / "owned.toml"

_Name = Annotated[str, msgspec.Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
_Prefix = Annotated[str, msgspec.Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*-$")]


class OwnedNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The list: exact names, and prefixes that end in a hyphen; all normalised as PEP 503 has it."""

    schema: Literal[1]
    names: frozenset[_Name]
    prefixes: tuple[_Prefix, ...]

    def owns(self, name: str) -> bool:
        """Return whether a package name, however spelled, is on the list."""
        normal = canonicalize_name(name)
        return normal in self.names or any(normal.startswith(prefix) and normal != prefix for prefix in self.prefixes)


@functools.cache
def owned_names(path: Path = _FILE) -> OwnedNames:
    """Read the list.

    Raises
    ------
    HipwrightError
        ``bad-data-file``.
    """
    return load_toml(path, OwnedNames)


def is_owned(name: str) -> bool:
    """Return whether a package name, however spelled, may come only from the source that is named for it."""
    return owned_names().owns(name)


def is_rocm(name: str) -> bool:
    """Return whether a package name, however spelled, is one of the ROCm packages, which may have a source of their own."""
    normal = canonicalize_name(name)
    return normal == "rocm" or normal.startswith("rocm-")
