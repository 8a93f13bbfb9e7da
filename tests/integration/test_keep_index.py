"""``verify``, ``yank``, ``rollback`` and ``retain`` on real indexes in folders, over HTTP, and after every kind of damage."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools import digest
from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import merged
from build_tools.pipeline.keep_index import rollback, yank
from build_tools.pipeline.retain_index import retain
from build_tools.pipeline.verify_index import verify, way_out
from build_tools.publish.current import read_current, swap
from build_tools.publish.pages import publish_pages
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.record import to_json
from build_tools.receipts.snapshot import Snapshot
from build_tools.receipts.verdict import TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.locks import write_lock
from tests.support.publishing import PUBLISHED, Crash, tree_of, write_wheel
from tests.support.serving import serving
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.workplace import Workplace

PREFIX = "channels/rehearsal"
VERSION = "1.0+rocm7.1"
FILE = f"demo-{VERSION}-py3-none-any.whl"


def publish(folder: Path, *wheels: tuple[str, str, str], time: str = "2026-01-01T00:00:00Z") -> None:
    built = [write_wheel(folder / "built", name, version, text=text) for name, version, text in wheels]
    store = FolderStore(folder / "store")
    publish_wheels(built, store=store, prefix=PREFIX, replace=False, say=lambda _line: None, clock=lambda: time)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    publish(tmp_path, ("demo", VERSION, ""))
    publish(tmp_path, ("demo", "2.0+rocm7.1", ""), ("other", "1.0", ""), time="2026-01-02T00:00:00Z")
    return tmp_path


def index(folder: Path) -> Path:
    return folder / "store" / PREFIX


def call(command: Callable[[Workplace], dict[str, Any]], folder: Path, **settings: object) -> dict[str, Any]:
    (found,) = command(workplace(folder, **{"store": str(folder / "store"), **settings})).values()
    assert isinstance(found, dict)
    return found


def reports(folder: Path, **settings: object) -> list[dict[str, Any]]:
    found = verify(workplace(folder, **{"store": str(folder / "store"), **settings}))["indexes"]
    assert isinstance(found, list)
    return found


def rules(folder: Path, **settings: object) -> set[str]:
    """Return the rules that an index breaks."""
    with pytest.raises(HipwrightError) as caught:
        reports(folder, **settings)
    assert caught.value.code.name == "index-findings"
    assert caught.value.document is not None
    (report,) = json.loads(json.dumps(caught.value.document["indexes"]))
    return {finding["rule"] for finding in report["findings"]}


def test_a_whole_index_passes_in_its_folder_and_over_http_with_the_same_numbers(folder: Path) -> None:
    (here,) = reports(folder)
    assert (here["files"], here["projects"], here["history"], here["findings"]) == (3, 2, 2, ())
    with serving(index(folder), plus_is_space=True) as url:
        for address in (url, f"{url}simple/"):
            (there,) = reports(folder, words=(address,))
            assert (there["files"], there["size"], there["history"], there["findings"]) == (3, here["size"], 2, ())


def _edit(path: str, before: str, after: str) -> Callable[[Path], None]:
    def damage(place: Path) -> None:
        text = (place / path).read_text()
        assert before in text
        (place / path).write_text(text.replace(before, after))

    return damage


def _lose_history(place: Path) -> None:
    names = sorted((place / "snapshots").iterdir())
    now = digest.of_file(place / "snapshot.json")
    next(path for path in names if path.stem != now).unlink()


def _now_in_history(place: Path) -> Path:
    return place / "snapshots" / f"{digest.of_file(place / 'snapshot.json')}.json"


@pytest.mark.parametrize(
    ("damage", "broken"),
    [
        (_edit("simple/demo/index.html", "%2B", "+"), {"page"}),
        (_edit("index.html", "#sha256=", "#md5="), {"page"}),
        (_edit("simple-json/demo/index.json", '"2.0', '"3.0'), {"page"}),
        (_edit("simple/index.html", "other", "Other"), {"page"}),
        (lambda place: (place / "simple/demo/index.html").write_bytes(b"<p\xff\xfe"), {"page"}),
        (lambda place: (place / "simple/other/index.html").unlink(), {"page"}),
        (lambda place: (place / "dist" / FILE).unlink(), {"file"}),
        (lambda place: (place / "dist" / FILE).write_bytes(b"other bytes"), {"file"}),
        (lambda place: (place / "dist" / f"{FILE}.metadata").unlink(), {"side-file"}),
        (lambda place: (place / "dist" / f"{FILE}.metadata").write_bytes(b"x"), {"side-file"}),
        (_lose_history, {"history"}),
        (lambda place: _now_in_history(place).unlink(), {"history"}),
        (lambda place: _now_in_history(place).write_bytes(b"{}"), {"history"}),
        (lambda place: (place / "snapshot.json").unlink(), {"snapshot"}),
        (lambda place: (place / "snapshot.json").write_text("{}"), {"snapshot"}),
    ],
)
def test_each_damage_is_found_and_told_by_its_rule(folder: Path, damage: Callable[[Path], None], broken: set[str]) -> None:
    damage(index(folder))
    assert rules(folder) == broken


@pytest.mark.parametrize(
    ("said", "rule", "where"),
    [
        ({"requires_python": None}, "metadata", FILE),
        ({"version": "3.0"}, "metadata", FILE),
        (
            {"metadata_sha256": digest.of_bytes(b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")},
            "side-file",
            f"{FILE}.metadata",
        ),
    ],
)
def test_an_index_that_says_other_than_a_file_itself_is_found(folder: Path, said: dict[str, Any], rule: str, where: str) -> None:
    # Snapshot and pages agree, and the bytes of the file are right.
    store, place = FolderStore(folder / "store"), IndexFolder(PREFIX)
    current = read_current(store, place)
    files = [msgspec.structs.replace(file, **said) if file.filename == FILE else file for file in current.snapshot.files]
    assert swap(store, place, before=current, after=merged(Snapshot(files=()), files), change=PUBLISHED)
    publish_pages(store, place, say=lambda _line: None)
    if rule == "side-file":
        (index(folder) / "dist" / where).write_bytes(b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    with pytest.raises(HipwrightError) as caught:
        reports(folder)
    (report,) = json.loads(json.dumps(caught.value.document))["indexes"]
    assert [(one["rule"], one["where"].rpartition("/")[2]) for one in report["findings"]] == [(rule, where)]


def test_a_damaged_snapshot_is_told_with_the_copy_that_restores_it(folder: Path) -> None:
    place = index(folder)
    whole = (place / "snapshot.json").read_bytes()
    (place / "snapshot.json").write_bytes(whole[:-9])
    with pytest.raises(HipwrightError) as caught:
        reports(folder)
    kept = f"snapshots/{digest.of_bytes(whole)}.json"
    assert f"{kept}: copy it to" in caught.value.message
    # What this says of pages would be refused for the same reason.
    assert "--to current" not in (caught.value.hint or "")


def test_a_requirement_that_no_offered_file_meets_is_found(tmp_path: Path) -> None:
    wheels = [
        write_wheel(tmp_path / "built", "demo", "1.0", headers="Requires-Dist: other==2.0\n"),
        write_wheel(tmp_path / "built", "other", "1.0"),
    ]
    publish_wheels(wheels, store=FolderStore(tmp_path / "store"), prefix=PREFIX, replace=False, say=lambda _line: None)
    assert rules(tmp_path) == {"requires"}


def test_a_damaged_verdict_is_found(folder: Path) -> None:
    verdict = Verdict(
        project="demo",
        wheels=(),
        target="cpu-only",
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=digest.of_bytes(b""),
        python_version="3.12",
        platform="linux",
    )
    (index(folder) / "verdicts").mkdir()
    (index(folder) / "verdicts" / f"{'0' * 64}.json").write_bytes(to_json(verdict))
    assert rules(folder) == {"verdict"}


def test_an_index_with_no_file_is_a_failure_and_nothing_to_go_back_in(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    assert rules(tmp_path) == {"empty"}
    with pytest.raises(HipwrightError) as caught:
        reports(tmp_path)
    assert (caught.value.hint or "").startswith("name the one that is meant")


def test_an_address_and_options_that_name_another_index_are_refused(folder: Path) -> None:
    place = workplace(folder, store=str(folder / "store"), words=(str(index(folder)),))
    given = dataclasses.replace(
        place, resolved=dataclasses.replace(place.resolved, origins={"channel": "command line --channel"})
    )
    with pytest.raises(HipwrightError, match="--channel and an address both say") as caught:
        verify(given)
    assert caught.value.code.name == "option-conflict"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param({"page"}, "rollback", id="pages"),
        pytest.param({"requires"}, "--undo", id="a requirement"),
        pytest.param({"requires", "page"}, "rollback", id="both"),
        pytest.param({"empty"}, "--channel NAME", id="another index was meant"),
        pytest.param({"snapshot", "page"}, "until its snapshot is back", id="no snapshot"),
    ],
)
def test_who_hears_of_findings_hears_what_mends_them(broken: set[str], said: str) -> None:
    assert said in way_out(broken)


def test_a_folder_that_is_not_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        reports(tmp_path, words=(str(tmp_path / "nothing"),))
    assert caught.value.code.name == "nothing-published"


def test_an_index_of_others_is_looked_at_and_it_is_told_what_could_not_be_judged(folder: Path) -> None:
    foreign = folder / "foreign"
    shutil.copytree(index(folder) / "simple", foreign / "simple")
    shutil.copytree(index(folder) / "dist", foreign / "dist")
    with serving(foreign) as url:
        (report,) = reports(folder, words=(f"{url}simple/",))
        assert (report["files"], report["history"]) == (3, None)
        assert any("snapshot" in one for one in report["unjudged"])
        page, side = foreign / "simple/demo/index.html", foreign / f"dist/{FILE}.metadata"
        whole = page.read_bytes(), side.read_bytes()
        page.write_bytes(re.sub(rb"#sha256=[0-9a-f]+", b"", whole[0]))
        assert rules(folder, words=(f"{url}simple/",)) == {"page", "file"}
        page.write_bytes(whole[0])
        for damage in (lambda: side.write_bytes(b"other"), side.unlink):
            damage()
            assert rules(folder, words=(f"{url}simple/",)) == {"side-file"}
        side.write_bytes(whole[1])
        (foreign / "dist" / FILE).write_bytes(b"other")
        with pytest.raises(HipwrightError) as caught:
            reports(folder, words=(f"{url}simple/",))
        assert "[file]" in caught.value.message
        # What puts pages of our own right would do nothing for this one.
        assert "none of hipwright's" in (caught.value.hint or "")


def test_a_yank_is_shown_on_every_page_done_twice_changes_nothing_more_and_is_taken_back(folder: Path) -> None:
    before = tree_of(folder / "store")
    planned = call(yank, folder, words=("demo==1.0+rocm7.1",), reason="wrong results", dry_run=True)
    assert [one["filename"] for one in planned["files"]] == [FILE]
    assert tree_of(folder / "store") == before
    call(yank, folder, words=(FILE,), reason="wrong\nresults")
    assert 'data-yanked="wrong results"' in (index(folder) / "simple/demo/index.html").read_text()
    reports(folder)
    once = tree_of(folder / "store")
    call(yank, folder, words=(FILE,), reason="wrong results")
    assert tree_of(folder / "store") == once
    call(yank, folder, words=(FILE,), undo=True)
    assert "data-yanked" not in (index(folder) / "simple/demo/index.html").read_text()
    history = call(rollback, folder)["history"]
    assert [one["change"]["action"] for one in history] == ["unyank", "yank", "publish", "publish"]
    assert history[1]["change"]["reason"] == "wrong results"


@pytest.mark.parametrize(
    ("words", "reason", "code"),
    [
        ((), "why", "bad-option-value"),
        ((FILE,), " ", "bad-option-value"),
        (("demo",), "why", "bad-option-value"),
        (("demo==x y",), "why", "bad-option-value"),
        (("==1.0",), "why", "bad-option-value"),
        (("../demo==1.0",), "why", "bad-option-value"),
        (("demo==1.0",), "why", "not-in-index"),
        ((FILE, "gone-1.0-py3-none-any.whl"), "why", "not-in-index"),
    ],
)
def test_a_yank_that_names_nothing_or_gives_no_reason_changes_nothing(
    folder: Path, words: tuple[str, ...], reason: str, code: str
) -> None:
    before = tree_of(folder / "store")
    with pytest.raises(HipwrightError) as caught:
        call(yank, folder, words=words, reason=reason)
    assert caught.value.code.name == code
    assert tree_of(folder / "store") == before


def test_a_yank_where_no_index_is_says_so(folder: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        call(yank, folder, words=(FILE,), reason="why", channel="dev")
    assert caught.value.code.name == "nothing-published"


@pytest.mark.parametrize("more", [{"apply": True}, {"reason": "why"}])
def test_a_rollback_to_nothing_is_refused(folder: Path, more: dict[str, object]) -> None:
    with pytest.raises(HipwrightError, match="no snapshot is named") as caught:
        call(rollback, folder, **more)
    assert caught.value.code.name == "option-conflict"


def test_a_release_that_is_named_without_its_local_version_is_told_what_is_there(tmp_path: Path) -> None:
    publish(tmp_path, ("demo_kernels", "1.0+rocm7.1", ""))
    for name in ("demo-kernels==1.0", "demo_kernels-1.0-py3-none-any.whl"):
        with pytest.raises(HipwrightError) as caught:
            call(yank, tmp_path, words=(name,), reason="why")
        assert "it has demo-kernels 1.0+rocm7.1" in caught.value.message


def test_one_goes_back_and_forward_again_and_names_stay_taken(folder: Path) -> None:
    newest, oldest = (one["snapshot"] for one in call(rollback, folder)["history"])
    before = tree_of(folder / "store")
    planned = call(rollback, folder, to=oldest[:10])
    assert len(planned["leave"]) == 2
    assert tree_of(folder / "store") == before
    call(rollback, folder, to=oldest[:10], reason="other is broken", apply=True)
    assert not (index(folder) / "simple/other").exists()
    assert [one["files"] for one in reports(folder)] == [1]
    with pytest.raises(HipwrightError) as caught:
        publish(folder, ("other", "1.0", "other bytes"))
    assert caught.value.code.name == "name-taken"
    call(rollback, folder, to=newest, reason="it was not", apply=True)
    assert [one["files"] for one in reports(folder)] == [3]


def test_a_rollback_to_files_that_are_gone_is_refused_and_names_them(folder: Path) -> None:
    oldest = call(rollback, folder)["history"][-1]["snapshot"]
    (index(folder) / "dist" / FILE).unlink()
    before = tree_of(folder / "store")
    with pytest.raises(HipwrightError, match=FILE.replace("+", r"\+")) as caught:
        call(rollback, folder, to=oldest, reason="why", apply=True)
    assert caught.value.code.name == "files-gone"
    assert tree_of(folder / "store") == before


def test_pages_that_were_edited_are_put_right_at_the_snapshot_where_the_index_stands(folder: Path) -> None:
    pages = [index(folder) / "simple/demo/index.html", index(folder) / "simple-json/other/index.json"]
    before = [page.read_bytes() for page in pages]
    history = call(rollback, folder)["history"]
    pages[0].write_text("edited")
    pages[1].unlink()
    call(rollback, folder, to="current", apply=True)
    assert [page.read_bytes() for page in pages] == before
    assert call(rollback, folder)["history"] == history
    assert reports(folder)[0]["findings"] == ()


def test_retention_hides_first_deletes_later_and_keeps_the_name_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(folder, ("demo", "1.0.1+rocm7.1", ""), time="2026-01-03T00:00:00Z")
    before = tree_of(folder / "store")
    times = iter(["2026-02-01T00:00:00Z"] * 2 + ["2026-02-10T00:00:00Z"] + ["2026-02-20T00:00:00Z"])
    monkeypatch.setattr("build_tools.pipeline.retain_index.files.utc_now", lambda: next(times))
    assert call(retain, folder)["hide"] == [FILE]
    assert tree_of(folder / "store") == before
    call(retain, folder, apply=True)
    assert (index(folder) / "dist" / FILE).exists()
    assert FILE not in (index(folder) / "index.html").read_text().replace("%2B", "+")
    assert call(retain, folder, apply=True)["delete"] == []
    assert call(retain, folder, apply=True)["delete"] == [FILE]
    assert not (index(folder) / "dist" / FILE).exists()
    assert not (index(folder) / "dist" / f"{FILE}.metadata").exists()
    reports(folder)
    with pytest.raises(HipwrightError) as caught:
        publish(folder, ("demo", VERSION, "other bytes"))
    assert caught.value.code.name == "name-taken"
    publish(folder, ("demo", VERSION, ""))
    reports(folder)


@pytest.mark.parametrize("later", ["2026-02-02T00:00:00Z", "2026-02-20T00:00:00Z"], ids=["at once", "after the grace period"])
def test_a_retention_that_died_before_its_pages_is_ended_by_the_next_which_deletes_nothing_yet(
    folder: Path, monkeypatch: pytest.MonkeyPatch, later: str
) -> None:
    publish(folder, ("demo", "1.0.1+rocm7.1", ""), time="2026-01-03T00:00:00Z")
    times = iter(["2026-02-01T00:00:00Z", later, "2026-03-20T00:00:00Z"])
    monkeypatch.setattr("build_tools.pipeline.retain_index.files.utc_now", lambda: next(times))

    def dying(*_arguments: object, **_options: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("build_tools.publish.moving.publish_pages", dying)
        with pytest.raises(Crash):
            call(retain, folder, apply=True)
    assert FILE in (index(folder) / "index.html").read_text().replace("%2B", "+")
    assert call(retain, folder, apply=True)["delete"] == []
    reports(folder)
    assert FILE not in (index(folder) / "index.html").read_text().replace("%2B", "+")
    assert (index(folder) / "dist" / FILE).exists()
    assert call(retain, folder, apply=True)["delete"] == [FILE]
    reports(folder)


@pytest.mark.parametrize("dies_at", [0, 1])
def test_a_retention_that_died_while_it_deleted_is_ended_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    publish(folder, ("demo", "1.0.1+rocm7.1", ""), time="2026-01-03T00:00:00Z")
    times = iter(["2026-02-01T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-21T00:00:00Z"])
    monkeypatch.setattr("build_tools.pipeline.retain_index.files.utc_now", lambda: next(times))
    call(retain, folder, apply=True)
    delete, keys = FolderStore.delete, list[str]()

    def dying(store: FolderStore, key: str) -> None:
        keys.append(key)
        if len(keys) > dies_at:
            raise Crash
        delete(store, key)

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "delete", dying)
        with pytest.raises(Crash):
            call(retain, folder, apply=True)
    assert (index(folder) / "dist" / FILE).exists()
    reports(folder)
    call(retain, folder, apply=True)
    assert not [path for path in (index(folder) / "dist").iterdir() if path.name.startswith(FILE)]
    reports(folder)
    publish(folder, ("demo", VERSION, ""))
    reports(folder)


def _audio(folder: Path) -> None:
    wheel = write_wheel(folder / "audio", "torchaudio", "1.0.0+rocm7.1", headers="Requires-Dist: demo==1.0.0+rocm7.1\n")
    store = FolderStore(folder / "store")
    publish_wheels(
        [wheel], store=store, prefix=PREFIX, replace=False, say=lambda _line: None, clock=lambda: "2026-01-02T00:00:00Z"
    )


def test_a_rollback_that_would_take_a_yank_back_says_so(folder: Path) -> None:
    call(yank, folder, words=(FILE,), reason="wrong results")
    past = call(rollback, folder)["history"][1]["snapshot"]
    place = workplace(folder, store=str(folder / "store"), to=past)
    assert rollback(place)["rollback"]["change"] == [FILE]
    assert "yanked: wrong results -> offered" in str([one.rows for one in memory_of(place).events if isinstance(one, Table)])


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_retention_keeps_what_a_file_requires_that_was_there_or_came_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    publish(folder, ("demo", "1.0.1+rocm7.1", ""), time="2026-01-03T00:00:00Z")
    monkeypatch.setattr("build_tools.pipeline.retain_index.files.utc_now", lambda: "2026-02-01T00:00:00Z")
    if when == "before":
        _audio(folder)
        found = call(retain, folder, apply=True)
        assert found["hide"] == []
        assert "required by torchaudio-1.0.0+rocm7.1-py3-none-any.whl" in [one["why"] for one in found["stays"]]
    else:
        put = FolderStore.put
        done: list[str] = []

        def come_first(store: FolderStore, key: str, *words: Any, **more: Any) -> Any:  # noqa: ANN401 - as the store has it
            if key == f"{PREFIX}/snapshot.json" and not done:
                done.append(key)
                _audio(folder)
            return put(store, key, *words, **more)

        monkeypatch.setattr(FolderStore, "put", come_first)
        found = call(retain, folder, apply=True)
        assert done
        assert found["hide"] == []
        assert {"filename": FILE, "why": "the index changed meanwhile"} in found["stays"]
    monkeypatch.undo()
    assert FILE in (index(folder) / "index.html").read_text().replace("%2B", "+")
    assert reports(folder)[0]["findings"] == ()


def test_retention_keeps_what_a_lock_names_by_its_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(folder, ("demo", "1.0.1+rocm7.1", ""), time="2026-01-03T00:00:00Z")
    monkeypatch.setattr("build_tools.pipeline.retain_index.files.utc_now", lambda: "2026-02-01T00:00:00Z")
    other = write_lock(folder / "other.json", FILE, digest.of_bytes(b"other bytes of that name"))
    assert call(retain, folder, lock=other)["hide"] == [FILE]
    lock = write_lock(folder / "lock.json", FILE, digest.of_file(index(folder) / "dist" / FILE))
    found = call(retain, folder, lock=lock, apply=True)
    assert found["hide"] == []
    assert {"filename": FILE, "why": f"named by {lock}"} in found["stays"]
    # Hidden without the lock, its bytes stay for as long as the lock is given.
    assert call(retain, folder, apply=True)["hide"] == [FILE]
    monkeypatch.setattr("build_tools.pipeline.retain_index.files.utc_now", lambda: "2026-03-01T00:00:00Z")
    assert call(retain, folder, lock=lock, apply=True)["delete"] == []
    assert (index(folder) / "dist" / FILE).exists()
    assert call(retain, folder, apply=True)["delete"] == [FILE]
    assert not (index(folder) / "dist" / FILE).exists()
