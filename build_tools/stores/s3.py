"""A bucket as a store, of Amazon's S3 or any server that speaks as it does.

What an object's own bytes cannot say is kept as its metadata: the SHA-256 of the whole, which the server cannot know of what is sent in
parts, and a mark of the write, so that a write that was carried out although its answer was lost is known as ours.
"""

from __future__ import annotations

import contextlib
import io
import re
import secrets
import threading
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores.base import Content, Listed, ObjectInfo, parse_key
from build_tools.stores.reading import SMALL_BYTES, body_stream, compare_noted, copied, nothing_there, too_large
from build_tools.stores.s3_access import Access, Client, client_for, code_behind, code_of, status_of, translated
from build_tools.stores.s3_put import MARK, SHA256, Condition, Upload, put_whole, sha256_of_checksum
from build_tools.types import ObjectKey, Sha256
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from botocore.exceptions import ClientError
    from mypy_boto3_s3.client import S3Client

__all__ = ["S3Store", "open_bucket"]

R = TypeVar("R")

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_GONE: Final = frozenset({"NoSuchKey", "404", "NotFound"})
_TRIES: Final = 3
_PAGE: Final = 1000
"""How many objects a server is asked for at a time: the most that S3 gives."""

_MAX_AGE: Final = re.compile(r"max-age=(\d+)")


class S3Store:
    """A store in a bucket, or in a folder of one.

    Parameters
    ----------
    bucket
        Its name.
    prefix
        The folder, without a final ``/``; empty for the whole bucket.
    access
        How the server is reached.
    writing
        Whether it will be written: then nothing is asked for without credentials.
    """

    def __init__(self, bucket: str, prefix: str = "", *, access: Access, writing: bool = False) -> None:
        self._bucket: Final = bucket
        self._prefix: Final = prefix
        self._access: Final = access
        self._writing: Final = writing
        self._lock: Final = threading.Lock()
        self._made: Client | None = None

    def __repr__(self) -> str:
        return f"S3Store({self.address!r})"

    @property
    def address(self) -> str:
        """The store as ``s3://bucket/prefix``."""
        return f"s3://{self._bucket}/{self._prefix}" if self._prefix else f"s3://{self._bucket}"

    def url(self, key: str = "") -> str:
        """Return the address of a key over HTTP, for those who may read it."""
        server = self._access.server
        if server is not None:
            root = f"{redact(server)}/{self._bucket}"
        elif "." in self._bucket:
            # No certificate is for a bucket whose name has a dot.
            root = f"https://s3.amazonaws.com/{self._bucket}"
        else:
            root = f"https://{self._bucket}.s3.amazonaws.com"
        return f"{root}/{quote('/'.join(part for part in (self._prefix, key) if part), safe='/')}"

    @property
    def serves_folders(self) -> bool:
        """False: a bucket has objects alone, and none has a key that ends in ``/``."""
        return False

    def is_open(self, key: str) -> bool:
        """Return whether the server gives the object to somebody without credentials."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - only those pay for it who ask a bucket

        try:
            client_for(self._access, anonymous=True).s3.head_object(Bucket=self._bucket, Key=self._key(key))
        except (BotoCoreError, ClientError):
            return False
        return True

    def prove(self) -> None:
        """Find out whether the bucket is there and knows these credentials.

        Raises
        ------
        HipwrightError
            ``store-unusable``, ``no-credentials`` or ``source-unreachable``. That nobody may list the bucket is no failure here.
        """
        name = "list"
        try:
            self._ask(name, lambda s3: s3.list_objects_v2(Bucket=self._bucket, MaxKeys=1))
        except HipwrightError as error:
            if code_behind(error) != "AccessDenied":
                raise

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """Yield the objects below a prefix, by key; those whose names could not be asked for are left out."""
        below = self._key(prefix) if prefix else self._prefix
        below = f"{below}/" if below else ""
        cut = len(self._prefix) + 1 if self._prefix else 0

        def read(s3: S3Client) -> list[Listed]:
            pages = s3.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=below, PaginationConfig={"PageSize": _PAGE}
            )
            rows = ((row["Key"][cut:], row["Size"]) for page in pages for row in page.get("Contents", ()))
            return [Listed(key=ObjectKey(key), size=size) for key, size in rows if _is_key(key)]

        # Not every server lists in the order of the keys.
        yield from sorted(self._ask(f"list {prefix or 'the objects'}", read), key=lambda one: one.key.encode())

    def head(self, key: str) -> ObjectInfo | None:
        """Return what is known about an object without reading it."""
        name = self._key(key)
        ask: Any = {"Bucket": self._bucket, "Key": name, "ChecksumMode": "ENABLED"}
        answer = self._ask_for(f"ask for {key}", lambda s3: s3.head_object(**ask))
        return None if answer is None else _info(key, answer)

    def get(self, key: str) -> Content | None:
        """Return an object whole.

        Raises
        ------
        HipwrightError
            ``hash-mismatch`` when the bytes are others than were put; what the server says.
        """
        name = self._key(key)
        found = self._ask_for(f"read {key}", lambda s3: _read_whole(s3, self._bucket, name))
        if found is None:
            return None
        answer, data = found
        if len(data) > SMALL_BYTES:
            raise too_large(key, self)
        info = _info(key, answer)
        actual = digest.of_bytes(data)
        compare_noted(self, key, info.sha256, actual)
        return Content(data=data, info=_info(key, answer, sha256=actual))

    @contextlib.contextmanager
    def stream(self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> Iterator[IO[bytes]]:
        """Give an object's bytes from ``start`` on, up to ``end``."""
        ask: dict[str, Any] = {"Bucket": self._bucket, "Key": self._key(key)}
        if start or end is not None:
            if end is not None and end <= start:
                yield io.BytesIO()
                return
            ask["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
        if etag is not None:
            ask["IfMatch"] = etag

        try:
            answer = self._ask_for(f"read {key}", lambda s3: s3.get_object(**ask), empty=("InvalidRange", "416"))
        except _BehindEndError:
            yield io.BytesIO()
            return
        if answer is None:
            raise nothing_there(key, self)
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - who is here has paid for it

        with (
            contextlib.closing(answer["Body"]) as body,
            body_stream(body, int(answer["ContentLength"]), failures=BotoCoreError) as stream,
        ):
            yield stream

    def as_file(self, key: str) -> AbstractContextManager[Path]:
        """Give the object in a file of its name, in a folder that goes with the block."""
        return copied(self, key)

    def put(
        self,
        key: str,
        body: bytes | Path,
        *,
        content_type: str,
        cache_seconds: int,
        sha256: Sha256 | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
    ) -> ObjectInfo:
        """Write an object whole or not at all; see :meth:`build_tools.stores.base.Store.put`."""
        upload = Upload(
            bucket=self._bucket,
            key=self._key(key, writing=True),
            shown=key,
            body=body,
            content_type=content_type,
            cache_control=f"max-age={cache_seconds}" if cache_seconds else "no-cache",
            sha256=sha256,
            condition=Condition(if_absent=if_absent, if_match=if_match),
            mark=secrets.token_hex(8),
        )
        if not self._client(writing=True).signed:
            raise self._without_credentials()
        try:
            etag, actual, size = self._ask(f"write {key}", lambda s3: put_whole(s3, upload), writing=True)
        except HipwrightError as error:
            ours = self._overtaken(error, key, upload)
            if ours is None:
                raise
            return ours
        return ObjectInfo(
            key=ObjectKey(key), size=size, etag=etag, sha256=actual, content_type=content_type, cache_seconds=cache_seconds
        )

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens when there is none."""
        name = self._key(key, writing=True)
        self._ask(f"delete {key}", lambda s3: s3.delete_object(Bucket=self._bucket, Key=name), writing=True)

    def _overtaken(self, error: HipwrightError, key: str, upload: Upload) -> ObjectInfo | None:
        """Return the object when a write that was refused had been carried out before: its answer was lost and it was sent again.

        Raises
        ------
        HipwrightError
            ``write-conflict``, when it was somebody else's.
        """
        condition = upload.condition
        conditional = condition.if_absent or condition.if_match is not None
        code = code_behind(error)
        refused = conditional and (error.code.name == "write-conflict" or code in _GONE)
        if not refused and code != "NoSuchUpload":
            return None
        answer: Any = self._ask_for(f"ask for {key}", lambda s3: s3.head_object(Bucket=self._bucket, Key=upload.key))
        if answer is not None and answer.get("Metadata", {}).get(MARK) == upload.mark:
            return _info(key, answer)
        if not refused:
            return None
        reason = "is already in" if condition.if_absent else "was changed by someone else in"
        raise HipwrightError("write-conflict", f"{key} {reason} {self.address}") from error

    def _key(self, key: str, *, writing: bool = False) -> str:
        checked = parse_key(key, foreign=not writing)
        return f"{self._prefix}/{checked}" if self._prefix else checked

    def _client(self, *, writing: bool = False) -> Client:
        with self._lock:
            if self._made is None:
                self._made = client_for(self._access)
            if (writing or self._writing) and not self._made.signed:
                raise self._without_credentials()
            return self._made

    def _without_credentials(self) -> HipwrightError:
        message = f"to write to {self.address} needs credentials, and this machine has none for it"
        hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; or name a folder with --store"
        return HipwrightError("no-credentials", message, hint=hint)

    def _ask(self, what: str, ask: Callable[[S3Client], R], *, writing: bool = False) -> R:
        """Return the server's answer.

        What is only read is asked for without credentials when these are refused: old ones must not hide what is open to everybody.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - only those pay for it who ask a bucket

        client = self._client(writing=writing)
        try:
            return ask(client.s3)
        except ClientError as error:
            if client.signed and not (writing or self._writing) and _is_refusal(error):
                with contextlib.suppress(ClientError, BotoCoreError):
                    return self._without_signing(ask)
            raise translated(error, what, self.address) from error
        except BotoCoreError as error:
            raise translated(error, what, self.address) from error

    def _without_signing(self, ask: Callable[[S3Client], R]) -> R:
        open_client = client_for(self._access, anonymous=True)
        answer = ask(open_client.s3)
        with self._lock:
            self._made = open_client
        return answer

    def _ask_for(self, what: str, ask: Callable[[S3Client], R], *, empty: tuple[str, ...] = ()) -> R | None:
        """Return the server's answer about an object, None when there is none."""
        try:
            return self._ask(what, ask)
        except HipwrightError as error:
            code = code_behind(error)
            if code in empty:
                raise _BehindEndError from error
            if code in _GONE:
                return None
            raise


class _BehindEndError(Exception):
    """What is asked for lies behind the end of the object."""


def open_bucket(
    address: str, *, writing: bool, endpoint_url: str | None, region: str | None, machine: Mapping[str, str]
) -> S3Store:
    """Return the store that ``s3://bucket/prefix`` names; one that will be written is asked whether it is there.

    Raises
    ------
    HipwrightError
        ``store-unusable`` when that is no bucket's name or there is none; ``no-credentials``; ``source-unreachable``.
    """
    bucket, _, prefix = address[len("s3://") :].partition("/")
    prefix = prefix.strip("/")
    if not _BUCKET.fullmatch(bucket) or ".." in bucket:
        message = f"{redact(address)} is no store that hipwright can use: no bucket has such a name"
        raise HipwrightError("store-unusable", message, hint="name one as s3://bucket/prefix with --store")
    try:
        checked = parse_key(prefix) if prefix else ""
    except HipwrightError as error:
        raise HipwrightError("store-unusable", f"{redact(address)} is no store: {error.message}") from error
    store = S3Store(bucket, checked, access=Access(machine=machine, endpoint_url=endpoint_url, region=region), writing=writing)
    if writing:
        store.prove()
    return store


def _read_whole(s3: S3Client, bucket: str, key: str) -> tuple[Mapping[str, Any], bytes]:
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


def _is_refusal(error: ClientError) -> bool:
    # Answers without a body, and to old tokens, have the status 400.
    return status_of(error) in {400, 401, 403} and code_of(error) not in {"InvalidRange", "InvalidArgument"}


def _is_key(text: str) -> bool:
    try:
        parse_key(text, foreign=True)
    except HipwrightError:
        # A mark of a folder, or an object that somebody else put under a name that leads out of its folder.
        return False
    return True


def _info(key: str, answer: Mapping[str, Any], *, sha256: Sha256 | None = None) -> ObjectInfo:
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
