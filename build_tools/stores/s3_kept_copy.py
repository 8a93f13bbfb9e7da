"""Copies inside an S3 server that keep what is said of their source: two requests for an object, which prove it.

The copy brings the noted SHA-256 of its source along, so one question about the copy tells whether the source was what it was to be, and
whether the copy is. Nothing is written over for it: a copy that turns out to be something else is removed again.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from build_tools.errors import HipwrightError
from build_tools.stores.s3_access import code_behind, status_of
from build_tools.stores.s3_connection import GONE
from build_tools.stores.s3_put import sha256_of_checksum
from build_tools.stores.s3_read import info_of
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_s3.client import S3Client

    from build_tools.stores.base import ObjectInfo
    from build_tools.stores.s3_connection import Connection
    from build_tools.stores.s3_put import Upload

__all__ = ["KeptCopy"]


class KeptCopy(Value, frozen=True, kw_only=True):
    """A copy to make.

    Parameters
    ----------
    upload
        What the copy is to be, under the condition that there is none.
    bucket
        The bucket of its source.
    source
        The key of its source there.
    size
        How many bytes it is to have: not 0, and so few that a server copies them in one call.
    key, address
        The key and the store as a person names them.
    head
        Asks the server for what it knows of the copy.
    """

    upload: Upload
    bucket: str
    source: str
    size: int
    key: str
    address: str
    head: Callable[[], Mapping[str, Any] | None]

    def make(self, server: Connection) -> ObjectInfo | None:
        """Copy, and return what is known of the copy; None, with nothing left of it, when this is no way to make what is wanted.

        Raises
        ------
        HipwrightError
            ``write-conflict`` when there is an object already, or somebody else changed the copy; what the server says.
        """
        try:
            etag = server.ask(f"copy {self.source} to {self.key}", self._copy, writing=True)
        except HipwrightError as error:
            if code_behind(error) in GONE or _is_unknown(error):
                return None
            if error.code.name != "write-conflict":
                raise
            if not _was_sent_again(error):
                raise self._conflict("is already in") from error
            # An answer was lost, and the object that is there may be the very copy.
            etag = None
        answer = self.head()
        if answer is None:
            raise self._conflict("was changed by someone else in")
        found = info_of(self.key, answer)
        if self._is_meant(found) and sha256_of_checksum(answer) in {None, self.upload.sha256}:
            self.upload.on_bytes(self.size)
            return found
        if etag is None:
            raise self._conflict("is already in")
        # Some servers leave the quotes out of one answer and not of the other.
        if found.etag.strip('"') != etag.strip('"'):
            raise self._conflict("was changed by someone else in")
        only: dict[str, Any] = {**self.upload.named, "IfMatch": found.etag}
        server.ask(f"delete {self.key}", lambda s3: s3.delete_object(**only), writing=True)
        return None

    def _copy(self, s3: S3Client) -> str:
        answer = s3.copy_object(
            **self.upload.named,
            **self.upload.condition.arguments,
            CopySource={"Bucket": self.bucket, "Key": self.source},
            MetadataDirective="COPY",
            ChecksumAlgorithm="SHA256",
        )
        return answer["CopyObjectResult"]["ETag"]

    def _is_meant(self, found: ObjectInfo) -> bool:
        upload = self.upload
        meant = (self.size, upload.sha256, upload.content_type, upload.cache_seconds)
        return (found.size, found.sha256, found.content_type, found.cache_seconds) == meant

    def _conflict(self, what: str) -> HipwrightError:
        return HipwrightError("write-conflict", f"{self.key} {what} {self.address}")


def _is_unknown(error: HipwrightError) -> bool:
    """Return whether a server knows no such call; Amazon's says so too, where a policy of the bucket demands conditions."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - who is here has paid for it

    return isinstance(error.__cause__, ClientError) and status_of(error.__cause__) == HTTPStatus.NOT_IMPLEMENTED


def _was_sent_again(error: HipwrightError) -> bool:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above

    cause = error.__cause__
    return isinstance(cause, ClientError) and bool(cause.response.get("ResponseMetadata", {}).get("RetryAttempts"))
