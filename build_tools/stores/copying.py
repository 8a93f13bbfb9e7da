"""What copies from store to store share: whether the source has what is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.stores.body import prove_bytes
from build_tools.stores.reading import nothing_there

if TYPE_CHECKING:
    from build_tools.stores.base import ObjectInfo, Store
    from build_tools.types import Sha256

__all__ = ["meant_object", "same_object"]


def meant_object(source: Store, key: str, sha256: Sha256, *, size: int | None = None) -> ObjectInfo:
    """Return what a store knows of the object that is to be copied.

    ``size`` is how many bytes it must have, where that is known.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when there is none, ``output-changed`` when it has another size, or the store notes another SHA-256.
    """
    info = source.head(key)
    if info is None:
        raise nothing_there(key, source)
    if size not in {None, info.size}:
        message = f"{key} in {source.address} has {info.size} bytes, and {size} are meant"
        raise HipwrightError("output-changed", message, hint="publish it again, or see what else is damaged with `nox -s verify`")
    prove_bytes(f"{key} in {source.address}", info.sha256 or sha256, sha256)
    return info


def same_object(source: Store, info: ObjectInfo) -> None:
    """Find out whether a store still has the object that was copied.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when it is gone, ``output-changed`` when there is another one.
    """
    now = source.head(info.key)
    if now is None:
        raise nothing_there(info.key, source)
    if now.etag != info.etag:
        message = f"{info.key} in {source.address} was changed while it was copied"
        raise HipwrightError("output-changed", message, hint="look who writes there, then try again")
