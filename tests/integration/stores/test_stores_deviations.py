"""In what the S3 servers of the tests are as Amazon's is, and in what not: the data that the other tests go by is held to the servers.

What Amazon's does is of its documentation: the API reference, and the pages on conditional writes and on checking integrity.
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.integration.stores.conftest import DEVIATIONS, deviations_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.s3 import S3Server

STALE: Final = '"00"'
MEBI: Final = 1 << 20


@dataclass(frozen=True)
class Bucket:
    """A bucket of a server, and who may do everything there."""

    server: S3Server
    name: str
    s3: Any

    def put(self, key: str, body: bytes = b"bytes", **more: Any) -> Any:  # noqa: ANN401 - as boto3 has it
        return self.s3.put_object(Bucket=self.name, Key=key, Body=body, **more)

    def copy(self, key: str, of: str, **more: Any) -> Any:  # noqa: ANN401 - as boto3 has it
        return self.s3.copy_object(Bucket=self.name, Key=key, CopySource={"Bucket": self.name, "Key": of}, **more)

    def listed(self, prefix: str) -> str:
        rows = self.s3.list_objects_v2(Bucket=self.name, Prefix=prefix).get("Contents", [])
        return " ".join(f"{row['Key'].removeprefix(prefix)}:{row['Size']}" for row in rows)

    def upload(self, key: str, *sizes: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as boto3 has it
        """Begin an upload in parts, send some, and return what completes it."""
        named = {"Bucket": self.name, "Key": key}
        named["UploadId"] = self.s3.create_multipart_upload(**named, **more)["UploadId"]
        parts = []
        for number, size in enumerate(sizes, start=1):
            checksum = {"ChecksumCRC32": crc32_of(bytes(size))} if more else {}
            answer = self.s3.upload_part(**named, PartNumber=number, Body=bytes(size), **checksum)
            parts.append({"PartNumber": number, "ETag": answer["ETag"], **checksum})
        return {**named, "MultipartUpload": {"Parts": parts}}

    def as_another(self, key: str | None, secret: str = "wrong") -> Any:  # noqa: ANN401, S107 - as boto3 has it
        config = Config(signature_version=UNSIGNED if key is None else None, s3={"addressing_style": "path"})
        return boto3.client(
            "s3",
            endpoint_url=self.server.endpoint,
            region_name="us-east-1",
            aws_access_key_id=key,
            aws_secret_access_key=secret if key else None,
            config=config,
        )


def base64_of(data: bytes) -> str:
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


def crc32_of(data: bytes) -> str:
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def status(ask: Callable[[], Any]) -> str:
    try:
        return str(ask()["ResponseMetadata"]["HTTPStatusCode"])
    except ClientError as error:
        return str(error.response["ResponseMetadata"]["HTTPStatusCode"])


def order_of_keys(bucket: Bucket) -> str:
    for key in ("order/a.b", "order/a/b", "order/a+b", "order/a-b"):
        bucket.put(key)
    return bucket.listed("order/")


def body_of_a_slash_key(bucket: Bucket) -> str:
    bucket.put("slash/a/")
    return bucket.listed("slash/")


def empty_part_of_a_key(bucket: Bucket) -> str:
    bucket.put("double//a")
    return bucket.listed("double")


def put_if_absent(bucket: Bucket) -> str:
    bucket.put("if-absent")
    return status(lambda: bucket.put("if-absent", IfNoneMatch="*"))


def put_if_match(bucket: Bucket) -> str:
    bucket.put("if-match")
    return status(lambda: bucket.put("if-match", IfMatch=STALE))


def put_if_match_of_none(bucket: Bucket) -> str:
    return status(lambda: bucket.put("if-match-of-none", IfMatch=STALE))


def delete_if_match(bucket: Bucket) -> str:
    bucket.put("delete")
    return status(lambda: bucket.s3.delete_object(Bucket=bucket.name, Key="delete", IfMatch=STALE))


def parts_if_absent(bucket: Bucket) -> str:
    bucket.put("parts-if-absent")
    return status(lambda: bucket.s3.complete_multipart_upload(**bucket.upload("parts-if-absent", 9), IfNoneMatch="*"))


def parts_if_match(bucket: Bucket) -> str:
    bucket.put("parts-if-match")
    return status(lambda: bucket.s3.complete_multipart_upload(**bucket.upload("parts-if-match", 9), IfMatch=STALE))


def small_part(bucket: Bucket) -> str:
    return status(lambda: bucket.s3.complete_multipart_upload(**bucket.upload("small", MEBI, 9)))


def checksums_of_listed_parts(bucket: Bucket) -> str:
    begun = bucket.upload("listed", 9, ChecksumAlgorithm="CRC32")
    del begun["MultipartUpload"]
    return str(bucket.s3.list_parts(**begun)["Parts"][0].get("ChecksumCRC32") == crc32_of(bytes(9)))


def upload_that_is_gone(bucket: Bucket) -> str:
    begun = bucket.upload("gone", 9)
    del begun["MultipartUpload"]
    bucket.s3.abort_multipart_upload(**begun)
    return status(lambda: bucket.s3.list_parts(**begun))


def copy_if_absent(bucket: Bucket) -> str:
    bucket.put("copy-if-absent")
    return status(lambda: bucket.copy("copy-if-absent", "copy-if-absent", MetadataDirective="REPLACE", IfNoneMatch="*"))


def copy_if_match(bucket: Bucket) -> str:
    bucket.put("copy-if-match")
    return status(lambda: bucket.copy("copy-if-match", "copy-if-match", MetadataDirective="REPLACE", IfMatch=STALE))


def copy_of_what_it_was(bucket: Bucket) -> str:
    bucket.put("origin")
    return status(lambda: bucket.copy("copy", "origin", CopySourceIfMatch=STALE))


def part_of_what_it_was(bucket: Bucket) -> str:
    bucket.put("origin")
    begun = bucket.upload("part-copy")
    del begun["MultipartUpload"]
    copy = {"CopySource": {"Bucket": bucket.name, "Key": "origin"}, "CopySourceIfMatch": STALE}
    return status(lambda: bucket.s3.upload_part_copy(**begun, **copy, PartNumber=1))


def checksum_of_a_copy(bucket: Bucket) -> str:
    bucket.put("origin", b"bytes")
    bucket.copy("counted", "origin", ChecksumAlgorithm="SHA256")
    head = bucket.s3.head_object(Bucket=bucket.name, Key="counted", ChecksumMode="ENABLED")
    return str(head.get("ChecksumSHA256") == base64_of(b"bytes"))


def checksum_of_parts(bucket: Bucket) -> str:
    bucket.s3.complete_multipart_upload(**bucket.upload("composite", 9, ChecksumAlgorithm="CRC32"))
    head = bucket.s3.head_object(Bucket=bucket.name, Key="composite", ChecksumMode="ENABLED")
    kind = "of parts" if head["ChecksumCRC32"].endswith("-1") else "bare"
    return f"{head.get('ChecksumType')}, {kind}"


def wrong_checksum(bucket: Bucket) -> str:
    return status(lambda: bucket.put("damaged", ChecksumSHA256=base64_of(b"others")))


def wrong_checksum_of_a_part(bucket: Bucket) -> str:
    begun = bucket.upload("damaged-part", ChecksumAlgorithm="CRC32")
    del begun["MultipartUpload"]
    return status(lambda: bucket.s3.upload_part(**begun, PartNumber=1, Body=b"bytes", ChecksumCRC32=crc32_of(b"others")))


def checksum_of_an_object(bucket: Bucket) -> str:
    bucket.put("attributes", ChecksumAlgorithm="SHA256")
    found = bucket.s3.get_object_attributes(Bucket=bucket.name, Key="attributes", ObjectAttributes=["Checksum"])
    return str("ChecksumSHA256" in (found.get("Checksum") or {}))


def wrong_secret(bucket: Bucket) -> str:
    return status(lambda: bucket.as_another("testkey").put_object(Bucket=bucket.name, Key="wrong", Body=b""))


def write_of_nobody(bucket: Bucket) -> str:
    return status(lambda: bucket.as_another(None).put_object(Bucket=bucket.name, Key="nobody", Body=b""))


def read_of_nobody(bucket: Bucket) -> str:
    bucket.put("private")
    return status(lambda: bucket.as_another(None).get_object(Bucket=bucket.name, Key="private"))


def object_for_everybody(bucket: Bucket) -> str:
    bucket.put("acl", ACL="public-read")
    return status(lambda: bucket.as_another(None).get_object(Bucket=bucket.name, Key="acl"))


def listing_of_nobody(bucket: Bucket) -> str:
    return status(lambda: bucket.as_another(None).list_objects_v2(Bucket=bucket.name))


def bucket_that_is_not_there(bucket: Bucket) -> str:
    return status(lambda: bucket.s3.put_object(Bucket="not-there", Key="a", Body=b""))


AMAZON: Final[dict[Callable[[Bucket], str], str]] = {
    order_of_keys: "a+b:5 a-b:5 a.b:5 a/b:5",
    body_of_a_slash_key: "a/:5",
    empty_part_of_a_key: "//a:5",
    put_if_absent: "412",
    put_if_match: "412",
    put_if_match_of_none: "404",
    delete_if_match: "412",
    parts_if_absent: "412",
    parts_if_match: "412",
    small_part: "400",
    checksums_of_listed_parts: "True",
    upload_that_is_gone: "404",
    copy_if_absent: "412",
    copy_if_match: "412",
    copy_of_what_it_was: "412",
    part_of_what_it_was: "412",
    checksum_of_a_copy: "True",
    checksum_of_parts: "COMPOSITE, of parts",
    wrong_checksum: "400",
    wrong_checksum_of_a_part: "400",
    checksum_of_an_object: "True",
    wrong_secret: "403",
    write_of_nobody: "403",
    read_of_nobody: "403",
    object_for_everybody: "200",
    listing_of_nobody: "403",
    bucket_that_is_not_there: "404",
}
"""What Amazon's S3 does, by what asks for it."""


@pytest.fixture(scope="module", params=["s3_twin", "s3_server"])
def bucket(request: pytest.FixtureRequest) -> Bucket:
    server = request.getfixturevalue(request.param)
    return Bucket(server, server.bucket(), server.client())


@pytest.mark.parametrize("behaviour", AMAZON, ids=lambda one: one.__name__)
def test_a_server_is_as_amazons_or_as_it_is_known_to_be(bucket: Bucket, behaviour: Callable[[Bucket], str]) -> None:
    deviations = deviations_of(bucket.server)
    assert behaviour(bucket) == deviations.get(behaviour.__name__, AMAZON[behaviour])
    assert deviations.get(behaviour.__name__) != AMAZON[behaviour]


def test_every_deviation_is_of_a_behaviour_and_a_server_that_are_asked() -> None:
    rows = tomllib.loads(DEVIATIONS.read_text())["deviation"]
    assert {row["server"] for row in rows} <= {"twin", "seaweed"}
    assert {row["behaviour"] for row in rows} <= {behaviour.__name__ for behaviour in AMAZON}
    assert len({(row["server"], row["behaviour"]) for row in rows}) == len(rows)
    assert all(set(row) == {"server", "behaviour", "instead"} for row in rows)
