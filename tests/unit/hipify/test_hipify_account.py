"""Which of the files that a tool opened are files of which module."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from build_tools.hipify.account import _read, read_notes
from build_tools.sources.contents import Entry

if TYPE_CHECKING:
    from pathlib import Path

FILE = Entry(mode=b"100644", object_id="0" * 40)
LINK = Entry(mode=b"120000", object_id="1" * 40)
SUBMODULE = Entry(mode=b"160000", object_id="2" * 40)

OLD = {
    ".": {b"a.cu": FILE, b"sub": SUBMODULE, b"subway/x.cu": FILE, b"link": LINK, b"folder": LINK, b"b\xff\n": FILE},
    "sub": {b"s.cu": FILE, b"de ep": SUBMODULE},
    "sub/de ep": {b"d.cu": FILE},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "co py"
    for path in ("sub/de ep", "subway", "real"):
        (folder / path).mkdir(parents=True)
    (folder / "link").symlink_to("a.cu")
    (folder / "folder").symlink_to("sub")
    (tmp_path / "other name").symlink_to(folder)
    return folder


def read(root: Path, *names: bytes) -> dict[str, set[bytes]]:
    found = _read(names, os.fsencode(os.path.realpath(root)), OLD)
    return {module: paths for module, paths in found.items() if paths}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (b"a.cu", {".": {b"a.cu"}}),
        (b"sub/s.cu", {"sub": {b"s.cu"}}),
        (b"sub/de ep/d.cu", {"sub/de ep": {b"d.cu"}}),
        (b"subway/x.cu", {".": {b"subway/x.cu"}}),
        (b"b\xff\n", {".": {b"b\xff\n"}}),
        (b"sub/../a.cu", {".": {b"a.cu"}}),
        (b"./sub//de ep/./d.cu", {"sub/de ep": {b"d.cu"}}),
        (b"link", {".": {b"link", b"a.cu"}}),
        (b"folder/s.cu", {"sub": {b"s.cu"}}),
        (b"folder/de ep/d.cu", {"sub/de ep": {b"d.cu"}}),
        (b"made by the tool", {}),
        (b".git/HEAD", {}),
        (b"sub", {}),
        (b"", {}),
        (b"../elsewhere/a.cu", {}),
        (b"../co py2/a.cu", {}),
        (b"../other name/a.cu", {".": {b"a.cu"}}),
    ],
)
def test_a_file_is_read_in_the_module_that_it_belongs_to(root: Path, name: bytes, expected: dict[str, set[bytes]]) -> None:
    assert read(root, os.fsencode(root) + b"/" + name) == expected


def test_what_is_not_in_the_copy_is_no_file_of_it(root: Path) -> None:
    assert read(root, b"/etc/passwd", b"/", b"relative", os.fsencode(root), os.fsencode(root) + b"x/a.cu") == {}


def test_notes_are_a_version_and_names_and_a_name_cut_short_is_none(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_bytes(b"3.12.1\0/a\0/b\nc\0/cut")
    notes = read_notes(file)
    assert notes.python == "3.12.1"
    assert notes.opened == frozenset({b"/a", b"/b\nc"})
    file.write_bytes(b"3.12.1\0")
    assert read_notes(file).opened == frozenset()
