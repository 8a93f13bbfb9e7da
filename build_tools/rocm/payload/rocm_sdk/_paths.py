"""Paths that come from archives and lists: which of them lie below a folder, however they are read."""

from __future__ import annotations

import re
import sys

__all__ = ["RESERVED", "inside"]

RESERVED = ".rocm_sdk."
"""How the names begin that only ``rocm_sdk`` gives files of the tree: no package may bring one."""

_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def inside(path: str) -> bool:
    """Return whether a path of an archive or a list is one below its folder, and one that every system reads so."""
    parts = path.split("/")
    if any(part in {"", ".", ".."} for part in parts) or any(character == "\\" or character < " " for character in path):
        return False
    return sys.platform != "win32" or not any(":" in part or part[-1] in " ." or _DEVICE.fullmatch(part) for part in parts)
