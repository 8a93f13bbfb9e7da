"""What a set of packages is made of is proved too: libraries, targets and files that should be there, and what is of no use."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.build_rocm_packages import build_rocm_packages
from build_tools.process import Runner, base_environment
from build_tools.receipts.record import to_json
from build_tools.rocm.artifacts.mark import FETCHED_FOR, MARK, FetchedFor, Mark, changes
from build_tools.rocm.packages.build import PackageRequest, build_packages, plan_packages
from build_tools.types import GfxTarget, Platform, Sha256
from tests.support.rocm_trees import make_tree, write_artifact
from tests.support.workplaces import CLONE, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.rocm.packages.plan import Plan

VERSION = "7.13.0rc1"
TARGETS = ("gfx942", "gfx1201")


@pytest.fixture
def windows(tmp_path: Path) -> Path:
    """Artifacts that need no compiler: the quickest."""
    return make_tree(tmp_path / "in", platform=Platform.WINDOWS, targets=TARGETS, kernels=1, headers=1).folder


def _request(artifacts: Path, **more: object) -> PackageRequest:
    return PackageRequest(
        artifacts=artifacts,
        target=artifacts.parent / "out",
        version=VERSION,
        platform=Platform.WINDOWS,
        **more,  # type: ignore[arg-type]
    )


def _plan(artifacts: Path, **more: object) -> Plan:
    return plan_packages(_request(artifacts, **more))


def _refused(artifacts: Path, **more: object) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        _plan(artifacts, **more)
    assert caught.value.code.name == "package-incomplete"
    assert not (artifacts.parent / "out").exists()
    return caught.value


@pytest.mark.parametrize(("library", "artifact"), [("amdhip64_7", "core-hip"), ("rocblas", "blas"), ("hiprand", "rand")])
def test_a_library_that_its_artifact_has_lost_is_missing(windows: Path, library: str, artifact: str) -> None:
    next(windows.rglob(f"{library}.dll")).unlink()
    error = _refused(windows)
    assert f"{library.partition('_')[0]} (artifact {artifact}_lib) in rocm-sdk-" in error.message
    assert "hipfft" not in error.message


def test_artifacts_for_the_other_system_are_told(windows: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        plan_packages(replace(_request(windows), platform=Platform.LINUX))
    assert caught.value.hint == "they are artifacts for windows: --platform windows"


@pytest.mark.parametrize("library", ["hiprtc0713", "hiprtc-builtins0713", "MIOpen", "hipdnn_backend"])
def test_a_library_that_not_every_sdk_has_may_be_missing(windows: Path, library: str) -> None:
    next(windows.rglob(f"{library}.dll")).unlink()
    assert not any("without" in note for note in _plan(windows).notes)


def test_an_artifact_that_is_not_here_makes_packages_without_its_libraries_and_they_say_so(windows: Path) -> None:
    for folder in windows.glob("rand_*"):
        shutil.rmtree(folder)
    built = build_packages(_request(windows), runner=Runner(environment=base_environment(os.environ)))
    assert "rocm-sdk-libraries is made without hiprand: their artifacts are not here" in built.packages.notes
    with zipfile.ZipFile(next(built.dist.glob("rocm_sdk_libraries-*"))) as wheel:
        assert json.loads(wheel.read("_rocm_sdk_libraries/_set.json"))["without"] == ["hiprand"]
    with zipfile.ZipFile(next(built.dist.glob("rocm_sdk_core-*"))) as wheel:
        assert "without" not in json.loads(wheel.read("_rocm_sdk_core/_set.json"))


def test_nothing_starts_without_the_core_so_its_artifacts_have_to_be_here(windows: Path) -> None:
    shutil.rmtree(windows / "core-hip_lib_generic")
    assert "amdhip64" in _refused(windows).message


def test_each_family_has_to_have_its_libraries(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "in", form="family", platform=Platform.WINDOWS, kernels=1, headers=1).folder
    next((artifacts / "blas_lib_gfx120X-all").rglob("rocblas.dll")).unlink()
    message = _refused(artifacts).message
    assert "rocblas (artifact blas_lib) in rocm-sdk-libraries-gfx120x-all" in message
    assert "gfx94x" not in message


def test_what_one_target_lacks_of_what_others_have_is_told(windows: Path) -> None:
    shutil.rmtree(windows / "fft_lib_gfx942")
    assert "gfx942 has no artifact fft_lib, which gfx1201 has" in _plan(windows).notes
    assert not any("blas" in note for note in _plan(windows).notes)


def test_artifacts_that_no_package_takes_are_named(windows: Path, tmp_path: Path) -> None:
    write_artifact(windows, "rocshmem_lib_generic", {"bin/rocshmem.dll": b"MZ"})
    write_artifact(windows, "rocalution_lib_gfx942", {"bin/rocalution.dll": b"MZ"})
    place = workplace(tmp_path, artifact_dir=windows, dest_dir=tmp_path / "out", platform="windows", gfx=("gfx942",))
    document = build_rocm_packages(place)
    assert "no package has a place for rocalution_lib_gfx942, rocshmem_lib_generic" in document["packages"]["notes"]
    assert {"rocshmem_lib_generic", "blas_lib_gfx1201", "amd-llvm_doc_generic"} <= set(document["left_out"])
    assert "blas_lib_gfx942" not in document["left_out"]


def _fetched_for(artifacts: Path, *targets: str) -> None:
    (artifacts / FETCHED_FOR).write_bytes(to_json(FetchedFor(targets=tuple(map(GfxTarget, targets)))))


def test_targets_that_were_fetched_are_those_that_have_to_come_out(windows: Path) -> None:
    for folder in windows.glob("*_gfx1201"):
        shutil.rmtree(folder)
    assert "device files of gfx1201" in _refused(windows).message
    _fetched_for(windows, "gfx942")
    assert _plan(windows).selection.targets == ("gfx942",)
    # A family that was fetched may have targets that the run was not made for.
    _fetched_for(windows, "gfx942", "gfx950")
    assert _plan(windows).selection.targets == ("gfx942",)
    _fetched_for(windows, "gfx942", "gfx1201")
    assert "device files of gfx1201" in _refused(windows).message
    assert _plan(windows, targets=(GfxTarget("gfx942"),)).selection.targets == ("gfx942",)


def test_artifacts_that_did_not_come_are_named_where_packages_would_lack_them(windows: Path) -> None:
    for name in ("blas_lib_gfx942", "fft_lib_gfx1201"):
        shutil.rmtree(windows / name)
    to_come = ("amd-llvm_doc_generic", "blas_lib_gfx942", "rand_lib_gfx942", "rocgdb_run_generic")
    (windows / FETCHED_FOR).write_bytes(to_json(FetchedFor(to_come=to_come)))
    message = _refused(windows).message
    assert "lacks blas_lib_gfx942, rocgdb_run_generic, which were to be fetched and did not come" in message
    (windows / FETCHED_FOR).write_bytes(to_json(FetchedFor(to_come=to_come[:3])))
    assert _plan(windows, targets=(GfxTarget("gfx1201"),)).selection.targets == ("gfx1201",)


def test_packages_of_fewer_targets_say_which_they_are_of(windows: Path) -> None:
    request = _request(windows, targets=(GfxTarget("gfx942"),))
    built = build_packages(request, runner=Runner(environment=base_environment(os.environ)))
    with zipfile.ZipFile(next(built.dist.glob("rocm_sdk_core-*"))) as wheel:
        stated = json.loads(wheel.read("_rocm_sdk_core/share/therock/dist_info.json"))
    assert stated["dist_amdgpu_targets"] == "gfx942"
    with zipfile.ZipFile(built.dist / f"rocm-{VERSION}-py3-none-any.whl") as wheel:
        assert json.loads(wheel.read("rocm_sdk/dist_info.json"))["targets"] == {"windows": ["gfx942"]}


def _mark(folder: Path) -> None:
    held = changes(folder, {}).more
    sizes: dict[str, int | str] = {path: (folder / path).stat().st_size for path in held}
    mark = Mark(archive="x.tar.zst", size=1, sha256=Sha256("0" * 64), etag=None, proved="size", held=sizes)
    (folder / MARK).write_bytes(to_json(mark))


def test_an_artifact_that_lost_a_file_since_it_was_fetched_is_refused(windows: Path) -> None:
    artifact = windows / "blas_lib_gfx942"
    _mark(artifact)
    _plan(windows)
    next(artifact.rglob("blas*.kpack")).unlink()
    error = _refused(windows)
    assert ".kpack of blas_lib_gfx942 is gone" in error.message
    assert error.hint is not None
    assert "fetch" in error.hint


def test_an_artifact_with_a_file_cut_short_is_refused_and_one_with_more_is_told(windows: Path) -> None:
    artifact = windows / "blas_lib_gfx942"
    _mark(artifact)
    kernel = next(artifact.rglob("blas*.kpack"))
    (kernel.parent / "mine.txt").write_text("mine")
    assert any("mine.txt" in note for note in _plan(windows).notes)
    kernel.write_bytes(b"short")
    assert "was changed" in _refused(windows).message


@pytest.mark.parametrize(
    "name", ["_set.json", "__init__.py", ".devel_links/gfx1201.json", ".rocm_sdk.pending", ".ROCM_SDK.files"]
)
@pytest.mark.parametrize("artifact", ["core-hip_lib_generic", "blas_lib_gfx942"])
def test_no_artifact_brings_what_the_packages_own_files_are_called(windows: Path, artifact: str, name: str) -> None:
    write_artifact(windows, artifact, {name: b"{}"})
    with pytest.raises(HipwrightError, match="what a file of the packages themselves is called") as caught:
        _plan(windows)
    assert caught.value.code.name == "bad-artifact"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files to begin with")
@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("bin/aux.txt",), "no file or folder 'aux.txt'"),
        (("include/hip.",), "no file or folder 'hip.'"),
        (("include/Twice.h", "include/twice.h"), "are one file on Windows"),
    ],
    ids=["device", "dot", "case"],
)
def test_names_that_windows_cannot_have_are_refused_when_packages_are_planned(
    windows: Path, names: tuple[str, ...], told: str
) -> None:
    write_artifact(windows, "hipdnn_dev_generic", {name: name.encode() for name in names})
    with pytest.raises(HipwrightError, match=told) as caught:
        _plan(windows)
    assert caught.value.code.name == "bad-artifact"


@pytest.mark.parametrize(
    ("ours", "theirs"), [("bin/clash", "bin/clash/file"), ("bin/clash/file", "bin/clash"), ("bin/a", "bin/A")]
)
def test_packages_of_one_folder_fit_beside_each_other(windows: Path, ours: str, theirs: str) -> None:
    write_artifact(windows, "hipdnn_lib_generic", {"bin/hipdnn_backend.dll": b"MZ", ours: b"one"})
    write_artifact(windows, "miopen_lib_gfx942", {theirs: b"one"})
    with pytest.raises(
        HipwrightError, match=r"packages do not fit together: _rocm_sdk_libraries/bin/.* rocm-sdk-libraries"
    ) as caught:
        _plan(windows)
    assert caught.value.code.name == "bad-artifact"


def test_an_artifact_whose_manifest_lists_nothing_is_refused(windows: Path) -> None:
    (windows / "blas_lib_generic" / "artifact_manifest.txt").write_text("\n")
    with pytest.raises(HipwrightError, match="lists no folder") as caught:
        _plan(windows)
    assert caught.value.code.name == "bad-artifact"


def test_packages_never_lie_among_the_artifacts_whatever_way_they_are_named(windows: Path, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "dist").symlink_to(windows)
    inside = tmp_path / "other" / "dist" / "artifacts"
    shutil.copytree(windows, inside)
    for artifacts, target in ((windows, desk), (desk / "dist", desk), (inside, tmp_path / "other"), (windows, windows / "x")):
        with pytest.raises(HipwrightError, match="where the artifacts are") as caught:
            plan_packages(replace(_request(artifacts), target=target))
        assert caught.value.code.name == "bad-option-value"


def test_sources_of_artifacts_are_no_artifacts(tmp_path: Path) -> None:
    sources = CLONE / "external-builds" / "sample" / "rocm"
    for folder in (sources, sources / "artifacts"):
        with pytest.raises(HipwrightError, match=r"compiled\.toml") as caught:
            build_rocm_packages(workplace(tmp_path, artifact_dir=folder, dest_dir=tmp_path / "out", version="1"))
        assert caught.value.hint is not None
        assert "nox -s pipeline" in caught.value.hint


def test_tools_that_write_other_bytes_make_another_set(windows: Path) -> None:
    plan = _plan(windows)
    ids = {
        plan.set_id(launcher=one, patchelf=two, zlib=three) for one in (None, b"x") for two in (None, "y") for three in ("1", "2")
    }
    assert len(ids) == 8


@pytest.mark.skipif(sys.platform == "win32", reason="libraries of Linux are compiled for these")
def test_packages_are_tagged_for_the_processor_that_their_binaries_are_for(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "in", targets=TARGETS, kernels=1, headers=1).folder
    for path in [each for each in artifacts.rglob("*") if each.is_file() and not each.is_symlink()]:
        data = bytearray(path.read_bytes())
        if data.startswith(b"\x7fELF"):
            data[18:20] = (183).to_bytes(2, "little")  # the machine: EM_AARCH64
            path.write_bytes(data)
    plan = plan_packages(replace(_request(artifacts), platform=Platform.LINUX))
    assert {wheel.platform_tag.partition("_2_")[0] for wheel in plan.wheels} == {"manylinux"}
    assert all(wheel.platform_tag.endswith("_aarch64") for wheel in plan.wheels)


def test_a_version_that_is_none_and_a_manifest_of_any_size_are_told(windows: Path) -> None:
    manifest = next(windows.rglob("therock_manifest.json"))
    stated = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**stated, "rocm_version": "seven"}))
    said: list[str] = []
    plan_packages(_request(windows), say=said.append)
    assert any("they are of ROCm seven" in line for line in said)
    with manifest.open("ab") as stream:
        stream.truncate((16 << 20) + 1)
    with pytest.raises(HipwrightError, match="larger than 16 MiB") as caught:
        _plan(windows)
    assert caught.value.code.name == "bad-artifact"


@pytest.mark.parametrize("text", ["[]", "no JSON"])
def test_a_file_about_targets_that_comes_from_elsewhere_has_to_be_one_too(windows: Path, text: str) -> None:
    next(windows.rglob("share/therock/dist_info.json")).unlink()
    write_artifact(windows, "aqlprofile_lib_generic", {"share/therock/dist_info.json": text.encode()})
    with pytest.raises(HipwrightError, match="no JSON object") as caught:
        _plan(windows)
    assert caught.value.code.name == "bad-artifact"
