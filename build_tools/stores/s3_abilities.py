"""What a bucket's server can: known of Amazon's, found out of others by objects that are removed again.

Servers that speak as S3 does differ: some make folders of keys that end in ``/`` and drop their bytes, some list by folders, some take
a condition and do not look at it. The last is not worked around: without conditions publishers overwrite each other.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from build_tools.errors import HipwrightError
from build_tools.stores.base import Abilities
from build_tools.stores.s3_access import status_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_s3.client import S3Client

__all__ = ["AMAZON", "PROBES", "find_out", "is_amazon"]

AMAZON: Final = Abilities(slash_keys=True, conditional_copy=True, byte_order=True)

PROBES: Final = ".hipwright-probe"
"""The folder of the objects by which a server is tried."""

_OTHER: Final = '"0"'
"""The etag of no object."""

_REFUSED: Final = frozenset({404, 409, 412})
_BODY: Final = b"probe"


def is_amazon(server: str) -> bool:
    """Return whether a server is Amazon's own, by its address."""
    return (urlsplit(server).hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn"))


def find_out(s3: S3Client, bucket: str, prefix: str, *, address: str) -> Abilities:
    """Return what a server can with keys below a prefix.

    Parameters
    ----------
    s3
        The server.
    bucket
        The bucket.
    prefix
        The store's folder in it, empty for the whole bucket.
    address
        The store as a person names it.

    Raises
    ------
    HipwrightError
        ``store-unusable`` when a write is carried out although its condition does not hold. What the server says is raised as Amazon's
        library says it.
    """
    folder = "".join(f"{part}/" for part in (prefix, PROBES, secrets.token_hex(8)) if part)
    # A server that orders by folders lists a/ and a/b first, one that orders by bytes a+b.
    plain, slash, below = f"{folder}a+b", f"{folder}a/", f"{folder}a/b"
    try:
        for key in (plain, slash, below):
            s3.put_object(Bucket=bucket, Key=key, Body=_BODY)
        one: dict[str, Any] = {"Bucket": bucket, "Key": plain}
        for condition in ({"IfNoneMatch": "*"}, {"IfMatch": _OTHER}):
            write: dict[str, Any] = {**one, "Body": _BODY, **condition}
            if not _is_refused(lambda write=write: s3.put_object(**write)):  # type: ignore[misc] # called at once
                message = f"{address} cannot be published to: its server writes although the condition of the write does not hold"
                raise HipwrightError("store-unusable", message, hint="name a store of another server, or a folder, with --store")
        copy: dict[str, Any] = {**one, "CopySource": {"Bucket": bucket, "Key": plain}, "MetadataDirective": "REPLACE"}
        conditional = all(
            _is_refused(lambda more=more: s3.copy_object(**copy, **more))  # type: ignore[misc] # called at once
            for more in ({"IfNoneMatch": "*"}, {"IfMatch": _OTHER}, {"CopySourceIfMatch": _OTHER})
        )
        rows = s3.list_objects_v2(Bucket=bucket, Prefix=folder).get("Contents", [])
    finally:
        for key in (slash, below, plain):
            # Who may write and not delete leaves them: they are in nobody's way.
            with contextlib.suppress(Exception):
                s3.delete_object(Bucket=bucket, Key=key)
    keys = [row["Key"] for row in rows]
    return Abilities(
        slash_keys=any((row["Key"], row["Size"]) == (slash, len(_BODY)) for row in rows),
        conditional_copy=conditional,
        byte_order=plain in keys and keys == sorted(keys, key=str.encode),
    )


def _is_refused(write: Callable[[], object]) -> bool:
    """Return whether a write is refused for its condition; a server that has no such write does not take the condition either."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - who is here has paid for it

    try:
        write()
    except ClientError as error:
        if status_of(error) in _REFUSED:
            return True
        if status_of(error) in {400, 501}:
            return False
        raise
    return False
