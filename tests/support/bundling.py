"""ROCm's own wheels in small, and a wheel that needs them: real ELF files, for putting the one into the other."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.builds.bundle import Rocm, bundle_wheel
from build_tools.process import Runner, base_environment
from build_tools.types import Platform
from build_tools.wheels.run_path import find_patchelf
from tests.support.elf_templates import library_bytes
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ROCM", "bundled", "demo_wheel", "rocm_wheels", "with_run_path"]

ROCM: Final = "7.13.0"
_CORE: Final = "_rocm_sdk_core"
_LIBRARIES: Final = "_rocm_sdk_libraries"


def rocm_wheels(
    folder: Path,
    *,
    devices: Sequence[str] = ("gfx942", "gfx1201"),
    without: Sequence[str] = (),
    more: Mapping[str, bytes] | None = None,
) -> list[Path]:
    """Write ROCm's wheels: core, libraries, and a device package for each target; ``without`` names members that are left out."""

    def library(name: str, *needed: str) -> bytes:
        return with_run_path(library_bytes(name, soname=name, needed=needed), f"$ORIGIN:$ORIGIN/../../{_CORE}/lib")

    core = {
        f"{_CORE}/lib/libamdhip64.so.7": library("libamdhip64.so.7", "libhsa-runtime64.so.1"),
        f"{_CORE}/lib/libhsa-runtime64.so.1": library("libhsa-runtime64.so.1"),
        f"{_CORE}/lib/libamd_comgr.so.3": library("libamd_comgr.so.3"),
        f"{_CORE}/lib/libhiprtc.so.7": library("libhiprtc.so.7"),
        f"{_CORE}/lib/llvm/bin/clang": b"a compiler",
        f"{_CORE}/share/doc/hip/LICENSE.txt": b"terms",
        f"{_CORE}/include/hip/hip_runtime.h": b"",
        **(more or {}),
    }
    libraries = {
        f"{_LIBRARIES}/lib/librocblas.so.5": library("librocblas.so.5", "libamdhip64.so.7"),
        f"{_LIBRARIES}/lib/librocblas_unneeded.a": b"",
        f"{_LIBRARIES}/lib/rocblas/library/fallback.dat": b"for all",
        f"{_LIBRARIES}/lib/librocfft.so.0": library("librocfft.so.0"),
    }
    sets = {"rocm_sdk_core": core, "rocm_sdk_libraries": libraries}
    for target in devices:
        sets[f"rocm_sdk_device_{target}"] = {
            f"{_LIBRARIES}/.kpack/blas_lib_{target}.kpack": b"KPAK",
            f"{_LIBRARIES}/lib/rocblas/library/TensileLibrary_{target}.dat": target.encode(),
        }
    return [
        WheelMaker(
            name=name, version=ROCM, files={member: data for member, data in files.items() if member not in without}
        ).write(folder)
        for name, files in sets.items()
    ]


@functools.cache
def with_run_path(library: bytes, run_path: str) -> bytes:
    """Return a library with another run path; ROCm's own lead from one package to the other."""
    runner = Runner(environment=base_environment(os.environ))
    with tempfile.TemporaryDirectory() as place:
        before, after = Path(place, "before"), Path(place, "after")
        before.write_bytes(library)
        find_patchelf(runner, cwd=Path(place)).set_run_path(before, after, run_path.split(":"), runner=runner)
        return after.read_bytes()


def demo_wheel(
    folder: Path,
    *,
    needed: Sequence[str] = ("libamdhip64.so.7", "librocblas.so.5"),
    init: bool = True,
    files: Mapping[str, bytes] | None = None,
    requires: str = f"Requires-Dist: rocm[libraries]=={ROCM}\nRequires-Dist: filelock\n",
) -> Path:
    """Write a wheel with a library that needs ROCm, and the code that loads ROCm's packages unless ``init`` is off."""
    members = {
        "demo/__init__.py": b'"""Demo."""\n\nfrom __future__ import annotations\n\nanswer = 42\n',
        "demo/lib/libdemo.so": library_bytes("demo", soname="libdemo.so", needed=needed),
        **({"demo/_rocm_init.py": b"import rocm_sdk\n"} if init else {}),
        **(files or {}),
    }
    metadata = f"Metadata-Version: 2.4\nName: demo\nVersion: 1.0+rocm{ROCM}\n{requires}"
    return WheelMaker(version=f"1.0+rocm{ROCM}", tag="py3-none-linux_x86_64", files=members, metadata=metadata).write(folder)


def bundled(
    wheel: Path,
    target: Path,
    wheels: Sequence[Path],
    *,
    preloads: Sequence[str] = (),
    targets: Sequence[str] = ("gfx942",),
    platform: Platform = Platform.LINUX,
    package: str | None = None,
    family: str | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Path:
    """Put ROCm into a wheel."""
    return bundle_wheel(
        wheel,
        target,
        rocm=Rocm(version=ROCM, wheels=wheels, family=family),
        preloads=preloads,
        targets=targets,
        platform=platform,
        runner=Runner(environment=base_environment(os.environ)),
        package=package,
        say=say,
    )
