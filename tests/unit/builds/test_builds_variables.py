from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.builds.variables import (
    SdkParts,
    common_variables,
    computed_variables,
    constants,
    find_sdk_parts,
    merge,
)
from build_tools.errors import HipwrightError
from build_tools.receipts.values import Sdk
from build_tools.types import GfxTarget, Platform
from tests.support.builds import COMMIT, FOLDERS, environment, project, sdk

FOLDER = Path("/projects/toy")


def common(
    with_sdk: Sdk, platform: Platform = Platform.LINUX, parts: SdkParts | None = None, jobs: int | None = None
) -> dict[str, str]:
    path = "/usr/bin:/bin" if platform is Platform.LINUX else r"C:\Windows"
    return common_variables(
        with_sdk, parts=parts or SdkParts(), folders=FOLDERS, platform=platform, path=path, source_date=1_700_000_000, jobs=jobs
    )


def test_programs_of_the_environment_and_its_sdk_come_before_the_machine_s() -> None:
    assert common(sdk())["PATH"] == "/envs/e/bin:/envs/e/rocm/bin:/usr/bin:/bin"


def test_rocm_is_where_the_sdk_says() -> None:
    values = common(sdk(), parts=SdkParts(device_library="/envs/e/rocm/lib/llvm/amdgcn/bitcode"))
    assert values["ROCM_HOME"] == values["ROCM_PATH"] == "/envs/e/rocm"
    assert values["CMAKE_PREFIX_PATH"] == "/envs/e/rocm/lib/cmake"
    assert values["HIP_DEVICE_LIB_PATH"] == "/envs/e/rocm/lib/llvm/amdgcn/bitcode"


def test_the_family_that_is_meant_is_told() -> None:
    assert "ROCM_SDK_TARGET_FAMILY" not in common(sdk())
    assert common(msgspec.structs.replace(sdk(), family="gfx94x-dcgpu"))["ROCM_SDK_TARGET_FAMILY"] == "gfx94x-dcgpu"


def test_a_build_without_rocm_knows_none() -> None:
    values = common(sdk(None))
    assert values["PATH"] == "/envs/e/bin:/usr/bin:/bin"
    assert not {"ROCM_HOME", "ROCM_PATH", "CMAKE_PREFIX_PATH", "HIP_DEVICE_LIB_PATH"} & set(values)


def test_the_date_is_the_sources() -> None:
    assert common(sdk())["SOURCE_DATE_EPOCH"] == "1700000000"


def test_home_and_temporary_folder_are_the_build_s_own() -> None:
    values = common(sdk())
    assert values["HOME"] == "/w/scratch/home"
    assert values["TMPDIR"] == "/w/scratch/tmp"


def test_git_looks_neither_above_the_tree_nor_into_a_person_s_configuration() -> None:
    values = common(sdk())
    assert values["GIT_CEILING_DIRECTORIES"] == "/w/scratch"
    assert values["GIT_CONFIG_GLOBAL"] == "/dev/null"


def test_the_build_folder_leaves_no_trace_in_compiled_files() -> None:
    values = common(sdk())
    assert values["CFLAGS"] == values["CXXFLAGS"] == "-ffile-prefix-map=/w/scratch/src=."


@pytest.mark.parametrize(("jobs", "said"), [(None, None), (3, "3")])
def test_jobs_are_said_only_when_given(jobs: int | None, said: str | None) -> None:
    values = common(sdk(), jobs=jobs)
    assert values.get("MAX_JOBS") == values.get("CMAKE_BUILD_PARALLEL_LEVEL") == said


def test_windows_has_its_own_separator_folders_and_compiler() -> None:
    record = environment(folder=r"C:\e", python=r"C:\e\Scripts\python.exe")
    with_sdk = Sdk(environment=record, version="7.10.0", root=r"C:\e\rocm", bin=r"C:\e\rocm\bin", cmake=r"C:\e\rocm\lib\cmake")
    values = common(with_sdk, Platform.WINDOWS, SdkParts(clang=r"C:\e\rocm\lib\llvm\bin"))
    assert values["PATH"] == r"C:\e\Scripts;C:\e\rocm\bin;C:\Windows"
    assert values["CC"] == values["CXX"] == r"C:\e\rocm\lib\llvm\bin\clang-cl.exe"
    assert values["HIP_CLANG_PATH"] == r"C:\e\rocm\lib\llvm\bin"
    assert values["TEMP"] == values["TMP"] == str(FOLDERS.temporary)
    assert values["GIT_CONFIG_COUNT"] == "2"
    assert (values["GIT_CONFIG_KEY_1"], values["GIT_CONFIG_VALUE_1"]) == ("core.longPaths", "true")
    assert not {"HOME", "TMPDIR", "CXXFLAGS", "LC_ALL"} & set(values)


def test_sdk_parts_are_found_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "lib" / "llvm" / "amdgcn" / "bitcode").mkdir(parents=True)
    found = find_sdk_parts(sdk(root=str(tmp_path)))
    assert found == SdkParts(device_library=str(tmp_path / "lib" / "llvm" / "amdgcn" / "bitcode"))
    assert find_sdk_parts(sdk(None)) == SdkParts()


@pytest.mark.parametrize(("platform", "value"), [(Platform.LINUX, "l"), (Platform.WINDOWS, "w")])
def test_constants_of_the_platform_win(platform: Platform, value: str) -> None:
    toy = project(build={"environment": {"A": "all", "B": "b"}, "linux": {"A": "l"}, "windows": {"A": "w"}})
    assert constants(toy, platform) == {"A": value, "B": "b"}


def computed(
    variables: dict[str, str],
    targets: tuple[str, ...] = (),
    home: str | None = None,
    versions: dict[str, str] | None = None,
    own: str | None = None,
) -> dict[str, str]:
    named = {} if own is None else {"target-variable": own}
    return computed_variables(
        project(build={"variables": variables, "package-versions": versions or {}, **named}),
        FOLDER,
        version="1.2.0+rocm7.10.0",
        targets=tuple(GfxTarget(name) for name in targets),
        rocm_home=home,
        pins=("rocm[libraries]==7.10.0", "triton==3.6.0"),
        commit=COMMIT,
    )


def test_computed_values_have_the_names_that_the_project_gives() -> None:
    names = {
        "version": "V",
        "build-number": "N",
        "targets": "T",
        "rocm-home": "H",
        "install-requirements": "R",
        "source-commit": "C",
        "version-suffix": "S",
    }
    assert computed(names, ("gfx942", "gfx1201"), "/rocm") == {
        "V": "1.2.0+rocm7.10.0",
        "N": "1",
        "T": "gfx942;gfx1201",
        "H": "/rocm",
        "R": "rocm[libraries]==7.10.0|triton==3.6.0",
        "C": COMMIT,
        "S": "+rocm7.10.0",
    }


def test_the_version_of_a_package_that_the_wheel_pins() -> None:
    values = computed({}, versions={"Triton": "TRITON_VERSION"})
    assert values == {"TRITON_VERSION": "3.6.0"}


def test_the_version_of_a_package_that_nothing_pins() -> None:
    with pytest.raises(HipwrightError) as caught:
        computed({}, versions={"torch": "PYTORCH_VERSION"})
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.key == "build.package-versions"


def test_no_targets_are_an_error_and_never_all_of_them() -> None:
    with pytest.raises(HipwrightError) as caught:
        computed({"targets": "T"})
    assert caught.value.code.name == "bad-option-value"
    assert "--gfx" in str(caught.value.hint)


def test_a_project_s_own_name_for_targets_has_commas_between_them() -> None:
    targets = ("gfx90a", "gfx942")
    assert computed({}, targets, own="TOY_ARCHES") == {"TOY_ARCHES": "gfx90a,gfx942"}
    # A recipe that wants it PyTorch's way says so.
    assert computed({"targets": "TOY_ARCHES"}, targets, own="TOY_ARCHES") == {"TOY_ARCHES": "gfx90a;gfx942"}
    with pytest.raises(HipwrightError) as caught:
        computed({}, own="TOY_ARCHES")
    assert caught.value.hint == "name them: --gfx gfx942,gfx1201, or TOY_ARCHES=gfx942,gfx1201 in the environment"


def test_a_project_that_reads_no_targets_needs_none() -> None:
    assert computed({}) == {}


def test_the_rocm_folder_is_not_made_up() -> None:
    with pytest.raises(HipwrightError) as caught:
        computed({"rocm-home": "H"})
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.key == "build.variables.rocm-home"


def test_flags_add_up_and_all_else_is_replaced() -> None:
    assert merge({"CXXFLAGS": "-a", "X": "1"}, {"CXXFLAGS": "-b", "X": "2"}, {"LDFLAGS": "-c"}) == {
        "CXXFLAGS": "-a -b",
        "X": "2",
        "LDFLAGS": "-c",
    }


NAMES = st.sampled_from(["A", "B", "CFLAGS"])
LAYER = st.dictionaries(NAMES, st.text(min_size=1, max_size=5))


@given(LAYER, LAYER)
def test_merging_loses_no_name(one: dict[str, str], other: dict[str, str]) -> None:
    whole = merge(one, other)
    assert set(whole) == {*one, *other}
    assert all(whole[name].endswith(value) for name, value in other.items())
