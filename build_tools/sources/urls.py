"""Addresses of repositories: relative submodule addresses the way git reads them, and folders as addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.urls import redact

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["file_url", "place_with_secrets", "resolve_relative", "same_place", "submodule_address"]

_ELSEWHERE: Final = re.compile(r"(?!file:)(?:[a-z][a-z0-9+.-]*://|[^/\\:]{2,}:(?!:))", re.IGNORECASE)
"""An address on another machine: with a scheme, or ``host:path``; a letter before the colon is a drive, two colons name a program."""


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


def same_place(one: str, other: str) -> bool:
    """Return whether two addresses name the same repository: servers and git itself take one with ``.git`` at its end for one without.

    >>> same_place("https://host.example/owner/sample.git", "https://host.example/owner/sample/")
    True
    """
    return one.rstrip("/").removesuffix(".git") == other.rstrip("/").removesuffix(".git")


def submodule_address(parent: str, recorded: str, *, path: str, project: str) -> str:
    """Return where a submodule is fetched from: its recorded address, resolved against its parent's, without secrets.

    Parameters
    ----------
    parent
        The address that the parent is fetched from.
    recorded
        What ``.gitmodules`` says.
    path
        The submodule's path from the root of the tree.
    project
        The project that the tree is of.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the parent comes from another machine and the address is a place on this one, or names a program: whoever
        writes to a repository must not choose what is read here. git has the same rule (``protocol.file.allow``, CVE-2022-39253).
    """
    address = redact(resolve_relative(parent, recorded))
    if _ELSEWHERE.match(parent) and not _ELSEWHERE.match(address):
        message = f"{redact(parent)} records the submodule {shown(path)} at {shown(address)}, a place on this machine, while it is on another"
        hint = f"if it is meant to come from there, say so: --{project}-submodule-url {shown(path)}=URL"
        raise HipwrightError("bad-source-tree", message, where=Where(file=".gitmodules", module=path), hint=hint)
    return address


def place_with_secrets(url: str) -> dict[str, str]:
    """Return where git finds an address whose secrets nothing is to record: the address without them, and all of its server.

    A submodule's address may be relative, and is on the same server then.

    >>> place_with_secrets("https://me:secret@host.example/o/a.git")["https://host.example/"]
    'https://me:secret@host.example/'
    """
    named = redact(url)
    if named == url:
        return {}
    places = {named: url}
    if "://" in url:
        old, new = (f"{parts.scheme}://{parts.netloc}/" for parts in (urlsplit(named), urlsplit(url)))
        places[old] = new
    return places
