"""Pack an unpacked wheel: the same files give the same bytes, on every machine and at every time.

``wheel pack`` does not do for this: it takes dates and modes from the disk, and its compressed bytes vary with the zlib at hand.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.wheels.metadata import parse_metadata, parse_wheel_fields
from build_tools.wheels.name import escaped_name, wheel_filename
from build_tools.wheels.record import UNRECORDED
from build_tools.wheels.write import WheelEntry, write_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["pack_wheel"]

_ANY_EXECUTE: Final = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def pack_wheel(folder: Path, *, target: Path, compress: bool = False) -> Path:
    """Write the wheel whose unpacked files are in ``folder`` into the folder ``target``, and return its path.

    The file name comes from ``METADATA`` and ``WHEEL``; ``RECORD`` is written anew. Members are sorted, with ``.dist-info`` last and
    ``RECORD`` at the very end (PEP 427 advises it); they are executable when the file is. Byte code is left out. The wheel is there
    whole or not at all.

    Parameters
    ----------
    folder
        The unpacked wheel: its files and one ``.dist-info`` folder with ``METADATA`` and ``WHEEL``.
    target
        The folder that the wheel goes to; made when missing.
    compress
        Whether members are deflated. Without it the bytes do not depend on the machine's zlib.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the folder is no unpacked wheel, its metadata is malformed or disagrees with the ``.dist-info`` folder's
        name, or a link or a special file is in it; ``bad-version``.
    """
    dist_info = _dist_info(folder)
    metadata = parse_metadata(_needed(dist_info / "METADATA"))
    fields = parse_wheel_fields(_needed(dist_info / "WHEEL"))
    filename = wheel_filename(name=metadata.name, version=str(metadata.version), tags=fields.tags, build=fields.build)
    expected = f"{escaped_name(metadata.name)}-{metadata.version}.dist-info"
    if dist_info.name != expected:
        message = f"{folder} has the folder {dist_info.name}, but METADATA says {metadata.name} {metadata.version}: {expected}"
        raise HipwrightError("bad-wheel", message, where=Where(file=dist_info / "METADATA"))
    entries = (
        WheelEntry(name=name, content=path, executable=bool(state.st_mode & _ANY_EXECUTE), size=state.st_size)
        for path, name in _members(folder, dist_info)
        for state in (path.stat(),)
    )
    wheel = target / filename
    write_wheel(entries, dist_info=dist_info.name, wheel=wheel, compress=compress)
    return wheel


def _dist_info(folder: Path) -> Path:
    found = sorted(folder.glob("*.dist-info")) if folder.is_dir() else []
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        message = f"{folder} is no unpacked wheel: one .dist-info folder is needed, and there is {names}"
        raise HipwrightError("bad-wheel", message, where=Where(file=folder))
    return found[0]


def _needed(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path.parent} has no {path.name} that can be read: {error.strerror}"
        raise HipwrightError("bad-wheel", message, where=Where(file=path)) from None


def _members(folder: Path, dist_info: Path) -> Iterator[tuple[Path, str]]:
    """Give every file with its member name; ``RECORD`` and its signatures are left out, and so is byte code."""
    left_out = {dist_info / name for name in ("RECORD", *UNRECORDED)}
    for path in folder.rglob("*"):
        kind = path.lstat().st_mode
        if stat.S_ISDIR(kind) or path in left_out or path.parent.name == "__pycache__":
            continue
        if not stat.S_ISREG(kind):
            message = f"{path} is a link or a special file, and a wheel cannot hold one"
            raise HipwrightError("bad-wheel", message, where=Where(file=path))
        yield path, path.relative_to(folder).as_posix()
