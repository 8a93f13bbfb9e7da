"""Small sets of ROCm packages, made here and not by the packager, for tests of what runs on the user's machine.

Everything is as small as it can be and still real: shared libraries with SONAMEs that load, programs that start, an archive with all the
sorts of links that there are. ``hipcc`` says how it was called and writes an object with a device code bundle.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools.receipts.record import to_json
from build_tools.rocm.description import DescribedLibrary, DescribedPackage, SdkDescription
from build_tools.rocm.packages.meta import build_meta
from build_tools.rocm.packages.payload import entry_points, payload_files
from build_tools.types import GfxTarget, Platform
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Mapping

__all__ = ["OF_DEVICE", "RocmSet", "compiler", "shared_library"]

OF_DEVICE = "libkernels-of-a-target.so"
"""A library that only a device package brings."""

HIPCC = """#!/bin/sh
if [ "$1" = "--version" ]; then
    echo "hipcc at $0, ROCM_PATH=$ROCM_PATH, HIP_PATH=$HIP_PATH, HIP_PLATFORM=$HIP_PLATFORM, HIP_CLANG_PATH=$HIP_CLANG_PATH"
    exit 0
fi
for each in "$@"; do
    case $each in
        --offload-arch=*) target=${each#--offload-arch=} ;;
        *.o) output=$each ;;
    esac
done
[ -z "$output" ] || printf '__CLANG_OFFLOAD_BUNDLE__ %s' "$target" > "$output"
"""


def compiler() -> str | None:
    """Return the machine's C compiler, with which the tests make libraries; None where there is none."""
    return shutil.which("cc") or shutil.which("gcc")


@functools.cache
def shared_library(soname: str) -> bytes:
    """Return a shared library with a SONAME, compiled once."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "library.so"
        command = [f"{compiler()}", "-shared", "-fPIC", "-x", "c", "-", f"-Wl,-soname,{soname}", "-o", str(output)]
        subprocess.run(command, input=b"int here(void) { return 42; }\n", check=True)
        return output.read_bytes()


@dataclass(kw_only=True)
class RocmSet:
    """A set in form ``device``: core, libraries, devel and a device package for each target."""

    version: str = "7.10.0"
    build: str = "one"
    targets: tuple[str, ...] = ("gfx942", "gfx1201")
    links: dict[str, str] = field(default_factory=dict)
    devel_files: dict[str, bytes] = field(default_factory=dict)
    suffix: str = ".tar"

    @property
    def set_id(self) -> str:
        """The id of this build."""
        return hashlib.sha256(self.build.encode()).hexdigest()

    @property
    def description(self) -> SdkDescription:
        """What ``rocm`` says of the set."""
        return SdkDescription(
            version=self.version,
            form="device",
            targets={Platform.LINUX: tuple(GfxTarget(target) for target in self.targets)},
            families={},
            packages={
                key: (DescribedPackage(distribution=f"rocm-sdk-{key}", module=f"_rocm_sdk_{key}"),)
                for key in ("core", "libraries", "devel")
            },
            libraries={
                "amdhip64": _library("core", "lib/libamdhip64.so*"),
                "amd_smi": _library("core", "lib/libamd_smi.so*", optional=True),
                "rocblas": _library("libraries", "lib/librocblas.so*"),
                "rccl": _library("libraries", "lib/librccl.so*", optional=True),
                "hipblas": DescribedLibrary(package="libraries", patterns={Platform.WINDOWS: "bin/*hipblas.dll"}),
            },
        )

    def write(self, folder: Path) -> Path:
        """Write all wheels and the source distribution into a folder."""
        build_meta(self.description, folder)
        self.core(folder)
        self.libraries(folder)
        self.devel(folder)
        for target in self.targets:
            self.device(folder, target)
        return folder

    def core(self, folder: Path) -> Path:
        """Write the core package."""
        scripts = {"hipcc": {"file": "bin/hipcc", "expand": True}, "rocminfo": {"file": "bin/rocminfo", "expand": False}}
        inside = {
            "bin/hipcc": HIPCC.encode(),
            "bin/rocminfo": b'#!/bin/sh\necho "rocminfo at $0"\n',
            "lib/libamdhip64.so.7": shared_library("libamdhip64.so.7"),
            "share/therock/dist_info.json": json.dumps({"dist_amdgpu_targets": ";".join(self.targets)}).encode(),
        }
        more = {"rocm_sdk_core/scripts.json": json.dumps(scripts).encode()}
        return self._wheel(folder, "core", inside, more, scripts=tuple(scripts))

    def libraries(self, folder: Path) -> Path:
        """Write the libraries package."""
        names = ("librocblas.so.4", "librccl.so.1")
        return self._wheel(folder, "libraries", {f"lib/{name}": shared_library(name) for name in names}, {})

    def device(self, folder: Path, target: str) -> Path:
        """Write a device package; that of the first target has a library besides its kernels."""
        files = {f"lib/rocblas/library/kernels_{target}.kpack": f"kernels {self.build} {target}".encode()}
        if target == self.targets[0]:
            files[f"lib/{OF_DEVICE}.1"] = shared_library(f"{OF_DEVICE}.1")
        listed = {"schema": 1, "set_id": self.set_id, "version": self.version, "target": target, "files": sorted(files)}
        everything = {f"_rocm_sdk_libraries/{path}": data for path, data in files.items()}
        everything[f"_rocm_sdk_libraries/.devel_links/{target}.json"] = json.dumps(listed).encode()
        return self._write(folder, f"rocm_sdk_device_{target}", everything, requires=("rocm-sdk-libraries",))

    def devel(self, folder: Path) -> Path:
        """Write the package of development files."""
        data = self.archive()
        stated = {
            "schema": 1,
            "set_id": self.set_id,
            "version": self.version,
            "archive": f"_devel{self.suffix}",
            "sha256": hashlib.sha256(data).hexdigest(),
            "entries": 0,
            "bytes": len(data),
        }
        more = {f"rocm_sdk_devel/_devel{self.suffix}": data, "rocm_sdk_devel/devel.json": json.dumps(stated).encode()}
        files = {**payload_files("devel"), **more}
        return self._write(folder, "rocm_sdk_devel", files, requires=("rocm-sdk-core", "rocm-sdk-libraries"))

    def archive(self) -> bytes:
        """Return the archive of development files."""
        major, minor = self.version.split(".")[:2]
        files = {
            "include/hip/hip_runtime.h": b"#pragma once\n",
            "include/hip/hip_version.h": f"#define HIP_VERSION_MAJOR {major}\n#define HIP_VERSION_MINOR {minor}\n".encode(),
            "lib/cmake/hip/hip-config.cmake": b"# hip\n",
            "lib/llvm/bin/clang-22": b'#!/bin/sh\necho "clang $0"\n',
            "lib/static.a": f"static {self.build}".encode(),
            **self.devel_files,
        }
        links = {
            "bin/hipcc": "../../_rocm_sdk_core/bin/hipcc",
            "bin/rocminfo": "../../_rocm_sdk_core/bin/rocminfo",
            "bin/amdclang": "../lib/llvm/bin/clang-22",
            "lib/libamdhip64.so": "libamdhip64.so.7",
            "lib/libamdhip64.so.7": "../../_rocm_sdk_core/lib/libamdhip64.so.7",
            "lib/librocblas.so": "librocblas.so.4",
            "lib/librocblas.so.4": "../../_rocm_sdk_libraries/lib/librocblas.so.4",
            "lib/librccl.so": "librccl.so.1",
            "lib/librccl.so.1": "../../_rocm_sdk_libraries/lib/librccl.so.1",
            f"lib/{OF_DEVICE}": f"{OF_DEVICE}.1.7",
            f"lib/{OF_DEVICE}.1.7": f"{OF_DEVICE}.1",
            "lib/libgone.so": "libgone.so.1",
            "lib64": "lib",
            "llvm": "lib/llvm",
            **self.links,
        }
        whole = io.BytesIO()
        with tarfile.open(fileobj=whole, mode="w:xz" if self.suffix.endswith(".xz") else "w") as archive:
            for path, target in links.items():
                entry = tarfile.TarInfo(f"_rocm_sdk_devel/{path}")
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                archive.addfile(entry)
            for path, data in files.items():
                entry = tarfile.TarInfo(f"_rocm_sdk_devel/{path}")
                entry.size, entry.mode = len(data), 0o755 if "/bin/" in path else 0o644
                archive.addfile(entry, io.BytesIO(data))
        return whole.getvalue()

    def _wheel(
        self, folder: Path, key: str, inside: Mapping[str, bytes], more: Mapping[str, bytes], *, scripts: tuple[str, ...] = ()
    ) -> Path:
        name = f"rocm_sdk_{key}"
        stated = {"schema": 1, "set_id": self.set_id, "version": self.version, "distribution": name.replace("_", "-")}
        if key == "core":
            stated["rocm"] = hashlib.sha256(description_bytes(self.description)).hexdigest()
        files = {
            **payload_files("core" if key == "core" else "libraries"),
            **{f"_{name}/{path}": data for path, data in inside.items()},
            f"_{name}/_set.json": json.dumps(stated).encode(),
            **more,
        }
        if scripts:
            files[f"{name}-{self.version}.dist-info/entry_points.txt"] = entry_points("core", scripts)
        return self._write(folder, name, files, requires=() if key == "core" else ("rocm-sdk-core",))

    def _write(self, folder: Path, name: str, files: Mapping[str, bytes], *, requires: tuple[str, ...]) -> Path:
        lines = [
            "Metadata-Version: 2.2",
            f"Name: {name.replace('_', '-')}",
            f"Version: {self.version}",
            *(f"Requires-Dist: {required}=={self.version}" for required in requires),
        ]

        def programs(entry: zipfile.ZipInfo) -> None:
            if "/bin/" in entry.filename:
                entry.external_attr = 0o100755 << 16

        maker = WheelMaker(
            name=name,
            version=self.version,
            files=dict(files),
            metadata="\n".join([*lines, ""]),
            edit_entry=programs,
            compress=False,
        )
        return maker.write(folder)


def _library(package: str, pattern: str, *, optional: bool = False) -> DescribedLibrary:
    return DescribedLibrary(package=package, patterns={Platform.LINUX: pattern}, optional=optional)


def description_bytes(value: SdkDescription) -> bytes:
    """Return a description as it lies in ``rocm``."""
    return to_json(value)
