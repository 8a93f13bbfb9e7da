"""The history of an index as a chain: each change names the snapshot before it, what was done, when and why."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.publish.current import read_current
from build_tools.publish.history import find_past, walk_history
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import Snapshot
from build_tools.stores.run_outputs import IndexFolder
from tests.support.memory_store import MemoryStore
from tests.support.publishing import write_wheel

if TYPE_CHECKING:
    from pathlib import Path

PLACE = IndexFolder("channels/dev")


def publish(store: MemoryStore, folder: Path, version: str, *, time: str = "2026-01-02T03:04:05Z") -> None:
    wheel = write_wheel(folder, version=version)
    publish_wheels([wheel], store=store, prefix=PLACE.prefix, replace=False, say=lambda _line: None, clock=lambda: time)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    monkeypatch.setattr("build_tools.publish.current._RECENT", collections.OrderedDict())
    monkeypatch.setattr("build_tools.publish.current._MOST_RECENT", 0)
    store = MemoryStore()
    for number, version in enumerate(("1.0", "2.0", "3.0")):
        publish(store, tmp_path, version, time=f"2026-01-0{number + 1}T00:00:00Z")
    return store


def chain(store: MemoryStore) -> list[Snapshot]:
    return [past.snapshot for past in walk_history(store, PLACE, read_current(store, PLACE))]


def test_each_change_names_the_snapshot_before_it_with_time_action_and_projects(store: MemoryStore) -> None:
    said = [(len(one.files), one.change.action, one.change.time, one.change.what) for one in chain(store) if one.change]
    assert said == [
        (3, "publish", "2026-01-03T00:00:00Z", ("demo",)),
        (2, "publish", "2026-01-02T00:00:00Z", ("demo",)),
        (1, "publish", "2026-01-01T00:00:00Z", ("demo",)),
    ]
    assert chain(store)[-1].previous is None


def test_publishing_the_same_again_makes_no_history(store: MemoryStore, tmp_path: Path) -> None:
    before = dict(store.objects)
    publish(store, tmp_path, "2.0", time="2027-01-01T00:00:00Z")
    assert store.objects == before


def test_a_snapshot_from_before_the_chain_is_read_and_followed_by_one_that_names_its_bytes(tmp_path: Path) -> None:
    old = b'{"schema": 1, "files": [{"project": "demo", "filename": "demo-0.1-py3-none-any.whl", "version": "0.1", "size": 1,'
    old += b'"key": "dist/demo-0.1-py3-none-any.whl", "uploaded": "2025-01-01T00:00:00Z", "sha256": "' + b"0" * 64 + b'"}]}'
    store = MemoryStore()
    for key in ("snapshot.json", f"snapshots/{digest.of_bytes(old)}.json"):
        store.put(PLACE.key(key), old, content_type="application/json", cache_seconds=0)
    publish(store, tmp_path, "1.0")
    found = list(walk_history(store, PLACE, read_current(store, PLACE)))
    assert [past.digest for past in found] == [found[0].digest, digest.of_bytes(old)]
    assert found[1].snapshot == from_json(old, Snapshot, name="old")


@pytest.mark.parametrize("damage", ["gone", "other bytes"])
def test_a_cut_history_is_an_error_that_names_the_object(store: MemoryStore, damage: str) -> None:
    lost = list(walk_history(store, PLACE, read_current(store, PLACE)))[1].digest
    key = PLACE.key(f"snapshots/{lost}.json")
    if damage == "gone":
        store.delete(key)
    else:
        store.put(key, b"{}", content_type="application/json", cache_seconds=0)
    with pytest.raises(HipwrightError, match=lost) as caught:
        chain(store)
    assert caught.value.code.name == "bad-index"
    assert key in str(caught.value.where)


def test_a_snapshot_is_found_by_the_beginning_of_its_name_and_by_no_less_than_eight_digits(store: MemoryStore) -> None:
    current = read_current(store, PLACE)
    oldest = list(walk_history(store, PLACE, current))[-1]
    assert find_past(store, PLACE, current, oldest.digest[:8]) == oldest
    for name in (oldest.digest[:7], "f" * 64, ""):
        with pytest.raises(HipwrightError) as caught:
            find_past(store, PLACE, current, name)
        assert caught.value.code.name == "unknown-snapshot"
