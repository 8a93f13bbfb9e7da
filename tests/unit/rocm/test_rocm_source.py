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
from build_tools.config.channels import load_channels
from build_tools.config.project import Project, load_project
from build_tools.environments.download import download
from build_tools.environments.network import Network
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.rocm.embedded import pack_embedded
from build_tools.rocm.provision import build_requirements, provision_request
from build_tools.rocm.source import at_hand, rocm_source
from build_tools.types import ProjectName, Sha256
from tests.support.environments import this_interpreter

if TYPE_CHECKING:
    from build_tools.receipts.lock import LockedProject

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"
SAMPLE = EXTERNAL_BUILDS / "sample"


@pytest.fixture
def project() -> Project:
    return load_project(EXTERNAL_BUILDS, ProjectName("sample"))


def without_own_sdk(project: Project) -> Project:
    return msgspec.structs.replace(project, rocm=msgspec.structs.replace(project.rocm, embedded=None))


def test_what_the_command_names_comes_first(project: Project, tmp_path: Path) -> None:
    source = rocm_source(project, SAMPLE, find_links=("/wheels", "https://e/x"), release_type="ci", cache=tmp_path)
    assert (source.find_links, source.index_url, source.option_prefix) == (("/wheels", "https://e/x"), None, "--rocm-")
    source = rocm_source(project, SAMPLE, index_url="https://e/simple", cache=tmp_path)
    assert (source.find_links, source.index_url) == ((), "https://e/simple")
    with pytest.raises(HipwrightError, match="--rocm-index-url is empty"):
        rocm_source(project, SAMPLE, index_url="", cache=tmp_path)


def test_then_what_the_project_brings(project: Project, tmp_path: Path) -> None:
    source = rocm_source(project, SAMPLE, release_type="nightly", cache=tmp_path)
    (folder,) = source.find_links
    assert source.index_url is None
    assert sorted(path.name.split("-")[0] for path in Path(folder).glob("*.whl")) == ["rocm", "rocm_sdk_core"]


def test_locks_name_what_the_project_brings_the_same_on_every_machine(project: Project, tmp_path: Path) -> None:
    def locked(cache: Path) -> tuple[str, tuple[LockedFile, ...]]:
        source = rocm_source(project, SAMPLE, cache=cache)
        files = lock_owned(
            ["rocm[libraries,devel]"], source=source, interpreter=this_interpreter(), network=Network(), cache=cache
        )
        return source.describe(), files

    here, there = locked(tmp_path / "here"), locked(tmp_path / "there")
    assert here == there
    assert here[0] == "embedded://sample/sdk/"
    network, third = Network(), tmp_path / "third"
    for file in at_hand(here[1], project, SAMPLE, cache=third):
        path = download(file, cache=third, network=network)
        assert path.is_relative_to(third)
        assert digest.of_file(path) == file.sha256


def test_files_of_other_sources_are_not_what_the_project_brings(project: Project, tmp_path: Path) -> None:
    file = LockedFile(
        distribution="rocm", version="1", filename="rocm-1.whl", url="https://e/rocm-1.whl", sha256=Sha256("0" * 64)
    )
    assert at_hand((file,), project, SAMPLE, cache=tmp_path / "cache") == (file,)
    assert not (tmp_path / "cache").exists()


def test_then_the_index_of_the_release_type(project: Project, tmp_path: Path) -> None:
    plain = without_own_sdk(project)
    table = load_channels()
    for name in ("dev", "nightly", "release"):
        url = table.find_release_type(name).rocm_index_url
        assert url is not None
        assert rocm_source(plain, SAMPLE, release_type=name, cache=tmp_path).index_url == url
    desk = table.find_release_type(table.desk_release_type).rocm_index_url
    assert rocm_source(plain, SAMPLE, cache=tmp_path).index_url == desk


def test_a_release_type_without_an_index_needs_a_name(project: Project, tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="release type ci") as caught:
        rocm_source(without_own_sdk(project), SAMPLE, release_type="ci", cache=tmp_path)
    assert caught.value.code.name == "no-rocm-source"
    assert caught.value.hint is not None
    assert "--rocm-find-links" in caught.value.hint


def copy_sdk(target: Path) -> Path:
    shutil.copytree(SAMPLE / "sdk", target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def test_packing_gives_the_same_bytes_wherever_and_whenever(tmp_path: Path) -> None:
    first = pack_embedded(copy_sdk(tmp_path / "one"), cache=tmp_path / "cache")
    again = pack_embedded(tmp_path / "one", cache=tmp_path / "cache")
    other = pack_embedded(copy_sdk(tmp_path / "two" / "deeper"), cache=tmp_path / "cache2")
    assert first == again
    assert digest.of_folder(first) == digest.of_folder(other)
    assert first.name == other.name


def test_a_change_gives_another_folder(tmp_path: Path) -> None:
    sdk = copy_sdk(tmp_path / "sdk")
    before = pack_embedded(sdk, cache=tmp_path / "cache")
    init = next(sdk.glob("rocm-*/rocm_sdk/__init__.py"))
    (init.parent / "__pycache__").mkdir()
    (init.parent / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert pack_embedded(sdk, cache=tmp_path / "cache") == before
    hipcc = next(sdk.glob("*/_rocm_sdk_core/bin/hipcc"))
    hipcc.chmod(0o644)
    modes = pack_embedded(sdk, cache=tmp_path / "cache")
    hipcc.chmod(0o755)
    init.write_text(init.read_text() + "\n# changed\n")
    texts = pack_embedded(sdk, cache=tmp_path / "cache")
    assert len({before, modes, texts}) == 3
    assert before.is_dir()


def test_two_at_once_pack_once(tmp_path: Path) -> None:
    sdk = copy_sdk(tmp_path / "sdk")
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(pack_embedded(sdk, cache=tmp_path / "cache"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert len(set(found)) == 1
    assert sorted(path.suffix for path in found[0].iterdir()) == [".whl", ".whl"]


def test_a_folder_without_wheels_and_a_wrong_name_are_told(tmp_path: Path) -> None:
    for folder in (tmp_path / "gone", tmp_path):
        with pytest.raises(HipwrightError, match="no unpacked wheel") as caught:
            pack_embedded(folder, cache=tmp_path / "cache")
        assert caught.value.code.name == "bad-data-file"
    sdk = copy_sdk(tmp_path / "sdk")
    wheel = next(sdk.glob("rocm-*"))
    wheel.rename(sdk / "rocm-7.11.0-py3-none-any")
    with pytest.raises(HipwrightError, match=rf"should be called {wheel.name}") as caught:
        pack_embedded(sdk, cache=tmp_path / "cache")
    assert caught.value.code.name == "bad-wheel"
    assert not [path for path in (tmp_path / "cache" / "embedded-wheels").iterdir() if path.is_dir()]


def test_a_tree_s_build_requirements(tmp_path: Path) -> None:
    assert build_requirements(tmp_path) == ("setuptools>=40.8.0",)
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text("[project]\nname = 'x'\n")
    assert build_requirements(tmp_path) == ("setuptools>=40.8.0",)
    pyproject.write_text("[build-system]\nrequires = ['setuptools<80', 'torch']\nbuild-backend = 'x'\n[tool.x]\ny = 1\n")
    assert build_requirements(tmp_path) == ("setuptools<80", "torch")
    for text in ("[build-system]\n", "[build-system]\nrequires = 'x'\n", "[build-system\n"):
        pyproject.write_text(text)
        with pytest.raises(HipwrightError) as caught:
            build_requirements(tmp_path)
        assert caught.value.code.name == "bad-source-tree"


def test_a_lock_without_rocm_is_told(project: Project, tmp_path: Path) -> None:
    class Lacking:
        rocm = None
        owned = ()

    locked: LockedProject = Lacking()  # type: ignore[assignment]
    with pytest.raises(HipwrightError, match="sample needs ROCm packages") as caught:
        provision_request(project, locked, tree=tmp_path, interpreter=this_interpreter(), pins=tmp_path / "pins.txt")
    assert caught.value.code.name == "no-rocm-source"
    free = msgspec.structs.replace(project, sdk="none")
    request = provision_request(free, locked, tree=tmp_path, interpreter=this_interpreter(), pins=tmp_path / "pins.txt")
    assert request.owned == ()
    assert request.requires == ("setuptools>=40.8.0",)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has none")
@pytest.mark.parametrize("name", ["odd", "METADATA"])
def test_a_pipe_among_the_unpacked_wheels_is_refused_by_name(tmp_path: Path, name: str) -> None:
    sdk = copy_sdk(tmp_path / "one")
    pack_embedded(sdk, cache=tmp_path / "cache")
    place = next(sdk.glob("*/*.dist-info")) / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with pytest.raises(HipwrightError, match="cannot be part of a wheel") as caught:
        pack_embedded(sdk, cache=tmp_path / "cache")
    assert (caught.value.code.name, caught.value.where and caught.value.where.file) == ("bad-data-file", place)
