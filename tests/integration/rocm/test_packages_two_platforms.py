"""One version for Linux and Windows: both builds write the same ``rocm``, and one index holds both sets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.build_rocm_packages import build_rocm_packages
from build_tools.types import Platform
from tests.support.rocm_trees import make_tree
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="libraries of Linux are compiled for these")

VERSION = "7.13.0a20260801"
LINUX, WINDOWS = ("gfx942", "gfx1201"), ("gfx1151", "gfx1201")


def build(folder: Path, platform: Platform, artifacts: Path, **settings: object) -> Path:
    target = folder / f"out-{platform}"
    place = workplace(folder, artifact_dir=artifacts, dest_dir=target, platform=platform.value, version=VERSION, **settings)
    build_rocm_packages(place)
    return target / "dist"


@dataclass(frozen=True)
class Both:
    linux: Path
    windows: Path
    index: Path


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("both")
    linux = make_tree(folder / "linux", targets=LINUX, kernels=1, headers=1).folder
    windows = make_tree(folder / "windows", platform=Platform.WINDOWS, targets=WINDOWS, kernels=1, headers=1).folder
    told = {"linux_gfx": LINUX, "windows_gfx": WINDOWS}
    dists = [build(folder, Platform.LINUX, linux, **told), build(folder, Platform.WINDOWS, windows, **told)]
    index = folder / "index"
    for dist in dists:
        shutil.copytree(dist, index, dirs_exist_ok=True)
    return Both(linux=dists[0], windows=dists[1], index=index)


def solved(index: Path, wanted: str, platform: str) -> set[str]:
    """Return what uv takes for a requirement on a platform, from a folder of packages alone."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--no-index", "--find-links", str(index), "--no-header"]
    command += [
        "--python-platform",
        platform,
        "--python-version",
        "3.12",
        "--prerelease",
        "allow",
        "--no-annotate",
        "--offline",
        "-",
    ]
    done = subprocess.run(
        command,
        input=wanted,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "UV_NO_CACHE": "1", "UV_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    names = {re.split(r"[=\[ ]", line)[0] for line in done.stdout.splitlines() if "==" in line}
    return names - {"rocm", "rocm-sdk-core"}


def test_both_builds_write_the_same_rocm(both: Both) -> None:
    names = {path.name for path in both.linux.iterdir()} & {path.name for path in both.windows.iterdir()}
    assert names == {f"rocm-{VERSION}-py3-none-any.whl", f"rocm-{VERSION}.tar.gz"}
    for name in names:
        assert (both.linux / name).read_bytes() == (both.windows / name).read_bytes()


def test_each_set_is_told_from_the_other_and_bound_to_the_one_rocm(both: Both) -> None:
    marks = []
    for dist in (both.linux, both.windows):
        with zipfile.ZipFile(next(dist.glob("rocm_sdk_core-*"))) as core:
            marks.append(json.loads(core.read("_rocm_sdk_core/_set.json")))
    assert marks[0]["rocm"] == marks[1]["rocm"]
    assert marks[0]["set_id"] != marks[1]["set_id"]


@pytest.mark.parametrize(
    ("wanted", "linux", "windows"),
    [
        ("rocm[libraries]", {"rocm-sdk-libraries"}, {"rocm-sdk-libraries"}),
        ("rocm[profiler]", {"rocm-profiler"}, set()),
        (
            "rocm[device]",
            {"rocm-sdk-libraries", "rocm-sdk-device-gfx942", "rocm-sdk-device-gfx1201"},
            {"rocm-sdk-libraries", "rocm-sdk-device-gfx1151", "rocm-sdk-device-gfx1201"},
        ),
        ("rocm[device-gfx942]", {"rocm-sdk-libraries", "rocm-sdk-device-gfx942"}, set()),
    ],
)
def test_one_index_serves_both(both: Both, wanted: str, linux: set[str], windows: set[str]) -> None:
    assert solved(both.index, wanted, "x86_64-manylinux_2_39") == linux
    assert solved(both.index, wanted, "x86_64-pc-windows-msvc") == windows


def test_families_of_both_platforms_are_in_one_rocm(tmp_path: Path) -> None:
    families = {"gfx94X-dcgpu": ("gfx942",), "gfx120X-all": ("gfx1200", "gfx1201")}
    linux = make_tree(tmp_path / "linux", families=families, form="family", kernels=1, headers=1).folder
    windows = make_tree(
        tmp_path / "windows",
        platform=Platform.WINDOWS,
        families={"gfx120X-all": ("gfx1200", "gfx1201")},
        form="family",
        kernels=1,
        headers=1,
    ).folder
    # Families are named in whatever order and way a build's own data have.
    one = build(tmp_path, Platform.LINUX, linux, linux_gfx=("gfx94X-dcgpu", "gfx120X-all"), windows_gfx=("gfx120X-all",))
    other = build(tmp_path, Platform.WINDOWS, windows, linux_gfx=("gfx120x", "gfx94x"), windows_gfx=("gfx120X-all",))
    name = f"rocm-{VERSION}-py3-none-any.whl"
    assert (one / name).read_bytes() == (other / name).read_bytes()
    index = tmp_path / "index"
    for dist in (one, other):
        shutil.copytree(dist, index, dirs_exist_ok=True)
    own = {"rocm-sdk-libraries-gfx120x-all", "rocm-sdk-devel-gfx120x-all"}
    assert solved(index, "rocm[libraries,devel]", "x86_64-pc-windows-msvc") == own
    assert solved(index, "rocm[libraries,devel]", "x86_64-manylinux_2_39") == own | {
        "rocm-sdk-libraries-gfx94x-dcgpu",
        "rocm-sdk-devel-gfx94x-dcgpu",
    }


def test_a_platform_that_lacks_what_the_shared_rocm_names_is_refused(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "linux", targets=LINUX, kernels=1, headers=1).folder
    for folder in artifacts.glob("rocprofiler-[cs]*"):
        shutil.rmtree(folder)
    with pytest.raises(HipwrightError, match="rocm-profiler") as caught:
        build(tmp_path, Platform.LINUX, artifacts, windows_gfx=WINDOWS)
    assert caught.value.code.name == "package-incomplete"
    assert not list(build(tmp_path, Platform.LINUX, artifacts).glob("rocm_profiler-*"))


def test_targets_of_the_own_platform_are_named_once(tmp_path: Path) -> None:
    artifacts = make_tree(tmp_path / "windows", platform=Platform.WINDOWS, targets=WINDOWS, kernels=1, headers=1).folder
    with pytest.raises(HipwrightError, match=r"--windows-gfx says which .*--gfx") as caught:
        build(tmp_path, Platform.WINDOWS, artifacts, windows_gfx=WINDOWS, gfx=WINDOWS)
    assert caught.value.code.name == "bad-option-value"
    with pytest.raises(HipwrightError, match="gfx94"):
        build(tmp_path, Platform.WINDOWS, artifacts, linux_gfx=("gfx94Q",))
    dist = build(tmp_path, Platform.WINDOWS, artifacts, windows_gfx=("gfx1201",))
    assert [path.name.split("-")[0] for path in dist.glob("rocm_sdk_device*")] == ["rocm_sdk_device_gfx1201"]
