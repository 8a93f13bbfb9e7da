from __future__ import annotations

import stat
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.wheels.metadata_edit import edit_metadata
from build_tools.wheels.opened import open_wheel
from build_tools.wheels.rewrite import rewrite_wheel
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = b"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\n"


def _as_link(entry: zipfile.ZipInfo) -> None:
    if entry.filename.startswith("demo/"):
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16


def _refused(wheel: Path, folder: Path, **changes: Any) -> str:  # noqa: ANN401 - whatever rewrite_wheel takes
    before = wheel.read_bytes()
    with pytest.raises(HipwrightError) as caught:
        rewrite_wheel(wheel, folder / "new", **{"version": "2", **changes})
    assert caught.value.code.name in {"bad-wheel", "bad-version"}
    assert not (folder / "new").exists() or list((folder / "new").iterdir()) == []
    assert wheel.read_bytes() == before
    return caught.value.message


@pytest.mark.parametrize("name", ["../escape.py", "/etc/passwd", "demo//x", "./x", "demo\\x", "C:/x", "demo/\x1b[2J"])
def test_a_name_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    said = _refused(WheelMaker(files={name: b""}).write(tmp_path), tmp_path)
    assert "its name is not that of a file" in said
    assert said.isprintable()


def test_names_that_readers_see_differently(tmp_path: Path) -> None:
    assert "there twice" in _refused(WheelMaker(extra=[("demo/__init__.py", b"other")]).write(tmp_path), tmp_path)
    assert "a link" in _refused(WheelMaker(edit_entry=_as_link).write(tmp_path), tmp_path)


def test_headers_that_disagree(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/innocent.py": b"x"}).write(tmp_path)
    wheel.write_bytes(wheel.read_bytes().replace(b"demo/innocent.py", b"demo/harmless.py", 1))
    assert "its local header has the name" in _refused(wheel, tmp_path)


def test_bytes_outside_of_the_archive(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    wheel.write_bytes(b"MZ" + wheel.read_bytes())
    assert "lie before the first member" in _refused(wheel, tmp_path)


def test_a_record_that_lies(tmp_path: Path) -> None:
    gone = WheelMaker(edit_record=lambda rows: [*rows, "demo/gone.py,,"]).write(tmp_path / "1")
    assert "it is not in the wheel" in _refused(gone, tmp_path)
    twice = WheelMaker(edit_record=lambda rows: [rows[0], *rows]).write(tmp_path / "2")
    assert "lists it twice" in _refused(twice, tmp_path)
    longer = WheelMaker(edit_record=lambda rows: [f"{rows[0]}0", *rows[1:]]).write(tmp_path / "3")
    assert "RECORD says 120 bytes, and there are 12" in _refused(longer, tmp_path)
    none = WheelMaker(without=("RECORD",)).write(tmp_path / "4")
    assert "RECORD: it is not there" in _refused(none, tmp_path)


def test_metadata_of_another_wheel(tmp_path: Path) -> None:
    wheel = WheelMaker(metadata="Metadata-Version: 2.4\nName: other\nVersion: 1.0\n").write(tmp_path)
    assert "METADATA says other 1.0" in _refused(wheel, tmp_path)


def test_changes_that_make_no_sense(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    assert "no version" in _refused(wheel, tmp_path, version="new")
    assert "is not there" in _refused(wheel, tmp_path, members={"demo/gone.py": None})
    assert "written anew" in _refused(wheel, tmp_path, members={"demo-2.dist-info/RECORD": b""})
    assert "its name is not that" in _refused(wheel, tmp_path, members={"../x": b""})
    assert "no requirement on rocm" in _refused(wheel, tmp_path, requires={"rocm": None})


def test_no_wheel(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        open_wheel(tmp_path / "demo-1.0-py3-none-any.whl")
    assert caught.value.code.name == "no-wheel"
    (tmp_path / "demo-1.0-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(HipwrightError, match="is no zip archive"):
        open_wheel(tmp_path / "demo-1.0-py3-none-any.whl")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), data=st.binary(min_size=1, max_size=6), cut=st.booleans())
def test_damage_is_said_or_harmless(tmp_path: Path, *, place: float, data: bytes, cut: bool) -> None:
    """Whatever is damaged: either it is refused, or a wheel comes out that readers read."""
    wheel = WheelMaker(files={"demo/x": b"content" * 50}).write(tmp_path)
    whole = wheel.read_bytes()
    at = int(place * len(whole))
    wheel.write_bytes(whole[:at] + data + (b"" if cut else whole[at + len(data) :]))
    try:
        new = rewrite_wheel(wheel, tmp_path / "new", version="2")
    except HipwrightError:
        return
    with zipfile.ZipFile(new) as archive:
        assert "demo-2.dist-info/RECORD" in archive.namelist()


def test_only_the_fields_that_are_to_change_do() -> None:
    data = (
        b"Metadata-Version: 2.4\r\nNAME: demo\r\nversion:1.0\r\nRequires-Dist: rocm[b,a]==1 ; python_version > '3'\r\n"
        b"Requires-Dist: rocm-sdk-core==1\r\nLicense: a\r\n        folded\r\n\r\nRequires-Dist: rocm==1\r\n"
    )
    edited = edit_metadata(data, version="2.0", requires={"rocm": "==7"})
    assert edited == data.replace(b"version:1.0", b"Version: 2.0").replace(
        b"Requires-Dist: rocm[b,a]==1 ; python_version > '3'", b'Requires-Dist: rocm[a,b]==7; python_version > "3"'
    )
    assert b"rocm[" not in edit_metadata(data, requires={"rocm": None})


def test_nothing_to_change_changes_nothing() -> None:
    data = _HEAD + b"Description-Content-Type: text/markdown\n\n# T\xc3\xa4st\n"
    assert edit_metadata(data) == data


def test_malformed_metadata() -> None:
    with pytest.raises(HipwrightError):
        edit_metadata(b"Name: demo\n")
    with pytest.raises(HipwrightError):
        edit_metadata(_HEAD + b"Requires-Dist: rocm\n", requires={"rocm": "=="})


@pytest.mark.parametrize(
    "maker",
    [
        WheelMaker(metadata=f"Metadata-Version: 2.4\nName: demo\nVersion: {'9' * 5000}\n"),
        WheelMaker(metadata=f"Metadata-Version: 2.4\nName: demo\nVersion: 1.0\nRequires-Dist: rocm=={'9' * 5000}\n"),
        WheelMaker(edit_record=lambda rows: [*rows, f"x,sha256=x,{'9' * 5000}"]),
    ],
)
def test_numbers_of_thousands_of_digits(tmp_path: Path, maker: WheelMaker) -> None:
    assert len(_refused(maker.write(tmp_path), tmp_path)) < 400
