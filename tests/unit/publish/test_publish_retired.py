"""Files that left an index and come back, or whose names others want, while publishers and retention meet over them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.index.snapshots import by_filename, merged
from build_tools.publish.current import read_current
from build_tools.publish.history import walk_history
from build_tools.publish.moving import move_index
from build_tools.publish.retain import deleted, hidden
from build_tools.publish.rollback import rolled_back
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.snapshot import Change
from build_tools.receipts.verdict import TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.promoting import promote
from tests.support.publishing import MeddledStore, same_everywhere, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.receipts.snapshot import PublishedIndex, Snapshot
    from build_tools.stores.base import Store

CHANNEL = "channels/rehearsal"
PLACE = IndexFolder(CHANNEL)
TIME = "2026-01-02T03:04:05Z"
NAME = "demo-1.0-py3-none-any.whl"


def quiet(_line: str) -> None:
    pass


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    (tmp_path / "store").mkdir()
    store = FolderStore(tmp_path / "store")
    for version in ("1.0", "2.0"):
        publish(store, tmp_path, version)
    return store


def publish(store: Store, folder: Path, version: str = "1.0", *, text: str = "", prefix: str = CHANNEL) -> PublishedIndex:
    wheel = write_wheel(folder / f"built{text}", "demo", version, text=text)
    return publish_wheels([wheel], store=store, prefix=prefix, replace=False, say=quiet, clock=lambda: TIME)


def bring(store: Store, folder: Path, version: str = "1.0", *, text: str = "") -> None:
    """Promote the wheel into the channel."""
    index = publish(store, folder, version, text=text, prefix=f"run{text}/pytorch/g")
    verdict = Verdict(
        project="demo",
        wheels=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files),
        target="cpu-only",
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=index.files[0].sha256,
        python_version="3.12",
        platform="linux",
    )
    promote(index, [verdict], source=store, target=store, time=TIME)


def retain(store: Store, change: Callable[[Snapshot], Snapshot]) -> None:
    move_index(store, PLACE, make=lambda there: change(there.snapshot), change=Change(action="retain", time=TIME), say=quiet)


def hide(store: Store) -> None:
    retain(store, lambda there: hidden(there, {NAME}, time=TIME))


def mark(store: Store) -> None:
    """Write down that the bytes are deleted."""
    retain(store, lambda there: deleted(there, {NAME}, time=TIME))


def delete(store: Store) -> None:
    for key in (f"dist/{NAME}", f"dist/{NAME}.metadata"):
        store.delete(PLACE.key(key))


def just_before_the_swap(store: Store, work: Callable[[], object]) -> MeddledStore:
    """Return the store, in which somebody does something right before a publisher moves the index."""
    done: list[str] = []

    def meddle(_at: int, key: str) -> None:
        if key == PLACE.key("snapshot.json") and not done:
            done.append(key)
            work()

    return MeddledStore(store, before=meddle)


WAYS = pytest.mark.parametrize("bringing", [publish, bring])


@WAYS
def test_other_bytes_are_refused_also_when_the_file_left_right_before_the_swap(
    tmp_path: Path, store: FolderStore, bringing: Callable[..., object]
) -> None:
    (row,) = publish(store, tmp_path, "3.0", text="early", prefix="elsewhere").files

    def come_and_go() -> None:
        retain(store, lambda there: hidden(merged(there, [row]), {row.filename}, time=TIME))

    with pytest.raises(HipwrightError) as caught:
        bringing(just_before_the_swap(store, come_and_go), tmp_path, "3.0")
    assert caught.value.code.name == "name-taken"
    current = read_current(store, PLACE).snapshot
    assert row.filename not in by_filename(current)
    assert [one.file for one in current.retired] == [row]


@WAYS
def test_bytes_that_come_back_after_they_were_deleted_lie_where_nobody_deletes(
    tmp_path: Path, store: FolderStore, bringing: Callable[..., object]
) -> None:
    hide(store)
    mark(store)
    bringing(store, tmp_path)
    # Retention goes on with what it wrote down, however late.
    delete(store)
    row = by_filename(same_everywhere(store, CHANNEL))[NAME]
    assert row.key != f"dist/{NAME}"
    bringing(store, tmp_path)
    assert by_filename(same_everywhere(store, CHANNEL))[NAME] == row


@WAYS
def test_a_publisher_that_meets_a_deletion_is_refused_and_done_again_succeeds(
    tmp_path: Path, store: FolderStore, bringing: Callable[..., object]
) -> None:
    hide(store)
    with pytest.raises(HipwrightError) as caught:
        bringing(just_before_the_swap(store, lambda: mark(store)), tmp_path)
    assert caught.value.code.name == "write-conflict"
    delete(store)
    bringing(store, tmp_path)
    assert NAME in by_filename(same_everywhere(store, CHANNEL))


@WAYS
def test_a_deletion_that_meets_a_publisher_leaves_the_bytes(
    tmp_path: Path, store: FolderStore, bringing: Callable[..., object]
) -> None:
    hide(store)
    mark(just_before_the_swap(store, lambda: bringing(store, tmp_path)))
    current = read_current(store, PLACE).snapshot
    assert current.retired == ()
    assert by_filename(same_everywhere(store, CHANNEL))[NAME].key == f"dist/{NAME}"


def test_a_rollback_to_bytes_that_are_written_down_as_deleted_is_refused(store: FolderStore) -> None:
    past = read_current(store, PLACE).snapshot
    hide(store)
    mark(store)
    current = read_current(store, PLACE)
    assert len(list(walk_history(store, PLACE, current))) == 4
    with pytest.raises(HipwrightError) as caught:
        rolled_back(current.snapshot, past, time=TIME)
    assert caught.value.code.name == "files-gone"


@pytest.mark.parametrize("when", ["hidden", "deleted"])
def test_a_channel_takes_no_other_bytes_under_a_name_that_left(tmp_path: Path, store: FolderStore, when: str) -> None:
    hide(store)
    if when == "deleted":
        mark(store)
        delete(store)
    before = read_current(store, PLACE).digest
    with pytest.raises(HipwrightError) as caught:
        bring(store, tmp_path, text="other")
    assert caught.value.code.name == "name-taken"
    assert read_current(store, PLACE).digest == before


@WAYS
def test_no_rollback_goes_to_the_key_of_a_deletion_after_the_file_came_back_beside_it(
    tmp_path: Path, store: FolderStore, bringing: Callable[..., object]
) -> None:
    past = read_current(store, PLACE).snapshot
    hide(store)
    without = read_current(store, PLACE).snapshot
    mark(store)
    bringing(store, tmp_path)
    # The bytes lie there still, and whoever deletes them goes on whenever it will.
    there = read_current(store, PLACE).snapshot
    with pytest.raises(HipwrightError) as caught:
        rolled_back(there, past, time=TIME)
    assert caught.value.code.name == "files-gone"
    # Nor after the file has left once more, and come back from there.
    away = rolled_back(there, without, time=TIME)
    assert len({one.file.key for one in away.retired if one.file.filename == NAME}) == 2
    assert rolled_back(away, there, time=TIME).files == there.files
    for current in (away, rolled_back(away, there, time=TIME)):
        with pytest.raises(HipwrightError):
            rolled_back(current, past, time=TIME)
    # Publishers go to neither key that is written down as deleted.
    retain(store, lambda _there: away)
    bringing(store, tmp_path)
    delete(store)
    assert by_filename(same_everywhere(store, CHANNEL))[NAME].key != f"dist/{NAME}"


def test_a_file_may_come_back_and_leave_as_often_as_it_will(tmp_path: Path, store: FolderStore) -> None:
    keys = []
    for _ in range(4):
        hide(store)
        mark(store)
        for one in read_current(store, PLACE).snapshot.retired:
            if one.file.filename == NAME:
                store.delete(PLACE.key(one.file.key))
                store.delete(PLACE.key(f"{one.file.key}.metadata"))
        bring(store, tmp_path)
        keys.append(by_filename(same_everywhere(store, CHANNEL))[NAME].key)
    assert all(one != other for one, other in itertools.pairwise(keys))
    assert len([one for one in read_current(store, PLACE).snapshot.retired if one.file.filename == NAME]) == 1
