"""``hipcc``: compiles HIP sources for the host, with the C++ compiler of this machine.

It takes what build systems give to the real driver. What concerns GPUs is read and checked. The kernels run on the host by way of
``hip/hip_runtime.h``; beside them each object gets a bundle of device code for the targets that are asked for. Their code objects are
empty, but tools can list them and take them apart.
"""

from __future__ import annotations

import platform
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

__all__ = [
    "CompilerArguments",
    "arguments_for_cl",
    "arguments_for_gcc",
    "bundle",
    "code_object",
    "find_compiler",
    "main",
    "read_arguments",
]

VERSION = "7.10.0"
COMPILERS = ("c++", "g++", "clang++", "cl")
SOURCES = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".c")
ALONE = ("--offload-arch", "--amdgpu-target", "--rocm-path", "--rocm-device-lib-path", "--hip-path")
IGNORED = ("-fgpu-rdc", "-fno-gpu-rdc", "--hip-link", "-xhip")
TARGET = re.compile(r"gfx[0-9a-f]{3,}(?:-[a-z0-9-]+)?(?::[a-z]+[+-])*")

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
PAGE = 4096
AMDGPU = 224
HSA = 64
CODE_OBJECT_5 = 3
MACHINES = {
    "gfx900": 0x2C, "gfx906": 0x2F, "gfx908": 0x30, "gfx90a": 0x3F, "gfx90c": 0x32, "gfx942": 0x4C, "gfx950": 0x4F,
    "gfx1010": 0x33, "gfx1011": 0x34, "gfx1012": 0x35,
    "gfx1030": 0x36, "gfx1031": 0x37, "gfx1032": 0x38, "gfx1033": 0x39, "gfx1034": 0x3E, "gfx1035": 0x3D, "gfx1036": 0x45,
    "gfx1100": 0x41, "gfx1101": 0x46, "gfx1102": 0x47, "gfx1103": 0x44,
    "gfx1150": 0x43, "gfx1151": 0x4A, "gfx1152": 0x55, "gfx1153": 0x58,
    "gfx1200": 0x48, "gfx1201": 0x4E, "gfx1250": 0x49,
}  # fmt: skip
FEATURES = {"xnack-": 0x200, "xnack+": 0x300, "sramecc-": 0x800, "sramecc+": 0xC00}
# The flags of a code object's ELF header (LLVM: user guide of the AMDGPU back end).


class CompilerArguments:
    """What is left of a command line once the GPU's part is taken out: sources, and all else in its order."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.others: list[str] = []
        self.targets: list[str] = []


def read_arguments(arguments: list[str]) -> CompilerArguments:
    """Sort a command line; an architecture that cannot be one ends the run."""
    found = CompilerArguments()
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "-x":
            next(rest, None)
        elif name in ALONE:
            value = value if equals else next(rest, "")
            if name in {"--offload-arch", "--amdgpu-target"}:
                found.targets += value.split(",")
        elif argument in IGNORED:
            continue
        elif argument in {"-o", "-I", "-D", "-L"}:
            found.others += [argument, next(rest, "")]
        elif not argument.startswith("-") and Path(argument).suffix in SOURCES:
            found.sources.append(argument)
        else:
            found.others.append(argument)
    check_targets(found.targets)
    return found


def check_targets(targets: list[str]) -> None:
    """End the run when one of the architectures cannot be one."""
    for target in targets:
        if target == "native":
            sys.exit("hipcc: error: cannot determine the architecture of this machine's GPUs: name it with --offload-arch=gfx...")
        if not TARGET.fullmatch(target):
            sys.exit(f"hipcc: error: unsupported HIP gpu architecture: {target!r}")


def arguments_for_gcc(found: CompilerArguments, root: Path) -> list[str]:
    """Return a command line for compilers that take GCC's."""
    line = ["-D__HIP_PLATFORM_AMD__=1", f"-I{root / 'include'}"]
    if not any(argument.startswith("-std=") for argument in found.others):
        line.append("-std=c++17")
    if found.sources and found.targets:
        line += [f"-D__HIP_FATBIN__={as_pages(bundle(found.targets, platform.machine()))}", "-include", "hip/hip_fatbin.h"]
    if found.sources:
        line += ["-x", "c++", *found.sources, "-x", "none"]
    return line + found.others


def code_object(target: str) -> bytes:
    """Return an empty code object of a target: an ELF header, whose flags name the processor."""
    base, *features = target.split(":")
    flags = MACHINES.get(base, 0)
    for feature in features:
        flags |= FEATURES.get(feature, 0)
    identity = b"\x7fELF" + bytes([2, 1, 1, HSA, CODE_OBJECT_5]) + bytes(7)
    return identity + struct.pack("<HHIQQQIHHHHHH", 3, AMDGPU, 1, 0, 0, 0, flags, 64, 56, 0, 64, 0, 0)


def bundle(targets: list[str], machine: str) -> bytes:
    """Return the device code of a source file: an entry for the host, without code, and one for each target on a page of its own."""
    codes = {f"host-{machine}-unknown-linux-gnu-": b""}
    codes.update((f"hipv4-amdgcn-amd-amdhsa--{target}", code_object(target)) for target in targets)
    start = -(-(len(MAGIC) + 8 + sum(24 + len(name) for name in codes)) // PAGE) * PAGE
    head = MAGIC + struct.pack("<Q", len(codes))
    body = b""
    for name, code in codes.items():
        head += struct.pack("<QQQ", start + len(body), len(code), len(name)) + name.encode()
        body += code + bytes(-len(code) % PAGE)
    return head + bytes(start - len(head)) + body


def as_pages(data: bytes) -> str:
    """Return bytes as what ``hip/hip_fatbin.h`` initialises its pages with: words, without the zeros at the end of each page."""
    pages = []
    for start in range(0, len(data), PAGE):
        page = data[start : start + PAGE].rstrip(b"\0")
        words = struct.unpack(f"<{-(-len(page) // 8)}Q", page + bytes(-len(page) % 8))
        pages.append("{" + ",".join(f"{word:#x}" for word in words) + "}")
    return ",".join(pages)


def arguments_for_cl(found: CompilerArguments, root: Path) -> list[str]:
    """Return a command line for Microsoft's compiler; what it has no word for is left out, and so is the device code."""
    line = ["/nologo", "/EHsc", "/Brepro", "/D__HIP_PLATFORM_AMD__=1", f"/I{root / 'include'}"]
    compiles = "-c" in found.others
    standard = "/std:c++17"
    rest = iter(found.others)
    for argument in rest:
        if argument == "-o":
            line.append(f"{'/Fo' if compiles else '/Fe'}{next(rest, '')}")
        elif argument in {"-I", "-D"}:
            line.append(f"/{argument[1]}{next(rest, '')}")
        elif argument.startswith(("-I", "-D")) or argument in {"-c", "-O2"}:
            line.append(f"/{argument[1:]}")
        elif argument == "-shared":
            line.append("/LD")
        elif argument.startswith("-std="):
            standard = f"/std:{argument[5:]}"
        elif not argument.startswith("-"):
            line.append(argument)
    return [*line, standard, *(f"/Tp{source}" for source in found.sources)]


def find_compiler() -> Path:
    """Return the first C++ compiler on the path, or end the run."""
    for name in COMPILERS:
        found = shutil.which(name)
        if found:
            return Path(found)
    return sys.exit(f"hipcc: error: no C++ compiler on PATH; looked for {', '.join(COMPILERS)}")


def main(arguments: list[str]) -> int:
    """Run the compiler and return its exit status."""
    if arguments == ["--version"]:
        print(f"HIP version: {VERSION}\nhost compiler: {find_compiler()}")
        return 0
    found = read_arguments(arguments)
    if not found.sources and all(argument.startswith("-") for argument in found.others):
        sys.exit("hipcc: error: no input files")
    root = Path(__file__).resolve().parent.parent
    compiler = find_compiler()
    translate = arguments_for_cl if compiler.stem.lower() == "cl" else arguments_for_gcc
    return subprocess.run([str(compiler), *translate(found, root)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
