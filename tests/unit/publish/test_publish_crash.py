"""A publisher that dies or is refused at any call leaves an index that installs, and the next run ends with the bytes of an undisturbed one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import pytest

from build_tools.errors import HipwrightError
from build_tools.publish.papers import PaperFile, bind_papers
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import ShownPages, Snapshot
from build_tools.stores.local import FolderStore
from tests.support.publishing import Crash, MeddledStore, installable, same_everywhere, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import Papers
    from build_tools.receipts.provenance import PaperKind
    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store

PAGES = "run/pages.json"
KINDS: tuple[PaperKind, ...] = ("sbom", "statement")


def papers_of(offers: Sequence[Offer]) -> Papers:
    judged = [JudgedWheel(filename=offer.filename, sha256=offer.sha256) for offer in offers]
    papers = [PaperFile(name=f"{kind}.json", kind=kind, data=f"{kind} of {offers[0].sha256}".encode()) for kind in KINDS]
    return bind_papers(judged, papers)


def publish(wheels: Sequence[tuple[Path, WheelFile]], store: Store, *, replace: bool) -> None:
    publish_wheels(
        wheels,
        store=store,
        prefix="run",
        replace=replace,
        say=lambda _line: None,
        papers=papers_of,
        clock=lambda: "2026-01-02T03:04:05Z",
    )


def prove_papers(store: Store) -> None:
    """Each file that the index names has its papers beside the index, all that their list names."""
    content = store.get("run/snapshot.json")
    rows = from_json(content.data, Snapshot, name="snapshot").files if content is not None else ()
    for row in rows:
        listing = store.get(f"run/provenance/{row.provenance}/set.json")
        assert listing is not None
        record = from_json(listing.data, ProvenanceSet, name="set")
        assert (row.filename, row.sha256) in {(wheel.filename, wheel.sha256) for wheel in record.wheels}
        for paper in record.papers:
            there = store.get(f"run/provenance/{row.provenance}/{paper.name}")
            assert there is not None
            assert there.info.sha256 == paper.sha256


def objects(folder: Path) -> dict[str, bytes]:
    store = FolderStore(folder)
    # Who may still be writing pages is for an hour in the note of what they show.
    return {one.key: (folder / one.key).read_bytes() for one in store.list() if one.key != PAGES}


def shown(store: Store) -> str | None:
    """Return the digest of the snapshot that all pages are said to show."""
    content = store.get(PAGES)
    assert content is not None
    return from_json(content.data, ShownPages, name=PAGES).snapshot


Hook = Literal["before", "after", "reading"]


def meddled(store: Store, hook: Hook, fail: Callable[[int, str], None]) -> MeddledStore:
    if hook == "before":
        return MeddledStore(store, before=fail)
    return MeddledStore(store, after=fail) if hook == "after" else MeddledStore(store, reading=fail)


@pytest.mark.parametrize(
    ("case", "hook", "failure"),
    [
        ("first", "before", None),
        ("first", "after", None),
        ("added", "before", None),
        ("added", "after", None),
        ("superseded", "before", None),
        ("superseded", "after", None),
        # As a lost connection, the answers 500 and 403 and a wrong clock are told by a store, and the answer 412.
        ("added", "before", "source-unreachable"),
        ("added", "after", "source-unreachable"),
        ("added", "before", "write-conflict"),
        ("added", "reading", "source-unreachable"),
    ],
)
def test_a_crash_or_a_failure_at_every_call(tmp_path: Path, case: str, hook: Hook, failure: str | None) -> None:
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
    assert sum("/provenance/" in key for key in undisturbed.writes) == len(KINDS) + 1
    for number in range(len(undisturbed.reads if hook == "reading" else undisturbed.writes)):
        store = fresh(f"crash-{number}")
        met = list[str]()

        def fail(at: int, key: str, number: int = number, met: list[str] = met) -> None:
            if at == number:
                met.append(key)
                raise Crash if failure is None else HipwrightError(failure, f"{key} failed")

        # That another write came first may be mended at once; all else is told.
        told = contextlib.suppress(HipwrightError) if failure == "write-conflict" else pytest.raises((Crash, HipwrightError))
        with told:
            publish(newer, meddled(store, hook, fail), replace=True)
        assert met
        now = installable(store, "run")
        prove_papers(store)
        # Every name that could be installed can be, as it was or as it will be, and nothing else.
        assert there.keys() <= now.keys() <= wanted.keys()
        assert all(sha256 in {there.get(name), wanted[name]} for name, sha256 in now.items())
        publish(newer, store, replace=True)
        same_everywhere(store, "run")
        prove_papers(store)
        assert objects(tmp_path / f"crash-{number}") == expected
        assert shown(store) == shown(undisturbed)
