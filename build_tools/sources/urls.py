"""Addresses of repositories: relative submodule addresses the way git reads them, and folders as addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["file_url", "resolve_relative"]


def resolve_relative(origin: str, url: str) -> str:
    """Return a submodule's address as recorded, resolved against its parent's origin when it begins with ``./`` or ``../``.

    The rule is git's own (``relative_url`` in its ``remote.c``): each ``../`` takes the last part of the origin away, at a slash or else
    at the colon of ``host:path``.

    >>> resolve_relative("https://host.example/owner/sample.git", "../greeter.git")
    'https://host.example/owner/greeter.git'
    """
    if not url.startswith(("./", "../")):
        return url
    base = origin.rstrip("/") or "/"
    separator = "/"
    while True:
        if url.startswith("../"):
            url = url[3:]
            if "/" in base:
                base = base[: base.rindex("/")]
            elif ":" in base:
                base = base[: base.rindex(":")]
                separator = ":"
            else:
                base = "."
        elif url.startswith("./"):
            url = url[2:]
        else:
            break
    joined = f"{base}{separator}{url}"
    return joined.rstrip("/") if url.endswith("/") else joined


def file_url(folder: Path) -> str:
    """Return a folder as a ``file://`` address that git reads back to the same folder, whatever characters it has."""
    path = quote(folder.as_posix(), safe="/:")
    return f"file://{path}" if path.startswith("/") else f"file:///{path}"
