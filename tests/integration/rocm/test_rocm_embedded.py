"""The sample's ROCm packages, made of its artifact tree: once for a cache, of the same bytes everywhere, named alike in every lock."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.config.project import Project, load_project
from build_tools.environments.download import download
from build_tools.environments.network import Network
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.rocm.embedded import is_at_hand, pack_embedded, require_same
from build_tools.rocm.source import at_hand, rocm_source
from build_tools.types import ProjectName
from tests.support.environments import PLATFORM, this_interpreter
from tests.support.sample_sdk import SAMPLE, SDK

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.receipts.lock import LockedFile

RUNNER = Runner(environment=base_environment(os.environ))
NAMES = ["rocm", "rocm_sdk_core", "rocm_sdk_devel", "rocm_sdk_device_gfx1201", "rocm_sdk_device_gfx942", "rocm_sdk_libraries"]

# What is compiled here may be made on a machine without Linux's compilers, but these tests look for its files.
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="compiles the Linux layout")


@pytest.fixture
def project() -> Project:
    return load_project(SAMPLE.parent, ProjectName("sample"))


def copy_sdk(target: Path) -> Path:
    return Path(shutil.copytree(SDK, target, ignore=shutil.ignore_patterns("__pycache__")))


def packed(folder: Path, cache: Path, runner: Runner = RUNNER) -> Path:
    return pack_embedded(folder, cache=cache, runner=runner, platform=PLATFORM)


def locked(project: Project, cache: Path) -> tuple[str, tuple[LockedFile, ...]]:
    source = rocm_source(project, SAMPLE, release_type="nightly", cache=cache, runner=RUNNER, platform=PLATFORM)
    assert source.index_url is None
    files = lock_owned(["rocm[libraries,devel]"], source=source, interpreter=this_interpreter(), network=Network(), cache=cache)
    return source.describe(), files


def test_packages_are_made_of_each_target_and_of_nothing_else(tmp_path: Path) -> None:
    folder = packed(SDK, tmp_path / "cache")
    assert sorted(path.name.split("-")[0] for path in folder.glob("*.whl")) == NAMES
    assert [path.name for path in folder.glob("*.tar.gz")] == ["rocm-7.10.0.tar.gz"]
    assert [path.name for path in folder.parent.parent.iterdir() if path.is_dir()] == [folder.parent.name]


def test_locks_name_what_the_project_brings_the_same_on_every_machine(project: Project, tmp_path: Path) -> None:
    here, there = locked(project, tmp_path / "here"), locked(project, tmp_path / "there")
    assert here == there
    assert here[0] == "embedded://sample/rocm/"
    assert {file.url for file in here[1]} == {f"embedded://sample/rocm/{file.filename}" for file in here[1]}
    assert [file.distribution for file in here[1]] == ["rocm", "rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-libraries"]
    network, third = Network(), tmp_path / "third"
    for file in at_hand(here[1], project, SAMPLE, cache=third, runner=RUNNER, platform=PLATFORM):
        path = download(file, cache=third, network=network)
        assert path.is_relative_to(third)
        assert digest.of_file(path) == file.sha256


def test_packages_that_another_compiler_made_are_told_with_what_to_do(project: Project, tmp_path: Path) -> None:
    _, files = locked(project, tmp_path / "cache")
    other = tuple(
        msgspec.structs.replace(file, sha256=digest.of_bytes(b"other")) if file.distribution == "rocm-sdk-core" else file
        for file in files
    )
    with pytest.raises(HipwrightError, match=r"here rocm_sdk_core-.* of sample are made otherwise than locked") as caught:
        at_hand(other, project, SAMPLE, cache=tmp_path / "cache", runner=RUNNER, platform=PLATFORM)
    assert caught.value.code.name == "lock-conflict"
    assert caught.value.hint is not None
    assert "--relock" in caught.value.hint
    with pytest.raises(HipwrightError, match="otherwise than locked"):
        require_same(tmp_path, files, project="sample")


def test_making_gives_the_same_bytes_wherever_and_whenever(tmp_path: Path) -> None:
    first = packed(copy_sdk(tmp_path / "one"), tmp_path / "cache")
    again = packed(tmp_path / "one", tmp_path / "cache")
    other = packed(copy_sdk(tmp_path / "two" / "deeper"), tmp_path / "cache2")
    assert first == again
    assert digest.of_folder(first) == digest.of_folder(other)
    assert first.parent.name == other.parent.name


def test_a_change_gives_another_folder(tmp_path: Path) -> None:
    sdk = copy_sdk(tmp_path / "sdk")
    before = packed(sdk, tmp_path / "cache")
    (sdk / "sources" / "__pycache__").mkdir()
    (sdk / "sources" / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert packed(sdk, tmp_path / "cache") == before
    hipcc = next(sdk.glob("artifacts/*/**/bin/hipcc"))
    hipcc.chmod(0o644)
    modes = packed(sdk, tmp_path / "cache")
    hipcc.chmod(0o755)
    source = sdk / "sources" / "hiprtc.c"
    source.write_text(source.read_text().replace("*minor = 10", "*minor = 11"))
    texts = packed(sdk, tmp_path / "cache")
    assert len({before, modes, texts}) == 3
    assert before.is_dir()


def test_two_at_once_make_them_once(tmp_path: Path) -> None:
    found: list[Path] = []
    said: list[str] = []

    def make() -> None:
        folder = pack_embedded(SDK, cache=tmp_path / "cache", runner=RUNNER, platform=PLATFORM, say=said.append)
        found.append(folder)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert len(set(found)) == 1
    assert said.count("compiling and packaging ROCm 7.10.0 of sample") == 1


def test_what_was_made_needs_no_compiler_again_and_what_fails_leaves_nothing(tmp_path: Path) -> None:
    bare = Runner(environment={"PATH": str(tmp_path)})
    cache = tmp_path / "cache"
    assert not is_at_hand(SDK, cache=cache, runner=bare, platform=PLATFORM)
    with pytest.raises(HipwrightError) as caught:
        packed(SDK, cache, bare)
    assert caught.value.code.name == "no-compiler"
    assert not [path for path in (cache / "embedded-packages").iterdir() if path.is_dir()]
    assert is_at_hand(SDK, cache=cache, runner=RUNNER, platform=PLATFORM)
    made = packed(SDK, cache)
    assert packed(SDK, cache, bare) == made
    assert is_at_hand(SDK, cache=cache, runner=bare, platform=PLATFORM)


@pytest.mark.parametrize("missing", ["compiled.toml", "artifacts", "."])
def test_a_folder_that_holds_no_artifact_sources_is_told(tmp_path: Path, missing: str) -> None:
    sdk = copy_sdk(tmp_path / "sdk")
    place = sdk / missing
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    with pytest.raises(HipwrightError) as caught:
        packed(sdk, tmp_path / "cache")
    assert caught.value.code.name == "bad-data-file"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("hipcc")], ids=["pipe", "link"])
def test_what_is_neither_file_nor_folder_is_refused_by_name(tmp_path: Path, make: Callable[[Path], None]) -> None:
    sdk = copy_sdk(tmp_path / "one")
    place = next(sdk.glob("artifacts/*/**/bin")) / "odd"
    make(place)
    with pytest.raises(HipwrightError, match="cannot be a source of packages") as caught:
        packed(sdk, tmp_path / "cache")
    assert (caught.value.code.name, caught.value.where and caught.value.where.file) == ("bad-data-file", place)
