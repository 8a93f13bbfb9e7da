from __future__ import annotations

import os
import sys
import time
import zipfile
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError
from build_tools.wheels.pack import pack_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_METADATA = "Metadata-Version: 2.1\nName: rocm-sdk-core\nVersion: 7.10.0\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_INFO = "rocm_sdk_core-7.10.0.dist-info"


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    folder = tmp_path / "unpacked"
    for name, text in {
        "rocm_sdk/__init__.py": "",
        "rocm_sdk/bin/hipcc": "#!/bin/sh\n",
        "rocm_sdk.py": "x = 1\n",
        f"{_INFO}/METADATA": _METADATA,
        f"{_INFO}/WHEEL": _WHEEL,
        f"{_INFO}/entry_points.txt": "[console_scripts]\nrocm-sdk = rocm_sdk:main\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (folder / "rocm_sdk/bin/hipcc").chmod(0o744)
    return folder


def test_a_packed_wheel_breaks_no_rule(unpacked: Path, tmp_path: Path) -> None:
    wheel = pack_wheel(unpacked, target=tmp_path / "out")
    assert wheel == tmp_path / "out" / "rocm_sdk_core-7.10.0-py3-none-any.whl"
    assert check_wheels([wheel], expectations=None, say=lambda _line: None).findings == ()
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]


def test_members_are_sorted_and_metadata_comes_last(unpacked: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack_wheel(unpacked, target=tmp_path)) as archive:
        assert archive.namelist() == [
            "rocm_sdk.py",
            "rocm_sdk/__init__.py",
            "rocm_sdk/bin/hipcc",
            f"{_INFO}/METADATA",
            f"{_INFO}/WHEEL",
            f"{_INFO}/entry_points.txt",
            f"{_INFO}/RECORD",
        ]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no execute bit there")
def test_executable_files_stay_executable(unpacked: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack_wheel(unpacked, target=tmp_path)) as archive:
        modes = {entry.filename: oct(entry.external_attr >> 16) for entry in archive.infolist()}
    assert modes["rocm_sdk/bin/hipcc"] == "0o100755"
    assert modes["rocm_sdk.py"] == "0o100644"


@pytest.mark.parametrize("compress", [False, True])
def test_same_files_give_the_same_bytes(unpacked: Path, tmp_path: Path, *, compress: bool) -> None:
    first = pack_wheel(unpacked, target=tmp_path / "one", compress=compress).read_bytes()
    for path in unpacked.rglob("*"):
        os.utime(path, (time.time() - 1e6, time.time() - 1e6))
    (unpacked / "rocm_sdk.py").chmod(0o600)
    cache = unpacked / "rocm_sdk" / "__pycache__" / "x.cpython-311.pyc"
    cache.parent.mkdir()
    cache.write_bytes(b"byte code")
    (unpacked / _INFO / "RECORD").write_text("an old one\n")
    assert pack_wheel(unpacked, target=tmp_path / "two", compress=compress).read_bytes() == first


def test_other_files_give_other_bytes(unpacked: Path, tmp_path: Path) -> None:
    first = pack_wheel(unpacked, target=tmp_path / "one").read_bytes()
    (unpacked / "rocm_sdk.py").write_text("x = 2\n")
    assert pack_wheel(unpacked, target=tmp_path / "two").read_bytes() != first


def test_compressing_makes_it_smaller(unpacked: Path, tmp_path: Path) -> None:
    (unpacked / "rocm_sdk.py").write_text("x = 1\n" * 1000)
    stored = pack_wheel(unpacked, target=tmp_path / "one")
    deflated = pack_wheel(unpacked, target=tmp_path / "two", compress=True)
    assert deflated.stat().st_size < stored.stat().st_size / 2


def test_a_wheel_above_the_zip64_limit(unpacked: Path, tmp_path: Path) -> None:
    (unpacked / "rocm_sdk" / "large.bin").write_bytes(os.urandom(4000))
    with mock.patch("build_tools.wheels.write._ZIP64", 512):
        wheel = pack_wheel(unpacked, target=tmp_path)
    assert check_wheels([wheel], expectations=None, say=lambda _line: None).findings == ()


def test_build_and_platform_tags_come_from_the_wheel_file(unpacked: Path, tmp_path: Path) -> None:
    text = _WHEEL.replace("Tag: py3-none-any", "Tag: py3-none-win_amd64\nBuild: 3")
    (unpacked / _INFO / "WHEEL").write_text(text)
    assert pack_wheel(unpacked, target=tmp_path).name == "rocm_sdk_core-7.10.0-3-py3-none-win_amd64.whl"


def _link(unpacked: Path, target: str) -> None:
    (unpacked / "link").symlink_to(unpacked / target)


_WAYS: dict[str, Callable[[Path], object]] = {
    "two .dist-info folders": lambda unpacked: (unpacked / "other-1.0.dist-info").mkdir(),
    "no .dist-info folder": lambda unpacked: (unpacked / _INFO).rename(unpacked / "dist-info"),
    "folder of another version": lambda unpacked: (unpacked / _INFO).rename(unpacked / "rocm_sdk_core-7.9.0.dist-info"),
    "no METADATA": lambda unpacked: (unpacked / _INFO / "METADATA").unlink(),
    "no WHEEL": lambda unpacked: (unpacked / _INFO / "WHEEL").unlink(),
    "malformed METADATA": lambda unpacked: (unpacked / _INFO / "METADATA").write_text("Name: rocm-sdk-core\n"),
    "a link": lambda unpacked: _link(unpacked, "rocm_sdk.py"),
    "a linked folder": lambda unpacked: _link(unpacked, "rocm_sdk"),
}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("two .dist-info folders", "other-1.0.dist-info"),
        ("no .dist-info folder", "there is none"),
        ("folder of another version", r"rocm_sdk_core-7\.10\.0\.dist-info"),
        ("no METADATA", "no METADATA"),
        ("no WHEEL", "no WHEEL"),
        ("malformed METADATA", "METADATA is malformed"),
        pytest.param("a link", "link", marks=pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")),
        pytest.param(
            "a linked folder", "link", marks=pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
        ),
    ],
)
def test_what_is_no_unpacked_wheel_is_refused(unpacked: Path, tmp_path: Path, how: str, message: str) -> None:
    _WAYS[how](unpacked)
    with pytest.raises(HipwrightError, match=message) as caught:
        pack_wheel(unpacked, target=tmp_path / "out")
    assert caught.value.code.name == "bad-wheel"
    assert not list((tmp_path / "out").glob("*"))


def test_nothing_is_left_when_packing_fails_in_the_middle(unpacked: Path, tmp_path: Path) -> None:
    with (
        mock.patch("build_tools.wheels.write.render_record", side_effect=OSError("disk full")),
        pytest.raises(OSError, match="disk full"),
    ):
        pack_wheel(unpacked, target=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no unpacked wheel"):
        pack_wheel(tmp_path / "missing", target=tmp_path)
