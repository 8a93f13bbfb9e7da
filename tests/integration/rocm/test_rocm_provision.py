"""The sample's SDK, provisioned with the real pip and the real uv; SDKs that lack something; and a ROCm in a folder."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.config.project import Project, load_project
from build_tools.environments.network import Network
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedPatches, LockedProject, LockedRocm, LockedSources, Requested
from build_tools.rocm.folder import read_folder_sdk
from build_tools.rocm.provision import provision
from build_tools.rocm.sdk import missing_parts
from build_tools.rocm.source import at_hand, rocm_source
from build_tools.types import CommitId, Platform, ProjectName, Sha256, TreeId
from tests.support.environments import PLATFORM, Place, base_of, names_in, place_with, this_interpreter
from tests.support.packages import make_wheel
from tests.support.stub_sdk import StubSdk

if TYPE_CHECKING:
    from build_tools.environments.settings import BaseIndex
    from build_tools.receipts.values import Sdk

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"
SAMPLE = EXTERNAL_BUILDS / "sample"


@pytest.fixture
def project() -> Project:
    return load_project(EXTERNAL_BUILDS, ProjectName("sample"))


@pytest.fixture
def base(tmp_path: Path) -> BaseIndex:
    make_wheel(tmp_path / "base", "setuptools", "80.0")
    make_wheel(tmp_path / "base", "rocm", "99.0", mark="hostile")
    make_wheel(tmp_path / "base", "rocm-sdk-core", "99.0", mark="hostile")
    return base_of(tmp_path / "base")


def provisioned(
    project: Project,
    rocm: LockedRocm | None,
    base: BaseIndex,
    place: Place,
    warned: list[str] | None = None,
    *,
    targets: tuple[str, ...] = (),
    family: str | None = None,
) -> Sdk:
    locked = LockedProject(
        name=project.name,
        requested=Requested(),
        recipe=Sha256("0" * 64),
        sources=LockedSources(
            origin="o", ref="r", reason="w", commit=CommitId("0" * 40), tree=TreeId("0" * 40), base_version="1.0"
        ),
        patches=LockedPatches(line=None, reason="none", digest=Sha256("0" * 64)),
        hipify=None,
        rocm=rocm,
    )
    tree = place.folder / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "pyproject.toml").write_text('[build-system]\nrequires = ["setuptools>=77"]\n')
    pins = place.folder / "pins.txt"
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
        warn=(warned if warned is not None else []).append,
        targets=targets,
        family=family,
    )


def of_packages(folder: Path, tmp_path: Path) -> LockedRocm:
    source = rocm_source(
        load_project(EXTERNAL_BUILDS, ProjectName("sample")),
        SAMPLE,
        find_links=(str(folder),),
        cache=tmp_path / "cache",
        runner=place_with("uv", tmp_path).runner,
        platform=PLATFORM,
    )
    files = lock_owned(
        ["rocm[libraries,devel]"], source=source, interpreter=this_interpreter(), network=Network(), cache=tmp_path / "cache"
    )
    return LockedRocm(source=source.describe(), version=files[0].version, files=files)


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_sample_s_sdk(project: Project, base: BaseIndex, installer: str, tmp_path: Path) -> None:
    place = place_with(installer, tmp_path)
    source = rocm_source(project, SAMPLE, cache=tmp_path / "cache", runner=place.runner, platform=PLATFORM)
    files = lock_owned(
        ["rocm[libraries,devel]"], source=source, interpreter=this_interpreter(), network=Network(), cache=tmp_path / "cache"
    )
    assert {file.url for file in files} == {f"embedded://sample/rocm/{file.filename}" for file in files}
    files = at_hand(files, project, SAMPLE, cache=tmp_path / "cache", runner=place.runner, platform=PLATFORM)
    sdk = provisioned(project, LockedRocm(source=source.describe(), version=files[0].version, files=files), base, place)
    names = {"rocm", "rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-libraries"}
    assert names_in(sdk.environment) == {**dict.fromkeys(names, "7.10.0"), "setuptools": "80.0"}
    assert sdk.version == "7.10.0"
    assert sdk.root is not None
    assert sdk.bin is not None
    assert sdk.cmake is not None
    assert Path(sdk.root).is_relative_to(sdk.environment.folder)
    assert Path(sdk.bin, "hipcc").stat().st_mode & 0o111
    assert Path(sdk.cmake, "hip", "hip-config.cmake").is_file()
    assert Path(sdk.root, "lib", "librocblas.so").is_symlink()
    assert sdk.targets == ("gfx942", "gfx1201")


def test_a_project_without_rocm_gets_an_environment_alone(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    sdk = provisioned(msgspec.structs.replace(project, sdk="none"), None, base, place_with("uv", tmp_path))
    assert (sdk.version, sdk.root, sdk.targets) == (None, None, ())
    assert names_in(sdk.environment) == {"setuptools": "80.0"}


def broken(project: Project, stub: StubSdk, base: BaseIndex, tmp_path: Path) -> HipwrightError:
    rocm = of_packages(stub.write(tmp_path / "packages"), tmp_path)
    with pytest.raises(HipwrightError) as caught:
        provisioned(project, rocm, base, place_with("uv", tmp_path))
    assert caught.value.code.name == "sdk-incomplete"
    return caught.value


def test_everything_that_is_missing_is_named_at_once(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    without = ("bin/hipcc", "lib/cmake/hip/hip-config.cmake")
    message = broken(project, StubSdk(without=without), base, tmp_path).message
    assert "the compiler hipcc (bin/hipcc; rocm-sdk-core brings it)" in message
    assert "lib/cmake/hip/hip-config.cmake; rocm[devel] brings it" in message
    assert "hip_runtime.h" not in message


def test_versions_that_disagree_are_told(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    message = broken(project, StubSdk(says="7.9.0"), base, tmp_path).message
    assert "7.10.0" in message
    assert "7.9.0" in message


def test_an_sdk_that_cannot_be_asked_is_told(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    error = broken(project, StubSdk(main="raise SystemExit('it is broken')\n"), base, tmp_path)
    assert "rocm_sdk path --root" in error.message
    assert "it is broken" in (error.excerpt or "")


def test_headers_of_another_version_are_a_warning(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    warned: list[str] = []
    rocm = of_packages(StubSdk(hip=(7, 2)).write(tmp_path / "packages"), tmp_path)
    assert provisioned(project, rocm, base, place_with("uv", tmp_path), warned).version == "7.10.0"
    (said,) = warned
    assert "the packages are ROCm 7.10.0" in said
    assert "says HIP 7.2" in said


def of_folder(folder: Path) -> LockedRocm:
    found = read_folder_sdk(folder)
    return LockedRocm(source=str(folder), version=found.version, files=(), folder=str(folder), state=found.digest)


@pytest.mark.parametrize(("targets", "family"), [(("gfx942",), None), (("gfx940", "gfx942"), "gfx94X-dcgpu")])
def test_a_build_for_one_of_several_families(
    project: Project, base: BaseIndex, tmp_path: Path, targets: tuple[str, ...], family: str | None
) -> None:
    rocm = of_packages(StubSdk(families=("gfx94X-dcgpu", "gfx120X-all")).write(tmp_path / "packages"), tmp_path)
    place = place_with("uv", tmp_path)
    assert provisioned(project, rocm, base, place, targets=targets, family=family).family == "gfx94x-dcgpu"
    with pytest.raises(HipwrightError, match="gfx120x-all, gfx94x-dcgpu") as caught:
        provisioned(project, rocm, base, place)
    assert caught.value.code.name == "bad-option-value"
    assert "--gpu-family" in (caught.value.hint or "")


def test_a_rocm_in_a_folder_stands_for_the_packages(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    folder = StubSdk().write_tree(tmp_path / "rocm")
    sdk = provisioned(project, of_folder(folder), base, place_with("uv", tmp_path))
    assert names_in(sdk.environment) == {"setuptools": "80.0"}
    assert (sdk.version, sdk.root, sdk.bin) == ("7.10.0", str(folder), str(folder / "bin"))
    assert sdk.cmake == str(folder / "lib" / "cmake")


def test_a_folder_that_lacks_something_or_has_changed_is_told(project: Project, base: BaseIndex, tmp_path: Path) -> None:
    place = place_with("uv", tmp_path)
    lacking = StubSdk(without=("bin/hipcc",)).write_tree(tmp_path / "lacking")
    with pytest.raises(HipwrightError, match="lacks the compiler hipcc") as caught:
        provisioned(project, of_folder(lacking), base, place)
    assert caught.value.code.name == "sdk-incomplete"
    folder = StubSdk().write_tree(tmp_path / "rocm")
    rocm = of_folder(folder)
    StubSdk(version="7.11.0").write_tree(folder)
    with pytest.raises(HipwrightError, match="says something else of itself than when it was locked") as caught:
        provisioned(project, rocm, base, place)
    assert caught.value.code.name == "output-changed"


def test_an_sdk_with_its_own_compiler_needs_bitcode(tmp_path: Path) -> None:
    for path in ("bin/hipcc.exe", "bin/amdhip64_7.dll", "include/hip/hip_runtime.h", "lib/cmake/hip/hip-config.cmake"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert missing_parts(tmp_path, Platform.WINDOWS) == ()
    assert len(missing_parts(tmp_path, Platform.LINUX)) == 2
    (tmp_path / "lib" / "llvm").mkdir()
    (found,) = missing_parts(tmp_path, Platform.WINDOWS)
    assert "bitcode" in found
    (tmp_path / "lib" / "llvm" / "amdgcn" / "bitcode").mkdir(parents=True)
    assert missing_parts(tmp_path, Platform.WINDOWS) == ()
