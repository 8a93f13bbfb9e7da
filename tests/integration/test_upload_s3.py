"""``upload_wheels`` into buckets of real servers: faults of a network at every write, a process that is killed, many files."""

from __future__ import annotations

import collections
import itertools
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.upload_wheels import upload_wheels
from build_tools.stores.base import Abilities
from tests.support.publishing import same_everywhere, write_wheel
from tests.support.s3_front import Fault, Front, fronting
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.s3 import S3Server

ROOT = Path(__file__).parents[2]
GROUP = "gfx94X-dcgpu"
PREFIX = f"77-linux/pytorch/{GROUP}"

NONE: Fault = "none"
FAULTS: tuple[tuple[str, Fault], ...] = (
    ("PUT", "busy"),
    ("PUT", "racing"),
    ("PUT", "refused"),
    ("GET", "cut"),
    ("PUT", "torn"),
    ("PUT", "overtaken"),
    ("PUT", "skewed"),
    ("PUT", "broken"),
    ("PUT", "lost"),
)

KILLED = """
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from build_tools.pipeline.upload_wheels import upload_wheels
from build_tools.publish.transfer import Meter
from tests.support.workplaces import workplace

folder, wheel, store, endpoint = sys.argv[1:]
add = Meter.add

def die(self, count):
    add(self, count)
    if self.what == "uploading" and self._done >= 32 << 20:
        os.kill(os.getpid(), signal.SIGKILL)

Meter.add = die
place = workplace(
    Path(folder), paths=(Path(wheel),), artifact_group="gfx94X-dcgpu", run_id="77", store=store, endpoint_url=endpoint
)
upload_wheels(replace(place, machine=os.environ))
"""


def upload(folder: Path, *paths: Path, server: S3Server, bucket: str, endpoint: str, **settings: object) -> dict[str, Any]:
    place = workplace(
        folder,
        paths=paths,
        artifact_group=GROUP,
        run_id="77",
        store=f"s3://{bucket}",
        endpoint_url=endpoint,
        **settings,
    )
    found = upload_wheels(replace(place, machine=server.machine))["upload"]
    assert isinstance(found, dict)
    return found


@pytest.fixture
def front(s3_twin: S3Server) -> Iterator[Front]:
    with fronting(s3_twin.endpoint) as found:
        yield found


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    # Pauses between tries are Amazon's library's own.
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0)


def test_what_a_network_does_is_mended_by_the_next_run(
    tmp_path: Path, s3_twin: S3Server, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("build_tools.stores.s3_access._RACE_SECONDS", 0)
    # To find out what the twin can would take half of all writes.
    monkeypatch.setattr("build_tools.stores.s3.find_out", lambda *_place, **_address: Abilities(slash_keys=True))
    write_wheel(tmp_path / "dist", "torch")

    def run(bucket: str) -> dict[str, Any]:
        return upload(tmp_path, tmp_path / "dist", server=s3_twin, bucket=bucket, endpoint=front.url)

    undisturbed = s3_twin.bucket()
    run(undisturbed)
    writes = sum(line.startswith("PUT") for line in front.asked)
    expected = {one.key for one in s3_twin.store(undisturbed, writing=False).list() if "/snapshots/" not in one.key}
    assert writes > 12
    # Each fault at another write, from the first to the last; what a store makes of each is met at every call in test_publish_crash.py.
    for number, (method, fault) in enumerate(FAULTS):
        bucket = s3_twin.bucket()
        # One call of one upload does not come through as it should; all that is tried again is.
        before = 2 if method == "GET" else number * (writes - 1) // (len(FAULTS) - 1)
        front.faults[method] = [*itertools.repeat(NONE, before), fault]
        try:
            run(bucket)
        except HipwrightError as error:
            assert fault in {"refused", "skewed", "overtaken"}, error.message  # noqa: PT017
        assert front.faults[method] == []
        run(bucket)
        store = s3_twin.store(bucket, writing=False)
        same_everywhere(store, PREFIX)
        assert {one.key for one in store.list() if "/snapshots/" not in one.key} == expected


def test_an_upload_that_is_killed_in_a_large_wheel_goes_on_where_it_was(tmp_path: Path, s3_server: S3Server) -> None:
    path, wheel = write_wheel(tmp_path / "dist", "torch", text="x" * (56 << 20))
    bucket = s3_server.bucket()
    with fronting(s3_server.endpoint) as front:
        words = [sys.executable, "-c", KILLED, str(tmp_path), str(path), f"s3://{bucket}", front.url]
        done = subprocess.run(
            words, env={**os.environ, **s3_server.machine, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False, timeout=120
        )
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert s3_server.store(bucket, writing=False).head(f"{PREFIX}/snapshot.json") is None
        parts = sum("partNumber=" in line for line in front.asked)
        front.asked.clear()
        upload(tmp_path, path, server=s3_server, bucket=bucket, endpoint=front.url)
        again = sum("partNumber=" in line for line in front.asked)
    assert again < 4 <= parts + again
    (file,) = same_everywhere(s3_server.store(bucket, writing=False), PREFIX).files
    assert file.sha256 == wheel.sha256


def test_a_plan_for_a_bucket_is_what_is_written(tmp_path: Path, s3_server: S3Server) -> None:
    for number in range(20):
        write_wheel(tmp_path / "dist", "torch", f"1.{number}+rocm7.1")
    bucket = s3_server.bucket()
    run = {"server": s3_server, "bucket": bucket, "endpoint": s3_server.endpoint}
    store = s3_server.store(bucket, writing=False)
    plan = upload(tmp_path, tmp_path / "dist", dry_run=True, **run)  # type: ignore[arg-type]
    assert list(store.list()) == []
    done = upload(tmp_path, tmp_path / "dist", **run)  # type: ignore[arg-type]
    assert done["writes"] == plan["writes"]
    there = {one.key.removeprefix(f"{PREFIX}/") for one in store.list("77-linux")}
    history = {key for key in there if key.startswith("snapshots/")}
    assert len(history) == 1
    assert there - history - {"77-linux/run.json"} == set(plan["writes"]) - {"snapshots/"}
    assert upload(tmp_path, tmp_path / "dist", **run)["writes"] == []  # type: ignore[arg-type]
    same_everywhere(store, PREFIX)


def test_an_upload_asks_little_of_a_server_and_one_with_nothing_new_writes_nothing(tmp_path: Path, s3_server: S3Server) -> None:
    for number in range(20):
        write_wheel(tmp_path / "dist", f"torch{number % 5}", f"1.{number}+rocm7.1")
    bucket = s3_server.bucket()
    with fronting(s3_server.endpoint) as front:

        def asked() -> collections.Counter[str]:
            front.asked.clear()
            upload(tmp_path, tmp_path / "dist", server=s3_server, bucket=bucket, endpoint=front.url)
            return collections.Counter(line.partition(" ")[0] for line in front.asked)

        first, again = asked(), asked()
    # Each wheel and its side file; two pages of each project, four roots; what the pages show, twice; papers, snapshot, history, the run's
    # record; and eight tries of what the server can. A busy server lets some be asked again, and each wheel or page is none of them.
    assert first["PUT"] < 2 * 20 + 2 * 5 + 4 + 2 + 3 + 2 + 1 + 8 + 5
    assert first.total() - first["PUT"] < 24 + 14
    # What is begun and ended again tells who may write.
    assert again["PUT"] == 0
    assert again["POST"] == again["DELETE"] == 1
    assert again.total() < 13 + 14


def test_who_may_only_read_is_told_before_anything_is_sent(tmp_path: Path, s3_server: S3Server) -> None:
    path, _ = write_wheel(tmp_path / "dist", "torch")
    bucket = s3_server.bucket()
    place = workplace(
        tmp_path,
        paths=(path,),
        artifact_group=GROUP,
        run_id="77",
        store=f"s3://{bucket}",
        endpoint_url=s3_server.endpoint,
    )
    with pytest.raises(HipwrightError) as caught:
        upload_wheels(replace(place, machine=s3_server.reader))
    assert caught.value.code.name in {"no-credentials", "store-unusable"}
    assert list(s3_server.store(bucket, writing=False).list()) == []
