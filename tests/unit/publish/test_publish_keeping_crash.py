"""A yank, a rollback or a retention that dies at any write leaves an index that installs, and done again ends as an undisturbed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from build_tools.publish.current import read_current
from build_tools.publish.history import walk_history
from build_tools.publish.moving import move_index
from build_tools.publish.retain import hidden
from build_tools.publish.rollback import rolled_back
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verify import verify_index
from build_tools.publish.yank import yanked
from build_tools.receipts.snapshot import Change
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.publishing import Crash, MeddledStore, installable, same_everywhere, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from build_tools.publish.current import Current
    from build_tools.receipts.snapshot import Action, Snapshot
    from build_tools.stores.base import Store

PLACE = IndexFolder("run")
TIME = "2026-01-02T03:04:05Z"
OTHER = "other-1.0-py3-none-any.whl"


def _yank(_store: Store, current: Current) -> Snapshot:
    return yanked(current.snapshot, ["demo==1.0"], reason="broken")


def _rollback(store: Store, current: Current) -> Snapshot:
    return rolled_back(current.snapshot, list(walk_history(store, PLACE, current))[-1].snapshot, time=TIME)


def _retain(_store: Store, current: Current) -> Snapshot:
    return hidden(current.snapshot, {OTHER}, time=TIME)


CHANGES: Final[Mapping[Action, Callable[[Store, Current], Snapshot]]] = {"yank": _yank, "rollback": _rollback, "retain": _retain}


@pytest.mark.parametrize("action", ["yank", "rollback", "retain"])
def test_a_crash_at_every_write(tmp_path: Path, action: Action) -> None:
    def fresh(name: str) -> FolderStore:
        (tmp_path / name).mkdir()
        store = FolderStore(tmp_path / name)
        for project in ("demo", "other"):
            wheel = write_wheel(tmp_path / "built", project, "1.0")
            publish_wheels([wheel], store=store, prefix="run", replace=False, say=lambda _line: None, clock=lambda: TIME)
        return store

    def change(store: Store) -> None:
        move_index(
            store,
            PLACE,
            make=lambda current: CHANGES[action](store, current),
            change=Change(action=action, time=TIME),
            say=lambda _line: None,
        )

    undisturbed = MeddledStore(fresh("undisturbed"))
    before = installable(undisturbed, "run")
    change(undisturbed)
    expected, after = read_current(undisturbed, PLACE), installable(undisturbed, "run")
    assert len(undisturbed.writes) > 4
    for number in range(len(undisturbed.writes)):
        store = fresh(f"crash-{number}")

        def die(at: int, _key: str, number: int = number) -> None:
            if at == number:
                raise Crash

        with pytest.raises(Crash):
            change(MeddledStore(store, before=die))
        assert after.items() <= installable(store, "run").items() <= before.items()
        if read_current(store, PLACE).digest != expected.digest:
            change(store)
        else:
            # What died behind the snapshot is brought to an end by whoever comes next, whatever it wants.
            move_index(
                store,
                PLACE,
                make=lambda current: current.snapshot,
                change=Change(action="rollback", time=TIME),
                say=lambda _line: None,
            )
        assert same_everywhere(store, "run").files == expected.snapshot.files
        assert read_current(store, PLACE).digest == expected.digest
        assert verify_index(store, PLACE, jobs=2, progress=lambda *_words: None).findings == ()
