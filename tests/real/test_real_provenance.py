"""What a build of the real PyTorch tree says it was built from: always the upstream commit, whatever lies on top of it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from build_tools.checks.expectation import Expectation, StatedCommit
from build_tools.checks.rules import source_commit
from build_tools.checks.run import check_wheels
from build_tools.config.project import load_project
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import read_record
from build_tools.sources.export import materialise
from build_tools.sources.state import read_source_tree
from build_tools.types import CommitId, Platform, ProjectName
from tests.support.real_runs import CLONE, nox
from tests.support.source_trees import git, new_git
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(600), pytest.mark.xdist_group("real-provenance")]

SCRIPT = "tools/generate_torch_version.py"
WORDS = ("--is-debug=", "--cuda-version=", "--hip-version=7.2.1", "--rocm-version=7.10.0")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The tree as a checkout leaves it, with the commits of hipwright's own on top, and where it comes from."""

    work: Path
    upstream: str

    @property
    def tree(self) -> Path:
        return self.work / "src" / "pytorch"

    def told(self, place: Path) -> bytes:
        """Return the version module that the tree's own script writes in a build's copy of the tree as it stands."""
        locked = read_record(self.work / "lock.json", Lock).projects["pytorch"].sources
        hipwrights = new_git()
        source = read_source_tree("pytorch", locked=locked, tree=self.tree, git=hipwrights)
        assert source.upstream == self.upstream
        copy = place / "copy"
        materialise(source, copy, git=hipwrights)
        # The script imports distutils out of setuptools for one function.
        (place / "setuptools.py").write_text("class distutils:\n    class util:\n        strtobool = bool\n", encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(place), "PYTORCH_BUILD_VERSION": "2.6.0+rocm7.10.0"}
        environment |= {"PYTORCH_BUILD_NUMBER": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"}
        environment |= {"GIT_CONFIG_VALUE_0": "*"}
        subprocess.run([sys.executable, "-B", copy / SCRIPT, *WORDS], env=environment, cwd=place, check=True)
        return (copy / "torch" / "version.py").read_bytes()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Sources:
    folder = tmp_path_factory.mktemp("provenance")
    origin = inputs["pytorch-origin"]
    asked = ("--pytorch-origin", origin, "--pytorch-ref", "release/2.6")
    ran = nox("checkout_pytorch", *asked, "--work-dir", folder / "work", "--cache-dir", folder / "cache", cwd=folder)
    assert ran.status == 0, ran.talk
    return Sources(work=folder / "work", upstream=git(origin, "rev-parse", "release/2.6"))


def values(module: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    exec(module, found)  # noqa: S102 - what the tree's script has just written
    return found


def findings(module: bytes, commit: str, folder: Path) -> list[str]:
    """Return what the rule says of a wheel that has this version module, and was planned from a commit."""
    stated = load_project(CLONE / "external-builds", ProjectName("pytorch")).wheel.source_commit
    assert stated is not None
    wheel = WheelMaker(files={stated.member: module}).write(folder)
    plan = Expectation(
        distribution="demo",
        version="1.0",
        python_tag="cp311",
        platform=Platform.LINUX,
        source_commit=StatedCommit(member=stated.member, name=stated.name, commit=CommitId(commit)),
    )
    report = check_wheels([wheel], expectations={wheel.name: plan}, say=lambda _line: None)
    return [finding.message for finding in report.findings if finding.rule == source_commit.RULE.name]


def test_a_build_names_the_commit_that_upstream_has(sources: Sources, tmp_path: Path) -> None:
    assert git(sources.tree, "rev-parse", "HEAD") != sources.upstream
    module = sources.told(tmp_path)
    found = values(module)
    assert found["git_version"] == sources.upstream
    assert found["__version__"] == "2.6.0+rocm7.10.0"
    assert findings(module, sources.upstream, tmp_path) == []


def test_commits_edits_and_tags_of_a_person_change_nothing_of_it(sources: Sources, tmp_path: Path) -> None:
    before = git(sources.tree, "rev-parse", "HEAD")
    (sources.tree / "README.md").write_text("mine\n", encoding="utf-8")
    git(sources.tree, "commit", "--quiet", "--all", "-m", "a commit of mine")
    git(sources.tree, "tag", "v2.6.0-rc1")
    (sources.tree / "version.txt").write_text("2.6.0a1\n", encoding="utf-8")
    try:
        found = values(sources.told(tmp_path))
        assert (found["git_version"], found["__version__"]) == (sources.upstream, "2.6.0+rocm7.10.0")
    finally:
        git(sources.tree, "tag", "--delete", "v2.6.0-rc1")
        git(sources.tree, "reset", "--quiet", "--hard", before)


def test_a_wheel_that_names_a_commit_of_ours_is_refused(sources: Sources, tmp_path: Path) -> None:
    ours = git(sources.tree, "rev-parse", "HEAD")
    module = sources.told(tmp_path).replace(sources.upstream.encode(), ours.encode())
    assert findings(module, sources.upstream, tmp_path) == [
        f"git_version is {ours!r}, and the wheel was built from {sources.upstream}"
    ]
