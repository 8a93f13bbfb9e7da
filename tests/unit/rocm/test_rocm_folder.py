"""A ROCm in a folder, and those that a machine has by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.errors import HipwrightError
from build_tools.rocm.folder import hip_version, read_folder_sdk, version_of_folder
from build_tools.rocm.sdk import header_doubts
from build_tools.rocm.stray import find_strays, folder_of_environment
from build_tools.types import Platform
from tests.support.stub_sdk import StubSdk


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


ROCM_HEADER = "#define ROCM_VERSION_MAJOR   6\n# define ROCM_VERSION_MINOR 3\n#define ROCM_VERSION_PATCH 2\n"
HIP_HEADER = (
    "#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_MINOR 2\n#define HIP_VERSION_PATCH 21153\n#define HIP_VERSION_MINOR_X 9\n"
)


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({".info/version": "6.4.1-83\n", "include/rocm-core/rocm_version.h": ROCM_HEADER}, "6.4.1"),
        ({"include/rocm-core/rocm_version.h": ROCM_HEADER, "include/hip/hip_version.h": HIP_HEADER}, "6.3.2"),
        ({"include/hip/hip_version.h": HIP_HEADER}, "5.2.21153"),
        ({".info/version": "unknown\n", "include/hip/hip_version.h": HIP_HEADER}, "5.2.21153"),
        ({"include/hip/hip_version.h": "#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_PATCH 7\n"}, None),
        ({"bin/hipcc": ""}, None),
    ],
)
def test_the_version_that_a_folder_states(tmp_path: Path, files: dict[str, str], version: str | None) -> None:
    assert version_of_folder(write(tmp_path, files)) == version


def test_a_folder_is_known_by_what_it_says(tmp_path: Path) -> None:
    folder = StubSdk(version="6.4.1").write_tree(tmp_path / "rocm")
    write(folder, {"share/therock/dist_info.json": '{"dist_amdgpu_targets": "gfx942;gfx1201"}'})
    first = read_folder_sdk(folder)
    assert (first.version, first.targets) == ("6.4.1", ("gfx942", "gfx1201"))
    assert read_folder_sdk(folder) == first
    write(folder, {".info/version": "6.4.1-84\n"})
    assert read_folder_sdk(folder).digest != first.digest
    for odd in ("no JSON", "[]", '{"dist_amdgpu_targets": 1}'):
        write(folder, {"share/therock/dist_info.json": odd})
        assert read_folder_sdk(folder).targets == ()


def test_what_is_no_rocm_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path / "gone", tmp_path):
        with pytest.raises(HipwrightError) as caught:
            read_folder_sdk(folder)
        assert caught.value.code.name == "sdk-incomplete"
        assert "--rocm-path" in (caught.value.hint or "")


def test_headers_of_another_version_are_a_doubt(tmp_path: Path) -> None:
    folder = write(tmp_path, {"include/hip/hip_version.h": HIP_HEADER})
    assert hip_version(folder) == "5.2.21153"
    (doubt,) = header_doubts(folder, "7.0.0rc1")
    assert "ROCm 7.0.0rc1" in doubt
    assert "HIP 5.2.21153" in doubt
    assert header_doubts(folder, "5.2.0") == ()
    assert header_doubts(tmp_path / "gone", "5.2.0") == ()


def test_every_lead_to_a_rocm_of_the_machine_is_followed_once(tmp_path: Path) -> None:
    one = StubSdk(version="6.4.1").write_tree(tmp_path / "opt" / "rocm-6.4.1")
    (tmp_path / "opt" / "rocm").symlink_to(one)
    other = StubSdk(version="5.7.0").write_tree(tmp_path / "elsewhere")
    (tmp_path / "opt" / "other").mkdir()
    machine = {
        "ROCM_PATH": str(tmp_path / "opt" / "rocm"),
        "HIP_PATH": str(tmp_path / "gone"),
        "PATH": f"{other / 'bin'}:{tmp_path}:{one / 'bin'}",
    }
    found = find_strays(machine, platform=Platform.LINUX, roots=[tmp_path / "opt", tmp_path / "nowhere"])
    assert [(stray.told_by, stray.version) for stray in found] == [
        ("ROCM_PATH", "6.4.1"),
        ("HIP_PATH", None),
        ("PATH, which has hipcc", "5.7.0"),
    ]
    assert find_strays({"PATH": str(other / "bin")}, platform=Platform.LINUX, but=[other], roots=[]) == ()


def test_the_usual_place_on_windows(tmp_path: Path) -> None:
    write(tmp_path / "AMD" / "ROCm" / "6.4", {"bin/hipcc.exe": "", ".info/version": "6.4.2\n"})
    (found,) = find_strays({"PROGRAMFILES": str(tmp_path)}, platform=Platform.WINDOWS)
    assert (found.version, found.told_by) == ("6.4.2", "the usual place")


def test_the_rocm_that_the_environment_names() -> None:
    machine = {"HIP_PATH": "/hip", "ROCM_HOME": "/home", "ROCM_PATH": ""}
    assert folder_of_environment(machine) == (Path("/home"), "ROCM_HOME")
    with pytest.raises(HipwrightError, match="none of them is set") as caught:
        folder_of_environment({})
    assert caught.value.code.name == "no-rocm-source"
