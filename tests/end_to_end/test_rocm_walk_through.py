"""The lines of the README and of the page about ROCm packages, pasted one after the other as they stand there."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.commands import CLONE
from tests.support.github_api import GitHubDouble, github_api, run_row
from tests.support.pages import shown_commands
from tests.support.rocm_trees import archive_tree, make_tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran
    from tests.support.s3 import S3Server

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(sys.platform != "linux", reason="the run that the pages name is one for Linux"),
]

PAGE: Final = CLONE / "docs" / "how-to" / "rocm-packages.md"
COMMANDS: Final = {
    *("fetch_artifacts", "build_rocm_packages", "upload_rocm_packages", "setup_venv", "test_rocm", "doctor", "update_deps_index")
}
RUN: Final = 17843211
ELSEWHERE: Final = {
    "update_deps_index": "goes through what a public index offers for every Python",
    "--index-name nightly": "installs from AMD's own index",
}
"""What stands in lines that are not pasted here, and why they are not."""


def lines_of(page: Path) -> list[str]:
    return [
        shlex.join(shown.words)
        for shown in shown_commands(page)
        if shown.words[:2] == ("nox", "-s") and shown.words[2] in COMMANDS
    ]


def test_the_readme_has_lines_of_the_page() -> None:
    shown = [line for line in lines_of(CLONE / "README.md") if line.split()[2] != "doctor"]
    assert len(shown) == 5
    assert shown == lines_of(PAGE)[:5]


def test_the_lines_work_in_their_order(desk: Desk, s3_server: S3Server, tmp_path: Path) -> None:
    # A run for every target; the pages ask for one or two of them.
    tree = make_tree(tmp_path / "tree", targets=("gfx942", "gfx1100", "gfx1201"), kernels=3, headers=3)
    store = tmp_path / "store"
    archive_tree(tree.folder, store / f"{RUN}-linux")
    s3_server.bucket("my-bucket", public=True)
    double = GitHubDouble(branches={"main": ["c" * 40]}, runs={"multi_arch_ci.yml": [run_row(RUN, "c" * 40)]})
    with github_api(double) as github:
        variables = {
            "GITHUB_API_URL": github.url,
            "HIPWRIGHT_CACHE_DIR": str(desk.cache),
            "HIPWRIGHT_ENDPOINT_URL": s3_server.endpoint,
            **s3_server.machine,
        }
        desk = replace(desk, variables={**desk.variables, **variables})
        pasted = {line: paste(desk, line, store) for line in lines_of(PAGE) if not any(mark in line for mark in ELSEWHERE)}
    assert {line.split()[2] for line in pasted} == COMMANDS - {"update_deps_index"}
    work = desk.clone / ".work"
    targets = {name: made(work / name) for name in ("packages", "dated")}
    assert targets == {"packages": {"gfx942"}, "dated": {"gfx942", "gfx1201"}}
    # Nothing but what git passes over was made.
    assert {path.name for path in desk.clone.iterdir()} - {path.name for path in CLONE.iterdir()} <= {".work", "__pycache__"}
    assert (work / "venv" / "bin" / "rocm-sdk").is_file()


def paste(desk: Desk, line: str, store: Path) -> Ran:
    """Run a line of the page; the run that it names lies in a folder, and so does what is made of it."""
    line = line.replace("/mnt/runs", str(store))
    if "--run-id 17843211" in line or "--for-branch" in line:
        desk = replace(desk, variables={**desk.variables, "HIPWRIGHT_STORE": str(store)})
    return desk.paste(line).well()


def made(folder: Path) -> set[str]:
    """Return the targets that a set has device packages for."""
    return {path.name.split("-")[0].removeprefix("rocm_sdk_device_") for path in (folder / "dist").glob("rocm_sdk_device_*.whl")}
