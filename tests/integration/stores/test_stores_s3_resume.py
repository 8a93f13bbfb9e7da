"""Uploads of large files that go on where an earlier process left them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.stores import s3_put, s3_resume
from build_tools.stores.s3 import S3Store
from build_tools.stores.s3_access import Access
from tests.support.s3_front import fronting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from build_tools.stores.base import ObjectInfo
    from tests.support.s3 import S3Server
    from tests.support.s3_front import Fault, Front

PART = 5 << 20
DATA = random.Random(9).randbytes(3 * PART + 17)  # noqa: S311 - bytes that do not repeat
KILLED = """
import os, sys
from pathlib import Path
from build_tools.stores import s3_put
from build_tools.stores.s3 import S3Store
from build_tools.stores.s3_access import Access

s3_put._WHOLE, s3_put._PART, s3_put._AT_ONCE = 1 << 20, 5 << 20, 1
bucket, endpoint, journal, source = sys.argv[1:]
store = S3Store(bucket, access=Access(machine=os.environ, endpoint_url=endpoint), writing=True, journal=Path(journal))
store.put("a.whl", Path(source), content_type="x/y", cache_seconds=0, on_bytes=lambda _: os._exit(9))
"""


@pytest.fixture(params=["s3_twin", "s3_server"])
def server(request: pytest.FixtureRequest) -> S3Server:
    found: S3Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def front(server: S3Server) -> Iterator[Front]:
    with fronting(server.endpoint) as found:
        yield found


class Desk:
    """A bucket, a large file, and a folder that keeps how far uploads are."""

    def __init__(self, server: S3Server, front: Front, folder: Path) -> None:
        self.server, self.front = server, front
        self.bucket = server.bucket()
        self.journal = folder / "uploads"
        self.source = folder / "a.whl"
        self.source.write_bytes(DATA)

    def put(self, *, on_bytes: Callable[[int], None] | None = None, journal: bool = True, if_absent: bool = False) -> ObjectInfo:
        access = Access(machine=self.server.machine, endpoint_url=self.front.url)
        store = S3Store(self.bucket, access=access, writing=True, journal=self.journal if journal else None)
        self.front.asked.clear()
        return store.put("a.whl", self.source, content_type="x/y", cache_seconds=0, on_bytes=on_bytes, if_absent=if_absent)

    def interrupted(self, after: int) -> None:
        told: list[int] = []

        def interrupt(count: int) -> None:
            told.append(count)
            if len(told) == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.put(on_bytes=interrupt)

    @property
    def sent(self) -> int:
        """How many parts were sent by the last upload."""
        return sum("partNumber=" in line for line in self.front.asked if line.startswith("PUT"))

    @property
    def pending(self) -> list[Any]:
        return list(self.server.client().list_multipart_uploads(Bucket=self.bucket).get("Uploads", []))

    @property
    def kept(self) -> list[Path]:
        return sorted(self.journal.iterdir()) if self.journal.exists() else []


@pytest.fixture
def desk(server: S3Server, front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(s3_put, "_WHOLE", 1 << 20)
    monkeypatch.setattr(s3_put, "_PART", PART)
    monkeypatch.setattr(s3_put, "_AT_ONCE", 1)
    return Desk(server, front, tmp_path)


def test_an_upload_that_was_interrupted_goes_on(desk: Desk) -> None:
    desk.interrupted(after=2)
    assert (len(desk.pending), len(desk.kept)) == (1, 2)
    already = desk.sent
    assert already >= 2
    told: list[int] = []
    info = desk.put(on_bytes=told.append)
    assert already + desk.sent == 4
    assert sum(told) == len(DATA)
    assert (info.size, info.sha256) == (len(DATA), digest.of_bytes(DATA))
    with desk.server.store(desk.bucket).stream("a.whl") as stream:
        assert stream.read() == DATA
    assert (desk.pending, desk.kept) == ([], [])


def test_an_upload_whose_process_was_killed_goes_on(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fronting(s3_server.endpoint) as front:
        for name, value in (("_WHOLE", 1 << 20), ("_PART", PART), ("_AT_ONCE", 1)):
            monkeypatch.setattr(s3_put, name, value)
        desk = Desk(s3_server, front, tmp_path)
        words = [sys.executable, "-c", KILLED, desk.bucket, front.url, str(desk.journal), str(desk.source)]
        clone = str(Path(__file__).resolve().parents[3])
        done = subprocess.run(words, env={**os.environ, **s3_server.machine, "PYTHONPATH": clone}, check=False)
        assert done.returncode == 9
        assert desk.pending
        assert desk.put().sha256 == digest.of_bytes(DATA)
        assert 0 < desk.sent < 4
        assert (desk.pending, desk.kept) == ([], [])


def test_without_a_folder_nothing_is_kept(desk: Desk) -> None:
    def interrupt(_count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.put(on_bytes=interrupt, journal=False)
    assert (desk.pending, desk.kept) == ([], [])


def test_parts_of_other_bytes_are_sent_again(desk: Desk) -> None:
    desk.source.write_bytes(b"x" * PART + DATA[PART:])
    desk.interrupted(after=2)
    sent = desk.sent
    journal = next(path for path in desk.kept if path.suffix == ".json")
    kept = journal.read_bytes()
    # As if the file had been changed after its SHA-256 was taken and while it was sent.
    desk.source.write_bytes(DATA)
    journal.unlink()
    (desk.journal / name_for(desk)).write_bytes(kept)
    info = desk.put()
    assert info.sha256 == digest.of_bytes(DATA)
    assert desk.sent == 4 - (sent - 1)


def name_for(desk: Desk) -> str:
    """Return the name of what is kept of an upload of the file as it is."""
    about = {
        "server": desk.front.url,
        "Bucket": desk.bucket,
        "Key": "a.whl",
        "sha256": digest.of_file(desk.source),
        "size": desk.source.stat().st_size,
        "served": ["x/y", 0],
    }
    return f"{digest.of_value(about)}.json"


@pytest.mark.parametrize("how", ["gone", "unreadable"])
def test_what_is_kept_and_of_no_use_is_begun_again(desk: Desk, how: str) -> None:
    desk.interrupted(after=2)
    if how == "gone":
        for upload in desk.pending:
            desk.server.client().abort_multipart_upload(Bucket=desk.bucket, Key="a.whl", UploadId=upload["UploadId"])
    else:
        next(path for path in desk.kept if path.suffix == ".json").write_text("{")
    assert desk.put().sha256 == digest.of_bytes(DATA)
    assert (desk.sent, desk.kept) == (4, [])


def test_a_part_that_the_server_lost_is_sent_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.interrupted(after=2)
    sent = desk.sent
    listed = s3_resume._listed

    def without_the_first(*arguments: Any) -> Any:  # noqa: ANN401 - as the function it stands for
        found = dict(listed(*arguments) or {})
        found.pop(1)
        return found

    monkeypatch.setattr(s3_resume, "_listed", without_the_first)
    assert desk.put().sha256 == digest.of_bytes(DATA)
    assert desk.sent == 4 - sent + 1


def test_an_upload_that_lost_its_race_keeps_nothing(desk: Desk) -> None:
    desk.server.store(desk.bucket).put("a.whl", b"theirs", content_type="x/y", cache_seconds=0)
    with pytest.raises(HipwrightError) as caught:
        desk.put(if_absent=True)
    assert caught.value.code.name == "write-conflict"
    assert (desk.pending, desk.kept) == ([], [])


@pytest.mark.parametrize("fault", ["busy", "refused", "expired"])
def test_an_upload_that_failed_by_what_can_pass_goes_on(
    desk: Desk,
    fault: Fault,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0)
    desk.front.faults["PUT"] = ["none", "none", *([fault] * 9)]
    with pytest.raises(HipwrightError):
        desk.put()
    desk.front.faults.clear()
    assert len(desk.pending) == 1
    assert desk.put().sha256 == digest.of_bytes(DATA)
    assert desk.sent == 2
    assert (desk.pending, desk.kept) == ([], [])


def test_of_two_that_send_the_same_at_once_one_keeps_it(tmp_path: Path) -> None:
    about = {"key": "a"}
    with s3_resume.journal_of(tmp_path, about, part_size=1, mark="1") as first:
        assert first.keeps
        with s3_resume.journal_of(tmp_path, about, part_size=1, mark="2") as second:
            assert not second.keeps
        with s3_resume.journal_of(tmp_path, {"key": "b"}, part_size=1, mark="2") as other:
            assert other.keeps
    assert list(tmp_path.iterdir()) == []
