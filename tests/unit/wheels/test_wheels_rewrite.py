from __future__ import annotations

import hashlib
import random
import stat
import tracemalloc
import zipfile
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.tags import Tag

from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError
from build_tools.wheels import write
from build_tools.wheels.archive import read_directory
from build_tools.wheels.contents import read_contents
from build_tools.wheels.opened import member_bytes, open_wheel
from build_tools.wheels.record import encode_hash, parse_record
from build_tools.wheels.rewrite import add_members, rewrite_wheel
from build_tools.wheels.write import WheelEntry, write_wheel
from tests.support.wheel_maker import WheelMaker, row

if TYPE_CHECKING:
    from pathlib import Path

_METADATA = (
    "Metadata-Version: 2.4\nName: demo\nVersion: 1.0\nRequires-Dist: rocm[libraries]==7.10.0\n"
    'Requires-Dist: torch==2.0; sys_platform == "linux"\nProvides-Extra: x\nSummary: f\u00fcr jeden\n'
    "\nVersion: 9 is what the description says\n"
)


def _content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def _is_sound(wheel: Path) -> None:
    report = check_wheels([wheel], expectations=None, say=lambda _line: None)
    assert [(finding.rule, finding.message) for finding in report.findings if finding.severity == "error"] == []


def test_a_new_version_is_one_everywhere(tmp_path: Path) -> None:
    files = {"demo/__init__.py": b"answer = 42\n" * 99, "demo-1.0.data/scripts/demo": b"#!python\n", "demo-1.0x.py": b"no folder"}
    old = WheelMaker(files=files, metadata=_METADATA).write(tmp_path)
    new = rewrite_wheel(old, tmp_path / "new", version="1.0+ROCm7.13.0-a1", requires={"rocm": "==7.13.0a1", "Torch": "==2.1"})
    assert new == tmp_path / "new" / "demo-1.0+rocm7.13.0.a1-py3-none-any.whl"
    _is_sound(new)
    content = _content(new)
    info = "demo-1.0+rocm7.13.0.a1.dist-info"
    names = ["demo-1.0+rocm7.13.0.a1.data/scripts/demo", "demo-1.0x.py", "demo/__init__.py"]
    assert list(content) == [*names, f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
    assert content["demo/__init__.py"] == files["demo/__init__.py"]
    assert content[f"{info}/METADATA"].decode() == _METADATA.replace("Version: 1.0\n", "Version: 1.0+rocm7.13.0.a1\n").replace(
        "rocm[libraries]==7.10.0", "rocm[libraries]==7.13.0a1"
    ).replace("torch==2.0;", "torch==2.1;")


def test_what_stays_is_copied_as_it_lies(tmp_path: Path) -> None:
    """A member that any compressor of today would pack otherwise has the same packed bytes afterwards."""
    old = tmp_path / "demo-1.0-py3-none-any.whl"
    made = WheelMaker(files={"demo/data": bytes(range(256)) * 500}).write(tmp_path / "first")
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(old, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
    before = open_wheel(old).packed("demo/data")
    after = open_wheel(rewrite_wheel(old, tmp_path / "new", version="2")).packed("demo/data")
    assert before.packed == after.packed != 0
    raw = old.read_bytes()[before.begin : before.begin + before.packed]
    assert after.archive.read_bytes()[after.begin : after.begin + after.packed] == raw
    assert raw != open_wheel(made).path.read_bytes()[before.begin : before.begin + before.packed]


def test_members_change_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"tool")
    (tmp_path / "tool").chmod(0o700)

    def executable(entry: zipfile.ZipInfo) -> None:
        if entry.filename == "demo/run":
            entry.external_attr = (stat.S_IFREG | 0o755) << 16

    files = {"demo/__init__.py": b"old", "demo/gone.py": b"", "demo/run": b"old"}
    old = WheelMaker(files=files, edit_entry=executable).write(tmp_path)
    bytes_before = old.read_bytes()
    changes: dict[str, bytes | Path | WheelEntry | None] = {
        "demo/__init__.py": b"new",
        "demo/gone.py": None,
        "demo/run": b"new",
        "demo/tool": tmp_path / "tool",
        "demo/stream": WheelEntry(name="anything", content=lambda: iter([b"one", b"two"])),
    }
    new = rewrite_wheel(old, tmp_path / "new", members=changes)
    _is_sound(new)
    content = _content(new)
    assert content.keys() & {"demo/gone.py", "anything"} == set()
    assert [content[f"demo/{name}"] for name in ("__init__.py", "run", "tool", "stream")] == [b"new", b"new", b"tool", b"onetwo"]
    modes = {member.name: member.mode & 0o777 for member in read_directory(new).members}
    assert (modes["demo/run"], modes["demo/tool"], modes["demo/stream"]) == (0o755, 0o755, 0o644)
    assert old.read_bytes() == bytes_before


def test_tags_change_in_the_name_and_in_the_file(tmp_path: Path) -> None:
    old = WheelMaker(tag="cp311-cp311-linux_x86_64").write(tmp_path)
    new = rewrite_wheel(old, tmp_path / "new", tags=[Tag("cp311", "cp311", "manylinux_2_28_x86_64")])
    assert new.name == "demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    _is_sound(new)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.binary(max_size=2000), st.integers(1, 30)), max_size=6),
    compress=st.booleans(),
    jobs=st.integers(1, 3),
    large=st.sampled_from([1, 5000, 1 << 30]),
)
def test_any_wheel_keeps_its_content(
    tmp_path: Path, files: dict[str, tuple[bytes, int]], *, compress: bool, jobs: int, large: int
) -> None:
    wanted = {f"demo/{name}": data * times for name, (data, times) in files.items()}
    old = WheelMaker(files=wanted, compress=compress).write(tmp_path)
    with mock.patch.object(write, "_ZIP64", large):
        new = rewrite_wheel(old, tmp_path / "new", version="2", jobs=jobs)
        again = rewrite_wheel(new, tmp_path / "again", version="1.0")
    _is_sound(new)
    assert {name: data for name, data in _content(again).items() if name in wanted} == wanted
    assert sorted(_content(again)) == sorted(_content(old))


def test_descriptors_and_headers_with_room_are_understood(tmp_path: Path) -> None:
    """Streamed archives state sizes behind the content; those with room state them in a zip64 field."""
    made = WheelMaker(files={"demo/x": b"x" * 1000}).write(tmp_path / "first")
    old = tmp_path / made.name

    class Pipe:
        def __init__(self) -> None:
            self.stream = old.open("wb")

        def write(self, data: bytes, /) -> int:
            return self.stream.write(data)

        def close(self) -> None:
            self.stream.close()

        def flush(self) -> None:
            self.stream.flush()

    pipe = Pipe()
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(pipe, "w") as target:
        for entry in source.infolist():
            with target.open(entry.filename, "w", force_zip64=entry.filename == "demo/x") as sink:
                sink.write(source.read(entry))
    pipe.close()
    assert read_directory(old).members[0].flags & 0x8
    new = rewrite_wheel(old, tmp_path / "new", version="2")
    _is_sound(new)
    assert not any(member.flags & 0x8 for member in read_directory(new).members)


def test_the_same_change_makes_the_same_bytes(tmp_path: Path) -> None:
    chance = random.Random(4711)  # noqa: S311 - bytes that only have to be there
    data = b"".join(chance.randbytes(64) + bytes(64) for _ in range(20000))
    old = WheelMaker(files={"demo/b": b"b" * 5000, "demo/a": b"a" * 5000}).write(tmp_path)
    first = rewrite_wheel(old, tmp_path / "one", version="2", members={"demo/c": data}, jobs=1)
    second = rewrite_wheel(old, tmp_path / "two", version="2", members={"demo/c": data}, jobs=3)
    assert first.read_bytes() == second.read_bytes()


def test_memory_stays_flat(tmp_path: Path) -> None:
    data = bytes(64 << 20)
    old = tmp_path / "demo-1.0-py3-none-any.whl"
    info = "demo-1.0.dist-info"
    entries = [
        WheelEntry(name="demo/large", content=data),
        WheelEntry(name=f"{info}/METADATA", content=b"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n"),
        WheelEntry(name=f"{info}/WHEEL", content=b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    ]
    write_wheel(entries, dist_info=info, wheel=old, compress=False)
    del data, entries
    tracemalloc.start()
    try:
        rewrite_wheel(old, tmp_path / "new", version="2")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_a_file_that_record_forgot_or_hashes_weakly_is_hashed(tmp_path: Path) -> None:
    def weaker(rows: list[str]) -> list[str]:
        return [f"demo/md5,md5={hashlib.md5(b'x', usedforsecurity=False).hexdigest()},1", *rows[2:]]

    old = WheelMaker(files={"demo/md5": b"x", "demo/forgotten": b"y"}, edit_record=weaker).write(tmp_path)
    new = rewrite_wheel(old, tmp_path / "new", version="2")
    _is_sound(new)
    record = _content(new)["demo-2.dist-info/RECORD"].decode().splitlines()
    assert {row("demo/md5", b"x"), row("demo/forgotten", b"y")} <= set(record)


def test_another_algorithm_is_carried_on(tmp_path: Path) -> None:
    def stronger(rows: list[str]) -> list[str]:
        value = encode_hash(hashlib.sha512(b"x").digest())
        return [f"demo/x,sha512={value},1", *rows[1:]]

    old = WheelMaker(files={"demo/x": b"x"}, edit_record=stronger).write(tmp_path)
    new = rewrite_wheel(old, tmp_path / "new", version="2")
    _is_sound(new)
    rows = {one.path: one.algorithm for one in parse_record(_content(new)["demo-2.dist-info/RECORD"])}
    assert rows["demo/x"] == "sha512"


def test_files_are_put_in_where_they_are_lacking(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/__init__.py": b"here", "demo/other.py": b"old"}).write(tmp_path)
    (tmp_path / "uv.dat").write_bytes(b"MZ")
    with wheel.open("rb") as held:
        wanted: dict[str, bytes | Path] = {
            "demo/__init__.py": b"here",
            "demo/other.py": b"new",
            "demo/lib/uv.dat": tmp_path / "uv.dat",
        }
        path, put = add_members(wheel, wanted)
        assert len(held.read()) == held.tell() != 0
        held.seek(0)
        with zipfile.ZipFile(held) as archive:
            assert archive.read("demo/other.py") == b"old"
    assert (path, put) == (wheel, ("demo/lib/uv.dat", "demo/other.py"))
    _is_sound(wheel)
    assert read_contents(wheel, ask=["demo/other.py", "demo/lib/uv.dat"]).asked == {
        "demo/other.py": b"new",
        "demo/lib/uv.dat": b"MZ",
    }
    before = wheel.stat()
    assert add_members(wheel, wanted) == (wheel, ())
    assert wheel.stat().st_ino == before.st_ino


def test_a_wheel_that_is_cut_off_meanwhile_leaves_nothing(tmp_path: Path) -> None:
    old = WheelMaker(files={"demo/x": b"x" * 5000}, compress=False).write(tmp_path)
    opened = open_wheel(old)
    with old.open("r+b") as stream:
        stream.truncate(600)
    with pytest.raises(HipwrightError, match="shorter than it was") as caught:
        rewrite_wheel(opened, tmp_path / "new", version="2")
    assert caught.value.code.name == "output-changed"
    assert list((tmp_path / "new").iterdir()) == []


def test_one_file_is_read(tmp_path: Path) -> None:
    wheel = open_wheel(WheelMaker().write(tmp_path))
    assert member_bytes(wheel, "demo/__init__.py") == b"answer = 42\n"
    with pytest.raises(HipwrightError, match="more than 3 are not read"):
        member_bytes(wheel, "demo/__init__.py", limit=3)
