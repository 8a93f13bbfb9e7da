"""A ROCm of the machine as the SDK of a build, and environments that a person asks for and has judged: by commands alone."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from build_tools.process import Runner, base_environment
from build_tools.rocm.artifact_sources import compile_artifacts
from build_tools.types import Platform
from tests.support.packages import make_wheel
from tests.support.sample_sdk import SDK, flattened
from tests.support.stub_sdk import StubSdk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk


@pytest.fixture(scope="module")
def rocm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's ROCm as one folder, as a system package or a tarball installs it."""
    artifacts = tmp_path_factory.mktemp("artifacts")
    compile_artifacts(SDK, artifacts, runner=Runner(environment=base_environment(os.environ)), platform=Platform.LINUX)
    return flattened(artifacts, tmp_path_factory.mktemp("opt") / "rocm")


def test_a_build_against_a_rocm_in_a_folder(desk: Desk, rocm: Path) -> None:
    named = desk.with_work("folder", ROCM_PATH=str(rocm))
    own = ("--gfx", "gfx942", "--build-env", "USE_KINETO=OFF", "--json")
    ran = named.nox("build_sample", "--rocm-path", "env", *own).well()
    assert "+rocm7.10.0" in ran.wheel.name
    packages = ran.receipt("provision")["result"]["value"]["environment"]["packages"]
    assert not [package for package in packages if package["name"].startswith("rocm")]
    assert ran.receipt("provision")["result"]["value"]["root"] == str(rocm)
    environment = ran.receipt("build")["environment"]
    assert (environment["ROCM_PATH"], environment["CMAKE_PREFIX_PATH"]) == (str(rocm), str(rocm / "lib" / "cmake"))
    assert environment["USE_KINETO"] == "OFF"
    assert environment["PATH"].split(os.pathsep)[1] == str(rocm / "bin")
    again = named.nox("build_sample", "--rocm-path", str(rocm), *own).well()
    assert set(again.states.values()) == {"skipped"}
    # A wheel that requires ROCm packages cannot be tested without any.
    error = named.nox("test_sample", "--rocm-path", str(rocm), "--gfx", "gfx942", "--json").failed("requirement-missing")
    assert "rocm" in error["message"]


def test_an_environment_is_made_once_and_judged(desk: Desk, tmp_path: Path) -> None:
    own, folder = StubSdk().write(tmp_path / "own"), tmp_path / "env"
    words = (folder, "--packages", "rocm[libraries,devel]", "--find-links", own, "--json")
    first = desk.nox("setup_venv", *words).well().document["environment"]
    assert first["made"] is True
    assert first["sdk"]["version"] == "7.10.0"
    assert desk.nox("setup_venv", *words).well().document["environment"] == {**first, "made": False}
    assert desk.nox("doctor", folder, "--json").well().document["findings"] == []
    torch = make_wheel(tmp_path / "other", "torch", "2.9.0+rocm7.11.0")
    program = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(torch)]
    subprocess.run(program, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    error = desk.nox("doctor", folder, "--json").failed("mixed-stack")
    assert "torch 2.9.0+rocm7.11.0" in error["message"]
