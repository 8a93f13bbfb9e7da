"""``hipcc``: compiles HIP sources for the host, with the C++ compiler of this machine.

It takes what build systems give to the real driver. What concerns GPUs is read, checked and left out; the kernels run on the host
by way of ``hip/hip_runtime.h``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["CompilerArguments", "arguments_for_cl", "arguments_for_gcc", "find_compiler", "main", "read_arguments"]

VERSION = "7.10.0"
COMPILERS = ("c++", "g++", "clang++", "cl")
SOURCES = (".hip", ".cu", ".cpp", ".cc", ".cxx", ".c")
ALONE = ("--offload-arch", "--amdgpu-target", "--rocm-path", "--rocm-device-lib-path", "--hip-path")
IGNORED = ("-fgpu-rdc", "-fno-gpu-rdc", "--hip-link", "-xhip")
TARGET = re.compile(r"gfx[0-9a-f]{3,}(?:-[a-z0-9-]+)?(?::[a-z]+[+-])*|native")


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
    for target in found.targets:
        if not TARGET.fullmatch(target):
            sys.exit(f"hipcc: error: unsupported HIP gpu architecture: {target!r}")
    return found


def arguments_for_gcc(found: CompilerArguments, root: Path) -> list[str]:
    """Return a command line for compilers that take GCC's."""
    line = ["-D__HIP_PLATFORM_AMD__=1", f"-I{root / 'include'}"]
    if not any(argument.startswith("-std=") for argument in found.others):
        line.append("-std=c++17")
    if found.sources:
        line += ["-x", "c++", *found.sources, "-x", "none"]
    return line + found.others


def arguments_for_cl(found: CompilerArguments, root: Path) -> list[str]:
    """Return a command line for Microsoft's compiler; what it has no word for is left out."""
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
