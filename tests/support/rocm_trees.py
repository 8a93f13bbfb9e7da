"""Artifact trees as ROCm's build leaves them, generated: every library of the table, up to 20 GPU targets, thousands of files.

Each artifact is a folder ``<name>_<component>_<target>`` with ``artifact_manifest.txt``, whose lines name the folders that its files
lie below. In the form ``device`` the host's files are in generic artifacts and each target's device code in artifacts of its own; in
the form ``family`` the math libraries are built for each GPU family, device code inside.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import zstandard

from build_tools.config.rocm_packages import package_table
from build_tools.types import Platform
from tests.support.elf_templates import library_bytes, program_bytes
from tests.support.sample_sdk import SDK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["FAMILIES", "HOMES", "TARGETS", "Tree", "archive_artifact", "archive_tree", "make_tree", "write_artifact"]

TARGETS: Final = (
    *("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1030"),
    *("gfx1031", "gfx1032", "gfx1034", "gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx1201"),
)
FAMILIES: Final = {"gfx94X-dcgpu": ("gfx942",), "gfx120X-all": ("gfx1200", "gfx1201")}
VERSION: Final = "7.13.0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Home:
    """Where a library of the table comes from: the artifact, the folder it is staged in, its major version, what it needs."""

    artifact: str
    base: str
    major: int | None = 1
    needs: tuple[str, ...] = ()


HOMES: Final[Mapping[str, Home]] = {
    "amdhip64": Home(artifact="core-hip", base="core/clr/stage", major=7, needs=("hsa-runtime64", "amd_comgr")),
    "hiprtc": Home(artifact="core-hip", base="core/clr/stage", major=7, needs=("amd_comgr",)),
    "hiprtc-builtins": Home(artifact="core-hip", base="core/clr/stage", major=7),
    "hsa-runtime64": Home(artifact="core-runtime", base="core/ROCR-Runtime/stage"),
    "roctx64": Home(artifact="rocprofiler-sdk", base="profiler/roctracer/stage", major=4),
    "rocprofiler-sdk-roctx": Home(artifact="rocprofiler-sdk", base="profiler/rocprofiler-sdk/stage"),
    "roctracer64": Home(artifact="rocprofiler-sdk", base="profiler/roctracer/stage", major=4, needs=("hsa-runtime64", "roctx64")),
    "rocm_sysdeps_liblzma": Home(artifact="sysdeps", base="third-party/sysdeps/linux/liblzma/build/stage", major=5),
    "rocm_sysdeps_sqlite3": Home(artifact="sysdeps", base="third-party/sysdeps/linux/sqlite3/build/stage", major=None),
    "rocm-openblas": Home(artifact="host-blas", base="third-party/host-blas/stage", major=0),
    "amd_comgr": Home(artifact="amd-llvm", base="compiler/amd-comgr/stage", major=3, needs=("LLVM",)),
    "amd_comgr_loader": Home(artifact="amd-llvm", base="compiler/amd-comgr-stub/stage", major=3),
    "amd_smi": Home(artifact="core-amdsmi", base="core/amdsmi/stage", major=26),
    "rocm_smi64": Home(artifact="base", base="base/rocm_smi_lib/stage", major=1),
    "rocprofiler-sdk": Home(artifact="rocprofiler-sdk", base="profiler/rocprofiler-sdk/stage", needs=("hsa-runtime64",)),
    "hipfile": Home(artifact="hipfile", base="io-libs/hipFile/stage", major=0, needs=("amdhip64",)),
    "OpenCL": Home(artifact="core-ocl", base="core/ocl-icd/stage"),
    "hipblas": Home(artifact="blas", base="math-libs/BLAS/hipBLAS/stage", major=3, needs=("rocblas", "rocsolver", "amdhip64")),
    "hipblaslt": Home(artifact="blas", base="math-libs/BLAS/hipBLASLt/stage", needs=("amdhip64", "roctx64")),
    "hipfft": Home(artifact="fft", base="math-libs/hipFFT/stage", major=0, needs=("rocfft", "amdhip64")),
    "hiprand": Home(artifact="rand", base="math-libs/hipRAND/stage", needs=("rocrand", "amdhip64")),
    "hipsparse": Home(artifact="blas", base="math-libs/BLAS/hipSPARSE/stage", major=4, needs=("rocsparse", "amdhip64")),
    "hipsparselt": Home(artifact="blas", base="math-libs/BLAS/hipSPARSELt/stage", major=0, needs=("hipsparse", "amdhip64")),
    "hipsolver": Home(artifact="blas", base="math-libs/BLAS/hipSOLVER/stage", needs=("rocsolver", "rocblas", "amdhip64")),
    "rocblas": Home(artifact="blas", base="math-libs/BLAS/rocBLAS/stage", major=5, needs=("hipblaslt", "amdhip64", "rocm_sysdeps_liblzma")),
    "rocfft": Home(artifact="fft", base="math-libs/rocFFT/stage", major=0, needs=("amdhip64", "rocm_sysdeps_sqlite3")),
    "rocsolver": Home(artifact="blas", base="math-libs/BLAS/rocSOLVER/stage", major=0, needs=("rocblas", "amdhip64", "rocm-openblas")),
    "rocsparse": Home(artifact="blas", base="math-libs/BLAS/rocSPARSE/stage", needs=("amdhip64",)),
    "rccl": Home(artifact="rccl", base="comm-libs/rccl/stage", needs=("amdhip64",)),
    "miopen": Home(artifact="miopen", base="ml-libs/MIOpen/stage", needs=("rocblas", "hipblaslt", "amdhip64")),
    "hipdnn": Home(artifact="hipdnn", base="ml-libs/hipDNN/stage", major=0),
}  # fmt: skip
"""By the table's short names. A major version of None is a library that is not versioned."""

_OTHERS: Final[Mapping[str, tuple[str, Home]]] = {
    "LLVM": ("lib/llvm/lib", Home(artifact="amd-llvm", base="compiler/amd-llvm/stage", major=22)),
    "rocrand": ("lib", Home(artifact="rand", base="math-libs/rocRAND/stage", needs=("amdhip64",))),
}
"""Libraries that others need and that are not in the table, with the folder they lie in."""

_PROGRAMS: Final = (
    ("core-hip_run", "core/clr/stage", "bin/hipconfig.bin", ()),
    ("core-runtime_run", "core/ROCR-Runtime/stage", "bin/rocminfo", ("hsa-runtime64",)),
    ("amd-llvm_run", "compiler/amd-llvm/stage", "lib/llvm/bin/clang-22", ("LLVM",)),
    ("amd-llvm_run", "compiler/amd-llvm/stage", "lib/llvm/bin/offload-arch", ()),
    ("amd-llvm_run", "compiler/amd-llvm/stage", "lib/llvm/bin/lld", ()),
    ("blas_test", "math-libs/BLAS/rocBLAS/stage", "bin/rocblas-test", ("rocblas",)),
    ("rocprofiler-systems_run", "profiler/rocprofiler-systems/stage", "bin/rocprof-sys-run", ("amdhip64",)),
)
_LINKS: Final = (
    *(
        ("amd-llvm_run", "compiler/amd-llvm/stage", f"lib/llvm/bin/{name}", "clang-22")
        for name in ("amdclang", "clang", "clang++")
    ),
    ("amd-llvm_run", "compiler/amd-llvm/stage", "lib/llvm/bin/amdclang++", "clang++"),
    ("amd-llvm_run", "compiler/amd-llvm/stage", "lib/llvm/bin/amdlld", "lld"),
    *(
        ("amd-llvm_run", "compiler/amd-llvm/stage", f"bin/{name}", f"../lib/llvm/bin/{name}")
        for name in ("amdclang", "amdclang++")
    ),
    ("core-hip_run", "core/clr/stage", "bin/hipconfig", "hipconfig.bin"),
    ("amd-llvm_lib", "compiler/amd-llvm/stage", "amdgcn", "lib/llvm/amdgcn"),
    ("amd-llvm_run", "compiler/amd-llvm/stage", "llvm", "lib/llvm"),
    ("core-hip_lib", "core/clr/stage", "lib/libgone.so", "libgone.so.9"),
)
"""A link to a program through another link, to a program of another folder, to folders, and one that leads nowhere."""

_DEVICE: Final = {
    "blas": ("math-libs/BLAS/rocBLAS/stage", "lib/rocblas/library/TensileLibrary_{kind}_{target}.dat"),
    "fft": ("math-libs/rocFFT/stage", "lib/rocfft/kernels_{kind}_{target}.db"),
    "miopen": ("ml-libs/MIOpen/stage", "share/miopen/db/{target}_{kind}.kdb"),
    "rand": ("math-libs/rocRAND/stage", "lib/rocrand/{target}_{kind}.co"),
}
"""Of the artifacts with device code: the folder that it is staged in, and what its files are called."""

_EXECUTABLE: Final = 0o755
_WINDOWS_LIBRARIES: Final = {
    "amdhip64": "amdhip64_7",
    "hiprtc": "hiprtc0713",
    "hiprtc-builtins": "hiprtc-builtins0713",
    "amd_comgr": "amd_comgr0713",
}


@dataclass(kw_only=True)
class Tree:
    """An artifact tree: what it was made for, and the files that were written, artifact by artifact."""

    folder: Path
    form: Literal["device", "family"]
    platform: Platform
    targets: tuple[str, ...]
    families: Mapping[str, tuple[str, ...]]
    version: str
    bases: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def add(self, artifact: str, base: str, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file of an artifact, given without its target when that is generic."""
        place = self._place(artifact, base, path)
        place.write_bytes(data)
        place.chmod(mode)

    def link(self, artifact: str, base: str, path: str, target: str) -> None:
        """Make a link in an artifact."""
        self._place(artifact, base, path).symlink_to(target)

    def finish(self) -> None:
        """Write the manifests."""
        for name, bases in self.bases.items():
            (self.folder / name / "artifact_manifest.txt").write_text("".join(f"{base}\n" for base in bases))

    def _place(self, artifact: str, base: str, path: str) -> Path:
        name = artifact if artifact.count("_") > 1 else f"{artifact}_generic"
        bases = self.bases.setdefault(name, [])
        if base not in bases:
            bases.append(base)
        place = self.folder / name / base / path
        place.parent.mkdir(parents=True, exist_ok=True)
        self.count += 1
        return place


def make_tree(
    folder: Path,
    *,
    form: Literal["device", "family"] = "device",
    platform: Platform = Platform.LINUX,
    targets: Sequence[str] = TARGETS,
    families: Mapping[str, Sequence[str]] | None = None,
    version: str = VERSION,
    kernels: int = 20,
    headers: int = 40,
    leave_out: Sequence[str] = (),
) -> Tree:
    """Write an artifact tree into ``folder`` and return what is in it; the same arguments give the same bytes.

    Parameters
    ----------
    form
        Whether device code is in artifacts of its own, or in those of GPU families.
    platform
        Whose layout: Linux has real libraries, Windows bytes that begin as its libraries do.
    targets
        The GPU targets that have device code; in the form ``family`` those of ``families`` count.
    families
        The GPU families; two when not given.
    version
        ROCm's.
    kernels, headers
        How many files each target's device code has in each artifact, and how many headers each library; the tree has about
        ``4 * len(targets) * kernels + 30 * headers + 200`` files.
    leave_out
        Short names of libraries that are not there.
    """
    groups = {name: tuple(members) for name, members in (FAMILIES if families is None else families).items()}
    if form == "family":
        targets = tuple(dict.fromkeys(target for members in groups.values() for target in members))
    tree = Tree(folder=folder, form=form, platform=platform, targets=tuple(targets), families=groups, version=version)
    _add_base(tree)
    for name, (place, home) in _libraries().items():
        if name not in leave_out:
            for artifact in _artifacts(tree, home.artifact):
                _add_library(tree, name, place, artifact, home)
                _add_development(tree, name, artifact, home, headers)
    _add_programs(tree)
    _add_hip(tree)
    for artifact in _DEVICE:
        _add_device_code(tree, artifact, kernels)
    tree.finish()
    return tree


def _libraries() -> dict[str, tuple[str, Home]]:
    """Return all libraries with the folder each lies in."""
    found = {}
    for library in package_table().library:
        found[library.name] = (str(Path(library.linux or "lib/x").parent), HOMES[library.name])
    return found | dict(_OTHERS)


def _artifacts(tree: Tree, name: str) -> list[str]:
    """Return the names of the artifacts that have a library, their component left open: a math library is there for each family."""
    is_math = name in package_table().runtime("libraries").artifacts
    return (
        [f"{name}_{{}}_{family}" for family in tree.families] if tree.form == "family" and is_math else [f"{name}_{{}}_generic"]
    )


def _file_name(name: str) -> str:
    """Return a library's name with ``lib`` before it, as files have it."""
    table = {library.name: library for library in package_table().library}
    pattern = table[name].linux if name in table else None
    return Path(pattern).name.removesuffix("*").removesuffix(".so") if pattern else f"lib{name}"


def _soname(name: str) -> str:
    home = _OTHERS[name][1] if name in _OTHERS else HOMES[name]
    return f"{_file_name(name)}.so" if home.major is None else f"{_file_name(name)}.so.{home.major}"


def _add_base(tree: Tree) -> None:
    place = "base_lib", "base/aux-overlay/stage"
    manifest = {"the_rock_commit": "0" * 40, "flags": {"KPACK_SPLIT_ARTIFACTS": tree.form == "device"}}
    tree.add(*place, "share/therock/therock_manifest.json", json.dumps(manifest).encode())
    info = {"dist_amdgpu_targets": ";".join(tree.targets)}
    tree.add(*place, "share/therock/dist_info.json", json.dumps(info).encode())
    tree.add(*place, ".info/version", f"{tree.version}\n".encode())


def _add_library(tree: Tree, name: str, place: str, artifact: str, home: Home) -> None:
    where = artifact.format("lib"), home.base
    if tree.platform is Platform.WINDOWS:
        known = {library.name: library for library in package_table().library}
        if name in known and known[name].windows is None:
            return
        stem = _WINDOWS_LIBRARIES.get(name, _file_name(name).removeprefix("lib"))
        tree.add(*where, f"bin/{stem}.dll", b"MZ" + name.encode().ljust(1022, b"\0"))
        tree.add(artifact.format("dev"), home.base, f"lib/{stem}.lib", b"!<arch>\n" + name.encode())
        return
    needed = [_soname(other) for other in home.needs]
    # The libraries of two families differ: each has its own device code.
    data = library_bytes(f"{name} of {artifact.rpartition('_')[2]}", soname=_soname(name), needed=needed)
    if home.major is None:
        tree.add(*where, f"{place}/{_soname(name)}", data)
        return
    # HIP's libraries have ROCm's own version.
    whole = f"{_file_name(name)}.so.{tree.version}" if home.artifact == "core-hip" else f"{_soname(name)}.{tree.version}"
    tree.add(*where, f"{place}/{whole}", data, mode=_EXECUTABLE)
    tree.link(*where, f"{place}/{_soname(name)}", whole)
    tree.link(*where, f"{place}/{_file_name(name)}.so", _soname(name))


def _add_development(tree: Tree, name: str, artifact: str, home: Home, headers: int) -> None:
    where = artifact.format("dev"), home.base
    for number in range(headers):
        text = f"#pragma once\n// {name}, part {number}\n#define {name.upper().replace('-', '_')}_{number} {number}\n"
        tree.add(*where, f"include/{name}/detail/part{number}.h" if number else f"include/{name}/{name}.h", text.encode())
    library = f"${{ROCM_TREE_PREFIX}}/lib/{_file_name(name)}.so"
    lines = (
        'get_filename_component(ROCM_TREE_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)',
        f"add_library(roc::{name} SHARED IMPORTED)",
        f'set_target_properties(roc::{name} PROPERTIES IMPORTED_LOCATION "{library}")',
        f'target_include_directories(roc::{name} INTERFACE "${{ROCM_TREE_PREFIX}}/include")',
    )
    tree.add(*where, f"lib/cmake/{name}/{name}-config.cmake", "".join(f"{line}\n" for line in lines).encode())


def _add_programs(tree: Tree) -> None:
    windows = tree.platform is Platform.WINDOWS
    for artifact, base, path, needs in _PROGRAMS:
        if tree.form == "family" and artifact.startswith("blas"):
            artifact = f"{artifact}_{next(iter(tree.families))}"  # noqa: PLW2901 - the tests are of the first
        data = b"MZ" + path.encode() if windows else program_bytes(Path(path).name, needed=[_soname(name) for name in needs])
        tree.add(artifact, base, f"{path.removesuffix('.bin')}.exe" if windows else path, data, mode=_EXECUTABLE)
    for artifact, base, path, target in () if windows else _LINKS:
        tree.link(artifact, base, path, target)
    bitcode = "lib/llvm/amdgcn/bitcode"
    for name in ("ocml", "ockl", "opencl", "oclc_abi_version_600"):
        tree.add("amd-llvm_lib", "compiler/amd-llvm/stage", f"{bitcode}/{name}.bc", b"BC\xc0\xde" + name.encode())
    script = b"#!/usr/bin/env python3\nprint('a profiler')\n"
    tree.add("rocprofiler-compute_run", "profiler/rocprofiler-compute/stage", "libexec/rocprof-compute", script, mode=_EXECUTABLE)
    tree.add("rocwmma_dev", "math-libs/rocWMMA/stage", "include/rocwmma/rocwmma.hpp", b"#pragma once\n", mode=0o600)
    tree.add("amd-llvm_doc", "compiler/amd-llvm/stage", "share/doc/llvm/README", b"not for packages\n")


def _add_hip(tree: Tree) -> None:
    """Add the sample's compiler driver, headers and CMake package, of this tree's version; they compile for the host."""
    major, minor, patch = tree.version.split(".")[:3]
    texts = {"7.10.0": tree.version, "MAJOR 7": f"MAJOR {major}", "MINOR 10": f"MINOR {minor}", "PATCH 0": f"PATCH {patch}"}
    for artifact in ("core-hip_run", "core-hip_dev"):
        base = SDK / "artifacts" / f"{artifact}_generic" / "core/clr/stage"
        for path in sorted(file for file in base.rglob("*") if file.is_file() and file.suffix != ".pyc"):
            text = path.read_text(encoding="utf-8")
            for old, new in texts.items():
                text = text.replace(old, new)
            tree.add(
                artifact, "core/clr/stage", path.relative_to(base).as_posix(), text.encode(), mode=path.stat().st_mode & 0o777
            )


def _add_device_code(tree: Tree, artifact: str, kernels: int) -> None:
    base, name = _DEVICE[artifact]
    if tree.platform is Platform.WINDOWS:
        name = name.replace("lib/", "bin/", 1)
    owners = {target: [target] for target in tree.targets}
    if tree.form == "family":
        owners = {target: [family for family, members in tree.families.items() if target in members] for target in tree.targets}
    for target, groups in owners.items():
        for group in groups:
            where = f"{artifact}_lib_{group}", base
            chance = random.Random(f"{artifact} {target}")  # noqa: S311 - bytes that only have to differ
            for number in range(kernels):
                tree.add(*where, name.format(kind=f"Type{number}", target=target), chance.randbytes(200 + 37 * number))
            if tree.form == "device":
                tree.add(*where, f".kpack/{artifact}_lib_{target}.kpack", b"KPAK" + chance.randbytes(4096))
            if artifact == "fft" and tree.platform is Platform.LINUX:
                library = f"librocfft-kernels-{target}.so"
                data = library_bytes(library, soname=library, needed=[_soname("amdhip64")])
                tree.add(*where, f"lib/{library}", data, mode=_EXECUTABLE)


def write_artifact(folder: Path, name: str, files: Mapping[str, bytes | str], *, base: str = "some/stage") -> Path:
    """Write one artifact with these files below one base folder, and return its folder; a text ``->target`` is a link."""
    artifact = folder / name
    for path, data in files.items():
        place = artifact / base / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            place.symlink_to(data.removeprefix("->"))
        else:
            place.write_bytes(data)
    artifact.mkdir(parents=True, exist_ok=True)
    (artifact / "artifact_manifest.txt").write_text(f"{base}\n")
    return artifact


def archive_artifact(artifact: Path, target: Path, *, kind: Literal["zst", "xz"] = "zst", side_file: bool = True) -> Path:
    """Pack an artifact's folder as a run has it, manifest first, its ``.sha256sum`` beside it; return the archive."""
    target.mkdir(parents=True, exist_ok=True)
    archive = target / f"{artifact.name}.tar.{kind}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz" if kind == "xz" else "w") as tar:
        names = sorted(
            path.relative_to(artifact).as_posix() for path in artifact.rglob("*") if path.is_symlink() or path.is_file()
        )
        names.remove("artifact_manifest.txt")
        for name in ("artifact_manifest.txt", *names):
            tar.add(artifact / name, name, recursive=False)
    data = packed.getvalue()
    archive.write_bytes(data if kind == "xz" else zstandard.ZstdCompressor(level=1).compress(data))
    if side_file:
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        archive.with_name(f"{archive.name}.sha256sum").write_text(f"{digest}  {archive.name}\n")
    return archive


def archive_tree(folder: Path, target: Path, *, kind: Literal["zst", "xz"] = "zst") -> list[Path]:
    """Pack all artifacts of a tree; return the archives."""
    return [archive_artifact(artifact, target, kind=kind) for artifact in sorted(folder.iterdir()) if artifact.is_dir()]
