"""``promote`` by run: all or none, whatever breaks; the bytes that were tested, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from build_tools import digest
from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.index.layout import paper_key, verdict_key
from build_tools.pipeline.promote_run import promote_run
from build_tools.pipeline.verify_index import verify
from build_tools.publish.papers import PaperFile, bind_papers
from build_tools.publish.promote import carry_out, plan_promotion
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import put_verdict
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import from_json, to_json
from build_tools.receipts.run import RunRecord
from build_tools.receipts.snapshot import PublishedIndex, Snapshot
from build_tools.receipts.verdict import CPU_ONLY, PromotionRecord, TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from build_tools.wheels.pack import pack_wheel
from tests.support.at_once import run_at_once
from tests.support.promoting import request_for
from tests.support.publishing import Crash, MeddledStore, installable, same_everywhere, wheel_of, write_wheel
from tests.support.s3_front import fronting
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import Papers
    from build_tools.receipts.values import WheelFile
    from build_tools.stores.base import Store
    from build_tools.workplace import Workplace
    from tests.support.s3 import S3Server

GROUP = "gfx94X-dcgpu"
RUN = f"77-linux/pytorch/{GROUP}"
CHANNEL = "channels/rehearsal"
TORCH = "2.9.0+rocm7.1"


def fill(folder: Path, store: Store, *, text: str = "", rocm: bool = False, **more: Any) -> PublishedIndex:  # noqa: ANN401
    """Publish torch and torchaudio, which requires it, as a run does, with papers."""
    headers = f"Requires-Dist: torch=={TORCH}\nRequires-Dist: numpy\n"
    needs_rocm = "Requires-Dist: rocm==7.1\n" if rocm else ""
    return publish_wheels(
        [
            write_wheel(folder, "torch", TORCH, text=text, headers=needs_rocm),
            write_wheel(folder, "torchaudio", TORCH, headers=headers),
        ],
        store=store,
        prefix=RUN,
        replace=True,
        say=lambda _line: None,
        papers=some_papers,
        **more,
    )


def some_papers(offers: Sequence[Offer]) -> Papers:
    return bind_papers(
        [JudgedWheel(filename=one.filename, sha256=one.sha256) for one in offers],
        [PaperFile(name="lock.json", kind="lock", data=b"{}"), PaperFile(name="bom.cdx.json", kind="sbom", data=b"{ }")],
    )


def verdict_on(index: PublishedIndex, target: str = CPU_ONLY, **changes: Any) -> Verdict:  # noqa: ANN401
    made = Verdict(
        project="torch",
        wheels=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files),
        target=target,
        outcome="passed",
        counts=TestCounts(passed=1),
        report_sha256=digest.of_bytes(b"report"),
        python_version="3.12.1",
        platform="linux",
    )
    return msgspec.structs.replace(made, **changes)


@dataclass(frozen=True)
class Desk:
    """A machine with a store that has the outputs of a run."""

    folder: Path
    store: Store
    address: Mapping[str, object]
    machine: Mapping[str, str] | None = None

    def place(self, **settings: object) -> Workplace:
        made = workplace(self.folder, **{"run_id": "77", "platform": "linux", "channel": "rehearsal", **self.address, **settings})
        return made if self.machine is None else replace(made, machine=self.machine)

    def promote(self, **settings: object) -> dict[str, Any]:
        found = promote_run(self.place(**settings))["promotion"]
        assert isinstance(found, dict)
        return found

    def refused(self, **settings: object) -> HipwrightError:
        with pytest.raises(HipwrightError) as caught:
            self.promote(**settings)
        return caught.value

    def under(self, prefix: str = "channels") -> set[str]:
        return {one.key for one in self.store.list(prefix)}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "store").mkdir()
    return Desk(tmp_path, FolderStore(tmp_path / "store"), {"store": str(tmp_path / "store")})


def test_a_run_is_promoted_with_its_papers_and_verdicts(desk: Desk) -> None:
    index = fill(desk.folder / "dist", desk.store)
    name = put_verdict(desk.store, IndexFolder(RUN), verdict_on(index))
    found = desk.promote()
    snapshot = same_everywhere(desk.store, CHANNEL)
    assert {(file.filename, file.sha256) for file in snapshot.files} == {(file.filename, file.sha256) for file in index.files}
    assert [(one["action"], one["from"], one["to"]) for one in found["files"]] == [
        ("copy", f"{RUN}/{file.key}", f"{CHANNEL}/{file.key}") for file in index.files
    ]
    provenance = {file.provenance for file in snapshot.files}
    assert provenance == {file.provenance for file in index.files}
    for papers in provenance:
        assert papers is not None
        assert {f"{CHANNEL}/{paper_key(papers, one)}" for one in ("set.json", "lock.json", "bom.cdx.json")} <= desk.under()
    assert f"{CHANNEL}/{verdict_key(name)}" in desk.under()
    (record,) = desk.under(f"{CHANNEL}/promotions")
    content = desk.store.get(record)
    assert content is not None
    kept = from_json(content.data, PromotionRecord, name=record)
    assert (kept.verdicts, kept.source_snapshot, kept.override) == ((name,), index.snapshot, None)
    assert kept.unjudged == tuple(found["not_judged"]) == ("not judged, as the base index of each machine gives them: numpy",)
    assert found["snapshot"] == digest.of_bytes(to_json(snapshot))


@pytest.mark.parametrize(
    ("folder", "rule"), [("verdicts", "promotion"), ("promotions", "promotion"), ("provenance", "provenance")]
)
def test_what_says_why_a_channel_has_a_file_is_missed_when_it_is_lost_or_changed(desk: Desk, folder: str, rule: str) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "built", desk.store)))
    desk.promote()
    (whole,) = verify(desk.place())["indexes"]
    assert whole["findings"] == ()
    for path in [one for one in (desk.folder / "store" / CHANNEL / folder).rglob("*.json") if one.is_file()]:
        data = path.read_bytes()
        for damage in (path.unlink, lambda there=path, now=data: there.write_bytes(now + b" ")):
            damage()
            with pytest.raises(HipwrightError) as caught:
                verify(desk.place())
            path.write_bytes(data)
            (report,) = msgspec.json.decode(msgspec.json.encode((caught.value.document or {})["indexes"]))
            assert {finding["rule"] for finding in report["findings"]} <= {rule, folder.removesuffix("s")}
    assert verify(desk.place())["indexes"][0]["findings"] == ()


def test_the_same_run_again_writes_nothing(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store)))
    desk.promote()
    before = {key: desk.store.head(key) for key in desk.under()}
    place = desk.place()
    assert [one["action"] for one in promote_run(place)["promotion"]["files"]] == ["keep", "keep"]
    assert {key: desk.store.head(key) for key in desk.under()} == before
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert table.title == "Nothing new to promote from the run 77 into rehearsal"


def test_a_dry_run_tells_from_where_to_where_and_writes_nothing(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store)))
    before = {key: desk.store.head(key) for key in desk.under("")}
    place = desk.place(dry_run=True)
    found = promote_run(place)["promotion"]
    assert found["dry_run"] is True
    assert found["snapshot"] is None
    assert {key: desk.store.head(key) for key in desk.under("")} == before
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert [row[:2] for row in table.rows] == [(one["from"], one["to"]) for one in found["files"]]
    assert desk.promote()["files"] == found["files"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_refused_is_shown_from_where_to_where_with_what_stands_against_it(desk: Desk, *, dry_run: bool) -> None:
    index = fill(desk.folder / "dist", desk.store)
    torch, audio = index.files
    tested = (JudgedWheel(filename=torch.filename, sha256=torch.sha256),)
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(index, wheels=tested))
    place = desk.place(dry_run=dry_run)
    with pytest.raises(HipwrightError) as caught:
        promote_run(place)
    found: Any = caught.value.document
    rows = found["promotion"]["files"]
    assert [(one["from"], one["to"]) for one in rows] == [(f"{RUN}/{file.key}", f"{CHANNEL}/{file.key}") for file in index.files]
    assert [one["reasons"] for one in rows] == [[], [f"has no verdict on its bytes ({audio.sha256[:12]})"]]
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert [row[3] for row in table.rows] == ["nothing against it", rows[1]["reasons"][0]]


def test_a_taken_name_is_shown_at_its_row(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store)))
    desk.promote()
    index = fill(desk.folder / "again", desk.store, text="other")
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(index))
    document: Any = desk.refused(dry_run=True).document
    assert [one["reasons"] for one in document["promotion"]["files"]] == [["is there already, with other bytes"], []]


def test_chosen_projects_and_what_is_left_out(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store)))
    error = desk.refused(projects=("pytorch-audio",))
    assert error.code.name == "promotion-refused"
    assert f"requires torch=={TORCH}" in error.message
    assert desk.under() == set()
    found = desk.promote(projects=("pytorch",))
    assert [one["filename"].partition("-")[0] for one in found["files"]] == ["torch"]
    assert found["left_out"] == [f"torchaudio-{TORCH}-py3-none-any.whl"]
    assert desk.promote(projects=("pytorch-audio",))["files"]
    assert desk.refused(projects=("apex",)).code.name == "no-wheel"


def test_rocm_packages_are_looked_for_in_the_index_that_is_named(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store, rocm=True)))
    assert "requires rocm==7.1" in desk.refused().message
    write_wheel(desk.folder / "rocm", "rocm", "7.1")
    assert desk.promote(rocm_find_links=(str(desk.folder / "rocm"),))["files"]


def test_a_group_is_named_where_there_are_several(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store)))
    other = f"{RUN}-asan"
    publish_wheels(
        [write_wheel(desk.folder / "o", "apex")], store=desk.store, prefix=other, replace=False, say=lambda _line: None
    )
    error = desk.refused()
    assert error.code.name == "bad-option-value"
    assert f"{GROUP}, {GROUP}-asan" in error.message
    assert desk.promote(artifact_group=GROUP)["files"]
    assert desk.refused(run_id="78").code.name == "nothing-published"


def test_release_types_are_the_run_s_own(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store), "gfx942"))
    write_wheel(desk.folder / "rocm", "rocm", "7.1")
    named = {"channel": "release", "rocm_find_links": (str(desk.folder / "rocm"),)}
    assert "says not what release type" in desk.refused(**named).message
    record = RunRecord(run_id="77", platform="linux", release_type="nightly")
    desk.store.put("77-linux/run.json", to_json(record), content_type="application/json", cache_seconds=0)
    assert "is of the release type nightly" in desk.refused(**named).message
    assert desk.refused(**named, release_type="release").code.name == "run-contradicted"
    desk.store.put(
        "77-linux/run.json",
        to_json(msgspec.structs.replace(record, release_type="release")),
        content_type="application/json",
        cache_seconds=0,
    )
    assert desk.promote(**named)["release_type"] == "release"


def test_an_override_needs_a_reason_and_is_kept(desk: Desk) -> None:
    fill(desk.folder / "dist", desk.store)
    assert "machines that can test it" in desk.refused(override="we are in a hurry").message
    moved = RUN.replace(GROUP, "gfx1152")
    fill_other = write_wheel(desk.folder / "o", "torch", TORCH)
    publish_wheels([fill_other], store=desk.store, prefix=moved, replace=False, say=lambda _line: None)
    assert desk.refused(artifact_group="gfx1152", override=" ").code.name == "bad-option-value"
    assert desk.refused(artifact_group="gfx1152").code.name == "promotion-refused"
    assert desk.promote(artifact_group="gfx1152", override=" no machine\n yet ")["override"] == "no machine yet"
    (key,) = desk.under(f"{CHANNEL}/promotions")
    content = desk.store.get(key)
    assert content is not None
    assert from_json(content.data, PromotionRecord, name=key).override == "no machine yet"


def test_verdicts_on_other_bytes_and_forged_ones_open_nothing(desk: Desk) -> None:
    old = fill(desk.folder / "dist", desk.store, text="first")
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(old))
    new = fill(desk.folder / "again", desk.store, text="second")
    refused = desk.refused()
    assert f"torch-{TORCH}-py3-none-any.whl has no verdict on its bytes" in refused.message
    assert f"test_wheels -- --from-run-id 77 --artifact-group {GROUP} --store {desk.store.address} --platform linux " in (
        refused.hint or ""
    )
    forged = to_json(verdict_on(new))
    key = f"{RUN}/{verdict_key(digest.of_bytes(b'another'))}"
    desk.store.put(key, forged, content_type="application/json", cache_seconds=0)
    assert desk.refused().code.name == "bad-index"
    assert desk.under() == set()


def test_one_failure_among_many_passes_refuses(desk: Desk) -> None:
    index = fill(desk.folder / "dist", desk.store)
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(index))
    put_verdict(
        desk.store, IndexFolder(RUN), verdict_on(index, "gfx1201", outcome="failed", counts=TestCounts(passed=9, failed=1))
    )
    assert "failed its tests on gfx1201" in desk.refused(override="never mind").message


def test_files_papers_and_side_files_that_are_gone(desk: Desk) -> None:
    index = fill(desk.folder / "dist", desk.store)
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(index))
    first = index.files[0]
    assert first.provenance is not None
    for key in (f"{RUN}/{first.key}", f"{RUN}/{paper_key(first.provenance, 'lock.json')}", f"{RUN}/{first.key}.metadata"):
        content = desk.store.get(key)
        assert content is not None
        desk.store.delete(key)
        assert desk.refused().code.name == "nothing-published"
        assert installable(desk.store, CHANNEL) == {}
        desk.store.put(key, content.data, content_type=content.info.content_type, cache_seconds=0)
    assert desk.promote()["files"]


def test_a_name_that_the_channel_has_with_other_bytes(desk: Desk) -> None:
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(fill(desk.folder / "dist", desk.store)))
    key = f"{CHANNEL}/dist/torch-{TORCH}-py3-none-any.whl"
    desk.store.put(key, b"somebody's", content_type="application/zip", cache_seconds=0)
    error = desk.refused()
    assert error.code.name == "name-taken"
    assert desk.under() == {key}


@pytest.mark.parametrize("change", ["yanked", "superseded", "failed", "gone"])
def test_what_happens_while_files_are_copied_counts(desk: Desk, change: str) -> None:
    index = fill(desk.folder / "dist", desk.store)
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(index))

    def meddle(_number: int, key: str) -> None:
        if not key.startswith(f"{CHANNEL}/promotions"):
            return
        if change == "failed":
            put_verdict(desk.store, IndexFolder(RUN), verdict_on(index, outcome="failed", counts=TestCounts(passed=1, failed=1)))
        elif change == "superseded":
            fill(desk.folder / "again", desk.store, text="another attempt")
        else:
            rows = (msgspec.structs.replace(index.files[0], yanked="broken"), *index.files[1:])
            kept = Snapshot(files=rows if change == "yanked" else rows[1:])
            (desk.folder / "store" / RUN / "snapshot.json").write_bytes(to_json(kept))

    plan = plan_promotion(request_for(index, source=desk.store, target=MeddledStore(desk.store, after=meddle)))
    with pytest.raises(HipwrightError) as caught:
        carry_out(plan, say=lambda _line: None)
    assert caught.value.code.name == "promotion-refused"
    assert installable(desk.store, CHANNEL) == {}
    assert f"{CHANNEL}/snapshot.json" not in desk.under()


@pytest.mark.parametrize("fault", ["killed", "no rights"])
def test_a_fault_at_any_write_leaves_all_or_none_and_the_next_one_goes_on(tmp_path: Path, fault: str) -> None:
    (tmp_path / "count").mkdir()
    watched = MeddledStore(FolderStore(tmp_path / "count"))
    index = fill(tmp_path / "dist", watched.inner)
    put_verdict(watched.inner, IndexFolder(RUN), verdict_on(index))
    carry_out(plan_promotion(request_for(index, source=watched.inner, target=watched)), say=lambda _line: None)
    writes = len(watched.writes)
    assert writes > 10
    expected = {file.filename: file.sha256 for file in index.files}
    for fatal in range(writes):
        (tmp_path / str(fatal)).mkdir()
        store = FolderStore(tmp_path / str(fatal))
        index = fill(tmp_path / "dist", store)
        put_verdict(store, IndexFolder(RUN), verdict_on(index))

        def die(number: int, key: str, fatal: int = fatal) -> None:
            if fault == "killed" and number == fatal:
                raise Crash
            if fault == "no rights" and number >= fatal:
                raise HipwrightError("store-unusable", f"writing {key} is forbidden")

        with pytest.raises((Crash, HipwrightError)):
            carry_out(
                plan_promotion(request_for(index, source=store, target=MeddledStore(store, before=die))), say=lambda _line: None
            )
        assert installable(store, CHANNEL) in ({}, expected), fatal
        resumed = MeddledStore(store)
        carry_out(plan_promotion(request_for(index, source=store, target=resumed)), say=lambda _line: None)
        assert {file.filename: file.sha256 for file in same_everywhere(store, CHANNEL).files} == expected
        assert sum(key.endswith(".whl") for key in resumed.writes) <= len(expected)
        again = MeddledStore(store)
        carry_out(plan_promotion(request_for(index, source=store, target=again)), say=lambda _line: None)
        assert again.writes == []


def candidate(desk: Desk, *more: tuple[Path, WheelFile], text: str = "") -> PublishedIndex:
    version, rocm = "2.9.0+rocm7.10.0rc2", "Requires-Dist: rocm==7.10.0rc2\n"
    headers = f"Requires-Dist: torch=={version}\n"
    wheels = [
        write_module(desk.folder / "rc", "torch", version, text=text, headers=rocm),
        write_module(desk.folder / "rc", "torchaudio", version, headers=headers),
        *more,
    ]
    write_wheel(desk.folder / "rocm", "rocm", "7.10.0")
    index = publish_wheels(wheels, store=desk.store, prefix=RUN, replace=False, say=lambda _line: None, papers=some_papers)
    put_verdict(desk.store, IndexFolder(RUN), verdict_on(index, "gfx942"))
    record = RunRecord(run_id="77", platform="linux", release_type="prerelease")
    desk.store.put("77-linux/run.json", to_json(record), content_type="application/json", cache_seconds=0)
    return index


def write_module(folder: Path, name: str, version: str, *, headers: str, text: str = "") -> tuple[Path, WheelFile]:
    """Write a wheel that states its version in ``version.py``, and ``text`` elsewhere."""
    tree = folder / name
    info = tree / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (tree / name).mkdir()
    (tree / name / "version.py").write_text(f"__version__ = {version!r}\n")
    (tree / name / "__init__.py").write_text(f"TEXT = {text!r}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    (folder / "dist").mkdir(exist_ok=True)
    path = pack_wheel(tree, target=folder / "dist")
    return path, wheel_of(path)


def test_a_candidate_becomes_the_release_with_its_verdict(desk: Desk) -> None:
    index = candidate(desk)
    named = {"channel": "release", "rocm_find_links": (str(desk.folder / "rocm"),)}
    assert "a ROCm of the kind rc" in desk.refused(**named).message
    again = {**named, "reversion": "7.10.0rc2=7.10.0"}
    place = desk.place(**again, dry_run=True)
    assert {one["filename"]: one["from"] for one in promote_run(place)["promotion"]["files"]} == {
        f"{name}-2.9.0+rocm7.10.0-py3-none-any.whl": f"{RUN}/dist/{name}-2.9.0+rocm7.10.0rc2-py3-none-any.whl"
        for name in ("torch", "torchaudio")
    }
    assert not any("published" in line or "wrote" in line for line in memory_of(place).said)
    assert desk.under() == set()
    assert desk.promote(**again)["source"] == desk.store.url(RUN)
    files = same_everywhere(desk.store, "channels/release").files
    assert {file.version for file in files} == {"2.9.0+rocm7.10.0"}
    (papers,) = {file.provenance for file in files}
    assert papers is not None
    content = desk.store.get(f"channels/release/{paper_key(papers, 'reversion.json')}")
    assert content is not None
    made_from = msgspec.json.decode(content.data)["made_from"]
    (tested,) = {file.provenance for file in index.files if file.provenance is not None}
    kept = desk.folder / "store/channels/release" / paper_key(papers, f"from-{tested[:12]}-lock.json")
    assert kept.read_bytes() == (desk.folder / "store" / RUN / paper_key(tested, "lock.json")).read_bytes()
    words = msgspec.json.decode(kept.with_name("provenance.intoto.json").read_bytes())
    assert {(one["name"], one["digest"]["sha256"]) for one in words["subject"]} == {(one.filename, one.sha256) for one in files}
    materials = {one["digest"]["sha256"] for one in words["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert materials == {file.sha256 for file in index.files}
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(kept.with_name("sbom.cdx.json").read_text()) is None
    assert verify(desk.place(channel="release"))["indexes"][0]["findings"] == ()
    assert set(made_from.values()) == {file.sha256 for file in index.files}
    assert set(made_from) == {file.filename for file in files}
    assert [one["action"] for one in desk.promote(**again)["files"]] == ["keep", "keep"]
    assert versions_when_installed(desk, "torch", "torchaudio") == ["2.9.0+rocm7.10.0"] * 2


def versions_when_installed(desk: Desk, *names: str) -> list[str]:
    """Install from the channel with what it requires, offline, import each, and return the versions that they state."""
    target = desk.folder / "installed"
    places = ["--find-links", str(desk.folder / "store/channels/release/dist"), "--find-links", str(desk.folder / "rocm")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", *places, "--target", str(target), *names]
    subprocess.run(pip, check=True, capture_output=True)
    code = "import importlib, sys; print(*(importlib.import_module(f'{name}.version').__version__ for name in sys.argv[1:]))"
    environment = {"PYTHONPATH": str(target), "PATH": os.defpath}
    told = subprocess.run(
        [sys.executable, "-c", code, *names], check=True, capture_output=True, text=True, env=environment, cwd=target
    )
    return told.stdout.split()


def test_what_has_nothing_of_the_candidate_goes_along_as_it_is(desk: Desk) -> None:
    companion = write_module(desk.folder / "rc", "apex", "1.1", headers="")
    candidate(desk, companion)
    named = {"channel": "release", "rocm_find_links": (str(desk.folder / "rocm"),)}
    place = desk.place(**named, reversion="7.10.0rc2=7.10.0")
    promote_run(place)
    files = {file.filename: file.sha256 for file in same_everywhere(desk.store, "channels/release").files}
    assert files[companion[0].name] == companion[1].sha256
    assert f"{companion[0].name} has nothing of 7.10.0rc2 in it, and stays as it is" in memory_of(place).said
    assert [one["action"] for one in desk.promote(**named, reversion="7.10.0rc2=7.10.0")["files"]] == ["keep"] * 3
    error = desk.refused(**named, projects=("apex",), reversion="7.10.0rc2=7.10.0")
    assert (error.code.name, "none of apex-1.1" in error.message) == ("bad-version", True)


def test_a_companion_that_keeps_its_name_and_not_its_bytes_is_refused_where_the_channel_has_it(desk: Desk) -> None:
    companion = write_module(desk.folder / "rc", "apex", "1.1", headers="Requires-Dist: rocm==7.10.0rc2\n")
    candidate(desk, companion)
    write_wheel(desk.folder / "rocm", "rocm", "7.10.0rc2")
    named = {"channel": "release", "rocm_find_links": (str(desk.folder / "rocm"),)}
    desk.promote(**named, projects=("apex",))
    error = desk.refused(**named, reversion="7.10.0rc2=7.10.0", dry_run=True)
    assert error.code.name == "name-taken"
    assert f"{companion[0].name} of the channel release would need other bytes under the same name" in error.message
    document: Any = error.document
    assert [bool(one["reasons"]) for one in document["promotion"]["files"]] == [True, False, False]


def test_a_candidate_that_states_its_version_elsewhere_or_failed_is_refused(desk: Desk) -> None:
    index = candidate(desk, text="built for 7.10.0rc2")
    named = {"channel": "release", "reversion": "7.10.0rc2=7.10.0", "rocm_find_links": (str(desk.folder / "rocm"),)}
    error = desk.refused(**named)
    assert error.code.name == "version-left"
    assert "torch/__init__.py" in error.message
    put_verdict(
        desk.store, IndexFolder(RUN), verdict_on(index, "gfx1201", outcome="failed", counts=TestCounts(passed=1, failed=1))
    )
    assert "failed its tests on gfx1201" in desk.refused(**named).message
    assert desk.under() == set()


@pytest.fixture
def bucket(tmp_path: Path, s3_server: S3Server) -> Desk:
    name = s3_server.bucket(public=True)
    address = {"store": f"s3://{name}", "endpoint_url": s3_server.endpoint}
    return Desk(tmp_path, s3_server.store(name), address, machine=s3_server.machine)


def test_a_bucket_copies_within_and_keeps_what_is_known_of_files(bucket: Desk) -> None:
    index = fill(bucket.folder / "dist", bucket.store)
    put_verdict(bucket.store, IndexFolder(RUN), verdict_on(index))
    bucket.promote()
    assert {(file.filename, file.sha256) for file in same_everywhere(bucket.store, CHANNEL).files} == {
        (file.filename, file.sha256) for file in index.files
    }
    for file in index.files:
        before, after = bucket.store.head(f"{RUN}/{file.key}"), bucket.store.head(f"{CHANNEL}/{file.key}")
        assert before is not None
        assert after is not None
        assert (before.sha256, before.size, before.content_type, before.cache_seconds) == (
            after.sha256,
            after.size,
            after.content_type,
            after.cache_seconds,
        )


PLAN = """
import sys
from build_tools.config.channels import load_channels
from build_tools.publish.promote import Request, carry_out, plan_promotion
from build_tools.publish.current import read_snapshot
from build_tools.receipts.check import JudgedWheel
from build_tools.stores.run_outputs import IndexFolder
from tests.support.s3 import S3Server

endpoint, bucket, prefix = sys.argv[1:]
store = S3Server(name="seaweed", endpoint=endpoint).store(bucket)
rows = read_snapshot(store, IndexFolder(prefix)).files
request = Request(
    files=tuple(JudgedWheel(filename=row.filename, sha256=row.sha256) for row in rows),
    origin=IndexFolder(prefix), source=store, target=store,
    channel=load_channels().find_channel("rehearsal"),
)
plan = plan_promotion(request)
"""
PROMOTE = "carry_out(plan, say=lambda _line: None)"


def test_two_processes_that_promote_at_once_lose_nothing(bucket: Desk, s3_server: S3Server) -> None:
    name = str(bucket.address["store"]).removeprefix("s3://")
    expected: dict[str, str] = {}
    calls = []
    for number in range(2):
        # One project for both, so that they want the same pages; and one file of the same bytes.
        wheels = [write_wheel(bucket.folder / "same", "torch", "1.0"), write_wheel(bucket.folder / "d", "torch", f"2.{number}")]
        prefix = f"{number}-linux/pytorch/{GROUP}"
        index = publish_wheels(wheels, store=bucket.store, prefix=prefix, replace=False, say=lambda _line: None)
        put_verdict(bucket.store, IndexFolder(prefix), verdict_on(index))
        expected |= {file.filename: file.sha256 for file in index.files}
        calls.append((s3_server.endpoint, name, prefix))
    run_at_once(PLAN, PROMOTE, calls, {})
    assert {file.filename: file.sha256 for file in same_everywhere(bucket.store, CHANNEL).files} == expected


def test_promoting_takes_no_more_requests_of_a_wheel_than_it_must(bucket: Desk, s3_server: S3Server) -> None:
    """The side file read and written, the wheel copied and the copy asked for, and two pages of its project."""
    asked = []
    with fronting(s3_server.endpoint) as front:
        for run, count in (("10", 10), ("11", 20)):
            wheels = [write_wheel(bucket.folder / run, f"demo{run}x{number}") for number in range(count)]
            prefix = f"{run}-linux/pytorch/{GROUP}"
            index = publish_wheels(wheels, store=bucket.store, prefix=prefix, replace=False, say=lambda _line: None)
            put_verdict(bucket.store, IndexFolder(prefix), verdict_on(index))
            for key in bucket.under():
                bucket.store.delete(key)
            front.asked.clear()
            bucket.promote(run_id=run, endpoint_url=front.url)
            asked.append(len(front.asked))
    assert asked[1] - asked[0] <= 6 * 10
    assert asked[0] <= 6 * 10 + 70


def test_a_page_that_is_lost_while_many_are_written_is_missed_and_written_again(bucket: Desk) -> None:
    wheels = [write_wheel(bucket.folder / "many", f"demo{number}") for number in range(10)]
    lost: list[str] = []

    def lose(_number: int, key: str) -> None:
        if key.endswith("simple/demo3/index.html") and not lost:
            lost.append(key)
            bucket.store.delete(key)

    store = MeddledStore(bucket.store, after=lose)
    publish_wheels(wheels, store=store, prefix=RUN, replace=False, say=lambda _line: None)
    assert lost
    assert len(same_everywhere(bucket.store, RUN).files) == len(wheels)
