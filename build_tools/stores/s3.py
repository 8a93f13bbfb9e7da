"""A bucket as a store, of Amazon's S3 or any server that speaks as it does.

What an object's own bytes cannot say is kept as its metadata: the SHA-256 of the whole, which the server cannot know of what is sent in
parts, and a mark of the write, so that a write that was carried out although its answer was lost is known as ours.
"""

from __future__ import annotations

import contextlib
import functools
import io
import threading
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec.structs import replace

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores.base import LISTED_AT_ONCE, READ_ONLY, Abilities, Content, Listed, ObjectInfo, parse_key
from build_tools.stores.body import StoredBody, body_of
from build_tools.stores.copying import meant_object, same_object
from build_tools.stores.reading import SMALL_BYTES, body_stream, compare_noted, copied, nothing_there, too_large
from build_tools.stores.s3_abilities import AMAZON, PROBES, find_out, is_amazon
from build_tools.stores.s3_access import code_behind
from build_tools.stores.s3_connection import GONE, BehindEndError, Connection
from build_tools.stores.s3_copy import COPIED_AT_ONCE, Origin, copy_inside
from build_tools.stores.s3_kept_copy import KeptCopy
from build_tools.stores.s3_put import MARK, Condition, Upload, is_whole, part_size_of, put_whole, sha256_of_checksum
from build_tools.stores.s3_read import info_of, is_folder_mark, listed_rows, read_whole
from build_tools.stores.s3_resume import journal_of
from build_tools.types import ObjectKey, Sha256
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mypy_boto3_s3.client import S3Client

    from build_tools.stores.base import Store
    from build_tools.stores.body import Body
    from build_tools.stores.s3_access import Access
    from build_tools.stores.s3_resume import Journal

__all__ = ["S3Store"]


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
    journal
        The folder of this machine where it is kept how far uploads of large files are, so that they go on in another process; None for
        none: what breaks off is then begun again.
    """

    def __init__(
        self, bucket: str, prefix: str = "", *, access: Access, writing: bool = False, journal: Path | None = None
    ) -> None:
        self._bucket: Final = bucket
        self._prefix: Final = prefix
        self.access: Final = access
        self._journal: Final = journal
        self._server: Final = Connection(access, self.address, writing=writing)
        self._lock: Final = threading.Lock()
        self._abilities: Abilities | None = None

    def __repr__(self) -> str:
        return f"S3Store({self.address!r})"

    @property
    def address(self) -> str:
        """The store as ``s3://bucket/prefix``."""
        return f"s3://{self._bucket}/{self._prefix}" if self._prefix else f"s3://{self._bucket}"

    def url(self, key: str = "") -> str:
        """Return the address of a key over HTTP, for those who may read it."""
        server = self.access.server
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
        """False: a bucket has objects alone, and gives no other for a key that it has not."""
        return False

    @property
    def abilities(self) -> Abilities:
        """What the server can; of one that is not Amazon's and is only read, nothing is found out."""
        writing = self._server.writing

        def find(s3: S3Client) -> Abilities:
            # A profile may name the server too.
            if is_amazon(s3.meta.endpoint_url):
                return AMAZON
            return find_out(s3, self._bucket, self._prefix, address=self.address) if writing else READ_ONLY

        with self._lock:
            if self._abilities is None:
                self._abilities = self._server.ask("try what the server can", find, writing=writing)
            return self._abilities

    def is_open(self, key: str) -> bool:
        """Return whether the server gives the object to somebody without credentials."""
        return self._server.is_open(lambda s3: s3.head_object(Bucket=self._bucket, Key=self._key(key)))

    def prove(self) -> None:
        """Find out whether the bucket is there, knows these credentials, and lets them write.

        Raises
        ------
        HipwrightError
            ``store-unusable``, ``no-credentials`` or ``source-unreachable``. That nobody may list the bucket is no failure here.
        """
        named: dict[str, Any] = {"Bucket": self._bucket, "Key": "/".join(part for part in (self._prefix, PROBES) if part)}

        def begin(s3: S3Client) -> None:
            # An upload that is begun and ended again tells who may write, and leaves nothing.
            begun = s3.create_multipart_upload(**named)
            with contextlib.suppress(Exception):
                s3.abort_multipart_upload(**named, UploadId=begun["UploadId"])

        self._server.ask("write", begin, writing=True)

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """Yield the objects below a prefix, by key; those whose names could not be asked for are left out."""
        below = self._full(parse_key(prefix, foreign=True)) if prefix else self._prefix
        what = f"list {prefix or 'the objects'}"

        def ask(more: Mapping[str, Any]) -> Mapping[str, Any]:
            return self._server.ask(what, lambda s3: s3.list_objects_v2(Bucket=self._bucket, **more))

        cut = len(self._prefix) + 1 if self._prefix else 0
        rows = listed_rows(ask, f"{below}/" if below else "", page=LISTED_AT_ONCE, cut=cut)
        known = self._abilities
        yield from rows if known is not None and known.byte_order else sorted(rows, key=lambda one: one.key.encode())

    def head(self, key: str) -> ObjectInfo | None:
        """Return what is known about an object without reading it."""
        answer = self._head(key)
        return None if answer is None else info_of(key, answer)

    def get(self, key: str) -> Content | None:
        """Return an object whole.

        Raises
        ------
        HipwrightError
            ``hash-mismatch`` when the bytes are others than were put; what the server says.
        """
        name = self._key(key)
        found = self._server.ask_for(f"read {key}", lambda s3: read_whole(s3, self._bucket, name))
        if found is None or is_folder_mark(key, len(found[1])):
            return None
        answer, data = found
        if len(data) > SMALL_BYTES:
            raise too_large(key, self)
        info = info_of(key, answer)
        actual = digest.of_bytes(data)
        compare_noted(self, key, info.sha256, actual)
        return Content(data=data, info=info_of(key, answer, sha256=actual))

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
            answer = self._server.ask_for(f"read {key}", lambda s3: s3.get_object(**ask), empty=("InvalidRange", "416"))
        except BehindEndError:
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
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        """Write an object whole or not at all; see :meth:`build_tools.stores.base.Store.put`."""
        name, found = self._key_to_write(key), body_of(body, name=key)
        upload = Upload(
            bucket=self._bucket,
            key=name,
            content_type=content_type,
            cache_seconds=cache_seconds,
            sha256=sha256,
            condition=Condition(if_absent=if_absent, if_match=if_match),
            on_bytes=on_bytes or _nobody,
        )
        return self._put(key, upload, found, self._journal)

    def copy_from(
        self,
        source: Store,
        source_key: str,
        key: str,
        *,
        sha256: Sha256,
        content_type: str,
        cache_seconds: int,
        size: int | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        """Write an object of a store under another key; see :meth:`build_tools.stores.base.Store.copy_from`."""
        name = self._key_to_write(key)
        upload = Upload(
            bucket=self._bucket,
            key=name,
            content_type=content_type,
            cache_seconds=cache_seconds,
            sha256=sha256,
            condition=Condition(if_absent=if_absent, if_match=if_match),
            on_bytes=on_bytes or _nobody,
        )
        inside = source if isinstance(source, S3Store) and self.access.reaches_what(source.access) else None
        if inside is not None and size and if_absent and (kept := self._copy_kept(key, upload, inside, source_key, size)):
            return kept
        info = meant_object(source, source_key, sha256, size=size)
        # What its own server notes no SHA-256 of is proved by its bytes.
        if inside is not None and info.size and info.sha256:
            return self._copy(key, upload, inside, info, info.sha256)
        self._put(key, upload, StoredBody(store=source, info=info, meant=sha256), None)
        return self._prove_copy(key, upload, info)

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens when there is none."""
        name = self._key_to_write(key)
        self._server.ask(f"delete {key}", lambda s3: s3.delete_object(Bucket=self._bucket, Key=name), writing=True)

    def _put(self, key: str, upload: Upload, body: Body, journal: Path | None) -> ObjectInfo:
        with self._journal_of(upload, body, journal) as kept:
            upload = replace(upload, mark=kept.mark)
            try:
                etag, actual, size = self._server.ask(f"write {key}", lambda s3: put_whole(s3, upload, body, kept), writing=True)
            except HipwrightError as error:
                ours = self._overtaken(error, key, upload)
                if ours is None:
                    raise
                return ours
        return ObjectInfo(
            key=ObjectKey(key),
            size=size,
            etag=etag,
            sha256=actual,
            content_type=upload.content_type,
            cache_seconds=upload.cache_seconds,
        )

    def _copy_kept(self, key: str, upload: Upload, source: S3Store, source_key: str, size: int) -> ObjectInfo | None:
        if size > COPIED_AT_ONCE or not self.abilities.conditional_copy:
            return None
        origin, head = source._key(source_key), functools.partial(self._head, key)
        copy = KeptCopy(upload=upload, bucket=source._bucket, source=origin, size=size, key=key, address=self.address, head=head)
        return copy.make(self._server)

    def _copy(self, key: str, upload: Upload, source: S3Store, info: ObjectInfo, sha256: Sha256) -> ObjectInfo:
        conditional = self.abilities.conditional_copy
        origin = Origin(bucket=source._bucket, key=source._key(info.key), etag=info.etag, sha256=sha256, size=info.size)
        try:
            self._server.ask(
                f"copy {info.key} to {key}", lambda s3: copy_inside(s3, upload, origin, conditional=conditional), writing=True
            )
        except HipwrightError as error:
            if error.code.name == "write-conflict" or code_behind(error) in GONE:
                same_object(source, info)
            if self._overtaken(error, key, upload) is None:
                raise
        if not conditional:
            # The server may not have looked at what the source was to be.
            try:
                same_object(source, info)
            except HipwrightError:
                self._remove_own(key, upload)
                raise
        return self._prove_copy(key, upload, info)

    def _prove_copy(self, key: str, upload: Upload, origin: ObjectInfo) -> ObjectInfo:
        """Ask for a copy and compare what is known of it with what it was to be; one that is something else is removed."""
        answer = self._head(key)
        if answer is None or not _is_by(answer, upload):
            raise HipwrightError("write-conflict", f"{key} in {self.address} was changed by someone else just now")
        found, counted = info_of(key, answer), sha256_of_checksum(answer)
        is_like = (found.size, found.sha256) == (origin.size, upload.sha256) and counted in {None, upload.sha256}
        if is_like and (found.content_type, found.cache_seconds) == (upload.content_type, upload.cache_seconds):
            return found
        self._remove_own(key, upload)
        message = f"the copy of {origin.key} to {key} in {self.address} is not what it was to be, and was removed"
        raise HipwrightError("store-unusable" if is_like else "output-changed", message, hint="look who writes there")

    def _remove_own(self, key: str, upload: Upload) -> None:
        """Remove what an upload wrote, unless somebody else wrote there since."""
        answer = self._head(key)
        if answer is not None and _is_by(answer, upload):
            only: dict[str, Any] = {**upload.named, "IfMatch": answer["ETag"]}
            self._server.ask(f"delete {key}", lambda s3: s3.delete_object(**only), writing=True)

    def _journal_of(self, upload: Upload, body: Body, folder: Path | None) -> AbstractContextManager[Journal]:
        about: dict[str, Any] = {}
        if folder is not None and not is_whole(body.size):
            about = {
                "server": self.access.server,
                **upload.named,
                "sha256": upload.sha256 or body.sha256(),
                "size": body.size,
                "served": [upload.content_type, upload.cache_seconds],
            }
        return journal_of(folder if about else None, about, part_size=part_size_of(body.size), mark=upload.mark)

    def _overtaken(self, error: HipwrightError, key: str, upload: Upload) -> ObjectInfo | None:
        """Return the object when a write that was refused had been carried out before: its answer was lost and it was sent again.

        Raises
        ------
        HipwrightError
            ``write-conflict``, when it was somebody else's.
        """
        condition = upload.condition
        code = code_behind(error)
        refused = bool(condition) and (error.code.name == "write-conflict" or code in GONE)
        if not refused and code != "NoSuchUpload":
            return None
        answer = self._head(key)
        if answer is not None and _is_by(answer, upload):
            return info_of(key, answer)
        if not refused:
            return None
        there = "is already in" if answer is not None else "is being written by someone else in"
        reason = there if condition.if_absent else "was changed by someone else in"
        raise HipwrightError("write-conflict", f"{key} {reason} {self.address}") from error

    def _head(self, key: str) -> Mapping[str, Any] | None:
        ask: Any = {"Bucket": self._bucket, "Key": self._key(key), "ChecksumMode": "ENABLED"}
        answer = self._server.ask_for(f"ask for {key}", lambda s3: s3.head_object(**ask))
        return None if answer is None or is_folder_mark(key, answer["ContentLength"]) else answer

    def _key(self, key: str) -> str:
        return self._full(parse_key(key, foreign=True, slash=True))

    def _key_to_write(self, key: str) -> str:
        return self._full(parse_key(key, slash=key.endswith("/") and self.abilities.slash_keys))

    def _full(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key


def _is_by(answer: Mapping[str, Any], upload: Upload) -> bool:
    return bool(answer.get("Metadata", {}).get(MARK) == upload.mark)


def _nobody(_count: int) -> None:
    """Take what nobody asked for."""
