from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.publish.promote import BuiltWith, carry_out, plan_promotion
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import put_verdict
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import to_json
from build_tools.receipts.snapshot import PublishedIndex, Snapshot
from build_tools.receipts.verdict import CPU_ONLY, Promotion, TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.promoting import promote, request_for
from tests.support.publishing import MeddledStore, same_everywhere, tree_of, write_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.stores.base import Store

RUN = "7-linux/pytorch/gfx942"


@pytest.fixture
def source(tmp_path: Path) -> FolderStore:
    (tmp_path / "source").mkdir()
    return FolderStore(tmp_path / "source")


@pytest.fixture
def index(tmp_path: Path, source: FolderStore) -> PublishedIndex:
    return publish(tmp_path / "built", source)


def publish(folder: Path, store: Store, *, text: str = "", replace: bool = False) -> PublishedIndex:
    wheels = [write_wheel(folder, "torch", text=text), write_wheel(folder, "other")]
    return publish_wheels(
        wheels, store=store, prefix=RUN, replace=replace, say=lambda _line: None, clock=lambda: "2026-01-02T03:04:05Z"
    )


def verdict_on(index: PublishedIndex, target: str = CPU_ONLY) -> Verdict:
    return Verdict(
        project="torch",
        wheels=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files),
        target=target,
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=digest.of_bytes(b"report"),
        python_version="3.12.1",
        platform="linux",
    )


def into(channel: str, index: PublishedIndex, verdicts: list[Verdict], source: Store, target: Store) -> Promotion:
    return promote(index, verdicts, source=source, target=target, channel=channel, release_type="release")


def test_the_tested_bytes_stand_in_the_channel_with_their_own_index(
    tmp_path: Path, index: PublishedIndex, source: FolderStore
) -> None:
    before = tree_of(tmp_path / "source")
    (tmp_path / "target").mkdir()
    target = FolderStore(tmp_path / "target")
    promotion = into("rehearsal", index, [verdict_on(index)], source, target)
    snapshot = same_everywhere(target, "channels/rehearsal")
    assert {(file.filename, file.sha256, file.metadata_sha256) for file in snapshot.files} == {
        (file.filename, file.sha256, file.metadata_sha256) for file in index.files
    }
    assert {file.uploaded for file in snapshot.files} == {"2026-02-02T00:00:00Z"}
    assert promotion.channel == "rehearsal"
    assert set(promotion.files) == {JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files}
    assert promotion.snapshot == digest.of_file(tmp_path / "target" / "channels" / "rehearsal" / "snapshot.json")
    assert promotion.index_url == f"{(tmp_path / 'target').as_uri()}/channels/rehearsal/simple/"
    assert tree_of(tmp_path / "source") == before


def test_a_second_promotion_writes_nothing(index: PublishedIndex, source: FolderStore) -> None:
    first = into("rehearsal", index, [verdict_on(index)], source, source)
    watched = MeddledStore(source)
    assert into("rehearsal", index, [verdict_on(index)], source, watched) == first
    assert watched.writes == []


def test_release_refuses_what_rehearsal_takes(tmp_path: Path, index: PublishedIndex, source: FolderStore) -> None:
    verdict = verdict_on(index)
    assert into("rehearsal", index, [verdict], source, source).files
    before = tree_of(tmp_path / "source")
    with pytest.raises(HipwrightError) as caught:
        into("release", index, [verdict], source, source)
    assert caught.value.code.name == "promotion-refused"
    for file in index.files:
        assert f"{file.filename} was tested without a GPU only, which the channel release does not accept" in caught.value.message
    assert "rehearsal" in (caught.value.hint or "")
    assert tree_of(tmp_path / "source") == before
    assert into("release", index, [verdict, verdict_on(index, "gfx942")], source, source).channel == "release"


def test_a_verdict_on_other_bytes_is_refused(index: PublishedIndex, source: FolderStore) -> None:
    changed = msgspec.structs.replace(index, files=(msgspec.structs.replace(index.files[0], sha256=digest.of_bytes(b"x")),))
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(changed)], source, source)
    assert caught.value.code.name == "promotion-refused"
    assert "on other bytes of that name" in caught.value.message


def test_a_verdict_on_superseded_bytes_is_refused(tmp_path: Path, index: PublishedIndex, source: FolderStore) -> None:
    newer = publish(tmp_path / "again", source, text="second attempt", replace=True)
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == "promotion-refused"
    assert "torch-1.0+rocm7.1-py3-none-any.whl was superseded" in caught.value.message
    assert "other-1.0" not in caught.value.message
    assert into("rehearsal", newer, [verdict_on(newer)], source, source).files


def test_a_file_that_left_its_index_is_refused(tmp_path: Path, index: PublishedIndex, source: FolderStore) -> None:
    (tmp_path / "source" / RUN / "snapshot.json").write_bytes(to_json(Snapshot(files=index.files[1:])))
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == "promotion-refused"
    assert f"{index.files[0].filename} was superseded" in caught.value.message


def test_a_file_yanked_since_is_refused(tmp_path: Path, index: PublishedIndex, source: FolderStore) -> None:
    rows = (msgspec.structs.replace(index.files[0], yanked="broken"), *index.files[1:])
    (tmp_path / "source" / RUN / "snapshot.json").write_bytes(to_json(Snapshot(files=rows)))
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == "promotion-refused"
    assert "is yanked" in caught.value.message


def test_a_channel_keeps_a_name_for_ever(tmp_path: Path, index: PublishedIndex, source: FolderStore) -> None:
    into("rehearsal", index, [verdict_on(index)], source, source)
    newer = publish(tmp_path / "again", source, text="second attempt", replace=True)
    before = tree_of(tmp_path / "source" / "channels")
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", newer, [verdict_on(newer)], source, source)
    assert caught.value.code.name == "name-taken"
    assert tree_of(tmp_path / "source" / "channels") == before


def test_bytes_that_changed_in_the_source_store_do_not_enter(tmp_path: Path, index: PublishedIndex, source: FolderStore) -> None:
    path = tmp_path / "source" / RUN / index.files[0].key
    path.write_bytes(path.read_bytes().replace(b"TEXT", b"text"))
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == "output-changed"
    # Files on the way beside it may have come, and nobody finds them: nothing names them.
    there = {one.key for one in source.list("channels")}
    assert not any(key.endswith((path.name, ".html", ".json")) for key in there)


@pytest.mark.parametrize(("change", "code"), [("delete", "nothing-published"), ("edit", "output-changed")])
def test_a_side_file_that_is_not_what_it_was_stops_it(
    tmp_path: Path, index: PublishedIndex, source: FolderStore, change: str, code: str
) -> None:
    path = tmp_path / "source" / RUN / f"{index.files[0].key}.metadata"
    if change == "delete":
        path.unlink()
    else:
        path.write_text("Name: other\n")
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == code
    assert list(source.list("channels")) == []


@pytest.mark.parametrize(
    ("lost", "code"), [("snapshot.json", "bad-index"), ("files", "bad-index"), ("everything", "nothing-published")]
)
def test_an_index_that_is_gone_or_empty_is_an_error(
    tmp_path: Path, index: PublishedIndex, source: FolderStore, lost: str, code: str
) -> None:
    path = tmp_path / "source" / RUN / "snapshot.json"
    if lost == "files":
        path.write_bytes(to_json(Snapshot(files=())))
    elif lost == "everything":
        shutil.rmtree(path.parent)
    else:
        path.unlink()
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == code


@pytest.mark.parametrize("channel", ["rehearsal", "release"])
def test_wheels_with_local_changes_are_not_sent_to_the_tests(index: PublishedIndex, source: FolderStore, channel: str) -> None:
    changed = msgspec.structs.replace(verdict_on(index), local=digest.of_bytes(b"an edit"))
    with pytest.raises(HipwrightError) as caught:
        into(channel, index, [changed], source, source)
    assert "built from sources with local changes" in caught.value.message
    assert "take them out" in (caught.value.hint or "")
    assert not (caught.value.hint or "").startswith("test these wheels")


def test_no_files_are_refused(index: PublishedIndex, source: FolderStore) -> None:
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", msgspec.structs.replace(index, files=()), [verdict_on(index)], source, source)
    assert caught.value.code.name == "promotion-refused"
    assert "no file to promote" in caught.value.message


def test_a_failure_that_is_kept_beside_the_index_outweighs_the_passed_verdict_at_hand(
    index: PublishedIndex, source: FolderStore
) -> None:
    failed = msgspec.structs.replace(verdict_on(index), outcome="failed")
    put_verdict(source, IndexFolder(RUN), failed)
    with pytest.raises(HipwrightError) as caught:
        into("rehearsal", index, [verdict_on(index)], source, source)
    assert caught.value.code.name == "promotion-refused"
    assert "failed its tests on cpu-only" in caught.value.message
    assert "another version or build number" in (caught.value.hint or "")


def test_what_wheels_were_built_with_must_be_in_the_channel_by_its_bytes(
    tmp_path: Path, index: PublishedIndex, source: FolderStore
) -> None:
    wheel = write_wheel(tmp_path / "before", "before")
    before = publish_wheels([wheel], store=source, prefix="6-linux/pytorch/gfx942", replace=False, say=lambda _line: None)
    (file,) = before.files
    needed = BuiltWith(filename=file.filename, sha256=file.sha256, promote_by="nox -s promote -- --run-id 6")
    request = replace(request_for(index, source=source, verdicts=[verdict_on(index)]), built_with=[needed])
    with pytest.raises(HipwrightError) as caught:
        plan_promotion(request)
    assert caught.value.code.name == "promotion-refused"
    assert f"built with is not in the channel rehearsal: {file.filename}" in caught.value.message
    assert needed.promote_by in (caught.value.hint or "")
    # A plan may count on what another would bring, and is judged without it when it is carried out.
    with pytest.raises(HipwrightError, match="built with is not in the channel"):
        carry_out(plan_promotion(request, promised=before.files), say=lambda _line: None)
    assert not {one.key for one in source.list("channels")} & {"channels/rehearsal/snapshot.json"}
    other = msgspec.structs.replace(file, sha256=digest.of_bytes(b"other bytes of that name"))
    with pytest.raises(HipwrightError, match="built with is not in the channel"):
        plan_promotion(request, promised=[other])
    with pytest.raises(HipwrightError, match="built with is not in the channel"):
        plan_promotion(request, promised=[msgspec.structs.replace(file, yanked="broken")])
    into("rehearsal", before, [verdict_on(before)], source, source)
    assert carry_out(plan_promotion(request), say=lambda _line: None).files
