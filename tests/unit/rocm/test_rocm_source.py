from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import msgspec
import pytest

from build_tools.config.channels import load_channels
from build_tools.config.project import Project, load_project
from build_tools.errors import HipwrightError
from build_tools.process import Runner
from build_tools.receipts.lock import LockedFile
from build_tools.rocm.provision import build_requirements, provision_request
from build_tools.rocm.source import at_hand, rocm_source
from build_tools.types import Platform, ProjectName, Sha256
from tests.support.environments import this_interpreter

if TYPE_CHECKING:
    from build_tools.receipts.lock import LockedProject

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"
SAMPLE = EXTERNAL_BUILDS / "sample"


class Machine(TypedDict):
    runner: Runner
    platform: Platform


MACHINE: Machine = {"runner": Runner(environment={}), "platform": Platform.LINUX}
"""One on which nothing can be compiled."""


@pytest.fixture
def project() -> Project:
    return load_project(EXTERNAL_BUILDS, ProjectName("sample"))


def without_own_sdk(project: Project) -> Project:
    return msgspec.structs.replace(project, rocm=msgspec.structs.replace(project.rocm, embedded=None))


def test_what_the_command_names_comes_first(project: Project, tmp_path: Path) -> None:
    source = rocm_source(project, SAMPLE, find_links=("/wheels", "https://e/x"), release_type="ci", cache=tmp_path, **MACHINE)
    assert (source.find_links, source.index_url, source.option_prefix) == (("/wheels", "https://e/x"), None, "--rocm-")
    source = rocm_source(project, SAMPLE, index_url="https://e/simple", cache=tmp_path, **MACHINE)
    assert (source.find_links, source.index_url) == ((), "https://e/simple")
    with pytest.raises(HipwrightError, match="--rocm-index-url is empty"):
        rocm_source(project, SAMPLE, index_url="", cache=tmp_path, **MACHINE)


def test_files_of_other_sources_are_not_what_the_project_brings(project: Project, tmp_path: Path) -> None:
    file = LockedFile(
        distribution="rocm", version="1", filename="rocm-1.whl", url="https://e/rocm-1.whl", sha256=Sha256("0" * 64)
    )
    assert at_hand((file,), project, SAMPLE, cache=tmp_path / "cache", **MACHINE) == (file,)
    assert not (tmp_path / "cache").exists()


def test_then_the_index_of_the_release_type(project: Project, tmp_path: Path) -> None:
    plain = without_own_sdk(project)
    table = load_channels()
    for name in ("dev", "nightly", "release"):
        url = table.find_release_type(name).rocm_index_url
        assert url is not None
        assert rocm_source(plain, SAMPLE, release_type=name, cache=tmp_path, **MACHINE).index_url == url
    desk = table.find_release_type(table.desk_release_type).rocm_index_url
    assert rocm_source(plain, SAMPLE, cache=tmp_path, **MACHINE).index_url == desk


def test_a_release_type_without_an_index_needs_a_name(project: Project, tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="release type ci") as caught:
        rocm_source(without_own_sdk(project), SAMPLE, release_type="ci", cache=tmp_path, **MACHINE)
    assert caught.value.code.name == "no-rocm-source"
    assert caught.value.hint is not None
    assert "--rocm-find-links" in caught.value.hint


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
