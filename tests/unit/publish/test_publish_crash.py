"""A publisher that dies at any write leaves an index that installs, and the next run ends with the bytes of an undisturbed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from build_tools.publish.upload import publish_wheels
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import ShownPages
from build_tools.stores.local import FolderStore
from tests.support.publishing import Crash, MeddledStore, installable, same_everywhere, write_wheel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store

PAGES = "run/pages.json"


def publish(wheels: Sequence[tuple[Path, WheelFile]], store: Store, *, replace: bool) -> None:
    publish_wheels(
        wheels, store=store, prefix="run", replace=replace, say=lambda _line: None, clock=lambda: "2026-01-02T03:04:05Z"
    )


def objects(folder: Path) -> dict[str, bytes]:
    store = FolderStore(folder)
    # Who may still be writing pages is for an hour in the note of what they show.
    return {one.key: (folder / one.key).read_bytes() for one in store.list() if one.key != PAGES}


def shown(store: Store) -> str | None:
    """Return the digest of the snapshot that all pages are said to show."""
    content = store.get(PAGES)
    assert content is not None
    return from_json(content.data, ShownPages, name=PAGES).snapshot


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("case", ["first", "added", "superseded"])
def test_a_crash_at_every_write(tmp_path: Path, case: str, when: Literal["before", "after"]) -> None:
    old = [write_wheel(tmp_path / "old", "torch"), write_wheel(tmp_path / "old", "other")]
    newer = {
        "first": old,
        "added": [write_wheel(tmp_path / "new", "torch", "2.0+rocm7.2"), write_wheel(tmp_path / "new", "third")],
        "superseded": [write_wheel(tmp_path / "new", "torch", text="second attempt")],
    }[case]
    there = {} if case == "first" else {wheel.filename: wheel.sha256 for _, wheel in old}
    wanted = there | {wheel.filename: wheel.sha256 for _, wheel in newer}

    def fresh(name: str) -> FolderStore:
        (tmp_path / name).mkdir()
        store = FolderStore(tmp_path / name)
        if there:
            publish(old, store, replace=False)
        return store

    undisturbed = MeddledStore(fresh("undisturbed"))
    publish(newer, undisturbed, replace=True)
    expected = objects(tmp_path / "undisturbed")
    assert len(undisturbed.writes) > 6
    for number in range(len(undisturbed.writes)):
        store = fresh(f"crash-{number}")

        def die(at: int, _key: str, number: int = number) -> None:
            if at == number:
                raise Crash

        with pytest.raises(Crash):
            publish(newer, MeddledStore(store, before=die) if when == "before" else MeddledStore(store, after=die), replace=True)
        now = installable(store, "run")
        # Every name that could be installed can be, as it was or as it will be, and nothing else.
        assert there.keys() <= now.keys() <= wanted.keys()
        assert all(sha256 in {there.get(name), wanted[name]} for name, sha256 in now.items())
        publish(newer, store, replace=True)
        same_everywhere(store, "run")
        assert objects(tmp_path / f"crash-{number}") == expected
        assert shown(store) == shown(undisturbed)
