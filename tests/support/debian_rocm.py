"""Debian's ROCm packages, unpacked, as the artifacts that AMD's build would have made of them: one flat tree, told apart by component."""

from __future__ import annotations

import fnmatch
import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TARGETS", "VERSION", "make_artifacts"]

VERSION: Final = "5.2.3"
TARGETS: Final = ("gfx900", "gfx906", "gfx90a", "gfx1030")
"""Targets that this compiler and its device libraries know."""

_PROGRAMS: Final = frozenset({"clang", "clang++", "clang-15", "clang-cpp", "clang-offload-bundler", "ld.lld", "lld"})
"""Programs of the compiler that are taken; its packages have many tools beside them."""

_LIB: Final = "usr/lib/x86_64-linux-gnu"

_KERNEL: Final = "kernel void twice(global float *x) { unsigned i = __builtin_amdgcn_workitem_id_x(); x[i] *= 2.0f; }\n"
_HOST: Final = "int hiprand_version(void) { return 1; }\n"

# What goes where: artifact, pattern below the unpacked packages, folder in the ROCm tree. The first that matches counts.
_TABLE: Final = (
    ("amd-llvm_run_generic", "usr/lib/llvm-15/bin/*", "lib/llvm/bin"),
    ("amd-llvm_lib_generic", "usr/lib/llvm-15/lib/clang/15.0.6/include/*", "lib/llvm/lib/clang/15.0.6/include"),
    (
        "amd-llvm_lib_generic",
        "usr/lib/llvm-15/lib/clang/15.0.6/lib/linux/*builtins-x86_64*",
        "lib/llvm/lib/clang/15.0.6/lib/linux",
    ),
    ("amd-llvm_lib_generic", f"{_LIB}/libLLVM-15.so*", "lib/llvm/lib"),
    ("amd-llvm_lib_generic", f"{_LIB}/libclang-cpp.so*", "lib/llvm/lib"),
    ("amd-llvm_lib_generic", f"{_LIB}/amdgcn/bitcode/*", "amdgcn/bitcode"),
    ("amd-llvm_lib_generic", f"{_LIB}/libamd_comgr.so*", "lib"),
    ("amd-llvm_dev_generic", f"{_LIB}/cmake/amd_comgr/*", "lib/cmake/amd_comgr"),
    ("amd-llvm_dev_generic", "usr/include/amd_comgr*", "include"),
    ("core-hip_run_generic", "usr/bin/hip*", "bin"),
    ("core-hip_run_generic", "usr/bin/roc-obj*", "bin"),
    ("core-hip_run_generic", "usr/share/perl5/*", "bin"),
    ("core-hip_lib_generic", f"{_LIB}/libamdhip64.so*", "lib"),
    ("core-hip_lib_generic", f"{_LIB}/libhiprtc-builtins.so*", "lib"),
    ("core-hip_dev_generic", "usr/include/hip/*", "include/hip"),
    ("core-hip_dev_generic", f"{_LIB}/cmake/hip*", "lib/cmake"),
    ("core-runtime_run_generic", "usr/bin/rocm*", "bin"),
    ("core-runtime_lib_generic", f"{_LIB}/libhs*.so*", "lib"),
    ("core-runtime_dev_generic", "usr/include/hsa*", "include"),
    ("core-runtime_dev_generic", f"{_LIB}/cmake/hsa-runtime64/*", "lib/cmake/hsa-runtime64"),
)


def make_artifacts(unpacked: Path, target: Path) -> Path:
    """Lay the packages' files out as artifacts below ``target`` and return it; links stay links."""
    for path in sorted(unpacked.rglob("*")):
        name = path.relative_to(unpacked).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        row = next((row for row in _TABLE if fnmatch.fnmatchcase(name, row[1])), None)
        if row is None or (row[2] == "lib/llvm/bin" and path.name not in _PROGRAMS):
            continue
        artifact, pattern, folder = row
        prefix = pattern[: pattern.rindex("/", 0, pattern.index("*")) + 1]
        place = _base(target, artifact) / folder / name.removeprefix(prefix)
        place.parent.mkdir(parents=True, exist_ok=True)
        link = _link_in_tree(path, unpacked) if path.is_symlink() else place.name
        if link != place.name:
            place.symlink_to(link)
        else:
            shutil.copy2(path, place)
    # Its hipcc looks for a compiler of this name, and for the folder llvm at the root.
    (_base(target, "amd-llvm_run_generic") / "lib/llvm/bin/clang++-15").symlink_to("clang-15")
    (_base(target, "amd-llvm_run_generic") / "llvm").symlink_to("lib/llvm")
    _make_library(target)
    about = _base(target, "base_lib_generic") / "share" / "therock"
    about.mkdir(parents=True)
    (about / "therock_manifest.json").write_text(json.dumps({"flags": {"KPACK_SPLIT_ARTIFACTS": True}}))
    (about / "dist_info.json").write_text(json.dumps({"dist_amdgpu_targets": ";".join(TARGETS)}))
    return target


def _make_library(target: Path) -> None:
    """Compile a library of the random-number artifact: its host part with the machine's compiler, its device parts with Debian's clang."""
    host = _base(target, "rand_lib_generic") / "lib"
    host.mkdir(parents=True)
    (target / "host.c").write_text(_HOST)
    (target / "kernel.cl").write_text(_KERNEL)
    build = [
        "cc",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libhiprand.so.1",
        str(target / "host.c"),
        "-o",
        str(host / "libhiprand.so.1.1"),
    ]
    subprocess.run(build, check=True)
    (host / "libhiprand.so.1").symlink_to("libhiprand.so.1.1")
    (host / "libhiprand.so").symlink_to("libhiprand.so.1")
    llvm = target / "amd-llvm_run_generic" / "amd-llvm" / "stage" / "lib" / "llvm"
    libraries = target / "amd-llvm_lib_generic" / "amd-llvm" / "stage" / "lib" / "llvm" / "lib"
    for gfx in TARGETS:
        device = _base(target, f"rand_lib_{gfx}") / "lib" / "rocrand"
        device.mkdir(parents=True)
        compile_ = [str(llvm / "bin" / "clang"), "-x", "cl", "-target", "amdgcn-amd-amdhsa", f"-mcpu={gfx}", "-nogpulib"]
        compile_ += ["-cl-no-stdinc", "-O2", str(target / "kernel.cl")]
        environment = {"LD_LIBRARY_PATH": str(libraries), "PATH": f"{llvm / 'bin'}:/usr/bin:/bin"}
        subprocess.run([*compile_, "-o", str(device / f"kernels_{gfx}.co")], check=True, env=environment)
    for name in ("host.c", "kernel.cl"):
        (target / name).unlink()


def _base(target: Path, artifact: str) -> Path:
    base = "base/aux-overlay/stage" if artifact.startswith("base_") else f"{artifact.partition('_')[0]}/stage"
    folder = target / artifact
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "artifact_manifest.txt").write_text(f"{base}\n")
    return folder / base


def _link_in_tree(link: Path, unpacked: Path) -> str:
    """Return where a link of the packages leads in the tree: to a file beside it, by its last name."""
    target = link.readlink()
    if len(target.parts) == 1:
        return str(target)
    resolved = (link.parent / target).resolve()
    assert unpacked in resolved.parents, f"{link} leads to {target}"
    return resolved.name
