"""Pages follow snapshots by difference, and end as a full build has them, whatever died or met on the way."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools import digest
from build_tools.index.plan import pages
from build_tools.index.snapshots import merged, snapshot_digest
from build_tools.publish.current import read_current, swap
from build_tools.publish.offer import Offer, offer_wheel
from build_tools.publish.pages import publish_pages
from build_tools.publish.upload import publish_offers
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.snapshot import IndexedFile, PageWriter, ShownPages, Snapshot
from build_tools.stores.run_outputs import IndexFolder
from build_tools.types import Sha256
from tests.support.memory_store import MemoryStore
from tests.support.publishing import PUBLISHED, Crash, write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

PLACE = IndexFolder("channels/dev")
PROJECTS = ("alpha", "beta", "gamma")
VERSIONS = ("1.0", "2.0+rocm7.1")


def row(project: str, version: str = "1.0", *, text: str = "", yanked: str | None = None, number: int = 0) -> IndexedFile:
    name = f"{project.replace('-', '_')}-{version}-{number or ''}{'-' if number else ''}py3-none-any.whl"
    sha256 = digest.of_bytes(f"{name}{text}".encode())
    return IndexedFile(
        project=project,
        filename=name,
        key=f"dist/{name}",
        version=version,
        sha256=sha256,
        size=7,
        uploaded="2026-01-02T03:04:05Z",
        metadata_sha256=sha256,
        yanked=yanked,
    )


def move(store: MemoryStore, files: Iterable[IndexedFile]) -> Snapshot:
    """Let the index stand at a snapshot of files."""
    after = merged(Snapshot(files=()), files)
    assert swap(store, PLACE, before=read_current(store, PLACE), after=after, change=PUBLISHED)
    return read_current(store, PLACE).snapshot


def bring(
    store: MemoryStore, *, projects: Iterable[str] = (), whole: bool = False, at: str = "2026-01-02T03:04:05Z"
) -> list[str]:
    """Bring the pages up to date, and return what was said."""
    said: list[str] = []
    publish_pages(store, PLACE, say=said.append, projects=projects, whole=whole, clock=lambda: at)
    return said


def shown_pages(store: MemoryStore) -> dict[str, bytes]:
    """Return all pages of the index that the store has, by their keys relative to it."""
    cut = len(PLACE.prefix) + 1
    here = {key[cut:]: data for key, (data, _, _) in store.objects.items()}
    return {key: data for key, data in here.items() if key.startswith("simple") or key in {"index.html", "packages.html"}}


def full_build(store: MemoryStore) -> dict[str, bytes]:
    snapshot = read_current(store, PLACE).snapshot
    return {key: page.body for key, page in pages(snapshot, slash_keys=store.abilities.slash_keys).items()}


def state(store: MemoryStore) -> ShownPages:
    return from_json(store.objects[PLACE.key("pages.json")][0], ShownPages, name="pages.json")


@pytest.fixture(params=[False, True], ids=["plain", "slash_keys"])
def store(request: pytest.FixtureRequest) -> MemoryStore:
    return MemoryStore(slash_keys=request.param)


def test_where_nothing_was_published_no_page_is_written(store: MemoryStore) -> None:
    assert bring(store) == []
    assert store.objects == {}


def test_where_keys_may_end_in_a_slash_each_page_of_a_folder_is_there_too() -> None:
    store = MemoryStore(slash_keys=True)
    move(store, [row("alpha")])
    bring(store)
    found = shown_pages(store)
    assert found["simple/"] == found["simple/index.html"]
    assert found["simple/alpha/"] == found["simple/alpha/index.html"]
    assert found["simple-json/"] == found["simple-json/index.json"]
    assert found["simple-json/alpha/"] == found["simple-json/alpha/index.json"]
    served = {key: store.objects[PLACE.key(key.rstrip("/")) + "/"][1:] for key in found if key.endswith("/")}
    assert served["simple/alpha/"] == ("text/html; charset=utf-8", 0)
    assert served["simple-json/alpha/"] == ("application/vnd.pypi.simple.v1+json", 0)


def test_no_key_ends_in_a_slash_where_none_may() -> None:
    store = MemoryStore()
    move(store, [row("alpha")])
    bring(store)
    assert not any(key.endswith("/") for key in store.objects)


def test_the_root_is_last_and_what_the_pages_show_after_it(store: MemoryStore) -> None:
    move(store, [row("alpha"), row("beta")])
    store.written.clear()
    bring(store)
    written = [key.removeprefix(f"{PLACE.prefix}/") for key in store.written]
    assert written[0] == written[-1] == "pages.json"
    roots = [key for key in written if key in {"simple/", "simple/index.html"}]
    assert written[-1 - len(roots) : -1] == roots


def test_a_wheel_added_writes_its_projects_pages_and_no_other_projects(store: MemoryStore) -> None:
    move(store, [row("alpha"), row("beta")])
    bring(store)
    move(store, [row("alpha"), row("beta"), row("beta", "2.0")])
    store.written.clear()
    bring(store)
    written = {key.removeprefix(f"{PLACE.prefix}/") for key in store.written}
    more = {"simple/beta/", "simple-json/beta/"} if store.abilities.slash_keys else set()
    assert written == {
        "pages.json",
        "simple/beta/index.html",
        "simple-json/beta/index.json",
        "index.html",
        "packages.html",
        *more,
    }
    assert shown_pages(store) == full_build(store)


@pytest.mark.parametrize("slash_keys", [False, True])
def test_adding_a_wheel_to_ten_thousand_makes_a_handful_of_calls_and_reads_no_wheel(tmp_path: Path, slash_keys: bool) -> None:  # noqa: FBT001
    store = MemoryStore(slash_keys=slash_keys)
    move(store, [row(f"project-{project}", number=number) for project in range(100) for number in range(1, 101)])
    bring(store)
    path, wheel = write_wheel(tmp_path, "project_7", "3.0")
    store.calls.clear()
    store.read.clear()
    publish_offers([offer_wheel(path, wheel)], store=store, place=PLACE, replace=False, say=lambda _line: None)
    assert store.calls["put"] == 10 + 2 * slash_keys
    assert store.calls["list"] == store.calls["as_file"] == store.calls["stream"] == store.calls["delete"] == 0
    assert store.calls.total() <= 43
    # One that was not there before is asked for whole; what this process has read already is not.
    assert store.read.count(PLACE.key("snapshot.json")) <= 1
    assert not any(key.endswith(".whl") for key in store.read)
    assert len(read_current(store, PLACE).snapshot.files) == 10_001
    assert shown_pages(store) == full_build(store)


def test_with_nothing_new_nothing_is_written(store: MemoryStore) -> None:
    move(store, [row("alpha"), row("beta")])
    bring(store)
    store.written.clear()
    store.calls.clear()
    assert bring(store) == []
    assert store.written == []
    assert store.calls.total() < 12


def test_a_project_that_left_has_no_page_and_the_root_let_go_of_it_first(store: MemoryStore) -> None:
    move(store, [row("alpha"), row("beta")])
    bring(store)
    move(store, [row("alpha")])
    named: list[bytes] = []
    store.before = lambda _number, key: named.append(store.objects[PLACE.key("simple/index.html")][0]) if "beta" in key else None
    said = bring(store)
    assert named
    assert all(b"beta" not in root for root in named)
    assert not any("beta" in key for key in shown_pages(store))
    assert shown_pages(store) == full_build(store)
    assert any(line.startswith("removed ") for line in said)


def test_pages_of_another_index_or_of_another_program_are_not_removed(store: MemoryStore) -> None:
    foreign = PLACE.key("simple/foreign/index.html")
    store.objects[foreign] = (b"<html>by somebody else</html>", "text/html", 0)
    stranger = PLACE.key("simple-json/stranger/index.json")
    store.objects[stranger] = (b'{"files": [{"url": "https://index.invalid/a.whl"}]}', "application/json", 0)
    other = "channels/dev-2/simple/beta/index.html"
    store.objects[other] = (b"<!DOCTYPE html>", "text/html", 0)
    move(store, [row("alpha")])
    bring(store, whole=True)
    assert {foreign, stranger, other} <= store.objects.keys()


def test_without_a_note_of_what_pages_show_all_are_looked_at(store: MemoryStore) -> None:
    move(store, [row("alpha"), row("beta")])
    bring(store)
    del store.objects[PLACE.key("pages.json")]
    move(store, [row("alpha", text="other")])
    bring(store)
    assert shown_pages(store) == full_build(store)
    assert state(store) == ShownPages(
        format=1, slash_keys=store.abilities.slash_keys, snapshot=snapshot_digest(read_current(store, PLACE).snapshot)
    )


@pytest.mark.parametrize("note", [b"", b"{}", b'{"schema": 2}', b"[1]", None])
def test_a_note_that_cannot_be_used_makes_all_pages_be_looked_at(store: MemoryStore, note: bytes | None) -> None:
    move(store, [row("alpha"), row("beta")])
    bring(store)
    store.objects[PLACE.key("simple/alpha/index.html")] = (b"edited", "text/html", 0)
    if note is None:
        note = to_json(msgspec.structs.replace(state(store), format=99))
    store.objects[PLACE.key("pages.json")] = (note, "application/json", 0)
    bring(store)
    assert shown_pages(store) == full_build(store)


def test_a_lost_history_makes_all_pages_be_looked_at(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_tools.publish.current._RECENT", collections.OrderedDict())
    monkeypatch.setattr("build_tools.publish.current._MOST_RECENT", 0)
    first = move(store, [row("alpha"), row("beta")])
    bring(store)
    del store.objects[PLACE.key(f"snapshots/{snapshot_digest(first)}.json")]
    move(store, [row("alpha")])
    bring(store)
    assert shown_pages(store) == full_build(store)


@pytest.mark.parametrize("how", ["asked for", "whole"])
def test_a_page_that_was_edited_is_put_right_when_it_is_looked_at(store: MemoryStore, how: str) -> None:
    move(store, [row("alpha"), row("beta")])
    bring(store)
    key = PLACE.key("simple/alpha/index.html")
    store.objects[key] = (b"edited", "text/html", 0)
    bring(store)
    assert store.objects[key][0] == b"edited"
    bring(store, projects=["alpha"] if how == "asked for" else (), whole=how == "whole")
    assert shown_pages(store) == full_build(store)


def test_what_a_store_takes_to_hold_slash_keys_later_is_written_there(store: MemoryStore) -> None:
    move(store, [row("alpha")])
    bring(store)
    again = MemoryStore(slash_keys=True)
    again.objects = store.objects
    bring(again)
    assert shown_pages(again) == full_build(again)


# What can happen to an index: each makes the rows to be of the rows that are.
def _add(project: str, version: str) -> Callable[[dict[str, IndexedFile]], None]:
    return lambda rows: rows.update({(one := row(project, version)).filename: rows.get(one.filename, one)})


def _supersede(project: str, text: str) -> Callable[[dict[str, IndexedFile]], None]:
    return lambda rows: rows.update({(one := row(project, text=text)).filename: one})


def _yank(project: str, reason: str | None) -> Callable[[dict[str, IndexedFile]], None]:
    return lambda rows: rows.update(
        {name: msgspec.structs.replace(one, yanked=reason) for name, one in rows.items() if one.project == project}
    )


def _remove(project: str) -> Callable[[dict[str, IndexedFile]], None]:
    def act(rows: dict[str, IndexedFile]) -> None:
        for name in [name for name, one in rows.items() if one.project == project]:
            del rows[name]

    return act


CHANGES = st.one_of(
    st.builds(_add, st.sampled_from(PROJECTS), st.sampled_from(VERSIONS)),
    st.builds(_supersede, st.sampled_from(PROJECTS), st.sampled_from(["", "again"])),
    st.builds(_yank, st.sampled_from(PROJECTS), st.sampled_from(["broken", "", None])),
    st.builds(_remove, st.sampled_from(PROJECTS)),
)
STEPS = st.lists(
    st.tuples(CHANGES, st.none() | st.integers(0, 14), st.sampled_from(["before", "after"]), st.booleans()),
    min_size=1,
    max_size=8,
)
"""Each a change, at which write its publisher dies, on which side of it, and whether an hour goes by then."""


def apply(store: MemoryStore, change: Callable[[dict[str, IndexedFile]], None]) -> Snapshot:
    """Let the index stand where a change leads, which is never to nothing."""
    current = read_current(store, PLACE)
    rows = {file.filename: file for file in current.snapshot.files}
    change(rows)
    if not rows:
        rows = {(one := row("last")).filename: one}
    after = merged(Snapshot(files=()), rows.values())
    if after.files != current.snapshot.files:
        assert swap(store, PLACE, before=current, after=after, change=PUBLISHED)
    return read_current(store, PLACE).snapshot


def die_at(store: MemoryStore, number: int | None, side: Literal["before", "after"]) -> None:
    start = len(store.written)

    def hook(at: int, _key: str) -> None:
        if number is not None and at - start == number:
            raise Crash

    calm = lambda _number, _key: None  # noqa: E731
    store.before, store.after = (hook, calm) if side == "before" else (calm, hook)


@settings(deadline=None, max_examples=150)
@given(steps=STEPS, slash_keys=st.booleans())
def test_after_any_changes_and_deaths_one_good_publish_ends_as_a_full_build(
    steps: list[tuple[Callable[[dict[str, IndexedFile]], None], int | None, Literal["before", "after"], bool]],
    slash_keys: bool,  # noqa: FBT001
) -> None:
    store = MemoryStore(slash_keys=slash_keys)
    files: dict[str, bytes] = {}
    hour = 0
    for change, death, side, waits in steps:
        die_at(store, death, side)
        try:
            for one in apply(store, change).files:
                key = PLACE.key(one.key)
                files[key] = one.sha256.encode()
                store.objects[key] = (files[key], "application/zip", 9)
            bring(store, at=f"2026-01-02T{hour:02}:04:05Z")
        except Crash:
            pass
        hour += 2 * waits
    die_at(store, None, "before")
    apply(store, _add("alpha", "9.0"))
    bring(store, at=f"2026-01-02T{hour:02}:04:05Z")
    assert shown_pages(store) == full_build(store)
    assert state(store).snapshot == read_current(store, PLACE).digest
    # Nothing that an older snapshot names is gone.
    assert all(store.objects[key][0] == data for key, data in files.items())
    store.written.clear()
    bring(store, at=f"2026-01-02T{hour:02}:04:05Z")
    assert store.written == []


def _back(rows: dict[str, IndexedFile]) -> None:
    """Roll back to where the tests of two publishers begin."""
    rows.clear()
    rows.update({one.filename: one for one in (row("alpha"), row("beta"))})


MEETINGS = {
    "adds to the same project": _add("beta", "2.0+rocm7.1"),
    "takes back": _yank("beta", None),
    "takes the project out": _remove("beta"),
    "changes another": _yank("alpha", "broken"),
    "adds another": _add("gamma", "1.0"),
}


@pytest.mark.parametrize("meeting", MEETINGS)
@pytest.mark.parametrize("mine", ["yanks", "removes", "adds"])
@pytest.mark.parametrize("end", ["goes on", "dies at the next", "dies right after"])
@pytest.mark.parametrize("later", ["adds", "goes back"])
def test_a_publisher_that_another_one_overtakes_at_any_write(
    store: MemoryStore, mine: str, meeting: str, end: str, later: str
) -> None:
    """The other one publishes whole just before one of this one's writes, which then goes on, or dies; the next one finds all that is left."""
    change = {"yanks": _yank("beta", "broken"), "removes": _remove("beta"), "adds": _add("beta", "2.0+rocm7.1")}[mine]
    for number in itertools.count():
        fresh = MemoryStore(slash_keys=store.abilities.slash_keys)
        move(fresh, [row("alpha"), row("beta")])
        bring(fresh)
        apply(fresh, change)
        start = len(fresh.written)
        met: list[int] = []

        def meet(
            at: int, _key: str, number: int = number, start: int = start, fresh: MemoryStore = fresh, met: list[int] = met
        ) -> None:
            if not met and at - start == number:
                met.append(len(fresh.written))
                fresh.before = lambda _number, _key: None
                apply(fresh, MEETINGS[meeting])
                bring(fresh)
                met.append(len(fresh.written))
                if end == "dies at the next":
                    fresh.before = die
                elif end == "dies right after":
                    fresh.after = die

        def die(_number: int, _key: str) -> None:
            raise Crash

        fresh.before = meet
        try:
            bring(fresh)
        except Crash:
            fresh.before = fresh.after = lambda _number, _key: None
            apply(fresh, _add("gamma", "2.0+rocm7.1") if later == "adds" else _back)
            bring(fresh)
        assert shown_pages(fresh) == full_build(fresh)
        if not met:
            assert number > 2
            break


def test_a_page_never_goes_back_behind_what_another_publisher_wrote(store: MemoryStore) -> None:
    """Not for a moment: the one that is behind may die in it."""
    for number in itertools.count():
        fresh = MemoryStore(slash_keys=store.abilities.slash_keys)
        move(fresh, [row("alpha"), row("beta")])
        bring(fresh)
        apply(fresh, _add("beta", "2.0"))
        start = len(fresh.written)
        met: list[bool] = []

        def look(_number: int, _key: str, fresh: MemoryStore = fresh) -> None:
            pages_now = shown_pages(fresh)
            assert all(b"3.0" in data for key, data in pages_now.items() if "beta" in key or key == "index.html")

        def meet(
            at: int,
            _key: str,
            *,
            number: int = number,
            start: int = start,
            fresh: MemoryStore = fresh,
            met: list[bool] = met,
            look: Callable[[int, str], None] = look,
        ) -> None:
            if not met and at - start == number:
                met.append(True)
                apply(fresh, _add("beta", "3.0"))
                bring(fresh)
                fresh.after = look

        fresh.before = meet
        bring(fresh)
        assert shown_pages(fresh) == full_build(fresh)
        if not met:
            break


def test_an_entry_of_another_is_looked_into_until_nobody_can_be_that_slow(store: MemoryStore) -> None:
    """A publisher that saw a page before it changed and changed back writes over it, and dies: nothing but its entry tells."""
    move(store, [row("alpha"), row("beta")])
    bring(store)
    yanked = apply(store, _yank("beta", "broken"))
    late = PageWriter(writer="late", snapshot=snapshot_digest(yanked), since="2026-01-02T03:00:00Z")
    key = PLACE.key("pages.json")
    store.objects[key] = (to_json(msgspec.structs.replace(state(store), writers=(late,))), "application/json", 0)
    apply(store, _yank("beta", None))
    bring(store, at="2026-01-02T03:10:00Z")
    assert state(store).writers == (late,)
    for name, page in pages(yanked, slash_keys=store.abilities.slash_keys).items():
        if "beta" in name:
            store.objects[f"{PLACE.prefix}/{name}"] = (page.body, page.content_type, 0)
    apply(store, _add("gamma", "1.0"))
    bring(store, at="2026-01-02T04:10:00Z")
    assert shown_pages(store) == full_build(store)
    assert state(store).writers == ()


def test_an_entry_from_a_time_to_come_does_not_stay(store: MemoryStore) -> None:
    move(store, [row("alpha")])
    bring(store)
    wrong = PageWriter(writer="fast", snapshot=Sha256("0" * 64), since="2036-01-02T03:00:00Z")
    key = PLACE.key("pages.json")
    store.objects[key] = (to_json(msgspec.structs.replace(state(store), writers=(wrong,))), "application/json", 0)
    bring(store)
    assert state(store).writers == ()


def test_offers_of_the_same_bytes_change_no_page(tmp_path: Path, store: MemoryStore) -> None:
    offers: list[Offer] = [offer_wheel(*write_wheel(tmp_path, "alpha"))]
    publish_offers(offers, store=store, place=PLACE, replace=False, say=lambda _line: None)
    store.written.clear()
    publish_offers(offers, store=store, place=PLACE, replace=False, say=lambda _line: None)
    assert store.written == []
