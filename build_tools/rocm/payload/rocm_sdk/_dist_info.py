"""What the set of ROCm packages is made of: read from ``dist_info.json`` beside this file, which the packager wrote."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Description",
    "Library",
    "Package",
    "__version__",
    "description",
    "description_digest",
    "platform_key",
    "read_description",
]

__version__: str


class Package(NamedTuple):
    """A package: ``module`` is the folder with its files, ``family`` the GPU family that it is made for, if for one."""

    distribution: str
    module: str
    family: str | None


class Library(NamedTuple):
    """A library: the key of its package, and where it is in there, as a pattern for each platform that has it."""

    package: str
    patterns: Mapping[str, str]
    optional: bool


class Description(NamedTuple):
    """The set: its version, GPU targets, packages and libraries."""

    version: str
    form: str
    targets: Mapping[str, tuple[str, ...]]
    families: Mapping[str, tuple[str, ...]]
    packages: Mapping[str, tuple[Package, ...]]
    libraries: Mapping[str, Library]

    def targets_here(self) -> tuple[str, ...]:
        """Return the GPU targets that have device code on this platform."""
        return self.targets.get(platform_key(), ())


def platform_key(platform: str = sys.platform) -> str:
    """Return the name that the description has for a platform, given as ``sys.platform`` spells it."""
    return "windows" if platform == "win32" else "linux"


def read_description(data: bytes) -> Description:
    """Read ``dist_info.json``; packages that this platform has not are passed over.

    Raises
    ------
    ValueError, KeyError
        For what is no description.
    """
    fields = json.loads(data)
    return Description(
        version=fields["version"],
        form=fields["form"],
        targets={platform: tuple(targets) for platform, targets in fields["targets"].items()},
        families={family: tuple(targets) for family, targets in fields["families"].items()},
        packages={
            key: tuple(
                Package(each["distribution"], each["module"], each.get("family"))
                for each in packages
                if platform_key() in (each.get("platforms") or (platform_key(),))
            )
            for key, packages in fields["packages"].items()
        },
        libraries={
            name: Library(each["package"], each["patterns"], each.get("optional", False))
            for name, each in fields["libraries"].items()
        },
    )


@functools.lru_cache(maxsize=1)
def description() -> Description:
    """Return the description of this set."""
    return read_description(_data())


@functools.lru_cache(maxsize=1)
def description_digest() -> str:
    """Return the SHA-256 of the description, which the core package of the set states."""
    import hashlib  # noqa: PLC0415 - slow to import, and asked for where packages are compared

    return hashlib.sha256(_data()).hexdigest()


def _data() -> bytes:
    return Path(__file__).with_name("dist_info.json").read_bytes()


def __getattr__(name: str) -> object:
    if name == "__version__":
        return description().version
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
