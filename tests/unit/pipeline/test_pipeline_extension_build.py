"""What an extension's build is given in a tree and an environment that are there: the ROCm in sight, and targets where nobody names some."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.pipeline.extension_build import prepare_build
from build_tools.pipeline.given_environment import given_environment
from build_tools.types import ProjectName
from tests.support.extensions import RECIPE, extension_desk
from tests.support.stub_sdk import StubSdk
from tests.support.workplaces import memory_of

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.pipeline.extension_build import ExtensionBuild

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="environments by links")


def built(folder: Path, *targets: str, rocm: Path | None = None, recipe: str = RECIPE) -> tuple[ExtensionBuild, list[str]]:
    place = extension_desk(folder, {"setup.py": "", "version.txt": "1.5\n"}, recipe=recipe, venv=folder / "venv")
    place = replace(place, machine={"ROCM_PATH": str(rocm)} if rocm is not None else {})
    given = given_environment(folder / "venv", place, flag="--venv")
    project = load_project(place.external_builds, ProjectName("ext"))
    return prepare_build(project, folder / "tree", given, targets, place), memory_of(place).said


def test_a_whole_rocm_leads_the_build_to_it(tmp_path: Path) -> None:
    rocm = StubSdk().write_tree(tmp_path / "rocm")
    build, _ = built(tmp_path / "desk", "gfx90a", "gfx942", rocm=rocm)
    assert build.targets == ("gfx90a", "gfx942")
    assert (build.variables["ROCM_HOME"], build.variables["EXT_HIP_ARCHES"]) == (str(rocm), "gfx90a,gfx942")
    assert build.variables["CMAKE_PREFIX_PATH"].startswith(str(rocm))


def test_half_a_rocm_is_told_and_named_to_nobody(tmp_path: Path) -> None:
    rocm = StubSdk(without=("bin/hipcc",)).write_tree(tmp_path / "rocm")
    build, said = built(tmp_path / "desk", "gfx90a", rocm=rocm)
    assert "CMAKE_PREFIX_PATH" not in build.variables
    assert any("the build is led to no ROCm" in line and "hipcc" in line for line in said)


def test_the_version_is_read_from_the_tree_as_it_stands(tmp_path: Path) -> None:
    recipe = RECIPE.replace('fixed = "1"', 'file = "version.txt"').replace(
        "[build.environment]", '[build.variables]\nversion = "EXT_VERSION"\n[build.environment]'
    )
    assert built(tmp_path / "desk", recipe=recipe)[0].variables["EXT_VERSION"] == "1.5"
    with pytest.raises(HipwrightError, match=r"gone\.txt should hold the version of ext") as caught:
        built(tmp_path / "other", recipe=recipe.replace('file = "version.txt"', 'file = "gone.txt"'))
    assert caught.value.code.name == "bad-source-tree"
