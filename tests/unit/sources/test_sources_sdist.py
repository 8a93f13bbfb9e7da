from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.sdist import import_sdist
from tests.support.source_trees import git, new_git, raw, snapshot

if TYPE_CHECKING:
    from pathlib import Path


def member(name: str, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def pack(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def make(sdist: Path, cache: Path) -> Path:
    place = import_sdist(sdist, name="toy", version="1.0", cache=cache, git=new_git(), say=lambda _line: None)
    return place / "toy-1.0.git"


WHOLE = [
    (member("toy-1.0", type=tarfile.DIRTYPE, mtime=1_600_000_000), b""),
    (member("toy-1.0/.gitignore", mtime=1_500_000_000), b"hip\n*.txt\n"),
    (member("toy-1.0/csrc/hip/é a.hip", mtime=1_650_000_000.75), b"kernel\r\n"),
    (member("toy-1.0/note.txt", mtime=1), b""),
    (member("toy-1.0/build.sh", mode=0o755), b"#!/bin/sh\n"),
    (member("toy-1.0/link", type=tarfile.SYMTYPE, linkname="build.sh"), b""),
    (member("toy-1.0/hard", type=tarfile.LNKTYPE, linkname="toy-1.0/note.txt"), b""),
]


def test_every_file_is_in_the_one_commit_hidden_ones_too(tmp_path: Path) -> None:
    place = make(pack(tmp_path / "toy-1.0.tar.gz", WHOLE), tmp_path / "cache")
    assert git(place, "rev-list", "--count", "--all") == "1"
    assert git(place, "show", "-s", "--format=%ct %ce", "main") == "1650000000 hipwright@localhost"
    git(tmp_path, "clone", "--quiet", place, "clone")
    found = snapshot(tmp_path / "clone")
    assert found == {
        ".gitignore": b"  hip\n*.txt\n",
        "csrc/hip/é a.hip": b"  kernel\r\n",
        "note.txt": b"  ",
        "hard": b"  ",
        "build.sh": b"x #!/bin/sh\n",
        "link": b"-> build.sh",
    }
    git(place, "fsck", "--strict")


def test_the_same_archive_gives_the_same_commit(tmp_path: Path) -> None:
    sdist = pack(tmp_path / "toy-1.0.tar.gz", WHOLE)
    first, second = make(sdist, tmp_path / "a"), make(sdist, tmp_path / "b é")
    assert raw(first, "rev-parse", "main") == raw(second, "rev-parse", "main")
    assert make(sdist, tmp_path / "a") == first


@pytest.mark.parametrize(
    "members",
    [
        [(member("../escape"), b"x")],
        [(member("/abs/x"), b"x")],
        [(member("toy-1.0/../../x"), b"x")],
        [(member("toy-1.0/.git/config"), b"x")],
        [(member("toy-1.0/a/.GIT/hooks/x"), b"x")],
        [(member("toy-1.0/a"), b"x"), (member("other/a"), b"x")],
        [(member("just-a-file"), b"x")],
        [(member("toy-1.0", type=tarfile.DIRTYPE), b"")],
        [],
    ],
    ids=["up", "absolute", "up-inside", "git", "git-case", "two-tops", "no-top", "no-files", "empty"],
)
def test_archives_that_are_no_source_distribution_are_refused(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    sdist = pack(tmp_path / "toy-1.0.tar.gz", members)
    with pytest.raises(HipwrightError, match=r"toy-1\.0\.tar\.gz") as caught:
        make(sdist, tmp_path / "cache")
    assert caught.value.code.name == "bad-source-tree"
    assert not list((tmp_path / "cache").rglob("*.git"))


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    sdist = pack(tmp_path / "toy-1.0.tar.gz", WHOLE)
    sdist.write_bytes(sdist.read_bytes()[:-30])
    with pytest.raises(HipwrightError) as caught:
        make(sdist, tmp_path / "cache")
    assert caught.value.code.name == "bad-source-tree"
