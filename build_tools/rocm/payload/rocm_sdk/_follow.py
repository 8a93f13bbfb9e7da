"""Device packages in the development tree: the files of each are there as long as the package is installed.

What is put into the tree for one is recorded as the device package's own, so that uninstalling it removes that too.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from ._devices import list_name
from ._errors import BadArchiveError, SdkError
from ._packages import reinstall_line
from ._paths import inside
from ._records import find_record, replace_file, set_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ._devices import Device
    from ._links import Linker

__all__ = ["follow"]


def follow(
    tree: Path, devices: Mapping[str, Device], *, linked: Iterable[str], kept: frozenset[str], linker: Linker, site: Path | None
) -> None:
    """Make the tree hold the files of the device packages given, and no other's.

    Parameters
    ----------
    tree
        The tree.
    devices
        The installed device packages whose files are not there yet, or no longer.
    linked
        The targets of device packages whose files are to go; those of a package that changed go and come again.
    kept
        Files that stay: the tree's own, and those of device packages that did not change.
    linker
        Puts files there.
    site
        The folder of installed packages where the tree lies, for their ``RECORD``; None for a tree elsewhere.

    Raises
    ------
    SdkError
        When a device package lacks a file that it lists.
    """
    for target in linked:
        _remove(tree, target, kept)
    for device in devices.values():
        lost = [path for path in device.files if not (device.libraries / path).is_file()]
        if lost:
            message = f"{device.distribution} lacks {len(lost)} of its files ({lost[0]}); to mend it: {reinstall_line()}"
            raise SdkError(message)
        record = find_record(site, device.distribution) if site is not None else None
        if record is not None:
            rows = (f"{linker.name}/{path}" for path in (*device.files, list_name(device.target)))
            set_rows(record, prefix=f"{linker.name}/", rows=rows)
        for path in device.files:
            _place(tree, path, device, linker)
        replace_file(tree / list_name(device.target), "".join(f"{path}\n" for path in device.files).encode())


def _place(tree: Path, path: str, device: Device, linker: Linker) -> None:
    target = tree / path
    source = linker.siblings[device.libraries.name] / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(tree.resolve()):
        message = f"{device.distribution} has {path}, which does not lie in {tree}"
        raise BadArchiveError(message)
    with contextlib.suppress(OSError):
        if not target.is_symlink() and target.samefile(source):
            return
    with contextlib.suppress(FileNotFoundError):
        target.unlink()
    linker.place(source, path)


def _remove(tree: Path, target: str, kept: frozenset[str]) -> None:
    """Remove what is in the tree for a device package; folders that it leaves empty go too."""
    try:
        files = (tree / list_name(target)).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return  # its uninstalling removed all of it
    for path in files:
        if inside(path) and path not in kept:
            with contextlib.suppress(OSError):
                (tree / path).unlink()
                os.removedirs((tree / path).parent)
    (tree / list_name(target)).unlink()
