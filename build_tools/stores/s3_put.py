"""Writing into a bucket: whole, or in parts that become an object at once; with a condition, and checksums that the server compares."""

from __future__ import annotations

import base64
import collections
import contextlib
import hashlib
import itertools
import secrets
import threading
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores.body import prove_bytes
from build_tools.stores.s3_access import can_pass
from build_tools.stores.s3_resume import Part
from build_tools.threads import Threads, go_on, in_time
from build_tools.types import Sha256
from build_tools.value import Value

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Callable, Iterator, Mapping

    from mypy_boto3_s3.client import S3Client

    from build_tools.stores.body import Body
    from build_tools.stores.s3_resume import Journal

__all__ = ["MARK", "SHA256", "Condition", "Upload", "in_parts", "is_whole", "part_size_of", "put_whole", "sha256_of_checksum"]

SHA256: Final = "sha256"
"""The metadata of an object that has the SHA-256 of its bytes."""

MARK: Final = "hipwright-write"
"""The metadata of an object that says which write made it."""

_WHOLE: Final = 32 << 20
"""Up to this size an object is sent whole; above, in parts."""

_PART: Final = 16 << 20
_MOST_PARTS: Final = 9_000
"""S3 takes 10,000."""

_AT_ONCE: Final = 6
_IN_MEMORY: Final = threading.BoundedSemaphore(16)
"""So many parts are in memory at once, of all uploads of this process."""

_HEX_DIGITS: Final = 64

_PATIENCE: Final = 60.0
"""Seconds that an upload which failed may take to tell the server so."""

_HURRY: Final = 1.0
"""The same for one that was interrupted."""

_MOMENT: Final = 0.2


class Condition(Value, frozen=True, kw_only=True):
    """What must hold for a write to be carried out."""

    if_absent: bool = False
    if_match: str | None = None

    def __bool__(self) -> bool:
        return self.if_absent or self.if_match is not None

    @property
    def arguments(self) -> dict[str, Any]:
        """The condition as S3 takes it."""
        if self.if_match is not None:
            return {"IfMatch": self.if_match}
        return {"IfNoneMatch": "*"} if self.if_absent else {}


class Upload(Value, frozen=True, kw_only=True):
    """One object to write.

    ``sha256`` is what the bytes must be, when that is known; ``mark`` is this write's own; ``on_bytes`` takes how many more are there.
    ``cache_seconds`` is how long clients may keep it unasked.
    """

    bucket: str
    key: str
    content_type: str
    cache_seconds: int
    sha256: Sha256 | None
    condition: Condition
    on_bytes: Callable[[int], None]
    mark: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))

    @property
    def named(self) -> dict[str, Any]:
        """The object as S3 takes it."""
        return {"Bucket": self.bucket, "Key": self.key}

    def arguments(self, sha256: Sha256) -> dict[str, Any]:
        """What is said of the object when it is made."""
        kept = f"max-age={self.cache_seconds}" if self.cache_seconds else "no-cache"
        noted = {SHA256: sha256, MARK: self.mark}
        return {**self.named, "ContentType": self.content_type, "CacheControl": kept, "Metadata": noted}


def is_whole(size: int) -> bool:
    """Return whether so many bytes are sent whole."""
    return size <= _WHOLE


def part_size_of(size: int) -> int:
    """Return how large the parts are in which so many bytes are sent."""
    return max(_PART, -(-size // _MOST_PARTS))


def put_whole(s3: S3Client, upload: Upload, body: Body, journal: Journal) -> tuple[str, Sha256, int]:
    """Write an object; return its etag, its SHA-256, and its size in bytes.

    Raises
    ------
    HipwrightError
        ``output-changed`` when the bytes are others than ``sha256`` says, or change while they are read; ``store-unusable`` when a file
        cannot be read. What the server says is raised as Amazon's library says it.
    """
    if not is_whole(body.size):
        return _put_in_parts(s3, upload, body, journal)
    data = b"".join(body.pieces(max(1, body.size)))
    actual = digest.of_bytes(data)
    prove_bytes(body.name, actual, upload.sha256)
    answer = s3.put_object(**upload.arguments(actual), Body=data, ChecksumSHA256=_base64(actual), **upload.condition.arguments)
    upload.on_bytes(len(data))
    return answer["ETag"], actual, len(data)


def _put_in_parts(s3: S3Client, upload: Upload, body: Body, journal: Journal) -> tuple[str, Sha256, int]:
    wanted = upload.sha256 or body.sha256()
    said = {**upload.arguments(wanted), "ChecksumAlgorithm": "CRC32"}
    hasher = hashlib.sha256()

    def send(named: Mapping[str, Any], there: Mapping[int, Part]) -> list[Any]:
        sender = _Sender(s3=s3, named=named, there=there, journal=journal, on_bytes=upload.on_bytes)
        parts = sender.send(_hashed(body, journal.part_size, hasher))
        prove_bytes(body.name, Sha256(hasher.hexdigest()), wanted)
        return [{"PartNumber": part.number, "ETag": part.etag, "ChecksumCRC32": part.crc32} for part in parts]

    return in_parts(s3, upload, said, send, journal), wanted, body.size


def in_parts(
    s3: S3Client,
    upload: Upload,
    said: Mapping[str, Any],
    send: Callable[[Mapping[str, Any], Mapping[int, Part]], list[Any]],
    journal: Journal,
) -> str:
    """Write an object in parts and return its etag; one that fails leaves no parts, but for those that a journal keeps.

    Parameters
    ----------
    s3
        The server.
    upload
        The object.
    said
        What is said of it when it is made.
    send
        Takes the upload as S3 does, and its parts that are there; returns all of them, as S3 takes them to make an object of them.
    journal
        What is kept of it.
    """
    named: Mapping[str, Any] = {}
    try:
        named, there = journal.begin(s3, upload.named, said)
        parts = send(named, there)
        answer: Any = s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts}, **upload.condition.arguments)
    except BaseException as error:
        if not (journal.keeps and _can_go_on(error)):
            journal.forget()
            # Parts that belong to nothing are paid for until somebody removes them.
            with contextlib.suppress(Exception):
                if named:
                    in_time(_PATIENCE if isinstance(error, Exception) else _HURRY, lambda: s3.abort_multipart_upload(**named))
        raise
    journal.forget()
    return str(answer["ETag"])


def _can_go_on(error: BaseException) -> bool:
    """Return whether an upload that ended so can be finished by another call: it was interrupted, or what failed can pass."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - who is here has paid for it

    if isinstance(error, HipwrightError):
        return error.code.name == "source-unreachable"
    return can_pass(error) if isinstance(error, ClientError) else True


def _hashed(body: Body, length: int, hasher: hashlib._Hash) -> Iterator[bytes]:
    """Yield the pieces of a body and hash them as a whole."""
    for piece in body.pieces(length):
        hasher.update(piece)
        yield piece


@dataclass(kw_only=True, slots=True)
class _Sender:
    """Sends pieces as the parts of an upload, several at a time; ``there`` are the parts that the server has already."""

    s3: S3Client
    named: Mapping[str, Any]
    there: Mapping[int, Part]
    journal: Journal
    on_bytes: Callable[[int], None]
    done: list[Part] = field(default_factory=list)

    def send(self, pieces: Iterator[bytes]) -> list[Part]:
        """Return all parts by their numbers, when the server has them all."""
        under_way: collections.deque[concurrent.futures.Future[Part]] = collections.deque()
        try:
            with Threads(_AT_ONCE) as pool:
                for number in itertools.count(1):
                    if len(under_way) == _AT_ONCE:
                        self._take(under_way.popleft().result())
                    piece = _next(pieces)
                    if piece is None:
                        break
                    known = self.there.get(number)
                    if known is not None and known.crc32 == _crc32(piece):
                        _IN_MEMORY.release()
                        self._count(known)
                        continue
                    future = pool.submit(self._send_part, number, piece)
                    future.add_done_callback(lambda _: _IN_MEMORY.release())
                    under_way.append(future)
                for future in under_way:
                    self._take(future.result())
        except BaseException:
            for future in under_way:
                if not future.cancelled() and future.exception() is None:
                    self.journal.add(future.result())
            raise
        return sorted(self.done, key=lambda part: part.number)

    def _take(self, part: Part) -> None:
        self.journal.add(part)
        self._count(part)

    def _count(self, part: Part) -> None:
        self.done.append(part)
        self.on_bytes(part.size)

    def _send_part(self, number: int, piece: bytes) -> Part:
        crc32 = _crc32(piece)
        sent: dict[str, Any] = {**self.named, "PartNumber": number, "Body": piece, "ChecksumCRC32": crc32}
        return Part(number=number, etag=self.s3.upload_part(**sent)["ETag"], crc32=crc32, size=len(piece))


def _next(pieces: Iterator[bytes]) -> bytes | None:
    """Return the next piece, for which there is room in memory until it is given back; None at the end."""
    while not _IN_MEMORY.acquire(timeout=_MOMENT):
        go_on()
    piece = None
    try:
        piece = next(pieces, None)
    finally:
        if piece is None:
            _IN_MEMORY.release()
    return piece


def sha256_of_checksum(answer: Mapping[str, Any]) -> Sha256 | None:
    """Return the SHA-256 of a whole object when the server itself has compared it; None when it knows one of the parts only."""
    text = answer.get("ChecksumSHA256")
    # The etag of an object that was made of parts says how many these were.
    if not text or "-" in text or "-" in answer.get("ETag", "") or answer.get("ChecksumType") == "COMPOSITE":
        return None
    try:
        found = base64.b64decode(text, validate=True).hex()
    except ValueError:
        return None
    return Sha256(found) if len(found) == _HEX_DIGITS else None


def _base64(sha256: Sha256) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _crc32(piece: bytes) -> str:
    """Return what goes with a part for the server to compare: as sure as a longer digest that bytes came over, and a fraction of its work."""
    return base64.b64encode(zlib.crc32(piece).to_bytes(4, "big")).decode()
