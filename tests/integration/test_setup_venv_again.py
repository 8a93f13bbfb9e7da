"""``setup_venv`` on an environment that is there: its development files are looked at and mended, and what is told is what is installed."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline import setup_venv as stage
from build_tools.pipeline.doctor import doctor
from build_tools.pipeline.setup_venv import setup_venv
from build_tools.process import Runner, base_environment
from build_tools.rocm.sdk import describe_sdk
from tests.support.environments import runner_with
from tests.support.rocm_sets import RocmSet, compiler
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="no C compiler to make libraries with"),
    pytest.mark.skipif(sys.platform == "win32", reason="the set's programs are shell scripts"),
]


KERNELS = "lib/rocblas/library/kernels_gfx942.kpack"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bitcode = {"lib/llvm/amdgcn/bitcode/ocml.bc": b"bitcode"}
    return RocmSet(devel_files=bitcode).write(tmp_path_factory.mktemp("rocm") / "dist")


def desk(folder: Path, dist: Path, **settings: Any) -> Workplace:  # noqa: ANN401 - as the options are
    environment = runner_with("uv", folder).environment
    known = {"HOME": environment["HOME"], "PATH": environment["PATH"], "PIP_NO_INDEX": "1"}
    asked = {"paths": (folder / "env",), "find_links": (str(dist),), "packages": ("rocm[libraries,devel]",), **settings}
    return replace(workplace(folder, **asked), machine=known, runner=Runner(environment=base_environment(known)))


@pytest.mark.parametrize("lost", ["include/hip/hip_version.h", "lib/static.a", "bin/amdclang", "lib/cmake", KERNELS, ""])
def test_lost_development_files_come_back(lost: str, dist: Path, tmp_path: Path) -> None:
    first = setup_venv(desk(tmp_path, dist, gfx=("gfx942",)))["environment"]
    (tree,) = (tmp_path / "env").glob("lib/python*/site-packages/_rocm_sdk_devel")
    path = tree / lost
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if lost:
        with pytest.raises(HipwrightError) as caught:
            doctor(desk(tmp_path, dist, packages=(), find_links=()))
        assert caught.value.document is not None
        assert "sdk-incomplete" in str(caught.value.document["findings"])
    place = desk(tmp_path, dist, gfx=("gfx942",))
    again = setup_venv(place)["environment"]
    assert (again["made"], again["sdk"]) == (False, first["sdk"])
    assert any("mending ROCm's development files" in line for line in memory_of(place).said)
    assert path.exists()
    place = desk(tmp_path, dist, gfx=("gfx942",))
    setup_venv(place)
    assert not any("mending" in line for line in memory_of(place).said)


def test_development_files_that_cannot_be_mended_are_told_each_time(dist: Path, tmp_path: Path) -> None:
    setup_venv(desk(tmp_path, dist))
    packages = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (packages / "_rocm_sdk_devel/lib/static.a").unlink()
    (archive,) = packages.glob("rocm_sdk_devel/_devel.tar*")
    kept = archive.read_bytes()
    for _ in range(2):
        # Of the same size, so that the package looks whole.
        archive.unlink()
        archive.write_bytes(bytes(len(kept)))
        with pytest.raises(HipwrightError) as caught:
            setup_venv(desk(tmp_path, dist))
        assert caught.value.code.name == "sdk-incomplete"
        assert "is damaged" in (caught.value.excerpt or "")


def test_the_device_code_that_is_told_is_what_is_installed(dist: Path, tmp_path: Path) -> None:
    for settings, told in (({}, ", without device code"), ({"gfx": ("gfx942",)}, ", with device code for gfx942")):
        place = desk(tmp_path, dist, **settings)
        setup_venv(place)
        assert any(line.startswith("ROCm 7.10.0 in ") and line.endswith(told) for line in memory_of(place).said)


def test_nobody_makes_an_environment_anew_while_its_development_files_are_judged(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[HipwrightError] = []

    def another_run_comes(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as describe_sdk
        with pytest.raises(HipwrightError) as caught:
            setup_venv(desk(tmp_path, dist, packages=("rocm[libraries]",), wait=False))
        seen.append(caught.value)
        return describe_sdk(*arguments, **named)

    monkeypatch.setattr(stage, "describe_sdk", another_run_comes)
    names = {package["name"] for package in setup_venv(desk(tmp_path, dist))["environment"]["packages"]}
    assert [error.code.name for error in seen] == ["locked"]
    assert str(tmp_path / "env") in seen[0].message
    assert "rocm-sdk-devel" in names
    # The one that waited finds what the other one left, and makes its own of it.
    names = {
        package["name"] for package in setup_venv(desk(tmp_path, dist, packages=("rocm[libraries]",)))["environment"]["packages"]
    }
    assert "rocm-sdk-devel" not in names
