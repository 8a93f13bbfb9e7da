"""A wheel gets what it needs of ROCm: with real libraries, loaded by the system's own loader."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError
from build_tools.wheels.elf import read_elf
from tests.support.bundling import ROCM, bundled, demo_wheel, rocm_wheels
from tests.support.elf_templates import library_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ELF files are loaded on Linux alone")

CORE = "demo/lib/rocm/_rocm_sdk_core"
LIBRARIES = "demo/lib/rocm/_rocm_sdk_libraries"
_LOADED = """
import ctypes, sys
import demo
if {call}:
    from demo import _rocm_init
    _rocm_init.initialize()
    _rocm_init.initialize()
ctypes.CDLL(demo.__path__[0] + "/lib/libdemo.so")
maps = open("/proc/self/maps").read().splitlines()
print(*sorted({{line.split()[-1] for line in maps if ".so" in line and {root!r} in line}}), sep="\\n")
"""


def _members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _inside(wheel: Path) -> set[str]:
    return {name.removeprefix("demo/lib/rocm/") for name in _members(wheel) if name.startswith("demo/lib/rocm/")}


def _missing(wheel: Path, target: Path, wheels: Sequence[Path], **settings: object) -> str:
    with pytest.raises(HipwrightError) as caught:
        bundled(wheel, target, wheels, **settings)  # type: ignore[arg-type]
    assert caught.value.code.name == "bundle-incomplete"
    assert list(target.iterdir()) == []
    return caught.value.message


def _libraries_loaded(wheel: Path, folder: Path, *, call: bool) -> set[str]:
    """Unpack a wheel as an installer does, load its library in a clean process, and return which libraries of it were loaded."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{_LOADED.format(call=call, root=str(folder))}"
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False, env={})
    assert ran.returncode == 0, ran.stderr
    return {line.removeprefix(f"{folder}/") for line in ran.stdout.splitlines()}


def test_what_is_needed_goes_in_and_is_found_first(tmp_path: Path) -> None:
    said: list[str] = []
    thin = demo_wheel(tmp_path)
    before = thin.read_bytes()
    fat = bundled(thin, tmp_path / "fat", rocm_wheels(tmp_path / "rocm"), say=said.append)
    assert fat.name == f"demo-1.0+bundled.rocm{ROCM}-py3-none-linux_x86_64.whl"
    assert thin.read_bytes() == before
    report = check_wheels([fat], expectations=None, say=lambda _line: None)
    assert [finding.message for finding in report.findings if finding.severity == "error"] == []
    assert _inside(fat) == {
        "bundle.json",
        "_rocm_sdk_core/lib/libamdhip64.so.7",
        "_rocm_sdk_core/lib/libhsa-runtime64.so.1",
        "_rocm_sdk_core/lib/libamd_comgr.so.3",
        "_rocm_sdk_core/lib/libhiprtc.so.7",
        "_rocm_sdk_core/share/doc/hip/LICENSE.txt",
        "_rocm_sdk_libraries/lib/librocblas.so.5",
        "_rocm_sdk_libraries/lib/rocblas/library/fallback.dat",
        "_rocm_sdk_libraries/lib/rocblas/library/TensileLibrary_gfx942.dat",
        "_rocm_sdk_libraries/.kpack/blas_lib_gfx942.kpack",
    }
    with zipfile.ZipFile(fat) as archive:
        metadata = archive.read(f"demo-1.0+bundled.rocm{ROCM}.dist-info/METADATA").decode()
        note = json.loads(archive.read("demo/lib/rocm/bundle.json"))
        with archive.open("demo/lib/libdemo.so") as stream:
            elf = read_elf(stream, name="libdemo.so")
    assert "rocm[" not in metadata
    assert "Requires-Dist: filelock" in metadata
    assert (note["rocm"], note["targets"]) == (ROCM, ["gfx942"])
    assert f"rocm_sdk_device_gfx942-{ROCM}-py3-none-any.whl" in note["packages"]
    assert elf is not None
    assert elf.run_path == (
        "$ORIGIN/rocm/_rocm_sdk_core/lib",
        "$ORIGIN/rocm/_rocm_sdk_libraries/lib",
        "$ORIGIN",
        "$ORIGIN/../lib",
    )
    assert "the wheel will have about" in said[-1]


@pytest.mark.parametrize("preloads", [(), ("amdhip64", "rocblas")])
def test_the_system_loads_it(tmp_path: Path, preloads: tuple[str, ...]) -> None:
    fat = bundled(demo_wheel(tmp_path), tmp_path / "fat", rocm_wheels(tmp_path / "rocm"), preloads=preloads)
    loaded = _libraries_loaded(fat, tmp_path / "site", call=True)
    assert loaded == {"demo/lib/libdemo.so", f"{CORE}/lib/libamdhip64.so.7", f"{LIBRARIES}/lib/librocblas.so.5"} | (
        {f"{CORE}/lib/libhsa-runtime64.so.1"}
    )


def test_a_package_that_does_not_load_rocm_does_so_then(tmp_path: Path) -> None:
    thin = demo_wheel(tmp_path, init=False)
    with_code = bundled(thin, tmp_path / "with", rocm_wheels(tmp_path / "rocm"), preloads=["rocblas"])
    assert f"{LIBRARIES}/lib/librocblas.so.5" in _libraries_loaded(with_code, tmp_path / "site", call=False)
    with zipfile.ZipFile(with_code) as archive:
        assert archive.read("demo/__init__.py").decode().splitlines()[3] == (
            "from ._rocm_init import initialize as _initialize_rocm"
        )
    without = bundled(thin, tmp_path / "without", rocm_wheels(tmp_path / "rocm"))
    assert "demo/_rocm_init.py" not in _members(without)
    assert f"{CORE}/lib/libamdhip64.so.7" in _libraries_loaded(without, tmp_path / "other", call=False)


def test_only_core_is_needed_without_device_packages(tmp_path: Path) -> None:
    thin = demo_wheel(tmp_path, needed=["libamdhip64.so.7"])
    fat = bundled(thin, tmp_path / "fat", rocm_wheels(tmp_path / "rocm", devices=()), targets=["gfx942:xnack+"])
    assert not any(name.startswith("_rocm_sdk_libraries") for name in _inside(fat))


def test_everything_that_is_missing_is_named(tmp_path: Path) -> None:
    gone = ("_rocm_sdk_core/lib/libhsa-runtime64.so.1",)
    wheels = rocm_wheels(tmp_path / "rocm", devices=["gfx1201"], without=gone)
    thin = demo_wheel(tmp_path, needed=["libamdhip64.so.7", "librocblas.so.4"])
    said = _missing(thin, tmp_path / "fat", wheels, preloads=["hipblas", "nonsense", "rocblas"])
    assert "libamdhip64.so.7 needs libhsa-runtime64.so.1" in said
    assert "demo/lib/libdemo.so needs librocblas.so.4" in said
    assert "the preload hipblas is not in" in said
    assert "the preload nonsense is no library" in said
    assert "no device package of gfx942" in said


def test_optional_preloads_may_be_absent(tmp_path: Path) -> None:
    fat = bundled(demo_wheel(tmp_path), tmp_path / "fat", rocm_wheels(tmp_path / "rocm"), preloads=["rccl", "amdhip64"])
    with zipfile.ZipFile(fat) as archive:
        code = archive.read("demo/_rocm_init.py").decode()
    assert "libamdhip64.so.7" in code
    assert "rccl" not in code


def test_a_wheel_without_any_need_of_rocm(tmp_path: Path) -> None:
    said = _missing(demo_wheel(tmp_path, needed=["libc.so.6"]), tmp_path / "fat", rocm_wheels(tmp_path / "rocm"))
    assert "needs nothing of ROCm" in said


def test_several_packages_and_none_that_loads_rocm(tmp_path: Path) -> None:
    files = {"other/__init__.py": b"", "other/x.so": library_bytes("x", soname="x.so", needed=["libamdhip64.so.7"])}
    thin = demo_wheel(tmp_path, init=False, files=files)
    wheels = rocm_wheels(tmp_path / "rocm")
    assert "it has demo, other" in _missing(thin, tmp_path / "fat", wheels)
    fat = bundled(thin, tmp_path / "named", wheels, package="other.part")
    assert "other/lib/rocm/_rocm_sdk_core/lib/libamdhip64.so.7" in _members(fat)
    loaded = _libraries_loaded(fat, tmp_path / "site", call=False)
    assert "other/lib/rocm/_rocm_sdk_core/lib/libamdhip64.so.7" in loaded


def test_the_same_input_makes_the_same_bytes(tmp_path: Path) -> None:
    thin, wheels = demo_wheel(tmp_path), rocm_wheels(tmp_path / "rocm")
    first = bundled(thin, tmp_path / "one", wheels, preloads=["amdhip64"])
    second = bundled(thin, tmp_path / "a" / "longer" / "way", list(reversed(wheels)), preloads=["amdhip64"])
    assert first.read_bytes() == second.read_bytes()


def test_families_have_packages_of_their_own(tmp_path: Path) -> None:
    wheels = rocm_wheels(tmp_path / "rocm", devices=())[:1]
    for family, target in (("gfx94x_dcgpu", "gfx942"), ("gfx120x_all", "gfx1201")):
        folder = f"_rocm_sdk_libraries_{family}"
        more = {
            f"{folder}/lib/librocblas.so.5": library_bytes(family, soname="librocblas.so.5", needed=["libamdhip64.so.7"]),
            f"{folder}/lib/rocblas/library/T_{target}.dat": b"",
            f"{folder}/lib/rocblas/library/T_gfx950.dat": b"",
        }
        wheels.append(rocm_wheels(tmp_path / family, devices=(), more=more)[0])
    thin = demo_wheel(tmp_path)
    fat = bundled(thin, tmp_path / "fat", wheels, family="gfx94X-dcgpu")
    inside = {name for name in _inside(fat) if "rocblas" in name}
    assert inside == {
        "_rocm_sdk_libraries_gfx94x_dcgpu/lib/librocblas.so.5",
        "_rocm_sdk_libraries_gfx94x_dcgpu/lib/rocblas/library/T_gfx942.dat",
    }
