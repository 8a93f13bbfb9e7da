"""The table of what commands hand on says what they do hand on, and what the names of artifacts are made of."""

from __future__ import annotations

import fnmatch
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.ci.matrix_command import matrix
from build_tools.ci.outputs import ARTIFACT_AXES, outputs_of, package_outputs, wheel_outputs
from build_tools.ci.preflight import preflight
from build_tools.options.model import OPTIONS
from build_tools.pipeline.order import built_before
from build_tools.types import Platform
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS: dict[str, Any] = {
    "run_id": "7",
    "platform": "linux",
    "artifact_group": "gfx94X-dcgpu",
    "ref": {"pytorch": "main"},
    "python": ("3.12",),
    "gpu_family": "gfx94X-dcgpu",
}
OTHERS: dict[str, Any] = {
    "platform": "windows",
    "artifact-group": "gfx110X-all",
    "ref": {"pytorch": "nightly"},
    "python": ("3.13",),
    "gpu-family": "gfx110X-all",
    "release-type": "ci",
}


def declared(names: set[str], command: str) -> bool:
    forms = outputs_of(command, ["torch", "torch-spline-conv"])
    return all(any(fnmatch.fnmatchcase(name, form) for form in forms) for name in names)


def artifacts(folder: Path, **settings: Any) -> dict[str, str]:  # noqa: ANN401 - of any option
    place = replace(workplace(folder, **{**SETTINGS, **settings}), machine={}, platform=Platform.LINUX)
    found = preflight(place)["preflight"]
    assert declared(set(found) - {"store", "pytorch", "python"}, "preflight")
    return {name: value for name, value in found.items() if name in ARTIFACT_AXES}


@pytest.mark.parametrize("option", OTHERS)
def test_names_of_artifacts_differ_by_the_options_that_the_table_says(tmp_path: Path, option: str) -> None:
    before, after = artifacts(tmp_path), artifacts(tmp_path, **{OPTIONS[option].field_name: OTHERS[option]})
    assert set(before) == {name for name in ARTIFACT_AXES if name != "rocm_packages_artifact"}
    assert {name: before[name] != after[name] for name in before} == {name: option in ARTIFACT_AXES[name] for name in before}


def test_matrices_and_packages_hand_on_what_the_table_says(tmp_path: Path) -> None:
    output = tmp_path / "output"
    place = replace(workplace(tmp_path, matrix_for="ci", platform="linux"), machine={"GITHUB_OUTPUT": str(output)})
    matrix(place, built_before=built_before)
    names = {line.partition("=")[0] for line in output.read_text(encoding="utf-8").splitlines()}
    assert "matrix_1" in names
    assert declared(names, "matrix")
    assert declared(set(wheel_outputs(["x"], [("torch", "1"), ("torch_spline.conv", "2")], warn=print)), "upload")
    assert declared({*package_outputs("7", page="x"), *package_outputs("7", artifact="x")}, "upload_rocm_packages")
    assert outputs_of("lock", ["torch"]) == ()
    assert not declared({"torch_version"}, "matrix")
