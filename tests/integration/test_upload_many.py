"""``upload_wheels`` into a bucket of a real server: more files than one listing gives, two uploads at once, a wheel that changes on its way."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.upload_wheels import upload_wheels
from build_tools.publish.transfer import Meter
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import Snapshot
from tests.support.at_once import run_at_once
from tests.support.publishing import same_everywhere, write_wheel
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from tests.support.s3 import S3Server

ROOT = Path(__file__).parents[2]
GROUP = "gfx94X-dcgpu"
PREFIX = f"77-linux/pytorch/{GROUP}"


def upload(folder: Path, *paths: Path, server: S3Server, bucket: str) -> dict[str, Any]:
    place = workplace(
        folder, paths=paths, artifact_group=GROUP, run_id="77", store=f"s3://{bucket}", endpoint_url=server.endpoint
    )
    found = upload_wheels(replace(place, machine=server.machine))["upload"]
    assert isinstance(found, dict)
    return found


def test_more_objects_than_one_listing_gives(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    wheels = [write_wheel(tmp_path / "dist", f"part_{number % 2}", f"1.{number}")[1] for number in range(600)]
    upload(tmp_path, tmp_path / "dist", server=s3_server, bucket=bucket)
    store = s3_server.store(bucket, writing=False)
    there = {one.key.removeprefix(f"{PREFIX}/dist/") for one in store.list("77-linux")}
    assert len(there) > 1201
    assert {f"{wheel.filename}{end}" for wheel in wheels for end in ("", ".metadata")} <= there
    content = store.get(f"{PREFIX}/snapshot.json")
    assert content is not None
    rows = from_json(content.data, Snapshot, name="snapshot").files
    assert {(row.filename, row.sha256) for row in rows} == {(wheel.filename, wheel.sha256) for wheel in wheels}
    # What the second part of a listing has is known to be there, and what is missing in it is missed.
    lost = max(there & {wheel.filename for wheel in wheels})
    s3_server.client().delete_object(Bucket=bucket, Key=f"{PREFIX}/dist/{lost}")
    again = upload(tmp_path, tmp_path / "dist", server=s3_server, bucket=bucket)
    assert again["writes"] == [f"dist/{lost}"]
    assert store.head(f"{PREFIX}/dist/{lost}") is not None


def test_two_commands_at_once_lose_nothing(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    shared, _ = write_wheel(tmp_path, "torch", "1.0")
    places = ["--store", f"s3://{bucket}", "--endpoint-url", s3_server.endpoint, "--run-id", "77", "--artifact-group", GROUP]
    calls: list[list[str | Path]] = []
    for number in range(2):
        own = [write_wheel(tmp_path / str(number), "torch", f"2.{step}+by{number}")[0] for step in range(3)]
        work = ["--work-dir", str(tmp_path / "work" / str(number))]
        calls.append(["--noxfile", ROOT / "noxfile.py", "-s", "upload_wheels", "--", shared, *own, *places, *work])
    run_at_once("from nox.__main__ import main", "main()", calls, s3_server.machine)
    store = s3_server.store(bucket, writing=False)
    snapshot = same_everywhere(store, PREFIX)
    assert sorted(file.version for file in snapshot.files) == [
        "1.0",
        *(f"2.{step}+by{by}" for step in range(3) for by in range(2)),
    ]
    for file in snapshot.files:
        assert store.head(f"{PREFIX}/provenance/{file.provenance}/set.json") is not None


@pytest.mark.parametrize(("mebibytes", "moment"), [(0, "reading wheels"), (36, "uploading")])
def test_a_wheel_that_changes_on_its_way_is_not_published(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, mebibytes: int, moment: str
) -> None:
    bucket = s3_server.bucket()
    path, _ = write_wheel(tmp_path / "dist", "torch", text="x" * (mebibytes << 20))
    before = path.read_bytes()
    add, met = Meter.add, list[str]()
    # More parts than are under way at once, so that some are read after the first has arrived.
    monkeypatch.setattr("build_tools.stores.s3_put._WHOLE", 5 << 20)
    monkeypatch.setattr("build_tools.stores.s3_put._PART", 5 << 20)

    def change(meter: Meter, count: int) -> None:
        add(meter, count)
        if meter.what == moment and not met:
            met.append(moment)
            with path.open("r+b") as stream:
                # As long as before, behind what has been sent.
                stream.seek(-3, os.SEEK_END)
                stream.write(b"\1\2\3")

    monkeypatch.setattr(Meter, "add", change)
    with pytest.raises(HipwrightError) as caught:
        upload(tmp_path, path, server=s3_server, bucket=bucket)
    assert met
    assert caught.value.code.name == "output-changed"
    store = s3_server.store(bucket, writing=False)
    assert [one.key for one in store.list(PREFIX)] == []
    assert "Uploads" not in s3_server.client().list_multipart_uploads(Bucket=bucket)
    path.write_bytes(before)
    monkeypatch.undo()
    upload(tmp_path, path, server=s3_server, bucket=bucket)
    same_everywhere(store, PREFIX)
