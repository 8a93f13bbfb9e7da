"""The whole chain publishes into a bucket of a real S3 server, installs from there what it tests, and promotes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.commands import CASES, Desk, small_clone

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.s3 import S3Server

pytestmark = pytest.mark.end_to_end

PROJECT = ("--projects", "tiny-project")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path, s3_server: S3Server) -> Desk:
    folder = tmp_path_factory.mktemp("s3-desk")
    clone = small_clone(folder, CASES / "tiny-project")
    return Desk(clone=clone, work=folder / "work", cache=cache, variables=s3_server.machine)


def test_the_chain_publishes_tests_and_promotes_in_a_bucket(desk: Desk, s3_server: S3Server) -> None:
    bucket = s3_server.bucket(public=True)
    words = (*PROJECT, "--store", f"s3://{bucket}/a", "--endpoint-url", s3_server.endpoint, "--run-id", "77")
    first = desk.nox("pipeline", *words, "--json").well()
    store = s3_server.store(bucket, "a")
    run = f"77-linux/pytorch/generic/dist/{first.wheel.name}"
    keys = {one.key for one in store.list()}
    assert {run, f"channels/rehearsal/dist/{first.wheel.name}", "77-linux/pytorch/generic/index.html"} <= keys
    content = store.get(run)
    assert content is not None
    assert content.data == first.wheel.read_bytes()
    # What a library logs of its requests would show how they are signed.
    assert "Signature" not in first.talk
    assert s3_server.machine["AWS_SECRET_ACCESS_KEY"] not in first.talk + first.out
    again = desk.nox("pipeline", *words).well()
    assert "--find-links" in again.out + again.talk
    assert set(desk.nox("pipeline", *words, "--json").well().states.values()) == {"skipped"}
    store.delete(run)
    mended = desk.nox("pipeline", *words, "--json").well()
    assert {stage for stage, state in mended.states.items() if state == "run"} >= {"publish"}
    assert store.head(run) is not None


def test_what_cannot_be_written_is_said_before_anything_is_made(desk: Desk, s3_server: S3Server) -> None:
    bucket = s3_server.bucket(public=True)
    place = ("--bucket", bucket, "--endpoint-url", s3_server.endpoint, "--json")
    nobody = Desk(clone=desk.clone, work=desk.work.with_name("nobody"), cache=desk.cache, variables=s3_server.nobody)
    assert "AWS_PROFILE" in nobody.nox("pipeline", *PROJECT, *place).failed("no-credentials")["hint"]
    assert not (nobody.work / "checkout").exists()
    assert not (nobody.work / "build").exists()
    other = desk.with_work("other")
    other.nox("pipeline", *PROJECT, "--bucket", "not-there", *place[2:]).failed("store-unusable")
    assert not (other.work / "build").exists()
    assert list(s3_server.store(bucket).list()) == []
