"""Uploads in parts to a server that says nothing any more, when they are interrupted."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from build_tools.stores import s3_put
from build_tools.stores.body import body_of
from build_tools.stores.s3_put import Condition, Upload, put_whole
from build_tools.stores.s3_resume import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mypy_boto3_s3.client import S3Client

SOON = 5.0


class Silent:
    """A server that takes the first part and says nothing of the others, nor, when told so, of the end of the upload."""

    def __init__(self, *, ends: bool) -> None:
        self.ends, self.over, self.aborted = ends, threading.Event(), threading.Event()

    def create_multipart_upload(self, **_said: Any) -> dict[str, str]:  # noqa: ANN401 - as Amazon's library has it
        return {"UploadId": "u"}

    def upload_part(self, *, PartNumber: int, **_said: Any) -> dict[str, str]:  # noqa: ANN401, N803 - as Amazon's library has it
        if PartNumber > 1:
            self.over.wait()
        return {"ETag": '"1"'}

    def abort_multipart_upload(self, **_said: Any) -> None:  # noqa: ANN401 - as Amazon's library has it
        if not self.ends:
            self.over.wait()
        self.aborted.set()


@pytest.fixture(autouse=True)
def _small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_put, "_WHOLE", 1)
    monkeypatch.setattr(s3_put, "_HURRY", 0.2)
    monkeypatch.setattr("build_tools.threads._GRACE", 0.2)


@pytest.fixture(params=[True, False], ids=["that hears the end", "that hears nothing"])
def server(request: pytest.FixtureRequest) -> Iterator[Silent]:
    silent = Silent(ends=request.param)
    yield silent
    silent.over.set()


def interrupt(_count: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupted_upload_ends_soon_and_keeps_its_parts_or_tells_the_server(
    tmp_path: Path, server: Silent, *, kept: bool
) -> None:
    upload = Upload(
        bucket="b", key="k", content_type="t", cache_seconds=0, sha256=None, condition=Condition(), on_bytes=interrupt
    )
    path = tmp_path / "journal.json" if kept else None
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        put_whole(cast("S3Client", server), upload, body_of(b"12345", name="n"), Journal(path=path, part_size=2, mark="m"))
    assert time.monotonic() - began < SOON
    assert server.aborted.is_set() == (not kept and server.ends)
    if path is not None:
        again = Journal(path=path, part_size=2, mark="m")
        again.read()
        assert [*again._parts] == [1]
