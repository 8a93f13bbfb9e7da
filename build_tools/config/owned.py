"""The owned names: packages that come only from the source that is named for them, as data in ``data/owned.toml``."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from packaging.utils import canonicalize_name

from build_tools.config.load import load_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OwnedNames", "is_owned", "is_rocm", "owned_names", "owned_places"]

_FILE: Final = Path(__file__).with_name("data") / "owned.toml"

_INFO: Final = ".dist-info"
_DATA: Final = ".data"
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})

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

    def meant_by(self, name: str) -> str | None:
        """Return the name on the list that another one is a single slip away from: a letter too many, too few or wrong, or two swapped.

        No looser likeness: packages that go with PyTorch bear names like its own.

        >>> owned_names().meant_by("rcom"), owned_names().meant_by("roc-sdk-core"), owned_names().meant_by("torchmetrics")
        ('rocm', 'rocm-sdk-core', None)
        """
        normal = canonicalize_name(name)
        if self.owns(normal):
            return None
        starts = [normal[: place + 1] for place, letter in enumerate(normal[:-1]) if letter == "-"]
        found = [known for known in sorted(self.names) if _is_slip(normal, known)]
        found += [prefix + normal[len(start) :] for prefix in self.prefixes for start in starts if _is_slip(start, prefix)]
        return found[0] if found else None


def _is_slip(typed: str, meant: str) -> bool:
    begin = _shared(typed, meant)
    typed, meant = typed[begin:], meant[begin:]
    end = _shared(typed[::-1], meant[::-1])
    typed, meant = typed[: len(typed) - end], meant[: len(meant) - end]
    return max(len(typed), len(meant)) <= 1 or (len(typed) == len(meant) == 2 and typed == meant[::-1])  # noqa: PLR2004 - a pair


def _shared(one: str, other: str) -> int:
    """Return how many letters two texts begin with in common."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


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


def owned_places(members: Iterable[str]) -> tuple[str, ...]:
    """Return the owned names whose modules, metadata or programs the members of a wheel would become, or overwrite.

    >>> owned_places(["_rocm_sdk_core/lib/libamdhip64.so.7", "x-1.data/platlib/torch/__init__.py", "torchmetrics/__init__.py"])
    ('rocm-sdk-core', 'torch')
    """
    found = set()
    for member in members:
        parts = member.split("/")
        if parts[0].endswith(_DATA) and len(parts) > 2:  # noqa: PLR2004 - the folder, the kind, and what it has
            # What goes below the environment's own root may end among its modules too.
            parts = parts[2:]
            cuts = [number for number, part in enumerate(parts) if part in _PACKAGES]
            parts = parts[cuts[-1] + 1 :] if cuts else parts
        first = parts[0] if parts else ""
        name = first.partition("-")[0] if first.endswith(_INFO) else first.partition(".")[0].lstrip("_")
        if name and is_owned(name):
            found.add(str(canonicalize_name(name)))
    return tuple(sorted(found))
