"""Debian's clang, unpacked: HIP objects, code objects and libraries of Windows, made for real."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Clang"]

_KERNEL: Final = """\
struct dim3 {{ unsigned x, y, z; }};
typedef struct ihipStream_t* hipStream_t;
typedef int hipError_t;
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, hipStream_t);
__attribute__((global)) void {name}(float* values, float more) {{ values[__builtin_amdgcn_workitem_id_x()] += more; }}
"""
_HIP: Final = ("-x", "hip", "-nogpuinc", "-nogpulib", "-nostdinc", "-fPIC", "-c")


@dataclass(frozen=True)
class Clang:
    """The compiler below the unpacked packages, which writes into a folder."""

    unpacked: Path
    folder: Path

    def hip_library(self, *parts: Sequence[str]) -> bytes:
        """Return a library of Linux whose parts, one for each file that is compiled, have kernels for these targets."""
        objects = []
        for number, targets in enumerate(parts):
            (self.folder / f"part{number}.hip").write_text(_KERNEL.format(name=f"kernel{number}"))
            objects.append(f"part{number}.o")
            self._run("clang", *_HIP, *(f"--offload-arch={each}" for each in targets), f"part{number}.hip", "-o", objects[-1])
        subprocess.run(["cc", "-shared", "-o", "library.so", *objects], cwd=self.folder, check=True)
        return (self.folder / "library.so").read_bytes()

    def code_object(self, target: str) -> bytes:
        """Return a code object of a target."""
        (self.folder / "alone.hip").write_text(_KERNEL.format(name="alone"))
        words = ("--cuda-device-only", "--no-gpu-bundle-output", f"--offload-arch={target}")
        self._run("clang", *_HIP, *words, "alone.hip", "-o", "alone.co")
        return (self.folder / "alone.co").read_bytes()

    def windows_library(self, imported: str, delayed: str) -> bytes:
        """Return a library of Windows that imports a function of one library, and late one of another."""
        for name, library in (("first", imported), ("second", delayed)):
            (self.folder / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
            self._windows(name, f"/export:{name}", f"/out:{library}", f"/implib:{name}.lib")
        (self.folder / "it.c").write_text(
            "__declspec(dllimport) int first(void); __declspec(dllimport) int second(void);\n"
            "void *__delayLoadHelper2(void *one, void *other) { return 0; }\n"
            "__declspec(dllexport) int answer(void) { return first() + second(); }\n"
        )
        self._windows("it", "first.lib", "second.lib", f"/delayload:{delayed}", "/out:it.dll")
        return (self.folder / "it.dll").read_bytes()

    def _windows(self, name: str, *words: str) -> None:
        self._run("clang", "--target=x86_64-pc-windows-msvc", "-c", f"{name}.c", "-o", f"{name}.obj")
        self._run("lld-link", "/dll", "/noentry", "/nodefaultlib", f"{name}.obj", *words)

    def _run(self, program: str, *words: str) -> None:
        programs = self.unpacked / "usr/lib/llvm-15/bin"
        environment = {
            "LD_LIBRARY_PATH": str(self.unpacked / "usr/lib/x86_64-linux-gnu"),
            "PATH": f"{programs}:/usr/bin:/bin",
        }
        subprocess.run([programs / program, *words], cwd=self.folder, env=environment, check=True)
