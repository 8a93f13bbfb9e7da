"""Files of Debian source packages through apt: which archive is asked, how, and what is said when it has nothing."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.inputs.catalogue import DebianFile, DebianPackage
from build_tools.inputs.debian import archives, fetch_debian, source_list
from build_tools.process import Runner, base_environment

if TYPE_CHECKING:
    from pathlib import Path

TARGETS = """\
http://mirror.invalid/debian/|bookworm|main
http://mirror.invalid/debian/|bookworm|main
http://mirror.invalid/debian/|bookworm|contrib
http://mirror.invalid/debian/|bookworm-updates|main
http://mirror.invalid/debian-security/|bookworm-security|main
https://other.invalid/apt/|stable|main
"""

# An apt that serves what lies in `served`, and keeps what it was asked.
APT = f"""#!{sys.executable}
import pathlib, shutil, sys
home = pathlib.Path(__file__).parent
with (home / "asked").open("a") as stream:
    stream.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "indextargets":
    print((home / "targets").read_text())
    sys.exit(0)
options = dict(word.removeprefix("--option=").split("=", 1) for word in sys.argv if word.startswith("--option="))
(home / "list").write_text(pathlib.Path(options["Dir::Etc::SourceList"]).read_text())
assert pathlib.Path(options["Dir::State::Lists"], "partial").is_dir()
if sys.argv[-1] == "update":
    sys.exit(0)
if sys.argv[-2] == "download":
    served = home / "served" / "p_2%3a1-2_amd64.deb"
    if served.exists():
        shutil.copy(served, served.name)
    sys.exit(0)
name = {{"--tar-only": "p_1.orig.tar.xz", "--diff-only": "p_1-2.debian.tar.xz"}}[sys.argv[-2]]
if not (home / "served" / name).exists():
    print("E: Failed to fetch", name, " 404  Not Found")
    sys.exit(100)
shutil.copy(home / "served" / name, name)
"""


def pinned(part: str) -> DebianFile:
    name = {"tar": "p_1.orig.tar.xz", "diff": "p_1-2.debian.tar.xz"}[part]
    values = {"file": name, "sha256": "a" * 64, "size": 1, "suite": "trixie", "package": "p", "version": "1-2"}
    return DebianFile(**values, part=part)  # type: ignore[arg-type]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Debian machine with the apt above; returns the folder that it lies in."""
    release = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    home = tmp_path / "apt"
    (home / "served").mkdir(parents=True)
    (home / "targets").write_text(TARGETS)
    (home / "apt-get").write_text(APT)
    (home / "apt-get").chmod(0o755)
    return home


def fetch(machine: Path, *parts: str) -> dict[str, bytes]:
    runner = Runner(environment={**base_environment(os.environ), "PATH": str(machine)})
    files = [pinned(part) for part in parts]
    fetched = fetch_debian(files, scratch=machine.parent, runner=runner, log=machine.parent / "log")
    return {file.file: path.read_bytes() for file, path in fetched}


def test_the_archive_is_the_one_that_serves_the_machines_own_suite() -> None:
    assert archives(TARGETS, "bookworm") == ("http://mirror.invalid/debian",)
    assert archives(TARGETS, "sid") == ()


def test_a_source_list_asks_for_sources_alone() -> None:
    assert source_list(["http://a", "http://b"], ["trixie"], kind="deb-src", keyring="/k.gpg") == (
        "Types: deb-src\nURIs: http://a http://b\nSuites: trixie\nComponents: main\nSigned-By: /k.gpg\n"
    )
    assert "Signed-By" not in source_list(["http://a"], ["trixie"], kind="deb-src", keyring=None)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for apt is a script")
def test_files_are_fetched_with_a_list_and_a_state_folder_of_their_own(machine: Path) -> None:
    (machine / "served" / "p_1.orig.tar.xz").write_bytes(b"upstream")
    (machine / "served" / "p_1-2.debian.tar.xz").write_bytes(b"debian")
    assert fetch(machine, "tar", "diff") == {"p_1.orig.tar.xz": b"upstream", "p_1-2.debian.tar.xz": b"debian"}
    listed = (machine / "list").read_text().splitlines()
    assert listed[:4] == ["Types: deb-src", "URIs: http://mirror.invalid/debian", "Suites: trixie", "Components: main"]
    for line in (machine / "asked").read_text().splitlines()[1:]:
        assert "Dir::Etc::SourceParts=/dev/null" in line
        assert "p=1-2" in line or line.endswith("update")
    assert sorted(path.name for path in machine.parent.iterdir()) == ["apt", "log"], "something is left over"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for apt is a script")
def test_a_file_that_the_archive_does_not_serve_is_named_with_apts_words(machine: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        fetch(machine, "tar")
    assert caught.value.code.name == "input-unavailable"
    assert "p_1.orig.tar.xz (source package p 1-2 of Debian trixie)" in caught.value.message
    assert "404" in (caught.value.excerpt or "")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for apt is a script")
def test_a_machine_whose_apt_knows_no_archive_is_told_so(machine: Path) -> None:
    (machine / "targets").write_text("https://other.invalid/apt/|stable|main\n")
    with pytest.raises(HipwrightError, match="no archive that serves Debian bookworm") as caught:
        fetch(machine, "tar")
    assert caught.value.code.name == "input-unavailable"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for apt is a script")
def test_a_binary_package_is_found_though_apt_writes_the_epoch_into_its_name(machine: Path) -> None:
    package = DebianPackage(file="p_1-2_amd64.deb", sha256="a" * 64, size=1, suite="trixie", package="p", version="2:1-2")
    runner = Runner(environment={**base_environment(os.environ), "PATH": str(machine)})
    (machine / "served" / "p_2%3a1-2_amd64.deb").write_bytes(b"binary")
    fetched = fetch_debian([package], scratch=machine.parent, runner=runner, log=machine.parent / "log")
    assert {file.file: path.read_bytes() for file, path in fetched} == {"p_1-2_amd64.deb": b"binary"}
    assert (machine / "list").read_text().startswith("Types: deb\n")
    (machine / "served" / "p_2%3a1-2_amd64.deb").unlink()
    with pytest.raises(HipwrightError, match="is not in package p 2:1-2 of Debian trixie"):
        list(fetch_debian([package], scratch=machine.parent, runner=runner, log=machine.parent / "log"))


def test_another_system_is_told_what_to_do(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> dict[str, str]:
        raise OSError

    monkeypatch.setattr(platform, "freedesktop_os_release", none)
    with pytest.raises(HipwrightError, match="this is no Debian") as caught:
        fetch(machine, "tar")
    assert caught.value.code.name == "input-unavailable"
    assert caught.value.hint is not None
