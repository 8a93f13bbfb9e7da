"""Shared libraries for tests, compiled by the machine's compiler, and wheels that hold them."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["BINARY_RULES", "binary_wheel", "compile_library"]

BINARY_RULES: Final = (
    "binaries",
    "binary-tags",
    "needed-libraries",
    "run-paths",
    "symbol-versions",
    "pe-imports",
    "device-code",
    "rocm-major",
)
"""The rules that look into the programs and libraries of a wheel."""


def compile_library(
    folder: Path,
    name: str,
    *,
    needed: Sequence[str] = (),
    run_path: str | None = None,
    rpath: bool = False,
    code: bytes | None = None,
    source: str = "int answer(void) { return 42; }\n",
) -> bytes:
    """Compile a library with this SONAME; it needs libc and these others, which are made empty for it.

    ``run_path`` is written as it stands, as RUNPATH unless ``rpath``; ``code`` becomes its section of GPU code.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to make libraries with")
    place = folder / f"building-{name}"
    place.mkdir(parents=True)
    (place / "empty.c").write_text("int placeholder;\n")
    if code is not None:
        (place / "code.bin").write_bytes(code)
        source += '__asm__(".section .hip_fatbin,\\"a\\"\\n.balign 4096\\n.incbin \\"code.bin\\"\\n.previous");\n'
    (place / "it.c").write_text(source)
    for other in needed:
        subprocess.run([compiler, "-shared", "-fPIC", f"-Wl,-soname,{other}", "-o", other, "empty.c"], cwd=place, check=True)
    words = [compiler, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-Wl,--no-as-needed"]
    if run_path is not None:
        words += ["-Wl,--disable-new-dtags" if rpath else "-Wl,--enable-new-dtags", f"-Wl,-rpath,{run_path}"]
    subprocess.run([*words, "-o", "it", "it.c", *needed], cwd=place, check=True)
    return (place / "it").read_bytes()


def binary_wheel(
    files: Mapping[str, bytes],
    *,
    tag: str = "cp311-cp311-manylinux_2_39_x86_64",
    requires: Sequence[str] = (),
    version: str = "1.0",
) -> WheelMaker:
    """Return a wheel with these binaries that breaks no rule about tags."""
    lines = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    return WheelMaker(
        version=version,
        tag=tag,
        files={"demo/__init__.py": b"answer = 42\n", **files},
        metadata=f"Metadata-Version: 2.4\nName: demo\nVersion: {version}\n{lines}",
        wheel=f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n",
    )
