from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from build_tools import files
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event
    from pathlib import Path


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a" / "x.json"
    files.write_text(target, "old\r\n")
    assert target.read_bytes() == b"old\r\n"

    def broken(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="No space"):
        files.write_text(target, "new")
    assert target.read_bytes() == b"old\r\n"
    assert [path.name for path in target.parent.iterdir()] == ["x.json"]


def test_a_folder_takes_its_name_only_when_all_went_well(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(RuntimeError), files.finished_folder(target) as folder:
        (folder / "half").touch()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out.partial-left").mkdir()
    with files.finished_folder(target) as folder:
        (folder / "one").touch()
        assert not target.exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "one"]
    with files.finished_folder(target) as folder:
        (folder / "two").touch()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["out", "two"]


def test_a_temporary_folder_goes_whatever_happens(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), files.temporary_folder(tmp_path, "x") as folder:
        (folder / "file").touch()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_read_only_files_are_removed_too(tmp_path: Path) -> None:
    inner = tmp_path / "tree" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch(mode=0o400)
    inner.chmod(0o500)
    files.remove_tree(tmp_path / "tree")
    files.remove_tree(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HipwrightError) as caught:
        files.make_folder(tmp_path / "file" / "inner")
    assert caught.value.code.name == "folder-not-writable"
    assert "--work-dir" in str(caught.value.hint)
    assert files.make_folder(tmp_path / "a" / "b").is_dir()


def test_too_little_space_says_both_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.free_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(HipwrightError) as caught:
        files.free_space(tmp_path, 2**62)
    assert caught.value.code.name == "disk-space"
    assert "GiB free" in caught.value.message
    assert "are needed" in caught.value.message
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=300 * 2**10))
    for needed, told in ((3 * 2**20, "has 0.3 MiB free, and 3.0 MiB are"), (400 * 2**10, "has 0.3 MiB free, and 0.4 MiB are")):
        with pytest.raises(HipwrightError) as caught:
            files.free_space(tmp_path, needed, option=None)
        assert told in caught.value.message
        assert caught.value.hint == "free some space there, or choose another folder"


def _holder(path: Path, taken: Event, release: Event) -> None:
    with files.hold(path, purpose="build of sample", wait=True, on_wait=lambda _text: None):
        taken.set()
        release.wait(60)


def test_a_held_lock_names_its_holder_and_is_waited_for(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    taken, release = context.Event(), context.Event()
    other = context.Process(target=_holder, args=(tmp_path / "x.lock", taken, release))
    other.start()
    try:
        assert taken.wait(60)
        with (
            pytest.raises(HipwrightError) as caught,
            files.hold(tmp_path / "x.lock", purpose="me", wait=False, on_wait=lambda _t: None),
        ):
            pass
        assert caught.value.code.name == "locked"
        assert "build of sample" in caught.value.message
        assert str(other.pid) in caught.value.message
        said: list[str] = []

        def let_go(text: str) -> None:
            said.append(text)
            release.set()

        with files.hold(tmp_path / "x.lock", purpose="me", wait=True, on_wait=let_go):
            pass
        assert len(said) == 1
        assert "build of sample" in said[0]
    finally:
        release.set()
        other.join()
    assert other.exitcode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a killed holder's lock on POSIX")
def test_the_lock_of_a_killed_run_is_free(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    taken, release = context.Event(), context.Event()
    other = context.Process(target=_holder, args=(tmp_path / "x.lock", taken, release))
    other.start()
    assert taken.wait(60)
    other.kill()
    other.join()
    with files.hold(tmp_path / "x.lock", purpose="me", wait=False, on_wait=lambda _text: None):
        pass


def test_time_is_utc_in_whole_seconds() -> None:
    assert len(files.utc_now()) == len("2026-01-01T00:00:00Z")
    assert files.utc_now().endswith("Z")
