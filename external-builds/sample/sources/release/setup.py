"""Builds hipwright-sample.

The environment says what is built:

USE_ROCM
    ``1`` builds for ROCm, from sources that ``tools/amd_build/build_amd.py`` has translated; anything else builds for CUDA.
ROCM_HOME
    The ROCm installation whose ``bin`` holds ``hipcc``.
SAMPLE_ROCM_ARCH
    The GPU architectures to compile for, with ``;`` between them.
SAMPLE_BUILD_VERSION
    The version of the package; without it ``version.txt`` and the commit make one.
SAMPLE_EXTRA_INSTALL_REQUIREMENTS
    Requirements that the package gets, with ``|`` between them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError, SetupError

ROOT = Path(__file__).resolve().parent
KERNELS = "hipwright_sample._kernels"


def git_commit() -> str:
    """Return the commit that this tree is a checkout of."""
    try:
        return subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return "Unknown"


def package_version() -> str:
    """Return the version asked for, or the tree's own."""
    asked = os.environ.get("SAMPLE_BUILD_VERSION")
    if asked:
        return asked
    base = (ROOT / "version.txt").read_text(encoding="utf-8").strip()
    return f"{base}+git{git_commit()[:7]}"


def targets() -> list[str]:
    """Return the GPU architectures to compile for; none is an error, never all of them."""
    found = [name for name in os.environ.get("SAMPLE_ROCM_ARCH", "").split(";") if name]
    if not found:
        raise SetupError("SAMPLE_ROCM_ARCH names no GPU architecture")
    return found


def find_hipcc() -> Path:
    """Return the compiler of the ROCm installation."""
    home = os.environ.get("ROCM_HOME")
    if not home:
        raise SetupError("ROCM_HOME is not set: a ROCm build needs the folder of a ROCm installation")
    names = ("hipcc.exe", "hipcc.bat") if os.name == "nt" else ("hipcc",)
    for name in names:
        program = Path(home, "bin", name)
        if os.access(program, os.X_OK):
            return program
    raise SetupError(f"there is no compiler hipcc in {Path(home, 'bin')}")


def sources() -> list[str]:
    """Return what goes into the library."""
    if os.environ.get("USE_ROCM") != "1":
        raise SetupError("CUDA_HOME is not set: without USE_ROCM=1 this is a CUDA build, and nvcc builds it")
    if not (ROOT / "csrc" / "hip").is_dir():
        raise SetupError("csrc/hip is missing: run tools/amd_build/build_amd.py before a ROCm build")
    found = [*(ROOT / "csrc").glob("*.cpp"), *(ROOT / "csrc" / "hip").glob("*.hip"), *(ROOT / "third_party").glob("*/hip/*.hip")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


class BuildPython(build_py):
    """Adds the module that says what was built."""

    def run(self) -> None:
        """Write ``version.py``, then collect the modules."""
        lines = [
            f"__version__ = {package_version()!r}",
            f"git_version = {git_commit()!r}",
            f"targets = {tuple(targets())!r}",
        ]
        (ROOT / "hipwright_sample" / "version.py").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        super().run()


class BuildKernels(build_ext):
    """Compiles and links with ``hipcc``; paths are relative, so the folder of the build leaves no trace in the library."""

    def build_extension(self, ext: Extension) -> None:
        """Build one library."""
        hipcc = find_hipcc()
        objects = []
        for source in sources():
            target = Path(self.build_temp, source).with_suffix(".o")
            target.parent.mkdir(parents=True, exist_ok=True)
            architectures = [f"--offload-arch={name}" for name in targets()]
            options = ["-O2", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-Icsrc", *architectures]
            self.run_hipcc([hipcc, "-c", source, "-o", target, *options])
            objects.append(target)
        library = Path(self.get_ext_fullpath(ext.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        self.run_hipcc([hipcc, "-shared", "-o", library, *objects])

    @staticmethod
    def run_hipcc(command: list[str | Path]) -> None:
        """Run one compiler command from the root of the tree."""
        arguments = [os.fspath(part) for part in command]
        print("+", *arguments, flush=True)
        if subprocess.run(arguments, cwd=ROOT, check=False).returncode != 0:
            raise CompileError(f"hipcc could not make {Path(arguments[arguments.index('-o') + 1]).name}")


setup(
    version=package_version(),
    install_requires=[line for line in os.environ.get("SAMPLE_EXTRA_INSTALL_REQUIREMENTS", "").split("|") if line],
    ext_modules=[Extension(KERNELS, sources=[])],
    cmdclass={"build_py": BuildPython, "build_ext": BuildKernels},
)
