"""The installed device packages: each lists its files in ``.devel_links/<target>.json`` beside the libraries that they belong to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ._errors import BadArchiveError
from ._packages import prove_set, reinstall_line
from ._paths import RESERVED, inside

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Device", "installed_devices", "list_name"]


class Device(NamedTuple):
    """An installed device package: its GPU target, and its files, relative to the libraries' folder."""

    target: str
    files: tuple[str, ...]
    libraries: Path

    @property
    def distribution(self) -> str:
        """The package's name."""
        return f"rocm-sdk-device-{self.target.lower()}"


def installed_devices(libraries: Iterable[Path]) -> dict[str, Device]:
    """Return the device packages whose files lie in the folders of libraries packages, by target.

    Raises
    ------
    MixedPackagesError
        When one is of another build than ``rocm``.
    BadArchiveError
        When a list cannot be read, or names a path that does not lie in the folder.
    """
    devices = {}
    for folder in libraries:
        for path in sorted((folder / ".devel_links").glob("*.json")):
            prove_set(path, f"rocm-sdk-device-{path.stem.lower()}")
            try:
                files = tuple(map(str, json.loads(path.read_bytes())["files"]))
            except (ValueError, KeyError, TypeError):
                files = ("",)
            if not all(inside(file) and not file.startswith(RESERVED) for file in files):
                message = f"{path} is no list of files in {folder}; {reinstall_line()}"
                raise BadArchiveError(message)
            devices[path.stem] = Device(path.stem, files, folder)
    return devices


def list_name(target: str) -> str:
    """Return the name of the file in the tree that lists what is there for a device package."""
    return f"{RESERVED}device-{target}"
