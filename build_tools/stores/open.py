"""From the text that names a store to the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.stores.local import FolderStore
from build_tools.urls import foreign_scheme, is_url, redact

if TYPE_CHECKING:
    from build_tools.stores.base import Store

__all__ = ["open_store"]


def open_store(address: str, *, base: Path, writing: bool = True) -> Store:
    """Return the store that an address names.

    Parameters
    ----------
    address
        A folder or a ``file://`` URL.
    base
        The absolute folder that a relative address is relative to.
    writing
        Whether it will be written: its folder is then made and proved to be writable; otherwise it must be there.

    Raises
    ------
    HipwrightError
        ``store-unusable`` when the address is no folder's, or the folder is a file, is missing or cannot be written.
    """
    root = _folder(address, base)
    if root.exists() and not root.is_dir():
        raise HipwrightError("store-unusable", f"the store {root} is a file, not a folder", hint="name a folder with --store")
    if writing:
        try:
            files.make_folder(root)
        except HipwrightError as error:
            message = f"the store {root} cannot be written: {error.message}"
            raise HipwrightError("store-unusable", message, hint="name another folder with --store") from error
    elif not root.is_dir():
        raise HipwrightError("store-unusable", f"there is no store {root}", hint="name the store's folder with --store")
    return FolderStore(root)


def _folder(address: str, base: Path) -> Path:
    if not address.strip():
        raise HipwrightError("store-unusable", "the address of the store is empty", hint="name a folder with --store")
    foreign = foreign_scheme(address)
    if foreign is None and not is_url(address):
        return base / address
    parts = urlsplit(address)
    right = address.lower().startswith("file:/") and parts.netloc in {"", "localhost"}
    if foreign is not None or not right or parts.query or parts.fragment:
        message = f"{redact(address)} is no store that hipwright can use: it takes a folder or file:///folder"
        hint = (
            "name a folder with --store" if foreign is None else f"name a folder with --store; ./{redact(address)} when it is one"
        )
        raise HipwrightError("store-unusable", message, hint=hint)
    return Path(url2pathname(parts.path))
