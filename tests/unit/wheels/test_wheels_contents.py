from __future__ import annotations

import base64
import hashlib
import os
from typing import IO, TYPE_CHECKING
from unittest import mock

import pytest

from build_tools.checks.rule import make_subject
from build_tools.digest import of_file
from build_tools.errors import HipwrightError
from build_tools.wheels import contents
from build_tools.wheels.archive import read_member
from build_tools.wheels.contents import read_contents, read_dist_info
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.wheels.archive import Member


def _hash(algorithm: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.new(algorithm, data).digest()).decode().rstrip("=")
    return f"{algorithm}={digest}"


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_member_is_hashed(tmp_path: Path, jobs: int) -> None:
    files = {f"demo/{number}.py": bytes([number]) * number for number in range(50)}
    wheel = WheelMaker(files=files).write(tmp_path)
    contents = read_contents(wheel, jobs=jobs)
    found = {member.name: value for member, value in zip(contents.members, contents.hashes, strict=True)}
    assert {name: found[name] for name in files} == {name: _hash("sha256", data) for name, data in files.items()}
    assert (contents.filename, contents.sha256, contents.size) == (wheel.name, of_file(wheel), wheel.stat().st_size)
    assert contents.faults == ()


def test_the_algorithm_is_the_one_that_record_names(tmp_path: Path) -> None:
    wanted = _hash("sha512", b"x")
    wheel = WheelMaker(files={"demo.py": b"x"}, edit_record=lambda rows: [f"demo.py,{wanted},1", *rows[1:]]).write(tmp_path)
    assert read_contents(wheel).hashes[0] == wanted


def test_metadata_files_are_kept(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo-1.0.dist-info/entry_points.txt": b"[x]\n", "demo-1.0.dist-info/LICENSE": b"free"}).write(
        tmp_path
    )
    contents = read_contents(wheel)
    assert contents.dist_info == ("demo-1.0.dist-info",)
    assert contents.texts.keys() == {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}
    assert contents.texts["entry_points.txt"] == b"[x]\n"


def test_members_that_are_asked_for_are_kept(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/version.py": b"git_version = 'x'\n", "demo/large.py": b" " * ((8 << 20) + 1)}).write(tmp_path)
    contents = read_contents(wheel, ask=("demo/version.py", "demo/large.py", "demo/none.py"))
    assert contents.asked == {"demo/version.py": b"git_version = 'x'\n"}
    assert read_contents(wheel).asked == {}


def test_two_metadata_folders_mean_that_none_is_read(tmp_path: Path) -> None:
    contents = read_contents(WheelMaker(files={"other-1.0.dist-info/METADATA": b"x"}).write(tmp_path))
    assert contents.dist_info == ("demo-1.0.dist-info", "other-1.0.dist-info")
    assert contents.texts == {}


def test_a_metadata_file_without_reading_the_wheel(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    assert read_dist_info(wheel, "METADATA") == b"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n"


@pytest.mark.parametrize(
    ("maker", "message"),
    [
        pytest.param(WheelMaker(without=("METADATA",)), "0 members", id="missing"),
        pytest.param(WheelMaker(extra=[("demo-1.0.dist-info/METADATA", b"x")]), "2 members", id="twice"),
        pytest.param(WheelMaker(files={"other-1.0.dist-info/METADATA": b""}), "2 .dist-info folders", id="two folders"),
    ],
)
def test_a_metadata_file_that_is_not_to_be_had(tmp_path: Path, maker: WheelMaker, message: str) -> None:
    with pytest.raises(HipwrightError, match=message) as caught:
        read_dist_info(maker.write(tmp_path), "METADATA")
    assert caught.value.code.name == "bad-wheel"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_disk_that_cannot_be_read(tmp_path: Path, jobs: int) -> None:
    wheel = WheelMaker().write(tmp_path)

    def broken(stream: IO[bytes], member: Member, sink: Callable[[bytes], object]) -> tuple[str, ...]:
        if member.name == "demo/__init__.py":
            raise OSError(5, "Input/output error")
        return read_member(stream, member, sink)

    with mock.patch("build_tools.wheels.contents.read_member", broken), pytest.raises(HipwrightError) as caught:
        read_contents(wheel, jobs=jobs)
    assert caught.value.code.name == "bad-wheel"
    assert "Input/output error" in caught.value.message


def test_a_damaged_metadata_file(tmp_path: Path) -> None:
    wheel = WheelMaker(compress=False).write(tmp_path)
    wheel.write_bytes(wheel.read_bytes().replace(b"Name: demo", b"Name: Demo"))
    with pytest.raises(HipwrightError, match="CRC") as caught:
        read_dist_info(wheel, "METADATA")
    assert caught.value.code.name == "bad-wheel"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for read in (read_contents, lambda path: read_dist_info(path, "METADATA")):
        with pytest.raises(HipwrightError) as caught:
            read(tmp_path / "demo-1.0-py3-none-any.whl")
        assert caught.value.code.name == "no-wheel"


@pytest.mark.parametrize("name", ["METADATA", "WHEEL", "RECORD", "entry_points.txt"])
def test_a_metadata_file_of_absurd_size_is_a_fault_and_is_not_kept(tmp_path: Path, name: str) -> None:
    member = f"demo-1.0.dist-info/{name}"
    wheel = WheelMaker(files={"demo.py": b""}, without=(name,), extra=[(member, bytes(65 << 20))]).write(tmp_path)
    contents = read_contents(wheel)
    assert name not in contents.texts
    assert [fault.member for fault in contents.faults if "are not read" in fault.message] == [member]
    unread = make_subject(contents).unreadable
    assert name == "entry_points.txt" or f"the wheel's {name} was not read" in unread.values()
    with pytest.raises(HipwrightError, match="are not read") as caught:
        read_dist_info(wheel, name)
    assert caught.value.code.name == "bad-wheel"


def test_a_member_that_states_an_absurd_size_is_not_inflated(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo.bin": bytes(257 << 20)}).write(tmp_path)
    contents = read_contents(wheel)
    assert [fault.member for fault in contents.faults] == ["demo.bin"]
    assert "which is not read" in contents.faults[0].message
    assert contents.hashes[0] == ""


def test_a_large_member_that_is_like_code_is_read(tmp_path: Path) -> None:
    code = bytes(os.urandom(4 << 20)) + bytes(254 << 20)
    assert read_contents(WheelMaker(files={"demo.bin": code}).write(tmp_path)).faults == ()


def test_the_reading_of_a_large_wheel_is_told_by_per_cent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"demo/{number}.bin": bytes(100) for number in range(300)} | {"demo/large.bin": bytes(20 << 20)}
    wheel = WheelMaker(files=files).write(tmp_path)
    for jobs in (1, 3):
        told: list[int] = []
        read_contents(wheel, jobs=jobs, progress=told.append)
        assert told == []
        with monkeypatch.context() as patch:
            patch.setattr(contents, "_WORTH", 1 << 20)
            read_contents(wheel, jobs=jobs, progress=told.append)
        assert len(told) > 15
        assert max(told) <= 100
        if jobs == 1:
            assert told == sorted(set(told))
            assert told[-1] == 100
