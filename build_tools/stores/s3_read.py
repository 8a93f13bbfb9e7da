"""What a bucket's answers say of its objects: their listing, their bytes, and what is known about them."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.stores.base import Listed, ObjectInfo, parse_key
from build_tools.stores.reading import SMALL_BYTES
from build_tools.stores.s3_put import SHA256, sha256_of_checksum
from build_tools.types import ObjectKey, Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mypy_boto3_s3.client import S3Client

__all__ = ["info_of", "is_folder_mark", "listed_rows", "read_whole"]

_TRIES: Final = 3
_MAX_AGE: Final = re.compile(r"max-age=(\d+)")


def info_of(key: str, answer: Mapping[str, Any], *, sha256: Sha256 | None = None) -> ObjectInfo:
    """Return what an answer says of an object; ``sha256`` is of bytes that were read, else what was noted or the server compared."""
    noted = answer.get("Metadata", {}).get(SHA256) or sha256_of_checksum(answer)
    aged = _MAX_AGE.search(answer.get("CacheControl", ""))
    return ObjectInfo(
        key=ObjectKey(key),
        size=int(answer["ContentLength"]),
        etag=str(answer["ETag"]),
        sha256=sha256 or (Sha256(noted) if noted else None),
        content_type=str(answer.get("ContentType", "application/octet-stream")),
        cache_seconds=int(aged[1]) if aged else 0,
    )


def is_folder_mark(key: str, size: int) -> bool:
    """Return whether an object only says that there is a folder, as some tools and servers write it: its key ends in ``/``, without bytes."""
    return key.endswith("/") and not size


def read_whole(s3: S3Client, bucket: str, key: str) -> tuple[Mapping[str, Any], bytes]:
    """Return an object; what breaks off is asked for again, which Amazon's library does only until an answer begins."""
    from botocore.exceptions import HTTPClientError, IncompleteReadError  # noqa: PLC0415 - who is here has paid for it

    for left in reversed(range(_TRIES)):
        answer: Any = s3.get_object(Bucket=bucket, Key=key)
        try:
            with contextlib.closing(answer["Body"]) as body:
                # An answer that was cut by its reader is not looked at for its end.
                large = answer["ContentLength"] > SMALL_BYTES
                return answer, body.read(SMALL_BYTES + 1 if large else None)
        except (HTTPClientError, IncompleteReadError):
            if not left:
                raise
    raise AssertionError(key)


def listed_rows(ask: Callable[[Mapping[str, Any]], Mapping[str, Any]], below: str, *, page: int, cut: int) -> Iterator[Listed]:
    """Yield the objects whose keys begin so, as the server orders them.

    Left out are marks of folders, and objects that somebody else put under a name that leads out of its folder.

    Parameters
    ----------
    ask
        Asks for one page of a listing.
    below
        What the keys begin with.
    page
        How many objects are asked for at a time.
    cut
        How many characters of the keys are the folder of the store.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` when the listing does not end.
    """
    more: dict[str, str] = {}
    while True:
        answer = ask({"Prefix": below, "MaxKeys": page, **more})
        for row in answer.get("Contents", ()):
            key, size = row["Key"][cut:], row["Size"]
            if _is_key(key) and not is_folder_mark(key, size):
                yield Listed(key=ObjectKey(key), size=size, etag=row.get("ETag"))
        token = answer.get("NextContinuationToken")
        if not token:
            return
        if token == more.get("ContinuationToken"):
            raise HipwrightError(
                "source-unreachable",
                f"the listing of {below or 'the bucket'} has no end",
                hint="see what the server that --endpoint-url names answers, or name another one",
            )
        more["ContinuationToken"] = token


def _is_key(text: str) -> bool:
    try:
        parse_key(text, foreign=True, slash=True)
    except HipwrightError:
        return False
    return True
