"""Copies inside an S3 server, whose bytes never leave it.

Everything that is said of the copy is said anew: a copy in parts takes over nothing of its source, neither its metadata nor its content
type (boto/s3transfer#246), and one in a single call ends at 5 GB. So small objects are copied in one call where the server takes its condition
there, all others in parts that become the object at once, under the condition.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.stores.s3_access import code_of, status_of
from build_tools.stores.s3_put import in_parts
from build_tools.stores.s3_resume import Journal
from build_tools.threads import Threads
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_s3.client import S3Client

    from build_tools.stores.s3_put import Upload
    from build_tools.stores.s3_resume import Part
    from build_tools.types import Sha256

__all__ = ["COPIED_AT_ONCE", "Origin", "copy_inside"]

COPIED_AT_ONCE: Final = 1 << 30
"""S3 takes 5 GiB. So large that few calls are needed, and not so large that a server which says nothing while it copies seems dead."""

_AT_ONCE: Final = 6


class Origin(Value, frozen=True, kw_only=True):
    """The object that is copied, as it must still be: its bucket and key, its etag, SHA-256, and size in bytes, which is not 0."""

    bucket: str
    key: str
    etag: str
    sha256: Sha256
    size: int

    @property
    def arguments(self) -> dict[str, Any]:
        """The object as S3 takes it."""
        return {"CopySource": {"Bucket": self.bucket, "Key": self.key}, "CopySourceIfMatch": self.etag}


def copy_inside(s3: S3Client, upload: Upload, origin: Origin, *, conditional: bool) -> None:
    """Copy an object.

    Parameters
    ----------
    s3
        The server.
    upload
        What is to be made.
    origin
        Of what.
    conditional
        Whether the server takes a condition of a copy in one call.

    Raises
    ------
    HipwrightError
        ``output-changed`` when the origin changed meanwhile. What the server says is raised as Amazon's library says it.
    """
    said = upload.arguments(origin.sha256)
    if origin.size > COPIED_AT_ONCE or (upload.condition and not conditional) or not _copied_at_once(s3, upload, origin, said):
        _copy_in_parts(s3, upload, origin, said)


def _copied_at_once(s3: S3Client, upload: Upload, origin: Origin, said: Mapping[str, Any]) -> bool:
    """Copy an object in one call; return False when the server knows no such call."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - who is here has paid for it

    asked: dict[str, Any] = {**said, **upload.condition.arguments, **origin.arguments}
    try:
        # The server computes the SHA-256 of what it copied, which its answer to a question about the copy then has.
        s3.copy_object(**asked, MetadataDirective="REPLACE", ChecksumAlgorithm="SHA256")
    except ClientError as error:
        # Amazon's says so where a policy of the bucket demands conditions.
        if status_of(error) == HTTPStatus.NOT_IMPLEMENTED:
            return False
        raise
    upload.on_bytes(origin.size)
    return True


def _copy_in_parts(s3: S3Client, upload: Upload, origin: Origin, said: Mapping[str, Any]) -> None:
    spans = [(start, min(start + COPIED_AT_ONCE, origin.size)) for start in range(0, origin.size, COPIED_AT_ONCE)]

    def send(named: Mapping[str, Any], _there: Mapping[int, Part]) -> list[Any]:
        with Threads(_AT_ONCE) as pool:
            futures = [
                pool.submit(_copy_part, s3, {**named, **origin.arguments, "PartNumber": number}, span)
                for number, span in enumerate(spans, start=1)
            ]
            done = []
            for future, (start, end) in zip(futures, spans, strict=True):
                done.append(future.result())
                upload.on_bytes(end - start)
        return done

    in_parts(s3, upload, said, send, Journal(path=None, part_size=COPIED_AT_ONCE, mark=upload.mark))


def _copy_part(s3: S3Client, part: Mapping[str, Any], span: tuple[int, int]) -> dict[str, Any]:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above

    try:
        answer: Any = s3.upload_part_copy(**part, CopySourceRange=f"bytes={span[0]}-{span[1] - 1}")
    except ClientError as error:
        if code_of(error) in {"PreconditionFailed", "412", "NoSuchKey"}:
            origin = part["CopySource"]
            message = f"{origin['Key']} in s3://{origin['Bucket']} was changed while it was copied"
            raise HipwrightError("output-changed", message, hint="look who writes there, then try again") from error
        raise
    return {"PartNumber": part["PartNumber"], "ETag": answer["CopyPartResult"]["ETag"]}
