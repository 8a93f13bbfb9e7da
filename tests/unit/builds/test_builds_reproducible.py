from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from build_tools.builds.reproducible import Difference, first_difference

if TYPE_CHECKING:
    from pathlib import Path

NAME = "toy-1-py3-none-any.whl"
MEMBERS = {"toy/a.py": b"one\ntwo\nthree\n", "toy/b.so": b"\x7fELF\0\0\0\0abcd", "toy-1.dist-info/RECORD": b"rows\n"}


def wheel(folder: Path, members: dict[str, bytes], *, name: str = NAME, mode: int = 0o644, year: int = 2020) -> Path:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member, data in members.items():
            info = zipfile.ZipInfo(member, (year, 1, 1, 0, 0, 0))
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return folder / name


def compare(folder: Path, members: dict[str, bytes], **other: object) -> Difference | None:
    first = wheel(folder / "1", MEMBERS)
    return first_difference(first, wheel(folder / "2", members, **other))  # type: ignore[arg-type]


def test_equal_wheels_have_no_difference(tmp_path: Path) -> None:
    assert compare(tmp_path, MEMBERS) is None


def test_a_line_of_text_is_named(tmp_path: Path) -> None:
    found = compare(tmp_path, {**MEMBERS, "toy/a.py": b"one\ntwo!\nthree\n", "toy-1.dist-info/RECORD": b"other\n"})
    assert found is not None
    assert found.member == "toy/a.py"
    assert found.what == "14 and 15 bytes, line 2: 'two' and 'two!'"


def test_an_offset_of_binary_is_named(tmp_path: Path) -> None:
    found = compare(tmp_path, {**MEMBERS, "toy/b.so": b"\x7fELF\0\0\1\0abcd"})
    assert found == Difference(member="toy/b.so", what="12 bytes, first at offset 6: 00 00 61 62 63 64 and 01 00 61 62 63 64")


def test_a_difference_beyond_the_first_block_is_found(tmp_path: Path) -> None:
    big = bytes(3 << 20)
    first = wheel(tmp_path / "1", {"toy/b.so": big})
    found = first_difference(first, wheel(tmp_path / "2", {"toy/b.so": big[:-1] + b"\1"}))
    assert found is not None
    assert f"offset {(3 << 20) - 1}: 00 and 01" in found.what


def test_the_record_is_only_named_when_it_is_alone(tmp_path: Path) -> None:
    found = compare(tmp_path, {**MEMBERS, "toy-1.dist-info/RECORD": b"other\n"})
    assert found is not None
    assert found.member == "toy-1.dist-info/RECORD"


@pytest.mark.parametrize(
    ("members", "member", "word"),
    [
        ({key: MEMBERS[key] for key in MEMBERS if key != "toy/b.so"}, "toy/b.so", "first build"),
        ({**MEMBERS, "toy/c.py": b""}, "toy/c.py", "second build"),
        (dict(reversed(MEMBERS.items())), "toy/a.py", "number 1"),
        ({**MEMBERS, "toy/a.py": b"one\ntwo\nthree\nfour\n"}, "toy/a.py", "14 and 19 bytes"),
    ],
)
def test_members_and_their_order(tmp_path: Path, members: dict[str, bytes], member: str, word: str) -> None:
    found = compare(tmp_path, members)
    assert found is not None
    assert found.member == member
    assert word in found.what


@pytest.mark.parametrize(("other", "word"), [({"mode": 0o755}, "mode is 0o644"), ({"year": 2021}, "date is (2020")])
def test_what_is_said_of_a_member(tmp_path: Path, other: dict[str, int], word: str) -> None:
    found = compare(tmp_path, MEMBERS, **other)
    assert found is not None
    assert (found.member, word in found.what) == ("toy/a.py", True)


def test_names_and_the_archive_itself(tmp_path: Path) -> None:
    other = compare(tmp_path, MEMBERS, name="toy-2-py3-none-any.whl")
    assert other is not None
    assert other.member is None
    first, second = wheel(tmp_path / "1", MEMBERS), wheel(tmp_path / "2", MEMBERS)
    with zipfile.ZipFile(second, "a") as archive:
        archive.comment = b"made elsewhere"
    found = first_difference(first, second)
    assert found is not None
    assert "archives around" in found.what
