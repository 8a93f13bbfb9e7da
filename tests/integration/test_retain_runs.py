"""``retain`` on the outputs of runs: what goes, what stays and why, on folders and on the real S3 server, and a deletion that dies."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools import digest
from build_tools.config.retention import load_retention
from build_tools.errors import HipwrightError
from build_tools.options.resolve import Resolved
from build_tools.pipeline.promote_run import promote_run
from build_tools.pipeline.retain_index import retain
from build_tools.publish.retain_runs import delete_run, find_runs, judge_run
from build_tools.publish.run_record import settle_run
from build_tools.publish.run_references import RunReferences
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import put_verdict
from build_tools.publish.verify import verify_index
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import to_json
from build_tools.receipts.run import RunRecord
from build_tools.receipts.verdict import PromotionRecord, TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder, RunOutputs
from build_tools.types import Platform
from tests.support.locks import write_lock
from tests.support.publishing import Crash, MeddledStore, tree_of, write_wheel
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server

OLD = "2025-01-01T00:00:00Z"
NOW = "2025-02-01T00:00:00Z"
CHANNEL = IndexFolder("channels/nightly")


def outputs(run_id: str) -> RunOutputs:
    return RunOutputs(run_id=run_id, platform=Platform.LINUX)


def fill(store: Store, folder: Path, run_id: str = "17", *, release_type: str | None = "ci", time: str = OLD) -> JudgedWheel:
    """Give a run a record, a wheel with its index, and a log; return the wheel."""
    run = outputs(run_id)
    settle_run(store, run, release_type=release_type, repository=None, clock=lambda: time)
    path, wheel = write_wheel(folder / "built", "demo", f"1.{run_id}+rocm7.1")
    quiet: Callable[[str], None] = lambda _line: None  # noqa: E731
    publish_wheels([(path, wheel)], store=store, prefix=run.pytorch("g").prefix, replace=False, say=quiet, clock=lambda: time)
    store.put(f"{run.logs('g')}/build.log", b"a line", content_type="text/plain", cache_seconds=0)
    return JudgedWheel(filename=wheel.filename, sha256=wheel.sha256)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    (tmp_path / "store").mkdir()
    return FolderStore(tmp_path / "store")


def call(folder: Path, *, run_id: str | None = None, **settings: object) -> dict[str, tuple[bool, str]]:
    """Return of each run whether it goes and why: of one that a person named, or of all."""
    named = {"all_runs": True} if run_id is None else {"run_id": run_id}
    place = workplace(folder, store=str(folder / "store"), platform="linux", **named, **settings)
    typed = Resolved(settings=place.settings, origins=dict.fromkeys(named, "command line"))
    found = retain(dataclasses.replace(place, resolved=typed))["retain"]["runs"]
    return {one["run"]: (one["goes"], one["why"]) for one in found}


def test_old_runs_go_by_their_release_type_and_only_with_apply(tmp_path: Path, store: FolderStore) -> None:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    fill(store, tmp_path, "1")
    fill(store, tmp_path, "2", time=now)
    fill(store, tmp_path, "3", release_type="release")
    fill(store, tmp_path, "4", release_type=None)
    before = tree_of(tmp_path / "store")
    found = call(tmp_path)
    assert {run: goes for run, (goes, _) in found.items()} == {
        "1-linux": True,
        "2-linux": False,
        "3-linux": False,
        "4-linux": False,
    }
    assert "0 days old, and 14" in found["2-linux"][1]
    assert "for ever" in found["3-linux"][1]
    assert "nobody said" in found["4-linux"][1]
    assert tree_of(tmp_path / "store") == before
    assert call(tmp_path, run_id="2", apply=True)["2-linux"][0] is False
    assert call(tmp_path, apply=True) == found
    assert {one.key.split("/")[0] for one in store.list()} == {"2-linux", "3-linux", "4-linux"}
    with pytest.raises(HipwrightError) as caught:
        call(tmp_path, run_id="1")
    assert caught.value.code.name == "nothing-published"


def test_the_newest_of_what_was_put_there_tells_the_age(tmp_path: Path, store: FolderStore) -> None:
    fill(store, tmp_path)
    late = write_wheel(tmp_path / "built", "later", "1.0")
    prefix = outputs("17").python("g").prefix
    publish_wheels(
        [late], store=store, prefix=prefix, replace=False, say=lambda _line: None, clock=lambda: "2025-01-31T00:00:00Z"
    )
    (found,) = find_runs(store)
    judged = judge_run(found, store=store, table=load_retention(), references=RunReferences(), now=NOW)
    assert (judged.goes, judged.newest) == (False, "2025-01-31T00:00:00Z")


def _promoted(store: Store, wheel: JudgedWheel) -> None:
    """Keep a record of a promotion of the very bytes, out of an index that has another address here."""
    _record(store, "https://elsewhere.example/17-linux", wheel)


def _promoted_from(store: Store, _wheel: JudgedWheel) -> None:
    """Keep a record of a promotion whose files have other bytes here, such as those under a final version."""
    _record(store, store.url(outputs("17").pytorch("g").prefix))


def _record(store: Store, source: str, *wheels: JudgedWheel) -> None:
    record = to_json(
        PromotionRecord(
            channel="nightly",
            source=source,
            source_snapshot=digest.of_bytes(b""),
            release_type="nightly",
            files=wheels,
            verdicts=(),
        )
    )
    key = CHANNEL.key(f"promotions/{digest.of_bytes(record)}.json")
    store.put(key, record, content_type="application/json", cache_seconds=0)


def _tested(store: Store, wheel: JudgedWheel, place: IndexFolder = CHANNEL) -> None:
    verdict = Verdict(
        project="demo",
        wheels=(wheel,),
        target="gfx942",
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=digest.of_bytes(b""),
        python_version="3.12",
        platform="linux",
    )
    put_verdict(store, place, verdict)


@pytest.mark.parametrize(
    ("refer", "why"),
    [(_promoted, "promoted into nightly"), (_promoted_from, "promoted into nightly"), (_tested, "verdict in nightly")],
)
def test_what_a_channel_refers_to_stays(
    tmp_path: Path, store: FolderStore, refer: Callable[[Store, JudgedWheel], None], why: str
) -> None:
    refer(store, fill(store, tmp_path))
    fill(store, tmp_path, "170")
    found = call(tmp_path, apply=True)
    assert found["17-linux"][0] is False
    assert why in found["17-linux"][1]
    # A neighbour whose name begins alike is another run.
    assert found["170-linux"][0] is True
    assert {one.key.split("/")[0] for one in store.list()} == {"17-linux", "channels"}


def test_a_reference_that_cannot_be_read_stops_everything(tmp_path: Path, store: FolderStore) -> None:
    fill(store, tmp_path)
    store.put(CHANNEL.key(f"promotions/{'0' * 64}.json"), b"{}", content_type="application/json", cache_seconds=0)
    before = tree_of(tmp_path / "store")
    with pytest.raises(HipwrightError) as caught:
        call(tmp_path, apply=True)
    assert caught.value.code.name == "bad-index"
    assert tree_of(tmp_path / "store") == before


@pytest.mark.parametrize(
    "damage", ["no record", "other record", "bad record", "bad snapshot", "no snapshot", "cut history", "no time"]
)
def test_a_run_that_cannot_be_judged_stays_and_is_told(tmp_path: Path, store: FolderStore, damage: str) -> None:
    fill(store, tmp_path)
    run = outputs("17")
    snapshot = run.pytorch("g").key("snapshot.json")
    record = RunRecord(run_id="18", platform="linux", release_type="ci", since=OLD)
    write = {"other record": (run.record, to_json(record)), "bad record": (run.record, b"{"), "bad snapshot": (snapshot, b"{")}
    if damage == "no time":
        for one in list(store.list("17-linux/pytorch")):
            store.delete(one.key)
        bare = msgspec.structs.replace(record, run_id="17", since=None)
        store.put(run.record, to_json(bare), content_type="application/json", cache_seconds=0)
    elif damage == "cut history":
        more = write_wheel(tmp_path / "built", "more", "1.0")
        publish_wheels(
            [more], store=store, prefix=run.pytorch("g").prefix, replace=False, say=lambda _line: None, clock=lambda: OLD
        )
        now = digest.of_bytes((tmp_path / "store" / snapshot).read_bytes())
        (gone,) = [one.key for one in store.list(run.pytorch("g").key("snapshots")) if now not in one.key]
        store.delete(gone)
    elif damage in write:
        key, data = write[damage]
        store.put(key, data, content_type="application/json", cache_seconds=0)
    else:
        store.delete(run.record if damage == "no record" else snapshot)
    before = tree_of(tmp_path / "store")
    place = workplace(tmp_path, store=str(tmp_path / "store"), all_runs=True, apply=True)
    (one,) = retain(place)["retain"]["runs"]
    assert (one["goes"], one["judged"]) == (False, False)
    assert one["why"]
    assert tree_of(tmp_path / "store") == before


def test_a_run_that_was_written_to_since_it_was_judged_stays(tmp_path: Path, store: FolderStore) -> None:
    fill(store, tmp_path)
    (found,) = find_runs(store)
    judged = judge_run(found, store=store, table=load_retention(), references=RunReferences(), now=NOW)
    assert judged.goes
    store.put("17-linux/logs/g/late.log", b"x", content_type="text/plain", cache_seconds=0)
    before = tree_of(tmp_path / "store")
    assert not delete_run(judged, store=store, progress=lambda *_words: None)
    assert tree_of(tmp_path / "store") == before


def test_a_deletion_that_died_anywhere_is_ended_by_the_next(tmp_path: Path) -> None:
    def judged_in(store: Store) -> list[Any]:
        table = load_retention()
        return [judge_run(one, store=store, table=table, references=RunReferences(), now=NOW) for one in find_runs(store)]

    (tmp_path / "whole").mkdir()
    whole = FolderStore(tmp_path / "whole")
    fill(whole, tmp_path)
    count = len(list(whole.list()))
    for number in range(count):
        folder = tmp_path / f"crash-{number}"
        folder.mkdir()
        store = FolderStore(folder)
        fill(store, tmp_path)

        def die(at: int, _key: str, number: int = number) -> None:
            if at == number:
                raise Crash

        with pytest.raises(Crash):
            (judged,) = judged_in(store)
            delete_run(judged, store=MeddledStore(store, before=die), progress=lambda *_words: None)
        assert list(store.list())
        (again,) = judged_in(store)
        assert again.goes, again.why
        assert delete_run(again, store=store, progress=lambda *_words: None)
        assert list(store.list()) == []


def test_runs_on_the_real_server_that_were_promoted_or_locked_stay_and_the_others_go(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    store = s3_server.store(bucket)
    promoted, _, locked = (fill(store, tmp_path / run, run) for run in ("1", "2", "3"))
    _tested(store, promoted, IndexFolder("1-linux/pytorch/g"))
    place = workplace(tmp_path, store=f"s3://{bucket}", endpoint_url=s3_server.endpoint, platform="linux", run_id="1")
    place = dataclasses.replace(place, machine=s3_server.machine)
    assert promote_run(place)["promotion"]["files"]
    lock = write_lock(tmp_path / "lock.json", locked.filename, locked.sha256)

    def retained(**more: object) -> dict[str, tuple[bool, str]]:
        settings = dataclasses.replace(place.settings, run_id="local", all_runs=True, lock=lock, **more)  # type: ignore[arg-type]
        found = dataclasses.replace(place, resolved=Resolved(settings=settings, origins={"all_runs": "command line"}))
        return {one["run"]: (one["goes"], one["why"]) for one in retain(found)["retain"]["runs"]}

    before = {one.key for one in store.list()}
    planned = retained()
    assert {run: goes for run, (goes, _) in planned.items()} == {"1-linux": False, "2-linux": True, "3-linux": False}
    assert "promoted into rehearsal" in planned["1-linux"][1]
    assert str(lock) in planned["3-linux"][1]
    assert {one.key for one in store.list()} == before
    assert retained(apply=True) == planned
    assert {one.key for one in store.list()} == {key for key in before if not key.startswith("2-linux/")}
    assert verify_index(store, IndexFolder("channels/rehearsal"), jobs=2, progress=lambda *_words: None).findings == ()
