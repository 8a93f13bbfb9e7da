"""Tests of the core package: libraries load, programs start, the compiler compiles for every target."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from .. import preload_libraries
from .._dist_info import description
from .._packages import find_module
from .utils import RocmTest, first, gpus, installed, libraries_of, load_each, not_installed, run, script_path, shared_libraries

_NOT_ALONE = (
    (re.compile(r"amd_?smi"), "the management library is loaded by its own programs"),
    (re.compile(r"clang_rt|/lib/clang/"), "a compiler's run-time part is linked into programs"),
    (re.compile(r"LLVMOffload"), "it is loaded by the offload runtime"),
    (re.compile(r"/(lib|share)/roctracer/"), "it is preloaded by the tracer"),
    (re.compile(r"/(lib|libexec)/rocprofiler-sdk/|libpyroc(pd|tx)"), "it is loaded by the profiler"),
    (re.compile(r"test_linking_lib"), "it is a test's"),
)
"""Libraries that are not made to be loaded alone, and why."""

_ARGUMENTS = {
    "amdlld": ("-flavor", "ld.lld", "--version"),
    "hipInfo": (),
    "hipify-perl": ("--help",),
    "offload-arch": ("--help",),
    "roc-obj": ("--help",),
    "roc-obj-ls": ("--help",),
    "rocm-smi": ("--help",),
    "rocm_agent_enumerator": ("--help",),
    "rocminfo": (),
    "roccoremerge": ("--help",),
    "rocpd": ("--help",),
    "rocpd2csv": ("--help",),
    "rocpd2otf2": ("--help",),
    "rocpd2pftrace": ("--help",),
    "rocpd2summary": ("--help",),
    "rocprofv3-attach": ("--help",),
    "rocprofv3-avail": ("--help",),
}
"""What a program is started with where that is not ``--version``."""

_NEED_GPU = frozenset({"amd-smi", "hipInfo", "rocm_agent_enumerator", "rocminfo"})
_FOREIGN = re.compile(r"Can't locate (\S+) in @INC|No module named '([^'.]+)'")
"""What a script says when it needs a module of its language that is none of ROCm's."""

_KERNEL = """#include <hip/hip_runtime.h>
__global__ void twice(float *values) { values[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }
void start(float *values) { hipLaunchKernelGGL(twice, dim3(1), dim3(64), 0, 0, values); }
"""
_HOST = "#include <cmath>\nint main() { return std::abs(0); }\n"
_BUNDLES = (b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")
"""How device code in an object begins: plain, or compressed."""


class CoreTest(RocmTest):
    """The compiler, the HIP runtime and the tools."""

    @classmethod
    def setUpClass(cls) -> None:
        """Find the package."""
        if not installed("core"):
            raise AssertionError(not_installed("core"))
        cls.folder = installed("core")[0].folder

    folder: Path

    def test_targets_are_those_of_the_build(self) -> None:
        """The device code is for the targets that the build was made for."""
        built = self.folder / "share" / "therock" / "dist_info.json"
        if not built.is_file():
            self.skipTest(f"the build left no {built.name}")
        targets = json.loads(built.read_bytes())["dist_amdgpu_targets"]
        told, known = set(re.split(r"[;,\s]+", targets.strip())), set(description().targets_here())
        self.deny(sorted(told ^ known), before="dist_info.json and the description of the set differ in ")

    def test_libraries_are_found_and_load(self) -> None:
        names = libraries_of("core")
        self.assertTrue(names, msg="the set describes no library of this package")
        for name in names:
            with self.subTest(library=name):
                self.find(name)
                preload_libraries(name)

    def test_shared_libraries_load(self) -> None:
        paths = shared_libraries(self.folder)
        self.assertTrue(paths, msg=f"there is no shared library in {self.folder}")
        alone = [path for path in paths if not any(pattern.search(path.as_posix()) for pattern, _ in _NOT_ALONE)]
        for path, fault in load_each(alone):
            with self.subTest(library=path.relative_to(self.folder).as_posix()):
                self.deny([fault] if fault else ())
        for path in sorted(set(paths) - set(alone)):
            with self.subTest(library=path.relative_to(self.folder).as_posix()):
                self.skipTest(next(why for pattern, why in _NOT_ALONE if pattern.search(path.as_posix())))

    def test_scripts_start(self) -> None:
        module = find_module("rocm_sdk_core")
        table = module / "scripts.json" if module is not None else Path("scripts.json")
        scripts = json.loads(table.read_bytes())
        self.assertTrue(scripts, msg="the package has no scripts")
        for name in sorted(scripts):
            with self.subTest(script=name):
                self._starts(name, scripts[name]["file"])

    def _starts(self, name: str, file: str) -> None:
        script = script_path(name)
        if script is None:
            self.fail(f"the script {name} is not in this environment")
        if name in _NEED_GPU and not gpus():
            self.skipTest("it describes the GPUs, and there is none here")
        interpreter = _interpreter(self.folder / file)
        if interpreter is not None and shutil.which(interpreter) is None:
            self.skipTest(f"it is a script for {interpreter}, which is not on this machine")
        done = run([script, *_ARGUMENTS.get(name, ("--version",))])
        needed = _FOREIGN.search(done.stderr)
        if done.returncode != 0 and needed is not None:
            self.skipTest(f"it needs {needed[1] or needed[2]}, which is not on this machine")
        self.assertEqual(done.returncode, 0, msg=first([*done.stderr.splitlines(), *done.stdout.splitlines()]))

    def test_compiler_compiles_for_each_target(self) -> None:
        script = script_path("hipcc")
        if script is None:
            self.skipTest("the package has no compiler")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "host.cpp").write_text(_HOST, "utf-8")
            host = run([script, "-x", "c++", "-fsyntax-only", "host.cpp"], cwd=place)
            if host.returncode != 0 and "file not found" in host.stderr:
                self.skipTest("this machine has no C++ standard library to compile against (on Debian and Ubuntu: libstdc++-dev)")
            (place / "kernel.hip").write_text(_KERNEL, "utf-8")
            for target in description().targets_here():
                with self.subTest(target=target):
                    self._compiles(script, place, target)

    def _compiles(self, script: Path, place: Path, target: str) -> None:
        output = place / f"{target}.o"
        done = run([script, "-c", f"--offload-arch={target}", "kernel.hip", "-o", output], cwd=place)
        self.assertEqual(done.returncode, 0, msg=first([*done.stderr.splitlines(), *done.stdout.splitlines()]))
        data = output.read_bytes()
        self.assertTrue(any(bundle in data for bundle in _BUNDLES), msg="the object holds no device code")
        if _BUNDLES[0] in data:
            self.assertTrue(target.encode() in data, msg=f"the object holds no device code for {target}")


def _interpreter(path: Path) -> str | None:
    """Return the program that a script is for, by its first line; None for a program."""
    try:
        with path.open("rb") as stream:
            line = stream.readline(256)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = line[2:].decode("utf-8", "replace").split()
    words = words[1:] if words and words[0].endswith("/env") else words
    return words[0] if words else None
