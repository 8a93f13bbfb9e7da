"""Debian's ROCm as Python packages: made by the commands, installed, and used to compile a real kernel for real targets."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.debian_rocm import TARGETS, VERSION, make_artifacts
from tests.support.real_runs import CLONE, nox

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.real("ci")

KERNEL = """\
#include <hip/hip_runtime.h>

__global__ void add(float* values, float more) { values[threadIdx.x] += more; }

extern "C" int count(void) {
    int devices = 0;
    return static_cast<int>(hipGetDeviceCount(&devices));
}

extern "C" void launch(float* values) { hipLaunchKernelGGL(add, dim3(1), dim3(64), 0, 0, values, 1.0f); }
"""
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
NO_DEVICE = 100
ASK = "import ctypes, rocm_sdk; rocm_sdk.initialize_process(preload_shortnames=['amdhip64']); print(ctypes.CDLL('./kernel.so').count())"


def bundled(data: bytes) -> set[str]:
    """Return the ids of the entries of a fat binary: the magic, a count, and offset, size and id of each."""
    start = data.index(MAGIC) + len(MAGIC)
    (count,) = struct.unpack_from("<Q", data, start)
    start += 8
    found = set()
    for _ in range(count):
        _offset, _size, length = struct.unpack_from("<QQQ", data, start)
        found.add(data[start + 24 : start + 24 + length].decode())
        start += 24 + length
    return found


def compile_kernel(place: Path, hipcc: Path, *words: str, environment: Mapping[str, str]) -> None:
    (place / "kernel.hip").write_text(KERNEL)
    # HIP_PLATFORM: with a CUDA compiler on the path this old hipcc would take that one. Its scripts need two Perl modules of Debian.
    command = [str(hipcc), *words, "kernel.hip"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.timeout(300)
def test_a_real_kernel_is_compiled_from_installed_packages(inputs: dict[str, Path], tmp_path: Path) -> None:
    artifacts = make_artifacts(inputs["debian-rocm"], tmp_path / "artifacts")
    places = ("--work-dir", tmp_path / "work", "--cache-dir", tmp_path / "cache")
    words = ("--artifact-dir", artifacts, "--dest-dir", tmp_path / "made", "--version", VERSION)
    made = nox("build_rocm_packages", *words, *places, cwd=tmp_path, clone=CLONE)
    assert made.status == 0, made.talk
    dist = tmp_path / "made" / "dist"
    names = {path.name.split("-")[0] for path in dist.glob("*.whl")}
    assert names == {
        "rocm",
        "rocm_sdk_core",
        "rocm_sdk_devel",
        "rocm_sdk_libraries",
        *(f"rocm_sdk_device_{target}" for target in TARGETS),
    }

    environment = tmp_path / "environment"
    wanted = "rocm[libraries,devel,device-gfx900]"
    set_up = nox("setup_venv", environment, "--packages", wanted, "--find-links", dist, *places, cwd=tmp_path, clone=CLONE)
    assert set_up.status == 0, set_up.talk
    python = environment / "bin" / "python"

    ask = [str(python), "-m", "rocm_sdk", "path", "--root"]
    root = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    assert environment in root.parents
    variables = {"PATH": "/usr/bin:/bin", "HIP_PLATFORM": "amd", "PERL5LIB": str(root / "bin"), "HOME": str(tmp_path)}
    flags = [f"--offload-arch={target}" for target in TARGETS]
    compile_kernel(tmp_path, root / "bin" / "hipcc", *flags, "-shared", "-fPIC", "-o", "kernel.so", environment=variables)
    found = bundled((tmp_path / "kernel.so").read_bytes())
    assert {entry.rpartition("-")[2] for entry in found if "amdgcn" in entry} == set(TARGETS)

    # The script of the core package compiles too, and what was compiled runs up to the question how many devices there are.
    compile_kernel(
        tmp_path, environment / "bin" / "hipcc", "--offload-arch=gfx1030", "-c", "-o", "kernel.o", environment=variables
    )
    assert {entry.rpartition("-")[2] for entry in bundled((tmp_path / "kernel.o").read_bytes()) if "amdgcn" in entry} == {
        "gfx1030"
    }
    if not Path("/dev/kfd").exists():
        asked = subprocess.run([python, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, check=True, env=os.environ)
        assert asked.stdout.strip() == str(NO_DEVICE)

    # This HIP has hiprtc inside of amdhip64, and of the math libraries there is one: what is not there is told, and nothing fails.
    tested = subprocess.run([python, "-m", "rocm_sdk", "test", "--json"], capture_output=True, text=True, check=False)
    suites = json.loads(tested.stdout)["suites"]
    failed = {name: [f"{one['test']}: {one['reason']}" for one in suite["failed"]] for name, suite in suites.items()}
    assert (tested.returncode, failed) == (0, {name: [] for name in suites}), failed
    assert {name for name, suite in suites.items() if suite["status"] == "passed"} >= {
        "base",
        "core",
        "libraries",
        "devel",
        "device",
    }
    untested = [f"{one['test']} {one['reason']}" for name in ("core", "libraries") for one in suites[name]["untested"]]
    for library in ("hiprtc'", "rocblas'", "hipfft'"):
        assert any(library in line and "built without it" in line for line in untested), library
