"""The ways in which ROCm packages are asked for, and what happens when something is missing, wrong or there already."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace as replace_struct

from build_tools import digest
from build_tools.config.rocm_packages import package_table
from build_tools.errors import HipwrightError
from build_tools.pipeline.build_rocm_packages import build_rocm_packages
from build_tools.process import Runner, base_environment
from build_tools.rocm.packages import build as building
from build_tools.rocm.packages import plan as planning
from build_tools.rocm.packages.build import BuiltPackages, PackageRequest, build_packages, plan_packages
from build_tools.rocm.packages.check import check_set
from build_tools.rocm.packages.devel import DevelTree
from build_tools.rocm.packages.layout import Laid
from build_tools.types import GfxTarget, Platform
from tests.support.elf_templates import library_bytes
from tests.support.rocm_trees import make_tree, write_artifact
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_VERSION = "7.13.0rc1"
_TARGETS = ("gfx942", "gfx1201")
_COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _request(artifacts: Path, target: Path, **more: object) -> PackageRequest:
    return PackageRequest(artifacts=artifacts, target=target, version=_VERSION, **more)  # type: ignore[arg-type]


def _build(request: PackageRequest, say: Callable[[str], None] = lambda _line: None) -> BuiltPackages:
    return build_packages(request, runner=Runner(environment=base_environment(os.environ)), say=say)


@pytest.fixture
def windows(tmp_path: Path) -> Path:
    """Artifacts that need no compiler: the quickest."""
    return make_tree(tmp_path / "in", platform=Platform.WINDOWS, targets=_TARGETS, kernels=1, headers=1).folder


def _names(built: BuiltPackages) -> set[str]:
    return {file.distribution for file in built.packages.files}


def _state(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): digest.of_file(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def test_windows_packages_have_libraries_where_windows_looks(windows: Path, tmp_path: Path) -> None:
    built = _build(_request(windows, tmp_path / "out", platform=Platform.WINDOWS))
    assert "rocm-profiler" not in _names(built)
    tagged = {file.filename.rpartition("-")[2] for file in built.packages.files if file.filename.endswith(".whl")}
    assert tagged == {"win_amd64.whl", "any.whl"}
    with zipfile.ZipFile(next(built.dist.glob("rocm_sdk_core-*"))) as core:
        names = set(core.namelist())
        scripts = json.loads(core.read("rocm_sdk_core/scripts.json"))
    assert "_rocm_sdk_core/bin/amdhip64_7.dll" in names
    assert scripts["hipconfig"]["file"] == "bin/hipconfig.exe"
    assert "rocminfo" not in scripts, "that script is not for Windows"
    description = json.loads(zipfile.ZipFile(built.dist / f"rocm-{_VERSION}-py3-none-any.whl").read("rocm_sdk/dist_info.json"))
    assert description["targets"] == {"windows": list(_TARGETS)}


@pytest.mark.skipif(sys.platform == "win32", reason="libraries of Linux are compiled for these")
def test_in_the_family_form_each_family_has_its_libraries_and_its_devel_tree(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "in", form="family", kernels=1, headers=1).folder
    built = _build(_request(artifacts, tmp_path / "out"))
    families = ("gfx120x-all", "gfx94x-dcgpu")
    assert _names(built) == {
        *("rocm", "rocm-sdk-core", "rocm-profiler"),
        *(f"rocm-sdk-libraries-{family}" for family in families),
        *(f"rocm-sdk-devel-{family}" for family in families),
    }
    blas = []
    for family in families:
        module = f"_rocm_sdk_libraries_{family.replace('-', '_')}"
        with zipfile.ZipFile(next(built.dist.glob(f"{module[1:]}-*"))) as libraries:
            blas.append(libraries.read(f"{module}/lib/librocblas.so.5"))
            assert f"{module}/_set.json" in libraries.namelist()
        devel = f"rocm_sdk_devel_{family.replace('-', '_')}"
        with zipfile.ZipFile(next(built.dist.glob(f"{devel}-*"))) as wheel:
            metadata = wheel.read(f"{devel}-{_VERSION}.dist-info/METADATA").decode()
            with wheel.open(f"{devel}/_devel.tar") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
                links = {member.name: member.linkname for member in tar}
        assert links[f"_{devel}/lib/librocblas.so.5"] == f"../../{module}/lib/librocblas.so.5"
        assert f"Requires-Dist: rocm-sdk-libraries-{family}=={_VERSION}\n" in metadata
    assert blas[0] != blas[1]
    one = _build(_request(artifacts, tmp_path / "one", targets=(GfxTarget("gfx1201"),)))
    assert _names(one) == {"rocm", "rocm-sdk-core", "rocm-profiler", "rocm-sdk-libraries-gfx120x-all", "rocm-sdk-devel"}
    assert one.packages.families == {"gfx120X-all": ("gfx1200", "gfx1201")}


def test_the_form_may_be_chosen_against_what_the_artifacts_say(windows: Path, tmp_path: Path) -> None:
    built = _build(_request(windows, tmp_path / "out", platform=Platform.WINDOWS, form="family", families=("gfx942",)))
    assert "rocm-sdk-libraries-gfx942" in _names(built)
    assert not any("device" in name for name in _names(built))


@pytest.mark.parametrize(
    ("gone", "told", "code"),
    [
        (r".*_gfx1201", "device files of gfx1201", "package-incomplete"),
        (r"base_lib_.*", "therock_manifest", "bad-artifact"),
        (r"(blas|fft|hipdnn|miopen|rand)_lib_generic", "rocm-sdk-libraries", "package-incomplete"),
    ],
)
def test_what_is_missing_is_named_before_anything_is_made(windows: Path, tmp_path: Path, gone: str, told: str, code: str) -> None:
    for folder in [path for path in windows.iterdir() if re.fullmatch(gone, path.name)]:
        shutil.rmtree(folder)
    with pytest.raises(HipwrightError, match=told) as caught:
        _build(_request(windows, tmp_path / "out", platform=Platform.WINDOWS))
    assert caught.value.code.name == code
    assert not (tmp_path / "out").exists()


def test_a_target_that_was_asked_for_has_to_be_there(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS, targets=(GfxTarget("gfx942"), GfxTarget("gfx90a")))
    with pytest.raises(HipwrightError, match="device files of gfx90a") as caught:
        _build(request)
    assert caught.value.code.name == "package-incomplete"
    only = _build(replace(request, targets=(GfxTarget("gfx942"),)))
    assert "rocm-sdk-device-gfx1201" not in _names(only)


def test_a_target_takes_its_own_device_files_and_those_of_its_features(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "in", platform=Platform.WINDOWS, targets=("gfx1200", "gfx1201"), kernels=1, headers=1).folder
    write_artifact(artifacts, "blas_lib_gfx1201-xnack+", {"bin/of-a-feature.co": b"x"})
    plan = plan_packages(_request(artifacts, tmp_path / "out", platform=Platform.WINDOWS))
    files = {wheel.portion.target: " ".join(wheel.content.files) for wheel in plan.wheels if wheel.portion.key == "device"}
    assert set(files) == {"gfx1200", "gfx1201"}
    assert "gfx1200" in files[GfxTarget("gfx1200")]
    assert "gfx1201" not in files[GfxTarget("gfx1200")]
    assert "of-a-feature" in files[GfxTarget("gfx1201")]
    assert "of-a-feature" not in files[GfxTarget("gfx1200")]


def test_an_artifact_for_all_gpus_is_in_the_libraries_and_one_for_a_target_in_its_device_package(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "in", platform=Platform.WINDOWS, targets=("gfx942", "gfx1201"), kernels=1, headers=1).folder
    write_artifact(artifacts, "rccl_lib_generic", {"bin/rccl.dll": b"MZ"})
    write_artifact(artifacts, "rccl_lib_gfx942", {".kpack/rccl_lib_gfx942.kpack": b"KPAK"})
    plan = plan_packages(_request(artifacts, tmp_path / "out", platform=Platform.WINDOWS))
    having = {
        path: wheel.portion.distribution
        for wheel in plan.wheels
        for path in wheel.content.files
        if re.search(r"rccl.*(dll|kpack)", path)
    }
    assert having == {"bin/rccl.dll": "rocm-sdk-libraries", ".kpack/rccl_lib_gfx942.kpack": "rocm-sdk-device-gfx942"}
    (devel,) = [wheel.content for wheel in plan.wheels if isinstance(wheel.content, DevelTree)]
    assert devel.links["bin/rccl.dll"] == "../../_rocm_sdk_libraries/bin/rccl.dll"


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("miopen_lib_gfx942", "miopen_lib_gfx1201", "rocm-sdk-device-gfx942 and rocm-sdk-device-gfx1201"),
        ("rand_lib_generic", "blas_lib_gfx942", "rocm-sdk-libraries and rocm-sdk-device-gfx942"),
    ],
)
def test_no_two_packages_own_one_path_even_with_the_same_bytes(
    windows: Path, tmp_path: Path, one: str, other: str, told: str
) -> None:
    for name in (one, other):
        write_artifact(windows, name, {"bin/shared.db": b"one"})
    with pytest.raises(HipwrightError, match=rf"_rocm_sdk_libraries/bin/shared\.db is in both {told}") as caught:
        _build(_request(windows, tmp_path / "out", platform=Platform.WINDOWS))
    assert caught.value.code.name == "bad-artifact"
    assert not (tmp_path / "out").exists()


def test_no_two_packages_own_one_command(windows: Path, tmp_path: Path) -> None:
    write_artifact(windows, "rocprofiler-compute_run_generic", {"bin/hipcc.exe": b"MZ"})
    table = package_table()
    everywhere = replace_struct(table, package=tuple(replace_struct(each, platforms=tuple(Platform)) for each in table.package))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "package_table", lambda: everywhere)
        with pytest.raises(HipwrightError, match="bin/hipcc is in both rocm-sdk-core and rocm-profiler"):
            plan_packages(_request(windows, tmp_path / "out", platform=Platform.WINDOWS))


def test_what_is_there_already_is_not_made_again(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    first = _build(request)
    before = _state(tmp_path / "out")
    said: list[str] = []
    again = _build(request, said.append)
    assert (first.made, again.made) == (True, False)
    assert again.packages == first.packages
    assert _state(tmp_path / "out") == before
    assert not any(line.startswith("packing") for line in said)


def test_a_package_that_is_gone_is_made_again_with_the_same_bytes(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    built = _build(request)
    before = _state(tmp_path / "out")
    next(built.dist.glob("rocm_sdk_core-*")).unlink()
    assert _build(request).made
    assert _state(tmp_path / "out") == before


def _another_set(windows: Path, _dist: Path) -> None:
    next(windows.rglob("ocml.bc")).write_bytes(b"BC\xc0\xdeother")


def _another_file(_windows: Path, dist: Path) -> None:
    next(dist.glob("rocm_sdk_core-*")).write_bytes(b"somebody's")


def _no_receipt(windows: Path, dist: Path) -> None:
    _another_set(windows, dist)
    (dist.parent / "packages.json").unlink()


@pytest.mark.parametrize("change", [_another_set, _another_file, _no_receipt])
def test_a_name_keeps_its_bytes_unless_it_may_be_replaced(
    windows: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    built = _build(request)
    change(windows, built.dist)
    before = _state(tmp_path / "out")
    with pytest.raises(HipwrightError) as caught:
        _build(request)
    assert caught.value.code.name == "name-taken"
    assert caught.value.hint is not None
    assert "--clean" in caught.value.hint
    assert _state(tmp_path / "out") == before
    anew = _build(replace(request, clean=True))
    assert anew.made
    assert _state(anew.dist) == {file.filename: file.sha256 for file in anew.packages.files}


def test_a_clean_set_leaves_nothing_of_the_earlier_one_and_keeps_what_is_not_ours(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    first = _build(request)
    (first.dist / "notes.txt").write_text("mine")
    second = _build(replace(request, version="7.13.0rc2", clean=True))
    there = {path.name for path in second.dist.iterdir()}
    assert there == {"notes.txt", *(file.filename for file in second.packages.files)}
    assert not any("rc1" in name for name in there)


def test_a_failure_leaves_what_was_there(windows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    _build(request)
    before = _state(tmp_path / "out")

    def fail(*_args: object, **_more: object) -> None:
        raise HipwrightError("package-incomplete", "as if")

    monkeypatch.setattr(building, "check_set", fail)
    with pytest.raises(HipwrightError, match="as if"):
        _build(replace(request, version="7.13.0rc2", clean=True))
    assert _state(tmp_path / "out") == before


def test_two_runs_into_one_folder_make_one_set(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda _number: _build(request), range(2)))
    assert sorted(each.made for each in built) == [False, True]
    assert built[0].packages == built[1].packages


def test_what_a_killed_run_left_is_taken_away(windows: Path, tmp_path: Path) -> None:
    left = tmp_path / "out" / ".packages.partial-1234abcd"
    left.mkdir(parents=True)
    (left / "rocm_sdk_core.whl.partial-1").write_bytes(b"half")
    _build(_request(windows, tmp_path / "out", platform=Platform.WINDOWS))
    assert not left.exists()


def test_the_proof_finds_a_file_that_did_not_come_out(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    built = _build(request)
    plan = plan_packages(request)
    assert sum(check_set(plan, built.dist, jobs=1).values()) > 0
    core = next(wheel for wheel in plan.wheels if wheel.portion.key == "core")
    assert isinstance(core.content, Laid)
    item = next(iter(core.content.files.values()))
    more = replace(core.content, files={**core.content.files, "bin/forgotten.dll": replace(item, path="bin/forgotten.dll")})
    wheels = tuple(replace(wheel, content=more) if wheel is core else wheel for wheel in plan.wheels)
    with pytest.raises(HipwrightError, match=r"lacks _rocm_sdk_core/bin/forgotten\.dll") as caught:
        check_set(replace(plan, wheels=wheels), built.dist, jobs=1)
    assert caught.value.code.name == "package-incomplete"


def test_the_proof_finds_a_link_that_leads_to_nothing(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    built = _build(request)
    plan = plan_packages(request)
    wheels = tuple(replace(wheel, requires=()) if wheel.portion.key == "devel" else wheel for wheel in plan.wheels)
    with pytest.raises(HipwrightError, match="which no package that it requires has"):
        check_set(replace(plan, wheels=wheels), built.dist, jobs=1)


def test_the_proof_finds_a_package_that_did_not_come_out(windows: Path, tmp_path: Path) -> None:
    request = _request(windows, tmp_path / "out", platform=Platform.WINDOWS)
    built = _build(request)
    next(built.dist.glob("rocm_sdk_device_gfx942-*")).unlink()
    with pytest.raises(HipwrightError, match=r"rocm_sdk_device_gfx942.* did not come out"):
        check_set(plan_packages(request), built.dist, jobs=1)


@pytest.mark.skipif(sys.platform == "win32", reason="libraries of Linux are compiled for these")
def test_a_library_that_not_every_linux_has_is_told_and_decides_the_tag(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "in", targets=_TARGETS, kernels=1, headers=1).folder
    data = library_bytes("own", soname="libown.so.1", needed=["libnuma.so.1"])
    write_artifact(artifacts, "aqlprofile_lib_generic", {"lib/libown.so.1": data})
    plan = plan_packages(_request(artifacts, tmp_path / "out"))
    core = next(wheel for wheel in plan.wheels if wheel.portion.key == "core")
    assert core.platform_tag == "linux_x86_64"
    assert any("libnuma.so.1" in note for note in plan.notes)
    assert next(wheel for wheel in plan.wheels if wheel.portion.key == "devel").platform_tag.startswith("manylinux_2_")


@pytest.mark.parametrize(
    ("settings", "version", "system"),
    [
        ({}, "7.13.0.dev0", None),
        ({"version": "7.13.0-rc4"}, "7.13.0rc4", None),
        ({"release_type": "nightly", "date": "20260801"}, "7.13.0a20260801", ("7.13.0~20260801", "7.13.0~20260801")),
        ({"release_type": "prerelease", "candidate": 3}, "7.13.0rc3", ("7.13.0~pre3", "7.13.0~rc3")),
        (
            {"release_type": "dev", "date": "20260801"},
            f"7.13.0.dev0+{_COMMIT}",
            ("7.13.0~dev20260801", "7.13.0~20260801g01234567"),
        ),
        ({"release_type": "release"}, "7.13.0", ("7.13.0", "7.13.0")),
    ],
)
def test_a_dry_run_tells_the_version_and_makes_nothing(
    windows: Path, tmp_path: Path, settings: dict[str, object], version: str, system: tuple[str, str] | None
) -> None:
    manifest = next(windows.rglob("therock_manifest.json"))
    manifest.write_text(manifest.read_text().replace("0" * 40, _COMMIT))
    place = workplace(tmp_path, artifact_dir=windows, dest_dir=tmp_path / "out", platform="windows", dry_run=True, **settings)
    document = build_rocm_packages(place)
    assert document["version"] == version
    assert document["system_packages"] == (dict(zip(("deb", "rpm"), system, strict=True)) if system else None)
    assert f"rocm_sdk_core-{version}-py3-none-win_amd64.whl" in document["files"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("version", "is_told"), [("7.13.0rc4", False), ("7.13.1", True), ("9.9.9", True)])
def test_packages_of_another_version_than_the_artifacts_state_are_told(
    windows: Path, tmp_path: Path, version: str, *, is_told: bool
) -> None:
    place = workplace(
        tmp_path, artifact_dir=windows, dest_dir=tmp_path / "out", platform="windows", dry_run=True, version=version
    )
    build_rocm_packages(place)
    said = f"the artifacts say that they are of ROCm 7.13.0, and the packages are called {version}"
    assert (said in memory_of(place).said) == is_told


def test_the_command_makes_packages_and_shows_them(windows: Path, tmp_path: Path) -> None:
    more = {"platform": "windows", "release_type": "dev", "gfx": ("gfx942",), "compress": False}
    place = workplace(tmp_path, artifact_dir=windows, dest_dir=tmp_path / "out", **more)
    document = build_rocm_packages(place)
    receipt = json.loads((tmp_path / "out" / "packages.json").read_bytes())
    assert json.loads(json.dumps(document["packages"])) == receipt
    assert document["made"] is True
    assert receipt["targets"] == ["gfx942"]
    tables = [event for event in memory_of(place).events if type(event).__name__ == "Table"]
    assert len(tables) == 1


@pytest.mark.parametrize("missing", ["artifact_dir", "dest_dir"])
def test_a_folder_that_is_not_named_is_asked_for(windows: Path, tmp_path: Path, missing: str) -> None:
    named = {"artifact_dir": windows, "dest_dir": tmp_path / "out", missing: None}
    with pytest.raises(HipwrightError) as caught:
        build_rocm_packages(workplace(tmp_path, **named))
    assert caught.value.code.name == "bad-option-value"
    assert caught.value.hint is not None
    assert missing.replace("_", "-") in caught.value.hint


def test_a_version_that_is_none_is_refused(windows: Path, tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        _build(replace(_request(windows, tmp_path / "out", platform=Platform.WINDOWS), version="seven"))
    assert caught.value.code.name == "bad-version"
