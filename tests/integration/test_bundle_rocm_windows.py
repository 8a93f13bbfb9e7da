"""A wheel for Windows gets what it needs of ROCm: one tree, searched and loaded by the wheel's own code. On any system."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError
from build_tools.types import Platform
from tests.support.bundling import ROCM, bundled
from tests.support.pe_files import pe_bytes
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_CORE = "_rocm_sdk_core"
_LIBRARIES = "_rocm_sdk_libraries"


def _rocm(folder: Path, *, more: Mapping[str, bytes] | None = None) -> list[Path]:
    core = {
        f"{_CORE}/bin/amdhip64_7.dll": pe_bytes(["KERNEL32.dll"], delayed=["hiprtc0713.dll"]),
        f"{_CORE}/bin/amd_comgr0713.dll": pe_bytes(["KERNEL32.dll"]),
        f"{_CORE}/bin/hiprtc0713.dll": pe_bytes(["amd_comgr0713.dll"]),
        f"{_CORE}/bin/hipcc.exe": pe_bytes(),
        f"{_CORE}/lib/amdhip64.lib": b"",
    }
    libraries = {
        f"{_LIBRARIES}/bin/rocblas.dll": pe_bytes(["AMDHIP64_7.dll"]),
        f"{_LIBRARIES}/bin/rocblas/library/fallback.dat": b"for all",
        **(more or {}),
    }
    device = {f"{_LIBRARIES}/bin/rocblas/library/TensileLibrary_gfx1201.dat": b"gfx1201"}
    sets = {"rocm_sdk_core": core, "rocm_sdk_libraries": libraries, "rocm_sdk_device_gfx1201": device}
    return [WheelMaker(name=name, version=ROCM, files=files).write(folder) for name, files in sets.items()]


def _wheel(folder: Path, *, needed: tuple[str, ...] = ("rocblas.dll", "KERNEL32.dll"), init: bool = True) -> Path:
    files = {
        "demo/__init__.py": b'"""Demo."""\r\nanswer = 42\r\n',
        "demo/_C.cp312-win_amd64.pyd": pe_bytes(needed),
        **({"demo/_rocm_init.py": b"import rocm_sdk\n"} if init else {}),
    }
    metadata = f"Metadata-Version: 2.4\nName: demo\nVersion: 1.0+rocm{ROCM}\nRequires-Dist: rocm[libraries]=={ROCM}\n"
    return WheelMaker(version=f"1.0+rocm{ROCM}", tag="cp312-cp312-win_amd64", files=files, metadata=metadata).write(folder)


def _bundled(wheel: Path, target: Path, wheels: list[Path], *, preloads: tuple[str, ...] = ("amdhip64", "rocblas")) -> Path:
    return bundled(wheel, target, wheels, preloads=preloads, targets=["gfx1201"], platform=Platform.WINDOWS)


def test_it_is_one_tree_that_the_wheel_loads(tmp_path: Path) -> None:
    fat = _bundled(_wheel(tmp_path), tmp_path / "fat", _rocm(tmp_path / "rocm"))
    assert fat.name == f"demo-1.0+bundled.rocm{ROCM}-cp312-cp312-win_amd64.whl"
    report = check_wheels([fat], expectations=None, say=lambda _line: None)
    assert [finding.message for finding in report.findings if finding.severity == "error"] == []
    with zipfile.ZipFile(fat) as archive:
        inside = {name.removeprefix("demo/lib/rocm/") for name in archive.namelist() if name.startswith("demo/lib/rocm/")}
        code = archive.read("demo/_rocm_init.py").decode()
        metadata = archive.read(f"demo-1.0+bundled.rocm{ROCM}.dist-info/METADATA").decode()
    assert inside == {
        "bundle.json",
        "bin/amdhip64_7.dll",
        "bin/amd_comgr0713.dll",
        "bin/hiprtc0713.dll",
        "bin/rocblas.dll",
        "bin/rocblas/library/fallback.dat",
        "bin/rocblas/library/TensileLibrary_gfx1201.dat",
    }
    assert "_SEARCHED = (('bin',),)" in code
    assert "_LIBRARIES = (('bin', 'amdhip64_7.dll'), ('bin', 'rocblas.dll'))" in code
    assert "Requires-Dist" not in metadata


def test_an_extension_that_never_loads_rocm_does_so_then(tmp_path: Path) -> None:
    fat = _bundled(_wheel(tmp_path, needed=("amdhip64_7.dll",), init=False), tmp_path / "fat", _rocm(tmp_path / "r"), preloads=())
    with zipfile.ZipFile(fat) as archive:
        lines = archive.read("demo/__init__.py").decode().split("\r\n")
        assert "_SEARCHED = (('bin',),)" in archive.read("demo/_rocm_init.py").decode()
    assert lines[:3] == ['"""Demo."""', "from ._rocm_init import initialize as _initialize_rocm", "_initialize_rocm()"]


def test_one_file_of_two_is_refused(tmp_path: Path) -> None:
    more = {f"{_CORE}/bin/rocblas/library/fallback.dat": b"another"}
    with pytest.raises(HipwrightError, match=r"fallback\.dat is another file in") as caught:
        _bundled(_wheel(tmp_path), tmp_path / "fat", _rocm(tmp_path / "rocm", more=more))
    assert caught.value.code.name == "bundle-incomplete"


def test_a_library_of_another_version_is_missing(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"needs amdhip64_6\.dll, which the ROCm packages do not have"):
        _bundled(_wheel(tmp_path, needed=("amdhip64_6.dll",)), tmp_path / "fat", _rocm(tmp_path / "rocm"))
