"""torchaudio and torchvision as torch's tree pins them, checked out by the commands that a person types."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.real_runs import Ran, nox
from tests.support.source_trees import git, identity

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real("real"), pytest.mark.timeout(600), pytest.mark.xdist_group("real-companions")]

COMPANIONS = {
    "pytorch-audio": ("torchaudio", "release/2.6", "2.6.0a0"),
    "pytorch-vision": ("torchvision", "release/0.21", "0.21.0"),
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """An origin of torch whose release branch pins the companions, and what was locked by it."""

    folder: Path
    torch: Path
    commits: dict[str, str]
    ran: Ran

    def command(self, session: str, *words: str) -> Ran:
        where = ("--work-dir", self.folder / "work", "--cache-dir", self.folder / "cache")
        ran = nox(session, *words, *where, cwd=self.folder)
        assert ran.status == 0, ran.talk
        return ran


def with_file(repository: Path, branch: str, path: str, text: str) -> str:
    """Add a commit with one more file to a branch of a bare repository."""
    index = {**identity(), "GIT_INDEX_FILE": str(repository / "index-of-test")}
    git(repository, "read-tree", branch, env=index)
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=repository, env=index, input=text.encode(), capture_output=True, check=True
    ).stdout.decode()
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob.strip()},{path}", env=index)
    commit = git(repository, "commit-tree", git(repository, "write-tree", env=index), "-p", branch, "-m", f"Add {path}")
    git(repository, "update-ref", f"refs/heads/{branch}", commit)
    return commit


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Place:
    folder = tmp_path_factory.mktemp("companions")
    torch = folder / "pytorch.git"
    git(folder, "clone", "--quiet", "--bare", "--shared", inputs["pytorch-origin"], torch)
    commits, rows = {}, ["# pins of this release"]
    for name, (row, branch, _) in COMPANIONS.items():
        origin = inputs[f"{row}-origin"]
        commits[name] = git(origin, "rev-parse", branch)
        rows += [f"{system}|pytorch|{row}|{branch}|{commits[name]}|{origin}" for system in ("ubuntu", "centos")]
    with_file(torch, "release/2.6", "related_commits", "\r\n".join([*rows, ""]))
    where = ("--work-dir", folder / "work", "--cache-dir", folder / "cache")
    asked = ("--projects", ",".join(COMPANIONS), "--pytorch-origin", torch, "--pytorch-ref", "release/2.6", "--pins", "require")
    ran = nox("lock", *asked, *where, cwd=folder)
    assert ran.status == 0, ran.talk
    return Place(folder=folder, torch=torch, commits=commits, ran=ran)


@pytest.mark.parametrize("name", COMPANIONS)
def test_the_pin_of_torchs_tree_is_locked_with_its_reason(place: Place, name: str) -> None:
    row, branch, version = COMPANIONS[name]
    sources: dict[str, Any] = place.ran.document["lock"]["projects"][name]["sources"]
    assert (sources["ref"], sources["commit"], sources["base_version"]) == (branch, place.commits[name], version)
    assert "related_commits" in sources["reason"]
    assert row in sources["reason"]


@pytest.mark.parametrize("name", COMPANIONS)
def test_the_pinned_tree_is_checked_out(place: Place, name: str) -> None:
    row = COMPANIONS[name][0]
    ran = place.command(f"checkout_{name.replace('-', '_')}")
    assert set(ran.states().values()) <= {"run", "skipped"}
    tree = place.folder / "work" / "src" / name
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    assert git(tree, "rev-parse", "HEAD", env=env) == place.commits[name]
    assert git(tree, "status", "--porcelain", "--ignored", env=env) == ""
    assert any(path.is_file() for path in tree.glob(f"**/{row}/__init__.py"))
    assert (tree / "setup.py").is_file()
