"""Device code through the compiler caches, with a real clang for AMD's GPUs: the same kernel in another folder."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from build_tools import digest
from build_tools.builds.cache_server import running_cache
from build_tools.builds.compiler_cache import CacheKey, CacheSettings, launchers, relocatable
from build_tools.process import Runner, base_environment
from build_tools.types import Platform
from tests.support.debian_rocm import TARGETS, VERSION

pytestmark = pytest.mark.real("ci")

KERNEL = """\
#include <hip/hip_runtime.h>
#include <cassert>
__global__ void add(float* values, float more) { values[threadIdx.x] += more; }
const char* place() { return __FILE__; }
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_a_kernel_comes_from_the_cache_in_another_folder(inputs: dict[str, Path], tmp_path: Path, tool: str) -> None:
    program = shutil.which(tool, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        pytest.skip(f"there is no {tool} on this machine")
    root = inputs["debian-rocm"] / "usr"
    libraries = root / "lib" / "x86_64-linux-gnu"
    runner = Runner(environment={**base_environment(os.environ), "LD_LIBRARY_PATH": str(libraries)})
    key = CacheKey(platform=Platform.LINUX, rocm=VERSION, targets=TARGETS, project="toy", line="1", python_tag="cp311")
    objects = []
    uses = []
    for name in ("here", "another/folder"):
        tree = tmp_path / name / "src"
        tree.mkdir(parents=True)
        (tree / "kernel.hip").write_text(KERNEL)
        settings = CacheSettings(
            tool=tool,
            program=Path(program),
            store=tmp_path / "store",
            size_mib=200,
            key=key,
            base=tmp_path / name,
            platform=Platform.LINUX,
        )
        flags = {"CXXFLAGS": f"-ffile-prefix-map={tree}=."}
        with running_cache(settings, runner=runner, scratch=tmp_path / name / "cache") as cache:
            environment = {**flags, **cache.environment, **launchers(settings, rocm="7.13.0")[0], **relocatable(settings, flags)}
            # As hipcc starts its clang: the launcher, the compiler, and what it adds of its own.
            command: list[str | Path] = [
                environment["HIP_CLANG_LAUNCHER"],
                root / "lib" / "llvm-15" / "bin" / "clang++",
                "-x",
                "hip",
                "-O2",
            ]
            command += [*(f"--offload-arch={target}" for target in TARGETS), f"--rocm-path={root}", f"-I{root / 'include'}"]
            command += [f"--rocm-device-lib-path={libraries / 'amdgcn' / 'bitcode'}", *environment["CXXFLAGS"].split()]
            runner.capture([*command, "-c", tree / "kernel.hip", "-o", tree / "kernel.o"], cwd=tree, env=environment)
            uses.append(cache.account())
        objects.append(digest.of_file(tree / "kernel.o"))
    assert [(use.hits, use.misses) for use in uses] == [({}, {"HIP": 1}), ({"HIP": 1}, {})]
    assert objects[0] == objects[1]
    assert b"kernel.hip" in (tmp_path / "here" / "src" / "kernel.o").read_bytes()
    assert os.fsencode(tmp_path) not in (tmp_path / "here" / "src" / "kernel.o").read_bytes()
