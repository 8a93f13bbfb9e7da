from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from build_tools.builds.generated import judge_generated, place_generated, with_generated
from build_tools.errors import HipwrightError

HOOKS = Path("/projects/toy/hooks.py")


def wheel_in(folder: Path, **members: str) -> Path:
    files = {f"toy/{name}.py": text for name, text in members.items()}
    files["toy-1.0.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
    files["toy-1.0.dist-info/WHEEL"] = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = []
    for name, text in files.items():
        value = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={value},{len(text)}\n")
    files["toy-1.0.dist-info/RECORD"] = "".join(rows) + "toy-1.0.dist-info/RECORD,,\n"
    path = folder / "toy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../x", "a\\x", "C:x", "a//b", "./a", ".", "a\0b", "n" * 300])
def test_a_name_that_leads_out_is_the_hooks_fault(name: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        judge_generated({name: b""}, hooks=HOOKS)
    assert caught.value.code.name == "bad-hooks"


@pytest.mark.parametrize(
    "files",
    [{"a/b": b"", "a": b""}, {"a": Path("../../etc/passwd")}, {"a": Path("x/../../y")}],
    ids=["a file that is a folder too", "a file outside", "a way out"],
)
def test_files_that_cannot_be_are_the_hooks_fault(files: dict[str, bytes | Path]) -> None:
    with pytest.raises(HipwrightError) as caught:
        judge_generated(files, hooks=HOOKS)
    assert caught.value.code.name == "bad-hooks"


@pytest.mark.parametrize("name", ["toy", "file/x.py"])
def test_a_file_in_the_place_of_the_sources_own_is_the_hooks_fault(tmp_path: Path, name: str) -> None:
    (tmp_path / "toy").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(HipwrightError) as caught:
        place_generated({name: b""}, tmp_path)
    assert caught.value.code.name == "bad-hooks"


def test_a_link_out_of_the_tree_gets_into_no_wheel(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "secret").touch()
    (tree / "made").symlink_to(tmp_path / "secret")
    with pytest.raises(HipwrightError, match="leads out of its tree"):
        with_generated(wheel_in(tmp_path, init=""), {"toy/made": Path("made")}, folder=tree)


def test_a_file_of_the_machine_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    judge_generated({"a.dll": Path("made/by/the/build.dll")}, hooks=HOOKS)
    with pytest.raises(HipwrightError) as caught:
        judge_generated({"a.dll": tmp_path / "a.dll"}, hooks=HOOKS)
    assert caught.value.code.name == "missing-tool"
    assert "a.dll" in caught.value.message


def test_files_are_placed_and_what_is_there_already_keeps_its_time(tmp_path: Path) -> None:
    machine = tmp_path / "x.dll"
    machine.write_bytes(b"dll")
    tree = tmp_path / "tree"
    files: dict[str, bytes | Path] = {"pkg/init.py": b"text", "pkg/lib/x.dll": machine, "pkg/made.dll": Path("pkg/made.dll")}
    place_generated(files, tree)
    assert (tree / "pkg/init.py").read_bytes() == b"text"
    assert (tree / "pkg/lib/x.dll").read_bytes() == b"dll"
    assert not (tree / "pkg/made.dll").exists()
    before = (tree / "pkg/init.py").stat().st_ino, (tree / "pkg/init.py").stat().st_mtime_ns
    place_generated(files, tree)
    assert ((tree / "pkg/init.py").stat().st_ino, (tree / "pkg/init.py").stat().st_mtime_ns) == before


def test_a_link_in_the_tree_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "init.py").symlink_to(outside)
    place_generated({"init.py": b"ours"}, tmp_path / "tree")
    assert outside.read_bytes() == b"theirs"
    assert (tmp_path / "tree" / "init.py").read_bytes() == b"ours"


def test_what_the_build_left_out_is_put_into_the_wheel_with_its_record(tmp_path: Path) -> None:
    wheel = wheel_in(tmp_path, there="x = 1\n")
    (tmp_path / "made.dll").write_bytes(b"made by the build")
    files: dict[str, bytes | Path] = {"toy/there.py": b"x = 1\n", "toy/_init.py": b"y = 2\n", "toy/made.dll": Path("made.dll")}
    whole, added = with_generated(wheel, files, folder=tmp_path)
    assert added == ("toy/_init.py", "toy/made.dll")
    with zipfile.ZipFile(whole) as archive:
        assert archive.read("toy/_init.py") == b"y = 2\n"
        assert archive.read("toy/made.dll") == b"made by the build"
        record = archive.read("toy-1.0.dist-info/RECORD").decode()
    assert [line.split(",")[0] for line in record.splitlines() if line.startswith("toy/")] == [
        *("toy/_init.py", "toy/made.dll", "toy/there.py"),
    ]
    assert with_generated(whole, files, folder=tmp_path) == (whole, ())


def test_what_the_build_was_to_make_and_did_not_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        with_generated(wheel_in(tmp_path), {"toy/made.dll": Path("made.dll")}, folder=tmp_path)
    assert caught.value.code.name == "build-failed"
