"""What stands in the folder, and what is known of its bytes."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from build_tools.files import hold
from tests.support.artifact_fetching import ALL, BASE_LIB, BLAS, failure, fetch, side, small, store_of, whole
from tests.support.artifacts import BASE, archive_bytes, manifest, member, plain_archive

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    ["{sha}", "{sha}\n", "{SHA}  {name}\n", "{sha} *{name}", "{sha}  build/{name}\r\n"],
)
def test_side_files_as_tools_write_them(tmp_path: Path, text: str) -> None:
    store = small()
    sha = hashlib.sha256(store.objects[BLAS]).hexdigest()
    text = text.format(sha=sha, SHA=sha.upper(), name="blas_lib_gfx942.tar.zst")
    store.objects[f"{BLAS}.sha256sum"] = text.encode()
    assert fetch(store, tmp_path)[1].proved == "sha256"


@pytest.mark.parametrize("text", ["", "0" * 63, "{sha}  other_lib_gfx942.tar.zst", "{sha}\n{sha}", "sha256:{sha}", "\udcff"])
def test_side_files_that_state_nothing(tmp_path: Path, text: str) -> None:
    store = small()
    text = text.format(sha=hashlib.sha256(store.objects[BLAS]).hexdigest())
    store.objects[f"{BLAS}.sha256sum"] = text.encode("utf-8", "surrogateescape")
    assert failure(store, tmp_path).code.name == "artifact-missing"


def test_the_sha256_that_the_store_states_counts(tmp_path: Path) -> None:
    store = small(side_files=False, stated={BLAS: "0" * 64})
    error = failure(store, tmp_path)
    assert error.code.name == "artifact-missing"
    assert "0" * 64 in error.message


def test_a_bad_archive_leaves_nothing_and_is_fetched_again_next_time(tmp_path: Path) -> None:
    bad = archive_bytes([manifest(), member(f"{BASE}/../../../../escape", "x")])
    store = store_of({BLAS: bad, BASE_LIB: plain_archive({"lib/base.so": b"a"}, ".tar.xz")})
    assert failure(store, tmp_path).code.name == "bad-archive"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".fetch", ".fetched-for.json", "base_lib_generic"]
    assert sorted(path.name for path in (tmp_path / ".fetch").iterdir()) == ["lock", "run.json"]


def test_an_archive_that_says_it_holds_too_much_stops_no_other(tmp_path: Path) -> None:
    bomb = archive_bytes([manifest(), member(f"{BASE}/a", b"", size=1 << 60)])
    store = store_of({BLAS: bomb, BASE_LIB: plain_archive({"lib/base.so": b"a"}, ".tar.xz")})
    assert failure(store, tmp_path, at_once=1).code.name == "disk-space"
    assert (tmp_path / "base_lib_generic").is_dir()


def test_a_store_that_refuses_ends_everything(tmp_path: Path) -> None:
    assert failure(small(refusals={BLAS: 99}, code="no-credentials"), tmp_path).code.name == "no-credentials"


def test_a_folder_of_somebody_is_not_touched(tmp_path: Path) -> None:
    mine = tmp_path / "blas_lib_gfx942"
    mine.mkdir()
    (mine / "own.txt").write_text("mine")
    error = failure(small(), tmp_path)
    assert error.code.name == "foreign-folder"
    assert str(mine) in error.message
    assert [path.name for path in mine.iterdir()] == ["own.txt"]


def test_artifacts_of_two_runs_are_not_put_together(tmp_path: Path) -> None:
    fetch(small(), tmp_path)
    error = failure(small(), tmp_path, source="run 8")
    assert error.code.name == "foreign-folder"
    assert "run 7" in error.message
    assert "run 8" in error.message


def test_left_overs_of_a_killed_run_are_swept(tmp_path: Path) -> None:
    failure(small(breaks={BLAS: [0, 0, 0]}), tmp_path)
    left_over = tmp_path / ".fetch" / "blas_lib_gfx942.partial-12345678"
    (left_over / "artifact").mkdir(parents=True)
    fetch(small(), tmp_path)
    assert not left_over.exists()
    assert whole(tmp_path) == ALL


def test_one_run_at_a_time_fetches_into_a_folder(tmp_path: Path) -> None:
    with hold(tmp_path / ".fetch" / "lock", purpose="fetching", wait=False, on_wait=lambda _line: None):
        assert failure(small(), tmp_path, wait=False).code.name == "locked"


class TestPacked:
    def test_archives_stay_packed_with_their_side_files(self, tmp_path: Path) -> None:
        store = small(side_files=False)
        fetch(store, tmp_path, unpack=False)
        assert (tmp_path / "blas_lib_gfx942.tar.zst").read_bytes() == store.objects[BLAS]
        stated = (tmp_path / "blas_lib_gfx942.tar.zst.sha256sum").read_bytes()
        assert stated == side(store.objects[BLAS], BLAS)
        store.asked.clear()
        assert {one.state for one in fetch(store, tmp_path, unpack=False)} == {"there"}
        assert store.asked == []

    def test_one_that_was_put_there_is_taken_when_it_is_the_one(self, tmp_path: Path) -> None:
        store = small()
        (tmp_path / "blas_lib_gfx942.tar.zst").write_bytes(store.objects[BLAS])
        assert [one.state for one in fetch(store, tmp_path, unpack=False)] == ["fetched", "there"]

    def test_another_one_is_not_touched(self, tmp_path: Path) -> None:
        store = small()
        mine = tmp_path / "blas_lib_gfx942.tar.zst"
        mine.write_bytes(bytes(len(store.objects[BLAS])))
        assert failure(store, tmp_path, unpack=False).code.name == "foreign-folder"
        assert mine.read_bytes() == bytes(len(store.objects[BLAS]))

    def test_one_that_somebody_changed_is_not_overwritten(self, tmp_path: Path) -> None:
        store = small()
        fetch(store, tmp_path, unpack=False)
        mine = tmp_path / "blas_lib_gfx942.tar.zst"
        mine.write_bytes(b"mine")
        assert failure(store, tmp_path, unpack=False).code.name == "foreign-folder"
        assert mine.read_bytes() == b"mine"


def test_marks_tell_what_an_artifact_is_of(tmp_path: Path) -> None:
    fetch(small(), tmp_path)
    mark = json.loads((tmp_path / "blas_lib_gfx942" / ".fetched.json").read_text())
    assert (mark["archive"], mark["proved"]) == ("blas_lib_gfx942.tar.zst", "sha256")
    assert mark["held"] == {"artifact_manifest.txt": len(f"{BASE}\n"), f"{BASE}/lib/blas.so": 9000}
