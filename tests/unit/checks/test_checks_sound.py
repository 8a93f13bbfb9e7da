"""What is asked of a wheel before it may be published: what no installer takes is found, however large the wheel is."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from build_tools import digest
from build_tools.checks import sound
from build_tools.checks.sound import read_sound
from build_tools.errors import HipwrightError
from tests.support.wheel_maker import WheelMaker, row

if TYPE_CHECKING:
    from pathlib import Path

INFO = "demo-1.0.dist-info"
CODE = "demo/__init__.py"
TEXT = b"answer = 42\n"


def refused(wheel: Path, *, whole: bool = False) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        read_sound(wheel, sha256=digest.of_file(wheel), whole=whole)
    error = caught.value
    assert error.code.name == "bad-wheel"
    assert str(error.hint).endswith(f"nox -s check_wheels -- {wheel}")
    return error


def damaged(folder: Path) -> Path:
    """Return a wheel in which one bit of a stored member fell over."""
    wheel = WheelMaker(compress=False).write(folder)
    wheel.write_bytes(wheel.read_bytes().replace(TEXT, TEXT.replace(b"42", b"43")))
    return wheel


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("maker", "member", "told"),
    [
        pytest.param(WheelMaker(files={"../demo.py": TEXT}), "../demo.py", "leads out of the folder", id="leads-out"),
        pytest.param(WheelMaker(files={"/demo.py": TEXT}), "/demo.py", "absolute", id="absolute"),
        pytest.param(WheelMaker(files={"a\\demo.py": TEXT}), "a\\demo.py", "backslash", id="backslash"),
        pytest.param(WheelMaker(extra=[(CODE, TEXT)]), CODE, "there 2 times", id="twice"),
        pytest.param(
            WheelMaker(files={"other-1.0.dist-info/METADATA": b"Name: other\n"}), None, "this has 2", id="two-dist-infos"
        ),
        pytest.param(
            WheelMaker(wheel="Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: cp312-cp312-win_amd64\n"),
            f"{INFO}/WHEEL",
            "WHEEL has the tags cp312-cp312-win_amd64; the file name py3-none-any",
            id="tags",
        ),
        pytest.param(
            WheelMaker(metadata="Metadata-Version: 2.4\nName: demo\nVersion: 1!1.0\n"),
            f"{INFO}/METADATA",
            "METADATA has the version 1!1.0",
            id="epoch",
        ),
        pytest.param(WheelMaker(edit_record=lambda rows: rows[1:]), CODE, "RECORD does not list it", id="unlisted"),
        pytest.param(
            WheelMaker(edit_record=lambda rows: [row("demo/gone.py", b""), *rows]), "demo/gone.py", "not in the wheel", id="gone"
        ),
        pytest.param(
            WheelMaker(edit_record=lambda rows: [f"{rows[0][:-2]}13", *rows[1:]]), CODE, "RECORD says 13 bytes", id="size"
        ),
        pytest.param(WheelMaker(without=("RECORD",)), f"{INFO}/RECORD", "the wheel has no RECORD", id="no-record"),
        pytest.param(WheelMaker(without=("WHEEL",)), f"{INFO}/WHEEL", "the wheel has no WHEEL", id="no-wheel-file"),
    ],
)
def test_what_no_installer_takes_is_refused_with_its_member(
    tmp_path: Path, maker: WheelMaker, member: str | None, told: str, *, large: bool
) -> None:
    wheel = maker.write(tmp_path)
    with mock.patch.object(sound, "READ_WHOLE", 0 if large else sound.READ_WHOLE):
        error = refused(wheel)
    assert told in error.message
    assert error.where is not None
    assert error.where.member == member


def test_a_cut_wheel_and_one_with_bytes_behind_it_are_refused(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:-30])
    with pytest.raises(HipwrightError, match="no zip archive"):
        read_sound(wheel, sha256=digest.of_file(wheel))
    wheel.write_bytes(whole + b"more")
    assert "bytes lie after" in refused(wheel).message


def test_a_header_that_says_otherwise_than_the_directory_is_seen_without_inflating(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    data = bytearray(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as archive:
        data[archive.getinfo(CODE).header_offset + 14] ^= 1  # the CRC of the local header
    wheel.write_bytes(data)
    with mock.patch.object(sound, "READ_WHOLE", 0):
        assert "its local header states" in refused(wheel).message


@pytest.mark.parametrize("compress", [False, True])
def test_damaged_content_is_seen_in_small_wheels_and_where_all_is_read(tmp_path: Path, *, compress: bool) -> None:
    wheel = damaged(tmp_path)
    if compress:
        wheel = WheelMaker(files={CODE: TEXT * 100}).write(tmp_path)
        with zipfile.ZipFile(wheel) as archive:
            inside = archive.getinfo(CODE).header_offset + 30 + len(CODE) + 5
        data = bytearray(wheel.read_bytes())
        data[inside] ^= 0xFF
        wheel.write_bytes(data)
    error = refused(wheel)
    assert error.message.startswith(f"{wheel.name}: {CODE}: its content ")
    with mock.patch.object(sound, "READ_WHOLE", 0):
        assert read_sound(wheel, sha256=digest.of_file(wheel)).hashes[0] == ""
        assert refused(wheel, whole=True).message == error.message


def test_a_hash_that_record_has_of_other_bytes_is_refused(tmp_path: Path) -> None:
    wheel = WheelMaker(edit_record=lambda rows: [row(CODE, TEXT.replace(b"42", b"43")), *rows[1:]]).write(tmp_path)
    assert "RECORD says sha256=" in refused(wheel).message


@pytest.mark.parametrize(
    "maker",
    [
        pytest.param(WheelMaker(), id="plain"),
        pytest.param(WheelMaker(files={"demo/aux.py": b"", "demo/A.py": b"", "demo/a.py": b""}), id="not-for-windows"),
        pytest.param(WheelMaker(version="1!2.0"), id="epoch"),
        pytest.param(
            WheelMaker(name="demo_kit", metadata="Metadata-Version: 2.4\nName: Demo.Kit\nVersion: 1.0\n"), id="other-spelling"
        ),
        pytest.param(WheelMaker(dist_info="Demo-1.0.0.dist-info"), id="folder-spelled-otherwise"),
    ],
)
def test_what_installers_take_is_taken(tmp_path: Path, maker: WheelMaker) -> None:
    wheel = maker.write(tmp_path)
    assert read_sound(wheel, sha256=digest.of_file(wheel)).faults == ()
