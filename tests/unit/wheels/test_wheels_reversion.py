from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.config.version_members import version_members
from build_tools.errors import HipwrightError
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.opened import open_wheel
from build_tools.wheels.pack import pack_wheel
from build_tools.wheels.reversion import Remade, content_digest, parse_reversion, remake_wheel
from build_tools.wheels.version_scan import Scan

if TYPE_CHECKING:
    from pathlib import Path

RC = "2.9.0+rocm7.10.0rc2"
FINAL = "2.9.0+rocm7.10.0"
RULE = parse_reversion("7.10.0rc2=7.10.0")


def wheel(folder: Path, files: dict[str, bytes] | None = None, *, version: str = RC, requires: str = "") -> Path:
    """Pack a wheel of a package that states its version."""
    tree = folder / "tree"
    given = {
        "torch/__init__.py": b"from .version import __version__\n",
        "torch/version.py": f"__version__ = '{version}'\nhip = '7.10.0rc2'\nlonger = '7.10.0rc20'\n".encode(),
        f"torch-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n{requires}".encode(),
        f"torch-{version}.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **(files or {}),
    }
    for name, data in given.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if name.startswith("torch/bin/") else 0o644)
    (folder / "dist").mkdir()
    return pack_wheel(tree, target=folder / "dist")


def remake(path: Path) -> Remade:
    return remake_wheel(path, path.parent / "made", RULE, source=digest.of_file(path), members=version_members())


@pytest.mark.parametrize(
    ("version", "becomes"),
    [
        ("7.10.0rc2", "7.10.0"),
        (RC, FINAL),
        ("1!2.9.0+rocm7.10.0rc2", "1!2.9.0+rocm7.10.0"),
        ("2.9.0+git1a2b3c4d.rocm7.10.0rc2", "2.9.0+git1a2b3c4d.rocm7.10.0"),
        ("2.9.0+rocm7.10.0rc20", "2.9.0+rocm7.10.0rc20"),
        ("2.9.0+7.10.0rc2", "2.9.0+7.10.0rc2"),
        ("17.10.0rc2", "17.10.0rc2"),
    ],
)
def test_versions_are_compared_by_their_parts(version: str, becomes: str) -> None:
    assert RULE.of(version) == becomes


@pytest.mark.parametrize("text", ["", "7.10.0rc2", "=7.10.0", "7.10.0rc2=", "a=b", "7.10.0=7.10", "1.0+a=1.0", "1.0rc1==1.0"])
def test_what_is_no_reversion(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_reversion(text)
    assert caught.value.code.name == "bad-option-value"


def test_known_fields_are_rewritten_and_everything_else_is_kept(tmp_path: Path) -> None:
    asked = "Requires-Dist: rocm[libraries]==7.10.0rc2\nRequires-Dist: triton==3.5.0+rocm7.10.0rc2; python_version < '4'\nRequires-Dist: numpy\n"
    path = wheel(tmp_path, {"torch/bin/tool": b"#!/bin/sh\n", "torch/lib.so": b"\x7fELF" + bytes(100)}, requires=asked)
    made = remake(path)
    assert made.path.name == f"torch-{FINAL}-py3-none-any.whl"
    assert made.same_content
    old, new = open_wheel(path), open_wheel(made.path)
    assert [str(one) for one in parse_metadata(new.metadata).requires_dist] == [
        "rocm[libraries]==7.10.0",
        'triton==3.5.0+rocm7.10.0; python_version < "4"',
        "numpy",
    ]
    with zipfile.ZipFile(made.path) as archive:
        assert archive.read("torch/version.py") == f"__version__ = '{FINAL}'\nhip = '7.10.0'\nlonger = '7.10.0rc20'\n".encode()
        assert archive.testzip() is None
    assert {name for name, one in new.entries.items() if one.executable} == {"torch/bin/tool"}
    assert {name.partition("/")[0] for name in new.entries} == {"torch", f"torch-{FINAL}.dist-info"}
    assert content_digest(old, version_members()) == content_digest(new, version_members())


@pytest.mark.parametrize(
    ("member", "data"),
    [
        ("torch/lib.so", b"\x7fELF\0" + b"\0rocm7.10.0rc2\0"),
        ("torch/large.so", bytes((1 << 20) - 5) + b" 7.10.0rc2" + bytes(1 << 20)),
        ("torch/notes.txt", b"made for 7.10.0-rc2"),
        ("torch/config.py", b"V = '2.9.0+rocm7.10.0rc2'"),
        ("torch/version.py", b"V = '7.10.0rc2.post1'"),
        ("torch/link.txt", b"libfoo-7.10.0rc2.so"),
        ("torch/notes.txt", b"tag v7.10.0rc2 of ROCm"),
        ("torch/lib/amd.dll", b"MZ\0\0" + "ROCm 7.10.0rc2".encode("utf-16-le") + b"\0\0"),
        ("torch/lib/libfoo.so.7.10.0rc2", b"\x7fELF"),
        ("torch/share/rocm-7.10.0rc2/x.txt", b""),
    ],
)
def test_an_old_version_that_is_left_anywhere_stops_it_and_names_the_file(tmp_path: Path, member: str, data: bytes) -> None:
    path = wheel(tmp_path, {member: data})
    with pytest.raises(HipwrightError) as caught:
        remake(path)
    assert caught.value.code.name == "version-left"
    assert member in caught.value.message
    assert list((path.parent / "made").iterdir()) == []


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("before", [b"", b" ", b"1", b"x", b"v", b"rocm", b"1rocm", b"\0"])
@pytest.mark.parametrize("after", [b"", b" ", b"0", b"x", b".so", b"+"])
def test_where_a_file_is_cut_into_pieces_changes_nothing_of_what_is_found(before: bytes, after: bytes, *, wide: bool) -> None:
    text = (before + b"7.10.0rc2" + after).decode()
    data = bytes(100) + (text.encode("utf-16-le") if wide else text.encode()) + bytes(100)
    stands = before not in {b"1", b"x", b"1rocm"} and after not in {b"0", b"x"}
    for cut in range(len(data)):
        scan = Scan({"7.10.0rc2", RC})
        scan.write(data[:cut])
        scan.write(data[cut:])
        assert scan.found() is stands, cut


def test_a_wheel_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        remake(wheel(tmp_path, {"torch/version.py": b""}, version="2.9.0+rocm7.9.0"))
    assert caught.value.code.name == "bad-version"


def test_another_byte_or_mode_is_another_content(tmp_path: Path) -> None:
    texts = {"a": {"torch/x.py": b"a"}, "b": {"torch/x.py": b"b"}, "c": {"torch/bin/x": b"a"}, "d": {"torch/y.py": b"a"}}
    digests = set()
    for name, files in texts.items():
        digests.add(content_digest(open_wheel(wheel(tmp_path / name, files)), version_members()))
    assert len(digests) == len(texts)
