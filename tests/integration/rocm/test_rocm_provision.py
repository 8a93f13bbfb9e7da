"""The sample's SDK, provisioned with the real pip and the real uv; and SDKs that lack something."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.config.project import Project, load_project
from build_tools.environments.network import Network
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedPatches, LockedProject, LockedRocm, LockedSources, Requested
from build_tools.rocm.provision import provision
from build_tools.rocm.sdk import missing_parts
from build_tools.rocm.source import at_hand, rocm_source
from build_tools.types import CommitId, Platform, ProjectName, Sha256, TreeId
from tests.support.environments import PLATFORM, Place, base_of, names_in, place_with, this_interpreter
from tests.support.packages import make_wheel

if TYPE_CHECKING:
    from build_tools.environments.settings import BaseIndex
    from build_tools.receipts.values import Sdk

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"


@pytest.fixture
def project() -> Project:
    return load_project(EXTERNAL_BUILDS, ProjectName("sample"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the sample's folder, to break."""
    return shutil.copytree(EXTERNAL_BUILDS / "sample", tmp_path / "sample", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def base(tmp_path: Path) -> BaseIndex:
    make_wheel(tmp_path / "base", "setuptools", "80.0")
    make_wheel(tmp_path / "base", "rocm", "99.0", mark="hostile")
    make_wheel(tmp_path / "base", "rocm-sdk-core", "99.0", mark="hostile")
    return base_of(tmp_path / "base")


def provisioned(project: Project, folder: Path, base: BaseIndex, place: Place, tmp_path: Path) -> Sdk:
    source = rocm_source(project, folder, cache=tmp_path / "cache")
    files = lock_owned(
        ["rocm[libraries,devel]"],
        source=source,
        interpreter=this_interpreter(),
        network=Network(),
        cache=tmp_path / "cache",
    )
    assert {file.url for file in files} == {f"embedded://sample/sdk/{file.filename}" for file in files}
    # Another machine has its packages in another cache.
    files = at_hand(files, project, folder, cache=tmp_path / "other-cache")
    locked = LockedProject(
        name=project.name,
        requested=Requested(),
        recipe=Sha256("0" * 64),
        sources=LockedSources(
            origin="o", ref="r", reason="w", commit=CommitId("0" * 40), tree=TreeId("0" * 40), base_version="1.0"
        ),
        patches=LockedPatches(line=None, reason="none", digest=Sha256("0" * 64)),
        hipify=None,
        rocm=LockedRocm(source=source.describe(), version=files[0].version, files=files),
    )
    tree = tmp_path / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "pyproject.toml").write_text('[build-system]\nrequires = ["setuptools>=77"]\n')
    pins = tmp_path / "pins.txt"
    pins.write_text("")
    return provision(
        project,
        locked,
        tree=tree,
        interpreter=this_interpreter(),
        pins=pins,
        make=functools.partial(place.make, base=base),
        runner=place.runner,
        platform=PLATFORM,
    )


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_sample_s_sdk(project: Project, folder: Path, base: BaseIndex, installer: str, tmp_path: Path) -> None:
    sdk = provisioned(project, folder, base, place_with(installer, tmp_path), tmp_path)
    assert names_in(sdk.environment) == {"rocm": "7.10.0", "rocm-sdk-core": "7.10.0", "setuptools": "80.0"}
    assert sdk.version == "7.10.0"
    assert sdk.root is not None
    assert sdk.bin is not None
    assert sdk.cmake is not None
    assert Path(sdk.root).is_relative_to(sdk.environment.folder)
    assert Path(sdk.bin, "hipcc").stat().st_mode & 0o111
    assert Path(sdk.cmake, "hip", "hip-config.cmake").is_file()
    assert sdk.targets
    assert all(target.startswith("gfx") for target in sdk.targets)


def test_a_project_without_rocm_gets_an_environment_alone(
    project: Project, folder: Path, base: BaseIndex, tmp_path: Path
) -> None:
    free = msgspec.structs.replace(project, sdk="none")
    sdk = provisioned(free, folder, base, place_with("uv", tmp_path), tmp_path)
    assert (sdk.version, sdk.root, sdk.targets) == (None, None, ())
    assert names_in(sdk.environment) == {"setuptools": "80.0"}


def broken(project: Project, folder: Path, base: BaseIndex, tmp_path: Path) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        provisioned(project, folder, base, place_with("uv", tmp_path), tmp_path)
    assert caught.value.code.name == "sdk-incomplete"
    return caught.value


def test_everything_that_is_missing_is_named_at_once(project: Project, folder: Path, base: BaseIndex, tmp_path: Path) -> None:
    root = next(folder.glob("sdk/*/_rocm_sdk_core"))
    for name in ("hipcc", "hipcc.bat"):
        (root / "bin" / name).unlink()
    (root / "lib" / "cmake" / "hip" / "hip-config.cmake").unlink()
    message = broken(project, folder, base, tmp_path).message
    assert "the compiler hipcc" in message
    assert "rocm-sdk-core brings it" in message
    assert "lib/cmake/hip/hip-config.cmake; rocm[devel] brings it" in message


def test_versions_that_disagree_are_told(project: Project, folder: Path, base: BaseIndex, tmp_path: Path) -> None:
    init = next(folder.glob("sdk/rocm-*/rocm_sdk/__init__.py"))
    init.write_text(f"{init.read_text()}\n__version__ = '7.9.0'\n")
    message = broken(project, folder, base, tmp_path).message
    assert "7.10.0" in message
    assert "7.9.0" in message


def test_an_sdk_that_cannot_be_asked_is_told(project: Project, folder: Path, base: BaseIndex, tmp_path: Path) -> None:
    main = next(folder.glob("sdk/rocm-*/rocm_sdk/__main__.py"))
    main.write_text("raise SystemExit('it is broken')\n")
    error = broken(project, folder, base, tmp_path)
    assert "rocm_sdk path --root" in error.message
    assert "it is broken" in (error.excerpt or "")


def test_an_sdk_with_its_own_compiler_needs_bitcode(tmp_path: Path) -> None:
    for path in ("bin/hipcc.exe", "include/hip/hip_runtime.h", "lib/cmake/hip/hip-config.cmake"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert missing_parts(tmp_path, Platform.WINDOWS) == ()
    assert len(missing_parts(tmp_path, Platform.LINUX)) == 1
    (tmp_path / "lib" / "llvm").mkdir()
    (found,) = missing_parts(tmp_path, Platform.WINDOWS)
    assert "bitcode" in found
    (tmp_path / "lib" / "llvm" / "amdgcn" / "bitcode").mkdir(parents=True)
    assert missing_parts(tmp_path, Platform.WINDOWS) == ()
