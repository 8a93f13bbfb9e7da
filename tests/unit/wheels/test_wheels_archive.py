"""Archives that are wrong in one way each, and neighbours that are right; made by zipfile and then changed byte by byte."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.wheels.archive import read_directory, read_member
from build_tools.wheels.contents import read_contents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.wheels.contents import WheelContents

_TEXT = b"the quick brown fox jumps over the lazy dog\n" * 40
_NOISE = bytes(range(256)) * 8

# Places of fields in a local header, and in a directory entry.
_LOCAL = {"flags": 6, "method": 8, "crc": 14, "packed": 18, "size": 22, "name": 30}
_ENTRY = {"flags": 8, "method": 10, "crc": 16, "packed": 20, "size": 24, "disk": 34, "offset": 42}


class _OneWay(io.BytesIO):
    """A stream that cannot go back, so that zipfile writes descriptors after the contents."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_arguments: object) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


def _archive(method: int = zipfile.ZIP_DEFLATED, *, one_way: bool = False, comment: bytes = b"") -> bytes:
    sink = _OneWay() if one_way else io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("first.txt"), _TEXT, method)
        archive.writestr(zipfile.ZipInfo("second.bin"), _NOISE, method)
        archive.comment = comment
    return sink.getvalue()


def _entries(data: bytes) -> dict[str, tuple[int, int]]:
    """Return for each member where its local header and its directory entry are."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        place = archive.start_dir
        found = {}
        for entry in archive.infolist():
            found[entry.filename] = (entry.header_offset, place)
            place += 46 + sum(struct.unpack_from("<3H", data, place + 28))
    return found


def _set(data: bytes, place: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, place, value)
    return bytes(changed)


def _local(data: bytes, field: str, layout: str, value: int, *, member: str = "first.txt") -> bytes:
    return _set(data, _entries(data)[member][0] + _LOCAL[field], layout, value)


def _central(data: bytes, field: str, layout: str, value: int, *, member: str = "first.txt") -> bytes:
    return _set(data, _entries(data)[member][1] + _ENTRY[field], layout, value)


def _insert(data: bytes, place: int, more: bytes) -> bytes:
    """Put bytes before the second member and correct every place that is stated, so that nothing but the gap is wrong."""
    _, second = _entries(data)["second.bin"]
    end = data.rindex(b"PK\x05\x06")
    offset = struct.unpack_from("<I", data, second + _ENTRY["offset"])[0]
    data = _set(data, second + _ENTRY["offset"], "<I", offset + len(more))
    data = _set(data, end + 16, "<I", struct.unpack_from("<I", data, end + 16)[0] + len(more))
    return data[:place] + more + data[place:]


def _faults(folder: Path, data: bytes) -> list[str]:
    path = folder / "demo-1.0-py3-none-any.whl"
    path.write_bytes(data)
    return [f"{fault.member}: {fault.message}" for fault in read_contents(path).faults]


def _with_extra(data: bytes, size: int, *, times: int = 1, cut: int = 0) -> bytes:
    """Give the first member's local header a zip64 field that nobody needs; all places that are stated move with it."""
    packed = struct.unpack_from("<I", data, _LOCAL["packed"])[0]
    content = struct.pack("<2H2Q", 1, max(16 - cut, 0), size, packed)
    extra = content[: max(len(content) - cut, 1)]
    extra *= times
    data = _insert(data, _LOCAL["name"] + len("first.txt"), extra)
    return _set(data, _LOCAL["name"] - 2, "<H", len(extra))


def _bare_descriptor() -> bytes:
    """Return an archive whose last descriptor lacks the signature, which the format leaves free."""
    data = _archive(one_way=True)
    place = data.rindex(b"PK\x07\x08")
    data = data[:place] + data[place + 4 :]
    end = data.rindex(b"PK\x05\x06")
    return _set(data, end + 16, "<I", struct.unpack_from("<I", data, end + 16)[0] - 4)


def _with_time_stamp() -> bytes:
    data = _insert(_archive(), _LOCAL["name"] + len("first.txt"), struct.pack("<2HBI", 0x5455, 5, 1, 1_700_000_000))
    return _set(data, _LOCAL["name"] - 2, "<H", 9)


_RIGHT: dict[str, Callable[[], bytes]] = {
    "deflated": _archive,
    "stored": lambda: _archive(zipfile.ZIP_STORED),
    "with descriptors": lambda: _archive(one_way=True),
    "stored with descriptors": lambda: _archive(zipfile.ZIP_STORED, one_way=True),
    "with a comment": lambda: _archive(comment=b"built by hand"),
    "with a true zip64 field that nobody needs": lambda: _with_extra(_archive(), len(_TEXT)),
    "with a descriptor without signature": _bare_descriptor,
    "with an extra field for the time": _with_time_stamp,
    "empty": lambda: b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("kind", _RIGHT)
def test_right_archives(tmp_path: Path, kind: str) -> None:
    assert _faults(tmp_path, _RIGHT[kind]()) == []


@pytest.mark.parametrize("one_way", [False, True])
def test_right_zip64_archives(tmp_path: Path, *, one_way: bool) -> None:
    with mock.patch("zipfile.ZIP64_LIMIT", 100):
        data = _archive(one_way=one_way)
    assert data.count(b"\x01\x00\x10\x00") >= 2
    assert _faults(tmp_path, data) == []


def _many_members() -> bytes:
    """Return an archive as one with 65,536 members ends: the count stands in the zip64 end record alone."""
    sink = io.BytesIO()
    with mock.patch("zipfile.ZIP_FILECOUNT_LIMIT", 3), zipfile.ZipFile(sink, "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.txt", b"x")
    data = sink.getvalue()
    assert b"PK\x06\x06" in data
    return _set(_set(data, len(data) - 12, "<H", 0xFFFF), len(data) - 14, "<H", 0xFFFF)


def test_many_members_are_counted_by_the_zip64_end_record(tmp_path: Path) -> None:
    data = _many_members()
    assert _faults(tmp_path, data) == []
    wrong = _set(data, data.index(b"PK\x06\x06") + 32, "<Q", 6)
    assert _faults(tmp_path, wrong) == ["None: the end record counts 6 members, and the directory lists 5"]


def test_a_zip64_end_record_that_is_missing(tmp_path: Path) -> None:
    data = _archive()
    data = _set(_set(data, len(data) - 12, "<H", 0xFFFF), len(data) - 14, "<H", 0xFFFF)
    assert _faults(tmp_path, data) == ["None: the zip64 end record is not where it belongs"]


def _gap_before_second(data: bytes) -> bytes:
    return _insert(data, _entries(data)["second.bin"][0], b"hidden")


def _retagged_as_wheel_047_did(data: bytes) -> bytes:
    """Copy an archive the way that ``wheel tags`` did before 0.48: with the directory's extra field in the local header."""
    del data
    source, target = io.BytesIO(), io.BytesIO()
    with mock.patch("zipfile.ZIP64_LIMIT", 100):
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr("padding.bin", _NOISE)
            archive.writestr("first.txt", b"small")
        with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as copy:
            for entry in archive.infolist():
                copy.writestr(entry, archive.read(entry))
    return target.getvalue()


def _shared_header(data: bytes) -> bytes:
    return _central(data, "offset", "<I", 0, member="second.bin")


def _overlapping(data: bytes) -> bytes:
    size = len(_NOISE) + 100
    data = _local(_central(data, "packed", "<I", size), "packed", "<I", size)
    return _local(_central(data, "size", "<I", size), "size", "<I", size)


def _damaged(data: bytes) -> bytes:
    place = _entries(data)["first.txt"][0] + _LOCAL["name"] + len("first.txt") + 20
    return _set(data, place, "<B", data[place] ^ 0xFF)


def _bytes_after_the_stream(data: bytes) -> bytes:
    first, second = _entries(data)["first.txt"][0], _entries(data)["second.bin"][0]
    packed = second - first - _LOCAL["name"] - len("first.txt") + 6
    data = _gap_before_second(data)
    return _local(_central(data, "packed", "<I", packed), "packed", "<I", packed)


def _cut_stream(data: bytes) -> bytes:
    packed = struct.unpack_from("<I", data, _entries(data)["first.txt"][1] + _ENTRY["packed"])[0] - 4
    return _local(_central(data, "packed", "<I", packed), "packed", "<I", packed)


def _wrong_descriptor(data: bytes) -> bytes:
    del data
    data = _archive(one_way=True)
    place = data.index(b"PK\x07\x08") + 4
    return _set(data, place, "<I", 0)


def _other_method(data: bytes) -> bytes:
    del data
    return _archive(zipfile.ZIP_BZIP2)


def _end_count(data: bytes) -> bytes:
    return _set(_set(data, len(data) - 12, "<H", 3), len(data) - 14, "<H", 3)


def _gap_before_end(data: bytes) -> bytes:
    end = data.rindex(b"PK\x05\x06")
    return data[:end] + b"hidden" + data[end:]


def _two_archives(data: bytes) -> bytes:
    """Give the comment the shape of an end record: one reader sees the archive, another an empty one."""
    del data
    return _archive(comment=b"PK\x05\x06" + bytes(18))


def _both(field: str, layout: str, value: int) -> Callable[[bytes], bytes]:
    return lambda data: _local(_central(data, field, layout, value), field, layout, value)


_WRONG: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "bytes before": (lambda data: b"#!/bin/sh\n" + data, "10 bytes lie before the first member"),
    "bytes after": (lambda data: data + b"more", "bytes lie after the archive's end record"),
    "bytes between members": (_gap_before_second, "6 bytes lie between its content and what comes after it"),
    "bytes before the end record": (_gap_before_end, "is no zip archive"),
    "two archives in one": (_two_archives, "bytes lie before the first member"),
    "end record counts wrong": (_end_count, "counts 3 members, and the directory lists 2"),
    "another name in the local header": (lambda data: _local(data, "name", "<B", ord("F")), "name b'First.txt'"),
    "another size in the local header": (lambda data: _local(data, "size", "<I", 7), "7 unpacked"),
    "another packed size in the local header": (lambda data: _local(data, "packed", "<I", 7), "7 bytes packed"),
    "another CRC in the local header": (lambda data: _local(data, "crc", "<I", 7), "CRC 00000007"),
    "another method in the local header": (lambda data: _local(data, "method", "<H", 0), "compression method 0"),
    "other flags in the local header": (lambda data: _local(data, "flags", "<H", 0x800), "flags 0x0800"),
    "zip64 field that nobody asked for": (_retagged_as_wheel_047_did, "and its zip64 field"),
    "zip64 field with another size": (lambda data: _with_extra(data, len(_TEXT) + 1), "and its zip64 field"),
    "zip64 field twice": (lambda data: _with_extra(data, len(_TEXT), times=2), "malformed zip64 field"),
    "zip64 field of odd length": (lambda data: _with_extra(data, len(_TEXT), cut=3), "malformed"),
    "extra field without a length": (lambda data: _with_extra(data, len(_TEXT), cut=19), "malformed extra field"),
    "two entries with one header": (_shared_header, "another directory entry's too"),
    "an entry that points nowhere": (lambda data: _central(data, "offset", "<I", 3), "no local header"),
    "overlapping members": (_overlapping, "overlaps what comes after it"),
    "damaged content": (_damaged, "content"),
    "cut content": (_cut_stream, "the compressed stream has no end"),
    "bytes after the compressed stream": (_bytes_after_the_stream, "bytes follow the end of the compressed stream"),
    "longer than stated": (_both("size", "<I", 9), "longer than the 9 bytes"),
    "shorter than stated": (_both("size", "<I", 9000), "the directory states 9000"),
    "another CRC": (_both("crc", "<I", 7), "the directory states 00000007"),
    "descriptor with another signature": (
        lambda data: _set(data := _archive(one_way=True), data.rindex(b"PK\x07\x08"), "<B", 0),
        "descriptor",
    ),
    "no descriptor": (_both("flags", "<H", 8), "descriptor"),
    "wrong descriptor": (_wrong_descriptor, "descriptor"),
    "encrypted": (_both("flags", "<H", 1), "encrypted"),
    "patched data": (_both("flags", "<H", 0x20), "which no installer reads"),
    "strong encryption": (lambda data: _central(data, "flags", "<H", 0x40), "which no installer reads"),
    "masked headers": (_both("flags", "<H", 0x2000), "which no installer reads"),
    "a part of several": (lambda data: _central(data, "disk", "<H", 1), "part 1 of an archive in parts"),
    "compressed by bzip2": (_other_method, "compressed by method 12"),
}


@pytest.mark.parametrize("kind", _WRONG)
def test_wrong_archives(tmp_path: Path, kind: str) -> None:
    change, message = _WRONG[kind]
    faults = _faults(tmp_path, change(_archive()))
    assert any(message in fault for fault in faults), faults


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_faults_do_not_depend_on_the_number_of_threads(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(_both("crc", "<I", 7)(_archive()))
    assert read_contents(path, jobs=jobs) == read_contents(path)


@pytest.mark.parametrize("data", [b"", b"not a zip file", _archive()[:-30], _archive()[40:200]])
def test_what_is_no_archive_at_all(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(data)
    with pytest.raises(HipwrightError) as caught:
        read_directory(path)
    assert caught.value.code.name == "bad-wheel"
    contents = read_contents(path)
    assert contents.members == ()
    assert "is no zip archive" in contents.faults[0].message


def test_every_cut_of_an_archive_has_a_fault(tmp_path: Path) -> None:
    data = _archive()
    assert all(_faults(tmp_path, data[:length]) for length in range(len(data)))


def test_every_changed_byte_of_an_archive_is_harmless_or_told(tmp_path: Path) -> None:
    """Change each byte in turn: what is read without a fault has the old contents under the old names."""
    data = _archive()
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(data)
    right = _hashes(read_contents(path))
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x01]) + data[place + 1 :])
        contents = read_contents(path)
        if not contents.faults:
            assert _hashes(contents) == right, place


def _hashes(contents: WheelContents) -> dict[str, str]:
    return {member.name: value for member, value in zip(contents.members, contents.hashes, strict=True)}


with mock.patch("zipfile.ZIP64_LIMIT", 100):
    _KINDS = [_archive(zipfile.ZIP_STORED), _archive(), _archive(comment=b"x"), _archive(one_way=True)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.integers(0, len(_KINDS) - 1), changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_no_damage_brings_the_reader_down(tmp_path: Path, kind: int, changes: list[tuple[int, int]]) -> None:
    data = bytearray(_KINDS[kind])
    for place, value in changes:
        # The end of an archive is where its structure is.
        data[-1 - place % len(data)] = value
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(data)
    contents = read_contents(path)
    assert contents.faults or len(contents.members) == 2


@pytest.mark.parametrize("size", [(1 << 20) + more for more in (-1, 0, 1, 100, 257, 258, 300)])
def test_content_that_ends_about_a_piece(tmp_path: Path, size: int) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.bin", bytes(size))
    assert _faults(tmp_path, sink.getvalue()) == []


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(_archive())
    member = read_directory(path).members[0]
    with io.BytesIO(_archive()[:60]) as stream:
        assert read_member(stream, member, lambda _piece: None)[0] == "its content is damaged: the file ends in it"


def test_a_folder_is_no_archive(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        read_directory(tmp_path)
    assert caught.value.code.name == "bad-wheel"


def test_content_above_the_piece_size_is_read_whole(tmp_path: Path) -> None:
    large = os.urandom(1 << 20) + bytes(5 << 20) + os.urandom(1 << 20)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large.bin", large)
        archive.writestr("zeros.bin", bytes(50 << 20))
    assert _faults(tmp_path, sink.getvalue()) == []
