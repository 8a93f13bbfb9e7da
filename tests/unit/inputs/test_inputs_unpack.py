"""Archives as folders and as repositories."""

from __future__ import annotations

import datetime as dt
import io
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.inputs.catalogue import Branch
from build_tools.inputs.unpack import make_origin, unpack
from build_tools.process import Runner, base_environment
from build_tools.sources.git import Git

if TYPE_CHECKING:
    from pathlib import Path

DATE = dt.datetime(2025, 1, 29, tzinfo=dt.UTC)


def archive(path: Path, members: dict[str, bytes | str], *, mtime: int = 0, executable: str = "") -> Path:
    """Write a tar archive: bytes are files, texts are the targets of links."""
    with tarfile.open(path, "w:xz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.mtime = mtime
            member.uid = member.gid = 1234
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size, member.mode = len(content), 0o755 if name == executable else 0o644
                tar.addfile(member, io.BytesIO(content))
    return path


def text(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_single_top_folder_is_left_out(tmp_path: Path) -> None:
    (target := tmp_path / "out").mkdir()
    unpack(archive(tmp_path / "a.tar.xz", {"p-1/a": b"1", "p-1/b/c": b"2"}), target)
    assert text(target) == {"a": "1", "b/c": "2"}


def test_one_folder_can_be_taken_alone(tmp_path: Path) -> None:
    (target := tmp_path / "out").mkdir()
    file = archive(tmp_path / "a.tar.xz", {"debian/rules": b"", "debian/patches/series": b"s", "debian/patches/1.patch": b"p"})
    unpack(file, target, folder="debian/patches")
    assert text(target) == {"series": "s", "1.patch": "p"}


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_that_lead_nowhere_stay_what_they_are(tmp_path: Path) -> None:
    (target := tmp_path / "out").mkdir()
    unpack(archive(tmp_path / "a.tar.xz", {"p/.dockerignore": ".gitignore", "p/x": b"1"}), target)
    assert (target / ".dockerignore").is_symlink()


@pytest.mark.parametrize("name", ["p/../../evil", "p/a/../../../evil"])
def test_nothing_is_written_outside(tmp_path: Path, name: str) -> None:
    (target := tmp_path / "room" / "out").mkdir(parents=True)
    with pytest.raises(HipwrightError) as caught:
        unpack(archive(tmp_path / "a.tar.xz", {"p/x": b"1", name: b"2"}), target)
    assert caught.value.code.name == "input-unavailable"
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("damage", ["cut", "no archive"])
def test_a_broken_archive_is_named(tmp_path: Path, damage: str) -> None:
    file = archive(tmp_path / "a.tar.xz", {"p/x": os.urandom(20_000)})
    file.write_bytes(file.read_bytes()[:10_000] if damage == "cut" else b"hello")
    (target := tmp_path / "out").mkdir()
    with pytest.raises(HipwrightError, match=r"a\.tar\.xz cannot be unpacked"):
        unpack(file, target)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (target := tmp_path / "out").mkdir()
    with pytest.raises(HipwrightError, match="holds nothing below p/patches/"):
        unpack(archive(tmp_path / "a.tar.xz", {"p/x": b"1"}), target, folder="patches")


def git() -> Git:
    return Git(runner=Runner(environment=base_environment(os.environ)))


def test_a_repository_holds_all_files_and_has_the_same_commits_everywhere(tmp_path: Path) -> None:
    members: dict[str, bytes | str] = {"p-1/.gitignore": b"*.o\n", "p-1/run": b"#!\n", "p-1/x.o": b"o", "p-1/link": "run"}
    found = []
    for number in (1, 2):
        first = archive(tmp_path / "a.tar.xz", members, mtime=number * 1000, executable="p-1/run")
        second = archive(tmp_path / "b.tar.xz", {"q/only": b"2"}, mtime=number)
        (tmp_path / str(number)).mkdir()
        target = tmp_path / str(number) / "origin.git"
        branches = [Branch(name=name, file=file.name, date=DATE) for name, file in (("release/2", first), ("release/1", second))]
        make_origin(target, list(zip(branches, (first, second), strict=True)), git=git())
        repository = git().bare(target)
        found.append(repository.refs("refs/heads/"))
        rows = [row.split(maxsplit=3) for row in repository.text("ls-tree", "-r", "HEAD").splitlines()]
        assert [(mode, path) for mode, _type, _object, path in rows] == [
            ("100644", ".gitignore"),
            ("120000", "link"),
            ("100755", "run"),
            ("100644", "x.o"),
        ]
        assert repository.text("log", "--format=%an %cd", "--date=short", "release/1") == "hipwright 2025-01-29"
        assert repository.text("symbolic-ref", "HEAD") == "refs/heads/release/2"
    assert found[0] == found[1]
    assert set(found[0]) == {"release/2", "release/1"}
