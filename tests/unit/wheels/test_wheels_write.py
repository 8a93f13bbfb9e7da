from __future__ import annotations

import hashlib
import random
import zipfile
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.wheels import write
from build_tools.wheels.archive import read_directory
from build_tools.wheels.contents import read_contents
from build_tools.wheels.record import parse_record
from build_tools.wheels.write import WheelEntry, write_wheel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_INFO = "demo-1.0.dist-info"
_SEED = 4711


def _write(
    folder: Path, entries: Iterable[WheelEntry], *, name: str = "demo-1.0-py3-none-any.whl", compress: bool = True, jobs: int = 3
) -> Path:
    wheel = folder / name
    write_wheel(entries, dist_info=_INFO, wheel=wheel, compress=compress, jobs=jobs)
    return wheel


def _mixed(size: int) -> bytes:
    """Return bytes that shrink to about a half."""
    chance = random.Random(_SEED)  # noqa: S311 - bytes that only have to be there
    return b"".join(chance.randbytes(64) + bytes(64) for _ in range(size // 128))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0/\\", exclude_categories=["Cc"]), min_size=1, max_size=12),
        st.tuples(st.binary(max_size=3000), st.integers(1, 40), st.booleans()),
        max_size=6,
    ),
    compress=st.booleans(),
    jobs=st.integers(1, 4),
)
def test_what_goes_in_comes_out(tmp_path: Path, files: dict[str, tuple[bytes, int, bool]], *, compress: bool, jobs: int) -> None:
    wanted = {f"demo/{name}": data * times for name, (data, times, _) in files.items()}
    entries = [
        WheelEntry(name=f"demo/{name}", content=data * times, executable=run) for name, (data, times, run) in files.items()
    ]
    with mock.patch.object(write, "_BLOCK", 1000):
        wheel = _write(tmp_path, entries, compress=compress, jobs=jobs)
    assert read_contents(wheel).faults == ()
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        record = parse_record(archive.read(f"{_INFO}/RECORD"))
        assert {name: archive.read(name) for name in archive.namelist() if name != f"{_INFO}/RECORD"} == wanted
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert {row.path for row in record} == {*wanted, f"{_INFO}/RECORD"}
    assert all(row.size == len(wanted[row.path]) for row in record if row.path in wanted)
    assert all(bool(modes[f"demo/{name}"] & 0o111) == run for name, (_, _, run) in files.items())


def test_many_threads_make_the_same_bytes_as_one(tmp_path: Path) -> None:
    data = _mixed(5 << 20)
    (tmp_path / "file").write_bytes(data)

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(data), 77777):
            yield data[start : start + 77777]

    def made(content: bytes | Path, jobs: int) -> bytes:
        entries = [WheelEntry(name="demo/large", content=content), WheelEntry(name="demo/x", content=b"x" * 5000)]
        return _write(tmp_path, entries, jobs=jobs, name=f"demo-{jobs}.whl").read_bytes()

    first = made(data, 1)
    assert len(first) < len(data) * 0.6
    assert made(tmp_path / "file", 4) == first
    stream = WheelEntry(name="demo/large", content=pieces, size=len(data))
    assert _write(tmp_path, [WheelEntry(name="demo/x", content=b"x" * 5000), stream]).read_bytes() == first


def test_what_is_compressed_already_is_stored(tmp_path: Path) -> None:
    chance = random.Random(_SEED)  # noqa: S311 - bytes that only have to be there
    wheel = _write(
        tmp_path, [WheelEntry(name="demo/kernels", content=chance.randbytes(3 << 20)), WheelEntry(name="demo/e", content=b"")]
    )
    methods = {member.name: member.method for member in read_directory(wheel).members}
    assert methods == {"demo/kernels": zipfile.ZIP_STORED, "demo/e": zipfile.ZIP_STORED, f"{_INFO}/RECORD": zipfile.ZIP_DEFLATED}


@pytest.mark.parametrize("limit", [0, 1 << 16])
def test_sizes_and_places_above_4_gib_have_room(tmp_path: Path, limit: int) -> None:
    data = _mixed(1 << 18)
    with mock.patch.object(write, "_ZIP64", limit):
        wheel = _write(tmp_path, [WheelEntry(name="demo/large", content=data), WheelEntry(name="demo/small", content=b"s")])
    assert read_contents(wheel).faults == ()
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("demo/large") == data


def test_more_members_than_a_plain_directory_can_count(tmp_path: Path) -> None:
    entries = [WheelEntry(name=f"demo/{number}", content=b"") for number in range(66000)]
    wheel = _write(tmp_path, entries, compress=False, jobs=1)
    assert read_directory(wheel).faults == ()
    with zipfile.ZipFile(wheel) as archive:
        assert len(archive.namelist()) == 66001


def test_a_member_that_changed_stops_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"now")
    entry = WheelEntry(name="demo/file", content=tmp_path / "file", sha256=digest.of_bytes(b"then"))
    with pytest.raises(HipwrightError, match="changed while it was packed") as caught:
        _write(tmp_path / "out", [entry])
    assert caught.value.code.name == "output-changed"
    assert list((tmp_path / "out").iterdir()) == []


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="demo/x twice"):
        _write(tmp_path, [WheelEntry(name="demo/x", content=b"1"), WheelEntry(name="demo/x", content=b"2")])


def test_a_stream_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield bytes(2 << 20)
        message = "disk gone"
        raise OSError(message)

    with pytest.raises(OSError, match="disk gone"):
        _write(tmp_path / "out", [WheelEntry(name="demo/x", content=pieces, size=3 << 20)])
    assert list((tmp_path / "out").iterdir()) == []


def test_later_members_may_tell_of_earlier_ones(tmp_path: Path) -> None:
    seen = hashlib.sha256()

    def first() -> Iterator[bytes]:
        seen.update(b"content")
        yield b"content"

    def second() -> Iterator[bytes]:
        yield seen.hexdigest().encode()

    wheel = _write(tmp_path, [WheelEntry(name="demo/b", content=second), WheelEntry(name="demo/a", content=first)])
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("demo/b").decode() == hashlib.sha256(b"content").hexdigest()


def test_modes_do_not_come_from_the_umask(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "file").chmod(0o600)
    wheel = _write(tmp_path, [WheelEntry(name="demo/file", content=tmp_path / "file", size=(tmp_path / "file").stat().st_size)])
    assert read_directory(wheel).members[0].mode == 0o100644
