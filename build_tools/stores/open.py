"""From the text that names a store to the store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.stores.base import parse_key
from build_tools.urls import foreign_scheme, is_url, redact, without_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.environments.network import Network
    from build_tools.stores.base import Store
    from build_tools.stores.s3_access import Access

__all__ = ["open_store"]

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_KINDS: Final = "a folder, file:///folder, s3://bucket/prefix, or to read only an https:// listing"


def open_store(
    address: str,
    *,
    base: Path,
    writing: bool = True,
    endpoint_url: str | None = None,
    region: str | None = None,
    machine: Mapping[str, str] | None = None,
    network: Callable[[], Network] | None = None,
    option: str = "--store",
    journal: Path | None = None,
) -> Store:
    """Return the store that an address names.

    Parameters
    ----------
    address
        A folder, a ``file://`` URL, ``s3://bucket`` or ``s3://bucket/prefix``, or the ``https://`` address of a listing.
    base
        The absolute folder that a relative address is relative to.
    writing
        Whether it will be written: a folder is then proved to be writable and is made by the first write, so that who is refused before
        leaves none; a bucket is asked for with this machine's credentials. Otherwise a folder must be there, and a bucket is asked when
        it is first read.
    endpoint_url
        The S3 server, when it is not Amazon's.
    region
        Where the bucket is, when that is known.
    machine
        The environment as found, for credentials of S3.
    network
        What tells how addresses of listings are read, asked only for one; None for as this machine reads any.
    option
        What names another folder, for hints.
    journal
        The folder where it is kept how far uploads of large files into a bucket are, so that another process goes on with them; None
        for none.

    Raises
    ------
    HipwrightError
        ``store-unusable`` when the address is no store's, or the store is a file, is missing or cannot be written;
        ``no-credentials`` when a bucket is to be written and this machine may not; ``source-unreachable``.
    """
    if address.lower().startswith("s3://"):
        from build_tools.stores.s3_access import Access  # noqa: PLC0415 - a folder needs nothing of it

        access = Access(machine=machine or {}, endpoint_url=endpoint_url, region=region)
        return _bucket(address, access, writing=writing, journal=journal)
    if address.lower().startswith(("http://", "https://")):
        return _listing(address, network, writing=writing)
    from build_tools.stores.local import FolderStore  # noqa: PLC0415 - nor does a bucket of a folder

    root = _folder(address, base)
    if root.exists() and not root.is_dir():
        raise HipwrightError("store-unusable", f"the store {root} is a file, not a folder", hint=f"name a folder with {option}")
    if writing:
        try:
            files.prove_writable(root)
        except HipwrightError as error:
            message = f"the store {root} cannot be written: {error.message}"
            raise HipwrightError("store-unusable", message, hint=f"name another folder with {option}") from error
    elif not root.is_dir():
        raise HipwrightError("store-unusable", f"there is no store {root}", hint="name the store's folder with --store")
    return FolderStore(root, option=option)


def _bucket(address: str, access: Access, *, writing: bool, journal: Path | None) -> Store:
    from build_tools.stores.s3 import S3Store  # noqa: PLC0415 - as above

    bucket, _, prefix = address[len("s3://") :].partition("/")
    prefix = prefix.strip("/")
    if not _BUCKET.fullmatch(bucket) or ".." in bucket:
        message = f"{redact(address)} is no store that hipwright can use: no bucket has such a name"
        raise HipwrightError("store-unusable", message, hint="name one as s3://bucket/prefix with --store")
    try:
        checked = parse_key(prefix) if prefix else ""
    except HipwrightError as error:
        raise HipwrightError(
            "store-unusable",
            f"{redact(address)} is no store: {error.message}",
            hint="name one as s3://bucket/prefix with --store",
        ) from error
    store = S3Store(bucket, checked, access=access, writing=writing, journal=journal)
    if writing:
        store.prove()
    return store


def _listing(address: str, network: Callable[[], Network] | None, *, writing: bool) -> Store:
    if writing:
        message = f"{without_query(address)} can be read from and not written to"
        raise HipwrightError("store-unusable", message, hint="name a folder or s3://bucket with --store")
    from build_tools.stores.listing import ListingStore  # noqa: PLC0415 - a folder needs nothing of it

    return ListingStore(address, network=network() if network else None)


def _folder(address: str, base: Path) -> Path:
    if not address.strip():
        raise HipwrightError("store-unusable", "the address of the store is empty", hint="name a folder with --store")
    foreign = foreign_scheme(address)
    if foreign is None and not is_url(address):
        return base / address
    parts = urlsplit(address)
    right = address.lower().startswith("file:/") and parts.netloc in {"", "localhost"}
    if foreign is not None or not right or parts.query or parts.fragment:
        message = f"{without_query(address)} is no store that hipwright can use: it takes {_KINDS}"
        hint = (
            "name a folder with --store"
            if foreign is None
            else f"name a folder with --store; ./{without_query(address)} when it is one"
        )
        raise HipwrightError("store-unusable", message, hint=hint)
    return Path(url2pathname(parts.path))
