"""Writing into a bucket: whole, or in parts that become an object at once; with a condition, and checksums that the server compares."""

from __future__ import annotations

import base64
import collections
import concurrent.futures
import contextlib
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mypy_boto3_s3.client import S3Client

__all__ = ["MARK", "SHA256", "Condition", "Upload", "put_whole", "sha256_of_checksum"]

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
_HEX_DIGITS: Final = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """What must hold for a write to be carried out."""

    if_absent: bool = False
    if_match: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The condition as S3 takes it."""
        if self.if_match is not None:
            return {"IfMatch": self.if_match}
        return {"IfNoneMatch": "*"} if self.if_absent else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """One object to write.

    ``key`` is the bucket's, ``shown`` the store's; ``sha256`` is what the bytes must be, when that is known; ``mark`` is this write's own.
    """

    bucket: str
    key: str
    shown: str
    body: bytes | Path
    content_type: str
    cache_control: str
    sha256: Sha256 | None
    condition: Condition
    mark: str

    def arguments(self, sha256: Sha256) -> dict[str, Any]:
        """What is said of the object when it is made."""
        return {
            "Bucket": self.bucket,
            "Key": self.key,
            "ContentType": self.content_type,
            "CacheControl": self.cache_control,
            "Metadata": {SHA256: sha256, MARK: self.mark},
        }

    def prove(self, actual: Sha256, wanted: Sha256 | None) -> None:
        """Compare the bytes that were read with those that were meant."""
        if wanted is not None and actual != wanted:
            source = self.body if isinstance(self.body, Path) else self.shown
            message = f"{source} has other bytes than recorded: {actual}, not {wanted}"
            raise HipwrightError("output-changed", message, hint="make it again, or look who changed it")


def put_whole(s3: S3Client, upload: Upload) -> tuple[str, Sha256, int]:
    """Write an object; return its etag, its SHA-256, and its size in bytes.

    Raises
    ------
    HipwrightError
        ``output-changed`` when the bytes are others than ``sha256`` says, or change while they are read; ``store-unusable`` when a file
        cannot be read. What the server says is raised as Amazon's library says it.
    """
    try:
        if isinstance(upload.body, Path) and upload.body.stat().st_size > _WHOLE:
            return _put_in_parts(s3, upload, upload.body)
        data = upload.body.read_bytes() if isinstance(upload.body, Path) else upload.body
    except OSError as error:
        raise HipwrightError("store-unusable", f"cannot read {upload.body!r}: {error.strerror or error}") from error
    actual = digest.of_bytes(data)
    upload.prove(actual, upload.sha256)
    answer = s3.put_object(
        **upload.arguments(actual),
        Body=data,
        ChecksumSHA256=_base64(bytes.fromhex(actual)),
        **upload.condition.arguments,
    )
    return answer["ETag"], actual, len(data)


def _put_in_parts(s3: S3Client, upload: Upload, path: Path) -> tuple[str, Sha256, int]:
    wanted = upload.sha256 or digest.of_file(path)
    size = path.stat().st_size
    length = max(_PART, -(-size // _MOST_PARTS))
    started = s3.create_multipart_upload(**upload.arguments(wanted), ChecksumAlgorithm="SHA256")
    named: dict[str, Any] = {"Bucket": upload.bucket, "Key": upload.key, "UploadId": started["UploadId"]}
    try:
        with path.open("rb") as source:
            parts, actual = _send_parts(s3, named, source, length)
        upload.prove(actual, wanted)
        answer: Any = s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts}, **upload.condition.arguments)
    except BaseException:
        # Parts that belong to nothing are paid for until somebody removes them.
        with contextlib.suppress(Exception):
            s3.abort_multipart_upload(**named)
        raise
    return str(answer["ETag"]), actual, size


def _send_parts(s3: S3Client, named: Mapping[str, Any], source: IO[bytes], length: int) -> tuple[list[Any], Sha256]:
    """Send a stream in parts, several at a time; return what completes the upload, and the SHA-256 of all that was read."""
    hasher = hashlib.sha256()
    done: list[Any] = []
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        under_way: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
        try:
            for number, piece in enumerate(_pieces(source, length), start=1):
                hasher.update(piece)
                if len(under_way) == _AT_ONCE:
                    done.append(under_way.popleft().result())
                under_way.append(pool.submit(_send_part, s3, named, number, piece))
            done.extend(future.result() for future in under_way)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return done, Sha256(hasher.hexdigest())


def _pieces(source: IO[bytes], length: int) -> Iterator[bytes]:
    while piece := source.read(length):
        yield piece


def _send_part(s3: S3Client, named: Mapping[str, Any], number: int, piece: bytes) -> dict[str, Any]:
    checksum = _base64(hashlib.sha256(piece).digest())
    sent: dict[str, Any] = {**named, "PartNumber": number, "Body": piece, "ChecksumSHA256": checksum}
    answer = s3.upload_part(**sent)
    return {"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": checksum}


def sha256_of_checksum(answer: Mapping[str, Any]) -> Sha256 | None:
    """Return the SHA-256 of a whole object when the server itself has compared it; None when it knows one of the parts only."""
    text = answer.get("ChecksumSHA256")
    if not text or "-" in text or answer.get("ChecksumType") == "COMPOSITE":
        return None
    try:
        found = base64.b64decode(text, validate=True).hex()
    except ValueError:
        return None
    return Sha256(found) if len(found) == _HEX_DIGITS else None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
