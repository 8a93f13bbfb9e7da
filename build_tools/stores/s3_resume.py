"""What is kept on this disk of an upload in parts, so that it goes on where it was when the process that began it was ended.

The server is what counts: only parts that it still lists, as they were when they were sent, are not sent again, and only when the bytes
that are to be sent are the same. Of an upload there is one file, named by what it is of; it goes when the upload ends.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import filelock

from build_tools import digest, files
from build_tools.errors import HipwrightError
from build_tools.receipts.record import Record, read_record, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mypy_boto3_s3.client import S3Client

__all__ = ["Journal", "Part", "journal_of"]

_MOST_LISTED: Final = 1000


class Part(Record, frozen=True, kw_only=True):
    """A part that the server took: its number, what the server calls its bytes, their CRC-32 as S3 writes it, and how many they are."""

    number: int
    etag: str
    crc32: str
    size: int


class _Entry(Record, frozen=True, kw_only=True):
    """An upload that was begun; ``mark`` is what its object will carry."""

    schema: Literal[1] = 1
    upload_id: str
    part_size: int
    mark: str
    parts: tuple[Part, ...] = ()


@dataclass(kw_only=True, slots=True)
class Journal:
    """What is kept of one upload; without a file nothing is.

    ``mark`` is what the object carries as its writer's, ``part_size`` the size of each part but the last.
    """

    path: Path | None
    part_size: int
    mark: str
    _upload_id: str | None = None
    _parts: dict[int, Part] = field(default_factory=dict)

    @property
    def keeps(self) -> bool:
        """Whether an upload that is broken off can go on."""
        return self.path is not None

    def begin(self, s3: S3Client, named: Mapping[str, Any], said: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[int, Part]]:
        """Go on with the upload, or begin one; return the upload as S3 takes it, and its parts by their numbers.

        Parameters
        ----------
        s3
            The server.
        named
            The bucket and the key.
        said
            What is said of the object when it is made, with ``named``.
        """
        if self._upload_id is not None:
            upload = {**named, "UploadId": self._upload_id}
            listed = _listed(s3, upload)
            if listed is not None:
                self._parts = {number: part for number, part in self._parts.items() if _is_listed(part, listed.get(number))}
                return upload, self._parts
        self._parts = {}
        self._upload_id = s3.create_multipart_upload(**said)["UploadId"]
        self._write()
        return {**named, "UploadId": self._upload_id}, {}

    def add(self, part: Part) -> None:
        """Keep a part that the server took."""
        self._parts = {**self._parts, part.number: part}
        self._write()

    def forget(self) -> None:
        """Keep nothing any more: the upload ended."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def read(self) -> None:
        """Take up what is kept; what cannot be read is as good as nothing."""
        if self.path is None or not self.path.exists():
            return
        with contextlib.suppress(HipwrightError):
            entry = read_record(self.path, _Entry)
            self.part_size, self.mark, self._upload_id = entry.part_size, entry.mark, entry.upload_id
            self._parts = {part.number: part for part in entry.parts}

    def _write(self) -> None:
        if self.path is None or self._upload_id is None:
            return
        parts = tuple(self._parts[number] for number in sorted(self._parts))
        entry = _Entry(upload_id=self._upload_id, part_size=self.part_size, mark=self.mark, parts=parts)
        # To keep a part only saves work: an upload does not fail because this disk is full.
        with contextlib.suppress(OSError):
            files.write_bytes(self.path, to_json(entry))


@contextlib.contextmanager
def journal_of(folder: Path | None, about: Mapping[str, Any], *, part_size: int, mark: str) -> Iterator[Journal]:
    """Give what is kept of an upload for the time of the block.

    Of two processes that send the same at once, only one keeps something.

    Parameters
    ----------
    folder
        Where it is kept; None for nowhere.
    about
        What the upload is of, as plain JSON data: what differs in any of it is another upload.
    part_size
        The size of the parts of one that begins.
    mark
        What the object of one that begins carries.
    """
    if folder is None:
        yield Journal(path=None, part_size=part_size, mark=mark)
        return
    path = folder / f"{digest.of_value(about)}.json"
    lock_path = path.with_suffix(".lock")
    lock = filelock.FileLock(lock_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except (filelock.Timeout, OSError):
        yield Journal(path=None, part_size=part_size, mark=mark)
        return
    try:
        journal = Journal(path=path, part_size=part_size, mark=mark)
        journal.read()
        yield journal
    finally:
        if not path.exists():
            with contextlib.suppress(OSError):
                lock_path.unlink(missing_ok=True)
        lock.release()


def _listed(s3: S3Client, upload: Mapping[str, Any]) -> Mapping[int, Mapping[str, Any]] | None:
    """Return the parts that a server has of an upload, by their numbers; None when it knows of no such upload."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - who is here has paid for it

    pages = s3.get_paginator("list_parts").paginate(**upload, PaginationConfig={"PageSize": _MOST_LISTED})
    try:
        return {row["PartNumber"]: row for page in pages for row in page.get("Parts", ())}
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") in {"NoSuchUpload", "NoSuchKey", "404"}:
            return None
        raise


def _is_listed(part: Part, row: Mapping[str, Any] | None) -> bool:
    return row is not None and (row["ETag"].strip('"'), row["Size"]) == (part.etag.strip('"'), part.size)
