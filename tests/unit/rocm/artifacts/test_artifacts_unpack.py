from __future__ import annotations

import os
import stat
import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools import files
from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.mark import changes
from build_tools.rocm.artifacts.unpack import Unpacked, unpack_artifact
from build_tools.types import Platform
from tests.support.artifacts import BASE, Member, archive_bytes, manifest, member, pack, tar_bytes

if TYPE_CHECKING:
    from pathlib import Path

LINUX, WINDOWS = Platform.LINUX, Platform.WINDOWS
SYMLINK, HARD_LINK, FOLDER = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


def unpack(folder: Path, data: bytes, *, platform: Platform = LINUX, suffix: str = ".tar.zst") -> Unpacked:
    archive = folder / f"clr_lib_generic{suffix}"
    archive.write_bytes(data)
    target = folder / "target"
    target.mkdir()
    return unpack_artifact(archive, target, platform=platform)


def ended(folder: Path, data: bytes, *, platform: Platform = LINUX) -> str | None:
    """Unpack, and return the code of the failure, None when there was none."""
    try:
        unpack(folder, data, platform=platform)
    except HipwrightError as error:
        return error.code.name
    return None


def refused(folder: Path, *members: Member, platform: Platform = LINUX) -> str:
    with pytest.raises(HipwrightError) as caught:
        unpack(folder, archive_bytes(members), platform=platform)
    assert caught.value.code.name == "bad-archive"
    assert "clr_lib_generic.tar.zst" in caught.value.message
    assert sorted(path.name for path in folder.iterdir()) == ["clr_lib_generic.tar.zst", "target"]
    return caught.value.message


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.xz"])
def test_files_links_and_modes(tmp_path: Path, suffix: str) -> None:
    members = [
        manifest(BASE, "base/aux"),
        member("core", kind=FOLDER),
        member(f"{BASE}/lib/libamdhip64.so.7.1", b"library" * 500_000, mode=0o4755),
        member(f"{BASE}/lib/libamdhip64.so.7", kind=SYMLINK, link="libamdhip64.so.7.1"),
        member(f"{BASE}/lib/libamdhip64.so", kind=SYMLINK, link="libamdhip64.so.7"),
        member(f"{BASE}/llvm", kind=SYMLINK, link="lib/llvm"),
        member(f"{BASE}/include/hip.h", "text", mode=0o600),
        member(f"{BASE}/include/same.h", kind=HARD_LINK, link=f"{BASE}/include/hip.h"),
        member(f"{BASE}/empty", kind=FOLDER),
        member("base/aux/a-name-" + "x" * 200, "long"),
    ]
    found = unpack(tmp_path, archive_bytes(members, suffix), suffix=suffix)
    root = tmp_path / "target"
    held: dict[str, int | str] = {
        "artifact_manifest.txt": len(f"{BASE}\nbase/aux\n"),
        f"{BASE}/lib/libamdhip64.so.7.1": 3_500_000,
        f"{BASE}/lib/libamdhip64.so.7": "libamdhip64.so.7.1",
        f"{BASE}/lib/libamdhip64.so": "libamdhip64.so.7",
        f"{BASE}/llvm": "lib/llvm",
        f"{BASE}/include/hip.h": 4,
        f"{BASE}/include/same.h": 4,
        "base/aux/a-name-" + "x" * 200: 4,
    }
    assert found == Unpacked(files=8, size=3_500_008, held=held)
    assert changes(tmp_path / "target", held).sentences == ()
    assert (root / BASE / "lib/libamdhip64.so").read_bytes() == b"library" * 500_000
    assert (root / BASE / "llvm").readlink().as_posix() == "lib/llvm"
    assert (root / BASE / "include/same.h").read_text() == "text"
    assert (root / BASE / "empty").is_dir()
    assert (root / "artifact_manifest.txt").read_text() == f"{BASE}\nbase/aux\n"
    modes = {name: stat.S_IMODE((root / BASE / name).stat().st_mode) for name in ("lib/libamdhip64.so.7.1", "include/hip.h")}
    assert modes["lib/libamdhip64.so.7.1"] & 0o7111 == 0o111
    assert modes["include/hip.h"] & 0o7111 == 0


def test_the_top_may_be_written_with_a_dot(tmp_path: Path) -> None:
    members = [member("./", kind=FOLDER), member("./artifact_manifest.txt", BASE), member(f"./{BASE}/a", "1")]
    assert unpack(tmp_path, archive_bytes(members)).files == 2
    assert (tmp_path / "target" / BASE / "a").read_text() == "1"


HOSTILE = {
    "deeper than any system": [member(f"{BASE}/{'a/' * 2500}a", "x")],
    "longer than any system": [member(f"{BASE}/{'a' * 300}", "x")],
    "absolute": [member("/etc/passwd", "x")],
    "parent": [member(f"{BASE}/../../../../escape", "x")],
    "backslash": [member(f"{BASE}\\..\\..\\escape", "x")],
    "line end": [member(f"{BASE}/a\nb", "x")],
    "no text": [member(f"{BASE}/\udcff", "x")],
    "beside the bases": [member("elsewhere/file", "x")],
    "name that begins as a base": [member(f"{BASE}-more/file", "x")],
    "file that is a base": [member(BASE, "x")],
    "link that is a base": [member(BASE, kind=SYMLINK, link="../..")],
    "file above a base": [member("core", "x")],
    "twice": [member(f"{BASE}/a", "1"), member(f"{BASE}/a", "2")],
    "manifest twice": [member("artifact_manifest.txt", "elsewhere")],
    "file over a folder": [member(f"{BASE}/a/b", "1"), member(f"{BASE}/a", "2")],
    "file below a file": [member(f"{BASE}/a", "1"), member(f"{BASE}/a/b", "2")],
    "folder over a file": [member(f"{BASE}/a", "1"), member(f"{BASE}/a", kind=FOLDER)],
    "absolute link": [member(f"{BASE}/a", kind=SYMLINK, link="/etc/passwd")],
    "empty link": [member(f"{BASE}/a", kind=SYMLINK, link="")],
    "drive of a link": [member(f"{BASE}/a", kind=SYMLINK, link="c:/windows")],
    "link out of the base": [member(f"{BASE}/a", kind=SYMLINK, link="../../outside")],
    "link into another base": [member(f"{BASE}/a", kind=SYMLINK, link="../../../base/aux/x")],
    "write through a link": [member(f"{BASE}/a", kind=SYMLINK, link="b"), member(f"{BASE}/a/c", "x")],
    "folder over a link": [member(f"{BASE}/a", kind=SYMLINK, link="b"), member(f"{BASE}/a", kind=FOLDER)],
    "file over a link": [member(f"{BASE}/a", kind=SYMLINK, link="b"), member(f"{BASE}/a", "x")],
    "link out of the base through another one": [
        member(f"{BASE}/x/y/z/up", kind=SYMLINK, link="../../.."),
        member(f"{BASE}/a", kind=SYMLINK, link="x/y/z/up/../.."),
    ],
    "links in a circle": [member(f"{BASE}/a", kind=SYMLINK, link="b"), member(f"{BASE}/b", kind=SYMLINK, link="a")],
    "hard link out": [member(f"{BASE}/a", kind=HARD_LINK, link="/etc/passwd")],
    "hard link up": [member(f"{BASE}/a", kind=HARD_LINK, link=f"{BASE}/../../../../x")],
    "hard link to what comes later": [member(f"{BASE}/a", kind=HARD_LINK, link=f"{BASE}/b"), member(f"{BASE}/b", "x")],
    "hard link to a link": [
        member(f"{BASE}/a", kind=SYMLINK, link="b"),
        member(f"{BASE}/c", kind=HARD_LINK, link=f"{BASE}/a"),
    ],
    "hard link to the manifest": [member(f"{BASE}/a", kind=HARD_LINK, link="artifact_manifest.txt")],
    "hard link through a link": [
        member(f"{BASE}/d/b", "x"),
        member(f"{BASE}/a", kind=SYMLINK, link="d"),
        member(f"{BASE}/c", kind=HARD_LINK, link=f"{BASE}/a/b"),
    ],
    "device": [member(f"{BASE}/a", kind=tarfile.CHRTYPE)],
    "block device": [member(f"{BASE}/a", kind=tarfile.BLKTYPE)],
    "pipe": [member(f"{BASE}/a", kind=tarfile.FIFOTYPE)],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_refused(tmp_path: Path, members: list[Member]) -> None:
    refused(tmp_path, manifest(BASE, "base/aux"), *members)


@pytest.mark.parametrize("names", [("a", "A"), ("dir/a", "DIR/b"), ("ß", "SS"), ("nul",), ("aux.h",), ("a:b",), ("a.",), ("a ",)])
def test_what_windows_cannot_hold_is_refused_there(tmp_path: Path, names: tuple[str, ...]) -> None:
    members = (manifest(), *(member(f"{BASE}/{name}", "x") for name in names))
    refused(tmp_path, *members, platform=WINDOWS)
    on_linux = tmp_path / "linux"
    on_linux.mkdir()
    assert unpack(on_linux, archive_bytes(members)).files == 1 + len(names)


@pytest.mark.parametrize("bases", [("/abs",), ("../up",), (".",), ("a\\b",), ("artifact_manifest.txt",), ("a/../..",), ("\0",)])
def test_manifest_that_lists_what_is_no_base(tmp_path: Path, bases: tuple[str, ...]) -> None:
    refused(tmp_path, manifest(*bases))


def test_manifest_comes_first(tmp_path: Path) -> None:
    assert "first member" in refused(tmp_path, member(f"{BASE}/a", "x"), manifest())


def test_manifest_is_a_file(tmp_path: Path) -> None:
    refused(tmp_path, member("artifact_manifest.txt", kind=SYMLINK, link="/etc/passwd"))


def test_no_member_at_all(tmp_path: Path) -> None:
    refused(tmp_path)


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.xz"])
def test_every_cut_is_told(tmp_path: Path, suffix: str) -> None:
    plain = tar_bytes([manifest(), member(f"{BASE}/a", os.urandom(3000)), member(f"{BASE}/b", "x")])
    # Where a member ends too: to tarfile that would be a whole archive.
    for number, end in enumerate([0, 100, 512, 1024, 1536, 2000, 4608, 5120, 5632]):
        folder = tmp_path / f"plain-{number}"
        folder.mkdir()
        with pytest.raises(HipwrightError, match="clr_lib_generic"):
            unpack(folder, pack(plain[:end], suffix), suffix=suffix)
    packed = pack(plain, suffix)
    for number, end in enumerate(range(0, len(packed) - 60, 150)):
        folder = tmp_path / f"packed-{number}"
        folder.mkdir()
        with pytest.raises(HipwrightError, match="clr_lib_generic"):
            unpack(folder, packed[:end], suffix=suffix)


def test_other_bytes_are_told(tmp_path: Path) -> None:
    packed = bytearray(archive_bytes([manifest(), member(f"{BASE}/a", os.urandom(3000))], ".tar.xz"))
    packed[len(packed) // 2] ^= 1
    with pytest.raises(HipwrightError) as caught:
        unpack(tmp_path, bytes(packed), suffix=".tar.xz")
    assert caught.value.code.name == "bad-archive"


def test_header_that_would_fill_the_memory(tmp_path: Path) -> None:
    comment = f"{3 << 20} comment="
    record = (comment + "x" * ((3 << 20) - len(comment) - 1) + "\n").encode()
    assert "header of" in refused(
        tmp_path, manifest(), member("./PaxHeaders/a", record, kind=tarfile.XHDTYPE), member(f"{BASE}/a")
    )


def test_content_that_would_fill_the_disk(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        unpack(tmp_path, archive_bytes([manifest(), member(f"{BASE}/a", b"", size=1 << 60)]))
    assert caught.value.code.name == "disk-space"
    assert not (tmp_path / "target" / BASE / "a").exists()


def test_a_base_that_has_the_name_of_our_mark(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="the name that hipwright gives its mark") as caught:
        unpack(tmp_path, archive_bytes([manifest(BASE, ".fetched.json"), member(".fetched.json", kind=FOLDER)]))
    assert caught.value.code.name == "bad-archive"


def test_a_path_that_the_system_cannot_hold_is_the_archives_fault(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        unpack(tmp_path, archive_bytes([manifest(), member(f"{BASE}/{'/'.join(['a' * 250] * 40)}", "x")]))
    assert caught.value.code.name == "bad-archive"


def test_zeros_that_unpack_to_much_are_read_in_pieces(tmp_path: Path) -> None:
    assert unpack(tmp_path, archive_bytes([manifest(), member(f"{BASE}/a", bytes(40 << 20))])).size == 40 << 20


_PARTS = st.sampled_from(["a", "b", "..", ".", "", "core", "clr", "stage", "A"])
_PATHS = st.one_of(st.just(BASE), st.lists(_PARTS, min_size=1, max_size=6).map("/".join))
_BELOW = st.lists(_PARTS, min_size=1, max_size=4).map(lambda parts: "/".join([BASE, *parts]))
_KINDS = st.sampled_from([tarfile.REGTYPE, SYMLINK, HARD_LINK, FOLDER, tarfile.FIFOTYPE])
_MEMBERS = st.builds(
    lambda name, kind, link: member(name, b"x" if kind == tarfile.REGTYPE else b"", kind=kind, link=link),
    st.one_of(_BELOW, _PATHS),
    _KINDS,
    st.one_of(_PATHS, _BELOW, st.just("/etc")),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_MEMBERS, max_size=7), st.sampled_from([LINUX, WINDOWS]))
def test_no_archive_leads_out_of_its_folder(
    tmp_path_factory: pytest.TempPathFactory, members: list[Member], platform: Platform
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    outside = folder / "outside"
    outside.write_text("kept")
    code = ended(folder, archive_bytes([manifest(), *members]), platform=platform)
    assert code in {None, "bad-archive"}
    if code is None:
        root = (folder / "target").resolve()
        for path in (folder / "target").rglob("*"):
            assert path.resolve().is_relative_to(root / BASE) or path.is_dir() or path.name == "artifact_manifest.txt"
    assert sorted(path.name for path in folder.iterdir()) == ["clr_lib_generic.tar.zst", "outside", "target"]
    assert outside.read_text() == "kept"
    files.remove_tree(folder)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000), st.integers(0, 3000))
def test_any_bytes_are_an_archive_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    folder = tmp_path_factory.mktemp("noise")
    plain = tar_bytes([manifest(), member(f"{BASE}/a", "x")])
    data = pack(plain[:at] + noise + plain[at + len(noise) :], ".tar.zst")
    assert ended(folder, data) in {None, "bad-archive", "disk-space"}
    files.remove_tree(folder)
