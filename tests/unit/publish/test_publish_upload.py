from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.record import from_json
from build_tools.receipts.snapshot import PublishedIndex, Snapshot
from build_tools.stores.local import FolderStore
from tests.support.publishing import Crash, MeddledStore, installable, same_everywhere, tree_of, write_wheel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store

PREFIX = "7-linux/pytorch/gfx94X-dcgpu"


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    (tmp_path / "store").mkdir()
    return FolderStore(tmp_path / "store")


def publish(
    wheels: Sequence[tuple[Path, WheelFile]],
    store: Store,
    *,
    prefix: str = PREFIX,
    replace: bool = False,
    at: str = "2026-01-02T03:04:05Z",
    talk: list[str] | None = None,
) -> PublishedIndex:
    said = [] if talk is None else talk
    return publish_wheels(wheels, store=store, prefix=prefix, replace=replace, say=said.append, clock=lambda: at)


def code_of(caught: pytest.ExceptionInfo[HipwrightError]) -> str:
    return caught.value.code.name


def test_wheels_and_their_index_stand_in_the_run_layout(tmp_path: Path, store: FolderStore) -> None:
    wheels = [write_wheel(tmp_path, "torch", "2.9.0+rocm7.1"), write_wheel(tmp_path, "torch_kit", "1.0", build="1-")]
    index = publish(wheels, store)
    snapshot = same_everywhere(store, PREFIX)
    assert [file.project for file in snapshot.files] == ["torch", "torch-kit"]
    assert index.files == snapshot.files
    assert index.snapshot == digest.of_file(tmp_path / "store" / PREFIX / "snapshot.json")
    assert index.index_url == f"{(tmp_path / 'store').as_uri()}/{PREFIX}/simple/"
    assert index.find_links_url == f"{(tmp_path / 'store').as_uri()}/{PREFIX}/index.html"
    assert (index.store, index.prefix) == (str(tmp_path / "store"), PREFIX)
    dist = tmp_path / "store" / PREFIX / "dist"
    assert (dist / "torch-2.9.0+rocm7.1-py3-none-any.whl").read_bytes() == wheels[0][0].read_bytes()
    assert {path.name for path in dist.iterdir()} == {name for path, _ in wheels for name in (path.name, f"{path.name}.metadata")}


def test_everything_is_served_as_what_it_is_and_pages_are_asked_for_each_time(tmp_path: Path, store: FolderStore) -> None:
    publish([write_wheel(tmp_path)], store)
    served = {}
    for one in store.list(PREFIX):
        info = store.head(one.key)
        assert info is not None
        served[one.key.removeprefix(f"{PREFIX}/").partition("-")[0]] = (info.content_type, info.cache_seconds > 0)
    assert served["simple/demo/index.html"] == served["index.html"] == ("text/html; charset=utf-8", False)
    assert store.head(f"{PREFIX}/simple-json/demo/index.json").content_type == "application/vnd.pypi.simple.v1+json"  # type: ignore[union-attr]
    assert store.head(f"{PREFIX}/snapshot.json").cache_seconds == 0  # type: ignore[union-attr]
    wheel = store.head(f"{PREFIX}/dist/demo-1.0+rocm7.1-py3-none-any.whl")
    assert wheel is not None
    assert (wheel.content_type, wheel.cache_seconds) == ("application/zip", 365 * 24 * 3600)
    side = store.head(f"{wheel.key}.metadata")
    assert side is not None
    assert (side.content_type, side.cache_seconds) == ("text/plain; charset=utf-8", 365 * 24 * 3600)


def test_a_second_run_writes_nothing(tmp_path: Path, store: FolderStore) -> None:
    wheels = [write_wheel(tmp_path, "torch"), write_wheel(tmp_path, "other")]
    first = publish(wheels, store)
    before = tree_of(tmp_path / "store")
    watched = MeddledStore(store)
    talk: list[str] = []
    second = publish(wheels, watched, at="2027-01-01T00:00:00Z", talk=talk)
    assert second == first
    assert watched.writes == []
    assert talk == []
    assert tree_of(tmp_path / "store") == before


def test_a_wheel_added_later_keeps_what_was_there(tmp_path: Path, store: FolderStore) -> None:
    publish([write_wheel(tmp_path, "torch", "2.9.0+rocm7.9")], store, at="2026-01-01T00:00:00Z")
    watched = MeddledStore(store)
    index = publish([write_wheel(tmp_path, "torch", "2.9.0+rocm7.10")], watched, at="2026-02-02T00:00:00Z")
    snapshot = same_everywhere(store, PREFIX)
    assert [(file.version, file.uploaded) for file in snapshot.files] == [
        ("2.9.0+rocm7.9", "2026-01-01T00:00:00Z"),
        ("2.9.0+rocm7.10", "2026-02-02T00:00:00Z"),
    ]
    assert [file.version for file in index.files] == ["2.9.0+rocm7.10"]
    # No file is touched again, and a root page that says the same is left alone.
    assert not any("7.9" in key or key.endswith(("simple/index.html", "simple-json/index.json")) for key in watched.writes)


def test_files_come_first_then_the_snapshot_then_pages_and_the_root_last(tmp_path: Path, store: FolderStore) -> None:
    watched = MeddledStore(store)
    publish([write_wheel(tmp_path)], watched)
    kinds = [key.removeprefix(f"{PREFIX}/").partition("demo-1.0")[0] for key in watched.writes]
    kinds = [kind.partition("snapshots/")[1] or kind for kind in kinds]
    assert kinds == [
        "dist/",
        "dist/",
        "snapshots/",
        "snapshot.json",
        "pages.json",
        "simple-json/demo/index.json",
        "simple/demo/index.html",
        "index.html",
        "packages.html",
        "simple-json/index.json",
        "simple/index.html",
        "pages.json",
    ]
    assert watched.writes[1].endswith(".whl.metadata")


def test_other_bytes_under_a_published_name_are_refused_and_nothing_is_written(tmp_path: Path, store: FolderStore) -> None:
    old = write_wheel(tmp_path / "old", "torch")
    publish([old], store)
    before = tree_of(tmp_path / "store")
    newer = write_wheel(tmp_path / "new", "torch", text="other")
    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path / "new", "another"), newer], store)
    assert code_of(caught) == "name-taken"
    for named in (newer[1].filename, newer[1].sha256, old[1].sha256):
        assert named in caught.value.message
    assert tree_of(tmp_path / "store") == before


def test_other_bytes_that_lie_under_a_name_without_an_index_are_refused(tmp_path: Path, store: FolderStore) -> None:
    wheel = write_wheel(tmp_path)
    stray = tmp_path / "store" / PREFIX / "dist" / wheel[1].filename
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"someone else's")
    with pytest.raises(HipwrightError) as caught:
        publish([wheel], store)
    assert code_of(caught) == "name-taken"
    assert stray.read_bytes() == b"someone else's"


def test_a_later_attempt_supersedes_and_the_older_bytes_stay_for_the_history(tmp_path: Path, store: FolderStore) -> None:
    old, newer = write_wheel(tmp_path / "old"), write_wheel(tmp_path / "new", text="other")
    first = publish([old], store)
    second = publish([newer], store, replace=True, at="2026-03-03T00:00:00Z")
    snapshot = same_everywhere(store, PREFIX)
    assert [file.sha256 for file in snapshot.files] == [newer[1].sha256]
    history = store.get(f"{PREFIX}/snapshots/{first.snapshot}.json")
    assert history is not None
    (past,) = from_json(history.data, Snapshot, name="history").files
    kept = store.get(f"{PREFIX}/{past.key}")
    assert kept is not None
    assert digest.of_bytes(kept.data) == old[1].sha256 == past.sha256
    # The third attempt makes the first one's bytes again: they are there already.
    watched = MeddledStore(store)
    third = publish([old], watched, replace=True)
    assert third.files[0].key == past.key
    assert not any("/dist/" in key for key in watched.writes)
    assert second.snapshot != first.snapshot
    same_everywhere(store, PREFIX)


def test_no_wheels_are_an_error(store: FolderStore) -> None:
    with pytest.raises(HipwrightError) as caught:
        publish([], store)
    assert code_of(caught) == "no-wheel"
    assert list(store.list()) == []


def test_one_name_twice_is_an_error(tmp_path: Path, store: FolderStore) -> None:
    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path / "a"), write_wheel(tmp_path / "b", text="x")], store)
    assert code_of(caught) == "several-wheels"


@pytest.mark.parametrize("change", ["grown", "other bytes", "gone", "renamed"])
def test_a_wheel_that_is_not_what_was_recorded_is_refused(tmp_path: Path, store: FolderStore, change: str) -> None:
    path, wheel = write_wheel(tmp_path)
    if change == "grown":
        path.write_bytes(path.read_bytes() + b"\0")
    elif change == "other bytes":
        wheel = msgspec.structs.replace(wheel, sha256=digest.of_bytes(b"other"))
    elif change == "gone":
        path.unlink()
    else:
        wheel = msgspec.structs.replace(wheel, filename="demo-2.0-py3-none-any.whl")
    with pytest.raises(HipwrightError) as caught:
        publish([(path, wheel)], store)
    assert code_of(caught) == "output-changed"
    assert list(store.list()) == []


def test_what_was_lost_from_the_store_is_put_back(tmp_path: Path, store: FolderStore) -> None:
    wheel = write_wheel(tmp_path)
    publish([wheel], store)
    for lost in (f"dist/{wheel[1].filename}", f"dist/{wheel[1].filename}.metadata", "simple/demo/index.html"):
        store.delete(f"{PREFIX}/{lost}")
    publish([wheel], store)
    same_everywhere(store, PREFIX)


def test_a_page_that_was_changed_by_hand_is_put_right(tmp_path: Path, store: FolderStore) -> None:
    wheel = write_wheel(tmp_path)
    publish([wheel], store)
    (tmp_path / "store" / PREFIX / "simple" / "demo" / "index.html").write_text("edited")
    publish([wheel], store)
    same_everywhere(store, PREFIX)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is gone"),
        (b"", "cannot be used"),
        (b"{}", "states no schema"),
        (b"[]", "cannot be used"),
        (b'{"schema": 1}', "`files`"),
        (b'{"schema": 1, "files": []}', "names no file"),
        (b'{"schema": 1, "files": [], "extra": 1}', "`extra`"),
        (b"\xff\x00\xfe", "cannot be used"),
        (b"[" * 100_000, "cannot be used"),
    ],
)
def test_a_lost_or_damaged_snapshot_stops_everything_and_can_be_restored(
    tmp_path: Path, store: FolderStore, text: bytes | None, said: str
) -> None:
    for name in ("first", "second"):
        publish([write_wheel(tmp_path, name)], store)
    path = tmp_path / "store" / PREFIX / "snapshot.json"
    whole = path.read_bytes()
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text)
    before = tree_of(tmp_path / "store")
    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path, "other")], store)
    assert code_of(caught) == "bad-index"
    assert said in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.file == str(path)
    assert tree_of(tmp_path / "store") == before
    kept = path.parent / "snapshots" / f"{digest.of_bytes(whole)}.json"
    assert caught.value.hint == f"the pages show the snapshot {kept}: copy it to {path}"
    path.write_bytes(kept.read_bytes())
    publish([write_wheel(tmp_path, "other")], store)
    assert {file.project for file in same_everywhere(store, PREFIX).files} == {"first", "second", "other"}


def test_a_snapshot_of_a_later_hipwright_is_left_to_it(tmp_path: Path, store: FolderStore) -> None:
    publish([write_wheel(tmp_path)], store)
    path = tmp_path / "store" / PREFIX / "snapshot.json"
    path.write_bytes(b'{"schema": 9, "pages": []}')
    with pytest.raises(HipwrightError, match="has schema 9") as caught:
        publish([write_wheel(tmp_path, "other")], store)
    assert code_of(caught) == "bad-index"
    assert caught.value.hint == "update hipwright, git pull; leave the index as it is"


@pytest.mark.parametrize(("edit", "said"), [('"version": "x"', "'x'"), ('"key": "../x"', "../x")])
def test_a_snapshot_with_a_row_that_cannot_be_stops_everything(tmp_path: Path, store: FolderStore, edit: str, said: str) -> None:
    publish([write_wheel(tmp_path)], store)
    path = tmp_path / "store" / PREFIX / "snapshot.json"
    key = edit.partition(":")[0]
    path.write_text(re.sub(rf"{key}: \"[^\"]*\"", edit, path.read_text()))
    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path, "other")], store)
    assert code_of(caught) == "bad-index"
    assert said in caught.value.message


def test_a_lost_snapshot_is_explained_where_the_pages_prove_nothing(tmp_path: Path, store: FolderStore) -> None:
    publish([write_wheel(tmp_path)], store)
    folder = tmp_path / "store" / PREFIX
    (folder / "snapshot.json").unlink()
    (folder / "index.html").unlink()
    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path, "other")], store)
    assert caught.value.hint == f"copy the newest snapshot in {folder / 'snapshots'} to {folder / 'snapshot.json'}"
    for kept in (folder / "snapshots").iterdir():
        kept.unlink()
    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path, "other")], store)
    assert code_of(caught) == "bad-index"
    assert "keeps no snapshot" in (caught.value.hint or "")


@pytest.mark.parametrize("moment", ["snapshot.json", "simple/torch/index.html", "simple/index.html"])
def test_two_publishers_that_meet_lose_nothing(tmp_path: Path, store: FolderStore, moment: str) -> None:
    """The other one publishes a whole wheel just before this one's write, once."""
    mine, theirs = write_wheel(tmp_path, "torch", "1.0"), write_wheel(tmp_path, "torch", "2.0")
    met: list[str] = []

    def meet(_number: int, key: str) -> None:
        if key == f"{PREFIX}/{moment}" and not met:
            met.append(key)
            publish([theirs], store)

    index = publish([mine], MeddledStore(store, before=meet))
    assert met
    snapshot = same_everywhere(store, PREFIX)
    assert [file.version for file in snapshot.files] == ["1.0", "2.0"]
    assert [file.version for file in index.files] == ["1.0"]
    assert index.snapshot == digest.of_file(tmp_path / "store" / PREFIX / "snapshot.json")


@pytest.mark.parametrize("moment", ["asked", "written"])
def test_a_page_never_goes_back_behind_what_another_publisher_wrote(tmp_path: Path, store: FolderStore, moment: str) -> None:
    """Not for a moment: the one that is behind may die in it."""
    mine, theirs = write_wheel(tmp_path, "torch", "1.0"), write_wheel(tmp_path, "torch", "2.0")
    publish([write_wheel(tmp_path, "torch", "0.9")], store)
    met: list[str] = []

    def meet(key: str) -> None:
        # The first page that is asked for and written.
        if key == f"{PREFIX}/simple-json/torch/index.json" and not met:
            met.append(key)
            publish([theirs], store)

    def look(_number: int, _key: str) -> None:
        if met:
            assert theirs[1].filename in installable(store, PREFIX)

    watched = (
        MeddledStore(store, asked=meet, after=look)
        if moment == "asked"
        else MeddledStore(store, before=lambda _number, key: meet(key), after=look)
    )
    publish([mine], watched)
    assert met
    assert len(same_everywhere(store, PREFIX).files) == 3


@pytest.mark.parametrize("last", ["/pages.json", "/index.json"])
def test_the_pages_of_a_publisher_that_died_are_written_by_the_one_it_met(tmp_path: Path, store: FolderStore, last: str) -> None:
    mine, theirs = write_wheel(tmp_path, "torch", "1.0"), write_wheel(tmp_path, "torch", "2.0")
    met: list[str] = []

    def die(_number: int, key: str) -> None:
        # Before it said that it would write pages, or when it had said so.
        if key.endswith(last):
            raise Crash

    def meet(_number: int, key: str) -> None:
        if key == f"{PREFIX}/simple/index.html" and not met:
            met.append(key)
            with pytest.raises(Crash):
                publish([theirs], MeddledStore(store, before=die))

    publish([mine], MeddledStore(store, before=meet))
    assert met
    assert len(same_everywhere(store, PREFIX).files) == 2


def test_a_page_that_was_lost_on_the_way_is_written_again(tmp_path: Path, store: FolderStore) -> None:
    lost: list[str] = []

    def lose(_number: int, key: str) -> None:
        if key.endswith("simple/demo/index.html") and not lost:
            lost.append(key)
            store.delete(key)

    publish([write_wheel(tmp_path)], MeddledStore(store, after=lose))
    assert lost
    same_everywhere(store, PREFIX)


def test_of_two_publishers_with_other_bytes_for_one_name_the_second_is_refused(tmp_path: Path, store: FolderStore) -> None:
    mine, theirs = write_wheel(tmp_path / "mine"), write_wheel(tmp_path / "theirs", text="other")

    def meet(number: int, _key: str) -> None:
        if number == 0:
            publish([theirs], store)

    with pytest.raises(HipwrightError) as caught:
        publish([mine], MeddledStore(store, before=meet))
    assert code_of(caught) == "name-taken"
    assert installable(store, PREFIX) == {theirs[1].filename: theirs[1].sha256}
    same_everywhere(store, PREFIX)


def test_another_publisher_of_the_same_bytes_is_as_good(tmp_path: Path, store: FolderStore) -> None:
    wheel = write_wheel(tmp_path)

    def meet(number: int, _key: str) -> None:
        if number == 0:
            publish([wheel], store)

    publish([wheel], MeddledStore(store, before=meet))
    assert len(same_everywhere(store, PREFIX).files) == 1


@pytest.mark.parametrize("end", ["whl", "whl.metadata"])
def test_a_write_that_raced_with_another_and_left_nothing_is_no_name_that_is_taken(
    tmp_path: Path, store: FolderStore, end: str
) -> None:
    wheel, met = write_wheel(tmp_path), list[str]()

    def race(_number: int, key: str, times: int) -> None:
        if key.endswith(end) and len(met) < times:
            met.append(key)
            raise HipwrightError("write-conflict", f"{key} is being written by someone else")

    with pytest.raises(HipwrightError) as caught:
        publish([wheel], MeddledStore(store, before=functools.partial(race, times=9)))
    assert code_of(caught) == "write-conflict"
    # A large file is begun anew, a small one was sent again by the store itself.
    assert len(met) == (5 if end == "whl" else 1)
    met.clear()
    if end == "whl":
        publish([wheel], MeddledStore(store, before=functools.partial(race, times=4)))
        assert len(same_everywhere(store, PREFIX).files) == 1


@pytest.mark.parametrize(("end", "said"), [(".whl", "does not hold"), (".whl.metadata", "side file")])
def test_a_store_that_loses_what_it_took_is_found_out(tmp_path: Path, store: FolderStore, end: str, said: str) -> None:
    def lose(_number: int, key: str) -> None:
        if key.endswith(end):
            (tmp_path / "store" / key).unlink()

    with pytest.raises(HipwrightError) as caught:
        publish([write_wheel(tmp_path)], MeddledStore(store, after=lose))
    assert code_of(caught) == "store-unusable"
    assert said in caught.value.message


def test_a_publisher_that_is_always_overtaken_gives_up(tmp_path: Path, store: FolderStore) -> None:
    wheel = write_wheel(tmp_path)
    publish([write_wheel(tmp_path, "other")], store)
    path = tmp_path / "store" / PREFIX / "snapshot.json"

    def disturb(_number: int, key: str) -> None:
        if key.endswith("/snapshot.json"):
            path.write_bytes(path.read_bytes() + b"\n")

    with pytest.raises(HipwrightError) as caught:
        publish([wheel], MeddledStore(store, before=disturb))
    assert code_of(caught) == "write-conflict"
    assert installable(store, PREFIX).keys() == {"other-1.0+rocm7.1-py3-none-any.whl"}


def test_indexes_in_one_store_do_not_touch(tmp_path: Path, store: FolderStore) -> None:
    publish([write_wheel(tmp_path, "one")], store, prefix="")
    publish([write_wheel(tmp_path, "two")], store, prefix="channels/dev")
    assert [file.project for file in same_everywhere(store, "").files] == ["one"]
    assert [file.project for file in same_everywhere(store, "channels/dev").files] == ["two"]


@pytest.mark.parametrize("replace", [False, True])
def test_one_release_in_two_spellings_is_refused(tmp_path: Path, store: FolderStore, *, replace: bool) -> None:
    one, other = write_wheel(tmp_path, "demo_kit"), write_wheel(tmp_path, "Demo_Kit", text="other")
    with pytest.raises(HipwrightError, match="one name in two spellings") as caught:
        publish([one, other], store, replace=replace)
    assert code_of(caught) == "several-wheels"
    publish([one], store)
    with pytest.raises(HipwrightError, match="spelled otherwise") as caught:
        publish([other], store, replace=replace)
    assert code_of(caught) == "name-taken"
    publish([write_wheel(tmp_path, "Demo_Kit", build="1-"), write_wheel(tmp_path, "Demo_Kit", "2.0")], store)
    assert len(same_everywhere(store, PREFIX).files) == 3
