"""A file that nobody touched is not read twice; one that was touched, however it was, is."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.publish.known_digests import KnownDigests

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.types import Sha256

LATER_NS = 10_000_000_000
"""Nanoseconds after which a file counts as left alone."""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are read from now on."""
    found: list[str] = []
    whole = digest.of_file

    def of_file(path: Path) -> Sha256:
        found.append(path.name)
        return whole(path)

    monkeypatch.setattr("build_tools.digest.of_file", of_file)
    return found


def ask(cache: Path, path: Path, *, believed: bool = True, at_ns: int | None = None) -> Sha256:
    """Ask for a digest as a process of its own does, later than its file was written."""
    known = KnownDigests(cache, believed=believed, now_ns=lambda: time.time_ns() + LATER_NS if at_ns is None else at_ns)
    found = known.of_file(path)
    known.keep()
    return found


def test_a_file_that_stays_as_it_is_is_read_once(tmp_path: Path, reads: list[str]) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"bytes")
    for _ in range(3):
        assert ask(tmp_path / "cache", path) == digest.of_bytes(b"bytes")
    assert reads == ["a.whl"]
    assert ask(tmp_path / "cache", path, believed=False) == digest.of_bytes(b"bytes")
    assert reads == ["a.whl"] * 2


def test_the_notes_of_several_files_stand_beside_each_other(tmp_path: Path, reads: list[str]) -> None:
    paths = [tmp_path / name for name in ("a.whl", "b.whl")]
    for path in paths:
        path.write_bytes(path.name.encode())
        ask(tmp_path / "cache", path)
    assert [ask(tmp_path / "cache", path) for path in paths] == [digest.of_bytes(path.name.encode()) for path in paths]
    assert reads == ["a.whl", "b.whl"]


def test_a_file_that_was_changed_and_looks_as_before_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"bytes")
    ask(tmp_path / "cache", path)
    state = path.stat()
    path.write_bytes(b"other")
    # The clock of a file system goes in steps, of some milliseconds on older kernels.
    while path.stat().st_ctime_ns == state.st_ctime_ns or path.stat().st_mtime_ns != state.st_mtime_ns:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert ask(tmp_path / "cache", path) == digest.of_bytes(b"other")
    # As a program does that writes a new file and renames it.
    beside = tmp_path / "beside"
    beside.write_bytes(b"third")
    beside.replace(path)
    assert ask(tmp_path / "cache", path) == digest.of_bytes(b"third")


def test_of_a_file_that_was_just_written_nothing_is_noted(tmp_path: Path, reads: list[str]) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"bytes")
    now = path.stat().st_mtime_ns + 1
    assert ask(tmp_path / "cache", path, at_ns=now) == ask(tmp_path / "cache", path, at_ns=now)
    assert reads == ["a.whl"] * 2


@pytest.mark.parametrize("text", [b"", b"{", b'{"schema": 1, "notes": {"a": {}}}', b'{"schema": 2}'])
def test_damaged_notes_are_as_good_as_none(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"bytes")
    (tmp_path / "digests.json").write_bytes(text)
    assert ask(tmp_path, path) == digest.of_bytes(b"bytes")


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"bytes")
    assert ask(path, path) == digest.of_bytes(b"bytes")
    assert ask(path / "cache", path) == digest.of_bytes(b"bytes")


def test_that_a_file_is_sound_stands_in_its_note_and_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(b"bytes")

    def known(*, believed: bool = True) -> KnownDigests:
        return KnownDigests(tmp_path / "cache", believed=believed, now_ns=lambda: time.time_ns() + LATER_NS)

    first = known()
    first.found_sound(path)
    assert not first.is_sound(path), "nothing was read of it"
    first.of_file(path)
    first.keep()
    later = known()
    assert not later.is_sound(path)
    later.found_sound(path)
    later.keep()
    assert known().is_sound(path)
    assert not known(believed=False).is_sound(path)
    path.write_bytes(b"bites")
    assert not known().is_sound(path)
