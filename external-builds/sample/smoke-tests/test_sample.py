"""What an installed hipwright-sample can do; no GPU is needed."""

from __future__ import annotations

import json
import re
import sys
import sysconfig
from importlib.metadata import distribution, distributions, requires, version
from pathlib import Path

import hipwright_sample
import pytest

FOLDER = Path(hipwright_sample.__file__).resolve().parent
INSIDE = FOLDER / "lib" / "rocm" / "bundle.json"
"""There when ROCm is inside the wheel; else its packages are installed."""

BUNDLED = INSIDE.is_file()
ROCM = json.loads(INSIDE.read_text(encoding="utf-8"))["rocm"] if BUNDLED else version("rocm")


def test_it_comes_from_the_environment_or_from_a_tree_that_is_installed_editable() -> None:
    origin = json.loads(distribution("hipwright-sample").read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    assert FOLDER.is_relative_to(Path(sysconfig.get_path("platlib")).resolve()) is not editable


def test_version_names_the_rocm_packages_it_was_built_against() -> None:
    installed = version("hipwright-sample")
    assert installed == hipwright_sample.__version__
    local = installed.partition("+")[2]
    inside = r"bundled\." if BUNDLED else ""
    assert re.fullmatch(rf"{inside}(dev)?rocm{re.escape(ROCM.replace('+', '.'))}(\.local[0-9a-f]+)?", local)


def test_it_requires_exactly_these_rocm_packages() -> None:
    assert (requires("hipwright-sample") or []) == ([] if BUNDLED else [f"rocm[libraries]=={ROCM}"])


def test_rocm_is_inside_or_beside_and_never_both() -> None:
    installed = {distribution.name for distribution in distributions()}
    assert BUNDLED is not any(name.startswith("rocm") for name in installed)
    if BUNDLED and sys.platform == "linux":
        loaded = [
            line.split()[-1] for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines() if "libamdhip64" in line
        ]
        assert loaded
        assert all(Path(path).is_relative_to(FOLDER) for path in loaded)


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", hipwright_sample.git_version)


def test_it_was_compiled_for_gpu_targets() -> None:
    assert hipwright_sample.targets
    assert all(target.startswith("gfx") for target in hipwright_sample.targets)


def test_process_is_made_ready_for_rocm() -> None:
    from hipwright_sample import _rocm_init  # noqa: PLC0415 - the build adds it, so its absence is one failed test

    assert _rocm_init.ROCM_VERSION == ROCM


def test_there_is_a_device() -> None:
    assert hipwright_sample.device_count() >= 1


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 1000])
def test_saxpy_reaches_every_element(size: int) -> None:
    x = [float(i) for i in range(1, size + 1)]
    y = [0.5] * size
    assert hipwright_sample.saxpy(2.0, x, y) == [2.0 * i + 0.5 for i in range(1, size + 1)]


def test_architecture_is_one_that_rocm_compilers_know() -> None:
    assert re.fullmatch(r"gfx[0-9a-f]{3,}.*", hipwright_sample.architecture())


def test_greeting() -> None:
    assert re.fullmatch(r"hello hip, from \d+ devices?", hipwright_sample.greet("hip"))


def test_wave_size_is_the_device_s_own() -> None:
    assert hipwright_sample.wave_size() == 64


def test_runtime_version_is_the_installed_one() -> None:
    major, minor = ROCM.split(".")[:2]
    assert hipwright_sample.runtime_version() == (int(major), int(minor))
