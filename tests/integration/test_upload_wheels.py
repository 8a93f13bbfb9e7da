"""``upload_wheels`` into folders and real buckets: what is written is what was planned, and nothing is replaced in silence."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.pipeline.upload_wheels import upload_wheels
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.record import from_json
from build_tools.stores.local import FolderStore
from tests.support.install_lines import carry_out_line
from tests.support.publishing import same_everywhere, tree_of, write_wheel
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.stores.base import ObjectInfo
    from build_tools.workplace import Workplace
    from tests.support.s3 import S3Server

GROUP = "gfx94X-dcgpu"
PREFIX = f"77-linux/pytorch/{GROUP}"


def desk(folder: Path, *paths: Path, **settings: object) -> Workplace:
    return workplace(folder, **{"paths": paths, "artifact_group": GROUP, "run_id": "77", **settings})


def upload(folder: Path, *paths: Path, **settings: object) -> dict[str, Any]:
    found = upload_wheels(desk(folder, *paths, **settings))["upload"]
    assert isinstance(found, dict)
    return found


def refused(folder: Path, *paths: Path, **settings: object) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        upload(folder, *paths, **settings)
    return caught.value


def note_of(place: Workplace) -> list[str]:
    """Return the lines below the table of an upload."""
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    return table.note.splitlines()


def store_of(folder: Path) -> FolderStore:
    return FolderStore(folder / "work" / "store")


def objects(store: FolderStore) -> set[str]:
    return {one.key for one in store.list()}


def some_wheels(folder: Path) -> Sequence[Path]:
    made = [
        write_wheel(folder, "torch", "2.9.0+rocm7.1"),
        write_wheel(folder, "torch", "1!2.0"),
        write_wheel(folder, "torch_kit", "1.0", build="1rc-"),
        write_wheel(folder, "apex", "1.0.post1.dev2+rocm7.1"),
    ]
    return [path for path, _ in made]


def written(planned: Sequence[str], before: set[str], after: set[str]) -> None:
    """Prove that a plan names exactly the objects that are new, of the history the folder."""
    new = {key.removeprefix(f"{PREFIX}/") for key in after - before} - {"77-linux/run.json"}
    history = {key for key in new if key.startswith("snapshots/")}
    assert len(history) == 1
    assert new - history <= set(planned) - {"snapshots/"}
    changed = set(planned) - new - {"snapshots/"}
    assert all(f"{PREFIX}/{key}" in before for key in changed)


def test_wheels_of_a_folder_go_into_the_outputs_of_their_run(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    found = upload(tmp_path, tmp_path / "dist")
    snapshot = same_everywhere(store_of(tmp_path), PREFIX)
    assert {file.filename for file in snapshot.files} == {path.name for path in (tmp_path / "dist").iterdir()}
    assert [row["action"] for row in found["files"]] == ["publish"] * 4
    record = json.loads((tmp_path / "work/store/77-linux/run.json").read_bytes())
    assert record.pop("since").endswith("Z")
    assert record == {"schema": 1, "run_id": "77", "platform": "linux", "release_type": None, "repository": None}
    for file in snapshot.files:
        info = store_of(tmp_path).head(f"{PREFIX}/{file.key}")
        assert info is not None
        assert (info.sha256, info.content_type) == (file.sha256, "application/zip")


def test_what_was_published_is_shown_with_size_and_digest(tmp_path: Path) -> None:
    path, _ = write_wheel(tmp_path / "dist", "torch", "2.9.0+rocm7.1")
    place = desk(tmp_path, path)
    document = upload_wheels(place)["upload"]
    (file,) = document["files"]
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table)]
    assert table.columns == ("file", "size", "sha256", "what")
    assert table.rows == ((path.name, f"{path.stat().st_size / 1024:.1f} KiB", file["sha256"], "published"),)
    page, wanted = document["find_links_url"], "torch==2.9.0+rocm7.1"
    assert document["install"] == {
        wanted: {
            "pip": f"pip install --no-index --no-deps --find-links {page} {wanted}",
            "uv": f"uv pip install --no-index --no-deps --find-links {page} {wanted}",
            "setup_venv": f"nox -s setup_venv -- DIR --packages {wanted} --find-links {page}",
        }
    }
    for way in ("pip", "setup_venv"):
        assert document["install"][wanted][way] in table.note.splitlines()
    for way in ("pip", "uv"):
        assert carry_out_line(document["install"][wanted][way], tmp_path / way) == ["torch-2.9.0+rocm7.1.dist-info"]


@pytest.mark.parametrize("again", [False, True])
def test_a_plan_is_what_is_written_and_writes_nothing(tmp_path: Path, again: bool) -> None:  # noqa: FBT001
    some_wheels(tmp_path / "dist")
    if again:
        upload(tmp_path, tmp_path / "dist")
        write_wheel(tmp_path / "dist", "torch", "2.9.0+rocm7.1", text="a later attempt")
        write_wheel(tmp_path / "dist", "vision", "1.0")
    before, tree = objects(store_of(tmp_path)), tree_of(tmp_path / "work")
    plan = upload(tmp_path, tmp_path / "dist", dry_run=True)
    assert tree_of(tmp_path / "work") == tree
    done = upload(tmp_path, tmp_path / "dist")
    assert done["writes"] == plan["writes"]
    assert {**done, "dry_run": True} == plan
    written(plan["writes"], before, objects(store_of(tmp_path)))


def test_the_same_wheels_once_more_write_nothing(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    upload(tmp_path, tmp_path / "dist")
    before = tree_of(tmp_path / "work" / "store")
    found = upload(tmp_path, tmp_path / "dist")
    assert found["writes"] == []
    assert {row["action"] for row in found["files"]} == {"keep"}
    assert tree_of(tmp_path / "work" / "store") == before


def test_a_later_attempt_needs_a_reason_where_a_run_is_no_trial(tmp_path: Path) -> None:
    path, old = write_wheel(tmp_path / "dist", "torch")
    upload(tmp_path, path, release_type="nightly")
    _, new = write_wheel(tmp_path / "dist", "torch", text="other")
    error = refused(tmp_path, path)
    assert error.code.name == "name-taken", "the run is a nightly, whoever says nothing of it today"
    assert "--replace REASON" in (error.hint or "")
    assert refused(tmp_path, path, replace="  ").code.name == "bad-option-value"
    found = upload(tmp_path, path, replace=" built against\nthe wrong ROCm")
    assert found["reason"] == "built against the wrong ROCm"
    (row,) = same_everywhere(store_of(tmp_path), PREFIX).files
    assert row.sha256 == new.sha256
    change = same_everywhere(store_of(tmp_path), PREFIX).change
    assert change is not None
    assert (change.action, change.reason) == ("publish", "built against the wrong ROCm")
    papers = tmp_path / "work/store" / PREFIX / "provenance" / str(row.provenance) / "set.json"
    assert from_json(papers.read_bytes(), ProvenanceSet, name="set.json").reason == "built against the wrong ROCm"
    assert (tmp_path / "work/store" / PREFIX / "dist" / path.name).exists()
    assert digest.of_file(tmp_path / "work/store" / PREFIX / "dist" / path.name) == old.sha256


@pytest.mark.parametrize(
    ("release_type", "said"),
    [
        (None, "a run at a desk, of no release type, may be tried again"),
        ("dev", "a run of the release type dev may be tried again"),
    ],
)
def test_a_later_attempt_at_a_desk_supersedes_and_says_so(tmp_path: Path, release_type: str | None, said: str) -> None:
    path, old = write_wheel(tmp_path / "dist", "torch")
    upload(tmp_path, path, release_type=release_type)
    _, new = write_wheel(tmp_path / "dist", "torch", text="other")
    plan, place = desk(tmp_path, path, dry_run=True), desk(tmp_path, path)
    for one, verb in ((plan, "would replace"), (place, "replaced")):
        (row,) = upload_wheels(one)["upload"]["files"]
        assert row["action"] == "supersede"
        note = note_of(one)
        assert f"{verb} because: {said}" in note
        assert "other bytes were there under 1 name: they stay beside these, and verdicts on them are void" in note
    (file,) = same_everywhere(store_of(tmp_path), PREFIX).files
    assert file.sha256 == new.sha256
    assert digest.of_file(tmp_path / "work/store" / PREFIX / "dist" / path.name) == old.sha256


def test_pages_that_were_lost_or_edited_are_put_right_and_named(tmp_path: Path) -> None:
    path, _ = write_wheel(tmp_path / "dist", "torch")
    upload(tmp_path, path)
    pages = tmp_path / "work/store" / PREFIX
    (pages / "simple/torch/index.html").unlink()
    (pages / "index.html").write_bytes(b"edited")
    place = desk(tmp_path, path)
    found = upload_wheels(place)["upload"]
    assert (found["writes"], found["repaired"]) == ([], ["index.html", "simple/torch/index.html"])
    note = note_of(place)
    assert "put right what was not as the index has it: index.html, simple/torch/index.html" in note
    assert "wrote 0" not in note
    same_everywhere(store_of(tmp_path), PREFIX)
    assert upload(tmp_path, path)["repaired"] == []


def test_a_run_is_what_its_first_upload_said(tmp_path: Path) -> None:
    path, _ = write_wheel(tmp_path / "dist", "torch")
    upload(tmp_path, path)
    upload(tmp_path, path, release_type="nightly")
    before = tree_of(tmp_path / "work" / "store")
    error = refused(tmp_path, path, release_type="dev")
    assert error.code.name == "run-contradicted"
    assert "nightly" in error.message
    assert tree_of(tmp_path / "work" / "store") == before
    assert upload(tmp_path, path)["release_type"] == "nightly"


def test_the_papers_name_the_wheels_and_say_what_they_lack(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    found = upload(tmp_path, tmp_path / "dist")
    snapshot = same_everywhere(store_of(tmp_path), PREFIX)
    (name,) = {file.provenance for file in snapshot.files}
    assert name == found["provenance"]["set"]
    folder = tmp_path / "work/store" / PREFIX / "provenance" / str(name)
    listing = (folder / "set.json").read_bytes()
    assert digest.of_bytes(listing) == name
    papers = from_json(listing, ProvenanceSet, name="set.json")
    assert {wheel.sha256 for wheel in papers.wheels} == {file.sha256 for file in snapshot.files}
    for paper in papers.papers:
        assert digest.of_file(folder / paper.name) == paper.sha256
        assert str(tmp_path) not in (folder / paper.name).read_text()
    assert "no receipt at hand" in papers.missing[1] if len(papers.missing) > 1 else papers.missing
    sbom = json.loads((folder / "sbom.cdx.json").read_bytes())
    assert sbom["bomFormat"] == "CycloneDX"
    hashes = {row["content"] for component in sbom["components"] for row in component["hashes"]}
    assert hashes == {file.sha256 for file in snapshot.files}
    statement = json.loads((folder / "provenance.intoto.json").read_bytes())
    assert {one["digest"]["sha256"] for one in statement["subject"]} == hashes
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"


def test_a_wheel_that_is_added_brings_papers_of_its_own(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    first = upload(tmp_path, tmp_path / "dist")["provenance"]["set"]
    path, wheel = write_wheel(tmp_path / "dist", "vision", "3.0")
    second = upload(tmp_path, tmp_path / "dist")["provenance"]["set"]
    named = {file.filename: file.provenance for file in same_everywhere(store_of(tmp_path), PREFIX).files}
    assert named.pop(path.name) == second
    assert set(named.values()) == {first}
    listing = (tmp_path / "work/store" / PREFIX / "provenance" / second / "set.json").read_bytes()
    assert [one.sha256 for one in from_json(listing, ProvenanceSet, name="set.json").wheels] == [wheel.sha256]


def test_a_twin_has_the_layout_of_the_store(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    upload(tmp_path, tmp_path / "dist", output_dir=tmp_path / "twin")
    same_everywhere(FolderStore(tmp_path / "twin"), PREFIX)
    assert not (tmp_path / "work" / "store").exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("torch-1.0%2Brocm7.1-py3-none-any.whl", "bad-wheel"),
        ("torch 1.0-py3-none-any.whl", "bad-wheel"),
        ("torch-1.0.whl", "bad-wheel"),
        ("torch-2.0-py3-none-any.whl", "bad-wheel"),
    ],
)
def test_odd_names_are_refused_before_anything_is_written(tmp_path: Path, name: str, code: str) -> None:
    path, _ = write_wheel(tmp_path / "dist", "torch", "1.0")
    path.rename(path.with_name(name))
    assert refused(tmp_path, tmp_path / "dist").code.name == code
    assert not (tmp_path / "work" / "store").exists()


def test_a_damaged_wheel_keeps_all_of_them_out_and_leaves_nothing(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    path, _ = write_wheel(tmp_path / "dist", "vision", text="a bit")
    path.write_bytes(path.read_bytes().replace(b"'a bit'", b"'a cit'"))
    error = refused(tmp_path, tmp_path / "dist")
    assert (error.code.name, error.where and error.where.member) == ("bad-wheel", "vision.py")
    assert not (tmp_path / "work" / "store").exists()
    assert upload(tmp_path, *some_wheels(tmp_path / "dist"))["files"]


def test_what_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    one, _ = write_wheel(tmp_path / "a", "torch")
    other, _ = write_wheel(tmp_path / "b", "torch", text="other")
    assert refused(tmp_path, one, other).code.name == "several-wheels"
    assert refused(tmp_path, one, artifact_group=None).code.name == "bad-option-value"
    assert refused(tmp_path).code.name == "no-wheel"
    assert refused(tmp_path, one, projects=("pytorch-vision",)).code.name == "no-wheel"
    windows, _ = write_wheel(tmp_path / "a", "torch", tag="cp312-cp312-win_amd64")
    linux, _ = write_wheel(tmp_path / "b", "torch", tag="cp312-cp312-manylinux_2_28_x86_64")
    assert refused(tmp_path, windows, linux).code.name == "option-conflict"
    assert refused(tmp_path, windows, platform="linux").code.name == "option-conflict"
    assert not (tmp_path / "work" / "store").exists()
    assert upload(tmp_path, windows)["prefix"] == f"77-windows/pytorch/{GROUP}"


def test_who_may_not_write_hears_it_before_a_wheel_is_read(tmp_path: Path, s3_server: S3Server) -> None:
    path, _ = write_wheel(tmp_path / "dist", "torch")
    path.write_bytes(b"no wheel at all, which reading it would find out")
    there = {"store": f"s3://{s3_server.bucket()}", "endpoint_url": s3_server.endpoint}
    place = replace(desk(tmp_path, path, **there), machine=s3_server.nobody)
    with pytest.raises(HipwrightError) as caught:
        upload_wheels(place)
    assert caught.value.code.name == "no-credentials"


@pytest.mark.skipif(sys.platform == "win32", reason="the set of wheels of tests is fetched on Linux")
def test_piprepo_writes_the_pages_and_nothing_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = write_wheel(tmp_path / "dist", "torch", "2.9.0+rocm7.1")
    plan = upload(tmp_path, one, index_format="piprepo", dry_run=True)
    put, keys = FolderStore.put, list[str]()

    def note(store: FolderStore, key: str, *body: Any, **said: Any) -> ObjectInfo:  # noqa: ANN401 - as the method has it
        keys.append(key)
        return put(store, key, *body, **said)

    monkeypatch.setattr(FolderStore, "put", note)
    assert upload(tmp_path, one, index_format="piprepo")["writes"] == plan["writes"]
    # As they were planned: the file, the page of its project, the root.
    assert [key.removeprefix(f"{PREFIX}/") for key in keys if key.startswith(PREFIX)] == plan["writes"]
    folder = tmp_path / "work/store" / PREFIX
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == set(plan["writes"])
    assert f'href="../../{one.name}"' in (folder / "simple/torch/index.html").read_text()
    dotted, _ = write_wheel(tmp_path / "dist", "torch.kit", "1.0")
    upload(tmp_path, dotted, index_format="piprepo")
    two, _ = write_wheel(tmp_path / "dist", "torch", "2.9.1+rocm7.1")
    dotted, _ = write_wheel(tmp_path / "dist", "torch.kit", "1.1")
    assert upload(tmp_path, one, two, dotted, index_format="piprepo")["writes"] == [
        two.name,
        dotted.name,
        "simple/torch/index.html",
        "simple/torch-kit/index.html",
    ]
    assert (folder / "simple/torch/index.html").read_text().count("href=") == 2
    write_wheel(tmp_path / "dist", "torch", "2.9.0+rocm7.1", text="other")
    assert refused(tmp_path, one, index_format="piprepo").code.name == "name-taken"
    assert refused(tmp_path, one, index_format="piprepo", replace="why").code.name == "option-conflict"
    numbered, _ = write_wheel(tmp_path / "numbered", "torch", "2.9.0+rocm7.1", build="10-")
    assert numbered.name in refused(tmp_path, numbered, artifact_group="third", index_format="piprepo").message
    assert not (tmp_path / "work/store/77-linux/pytorch/third").exists()
    upload(tmp_path, one, artifact_group="other")
    assert refused(tmp_path, one, artifact_group="other", index_format="piprepo").code.name == "option-conflict"


def test_progress_tells_of_reading_and_of_sending(tmp_path: Path) -> None:
    some_wheels(tmp_path / "dist")
    place = desk(tmp_path, tmp_path / "dist")
    upload_wheels(place)
    told = [getattr(event, "what", "") for event in memory_of(place).events]
    assert {"reading wheels", "uploading"} <= set(told)
