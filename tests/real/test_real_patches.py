"""The series that Debian keeps for PyTorch, on the sources that it is made for: taken over, applied, saved, and made again elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.real_runs import CLONE, Ran, clone_with, nox

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(900), pytest.mark.xdist_group("real-checkout")]

LINE = "debian-2.6"
PATCHES = 17
STAGES = ("lock", "checkout", "base-patches", "hipify", "hipified-patches")


class Place:
    """A clone of one's own with PyTorch's recipe, a work dir and a cache."""

    def __init__(self, folder: Path, inputs: dict[str, Path]) -> None:
        self.folder, self.inputs = folder, inputs
        self.clone = clone_with(folder, CLONE / "external-builds" / "pytorch")
        shutil.copyfile(CLONE / "tasks.py", self.clone / "tasks.py")

    def places(self, work: str = "work") -> tuple[str, ...]:
        return "--work-dir", str(self.folder / work), "--cache-dir", str(self.folder / "cache")

    def checkout(self, *words: str, work: str = "work") -> Ran:
        origin = ("--pytorch-origin", str(self.inputs["pytorch-origin"]), "--pytorch-ref", "release/2.6")
        ran = nox("checkout_pytorch", *origin, *words, *self.places(work), cwd=self.folder, clone=self.clone)
        assert ran.status == 0, ran.talk
        return ran

    def invoke(self, task: str, *words: str) -> dict[str, Any]:
        """Run a task that ends well, and return its document."""
        command = [sys.executable, "-m", "invoke", task, *words, *self.places(), "--json"]
        environment = {**os.environ, "PYTHONPATH": str(self.clone)}
        ended = subprocess.run(command, cwd=self.clone, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        document: dict[str, Any] = json.loads(ended.stdout)
        return document

    def tree(self, work: str = "work") -> Path:
        return self.folder / work / "src" / "pytorch"

    def line(self) -> dict[str, bytes]:
        place = self.clone / "external-builds" / "pytorch" / "patches" / LINE
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def git(tree: Path, *words: str) -> str:
    """Run git as a person does."""
    command = ["git", "-c", "safe.directory=*", "-C", str(tree), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip("\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Place:
    place = Place(tmp_path_factory.mktemp("patches"), inputs)
    place.checkout()
    return place


@pytest.fixture(scope="module")
def imported(place: Place, inputs: dict[str, Path]) -> dict[str, Any]:
    """What the import told."""
    words = (str(inputs["pytorch-series"]), "--projects", "pytorch", "--line", LINE)
    done: dict[str, Any] = place.invoke("import-patches", *words)["import"]
    return done


@pytest.fixture(scope="module")
def applied(place: Place, imported: dict[str, Any]) -> Path:
    """The tree with the series."""
    assert imported["new_line"]
    place.checkout("--line", LINE)
    return place.tree()


def test_all_patches_come_over_with_names_authors_descriptions_and_order(
    place: Place, imported: dict[str, Any], inputs: dict[str, Path]
) -> None:
    names = [line for line in (inputs["pytorch-series"] / "series").read_text(encoding="utf-8").splitlines() if line]
    rows = imported["patches"]
    assert [row["patch"] for row in rows] == names
    assert len(names) == PATCHES
    assert {row["outcome"] for row in rows} == {"imported"}
    entries = tomllib.loads(place.line()["series.toml"].decode())["patch"]
    assert [entry["file"] for entry in entries] == [f"root/base/{name}" for name in names], "each has its number already"
    by_name = {entry["file"].rpartition("/")[2]: entry for entry in entries}
    mail = by_name["0001-143299.patch"]
    assert (mail["owner"], str(mail["added"])) == ("drisspg <drisspguessous@gmail.com>", "2024-12-16")
    resources = by_name["1060-remove-pkg-resources.patch"]
    assert resources["owner"] == "Shengqi Chen <harry-chen@outlook.com>"
    assert resources["why"].startswith("Remove use of deprecated pkg_resources module.")
    assert "https://github.com/pytorch/pytorch/issues/139170" in resources["upstream"]
    assert by_name["1050-use-system-httplib.patch"]["owner"] == "unknown", "it names nobody"
    assert by_name["2310-disable-non-portable-flags.patch"]["owner"] == "Santiago Vila <sanvila@debian.org>"


def test_the_tree_has_what_the_patches_make_of_it(applied: Path, inputs: dict[str, Path], tmp_path: Path) -> None:
    subjects = git(applied, "log", "--reverse", "--format=%an|%s", "refs/hipwright/upstream..refs/hipwright/base").splitlines()
    assert len(subjects) == PATCHES
    assert subjects[0] == "drisspg|Update"
    assert subjects[-1] == "Santiago Vila|Disable non-portable flags"
    plain = tmp_path / "plain"
    git(applied, "worktree", "add", "--quiet", "--detach", str(plain), "refs/hipwright/upstream")
    try:
        for name in (inputs["pytorch-series"] / "series").read_text(encoding="utf-8").split():
            git(plain, "apply", "--index", "-p1", str(inputs["pytorch-series"] / name))
        assert git(plain, "write-tree") == git(applied, "rev-parse", "refs/hipwright/base^{tree}")
    finally:
        git(applied, "worktree", "remove", "--force", str(plain))


def test_it_is_imported_once_and_saving_it_changes_nothing(applied: Path, place: Place, inputs: dict[str, Path]) -> None:
    before, head = place.line(), git(applied, "rev-parse", "HEAD")
    again = place.invoke("import-patches", str(inputs["pytorch-series"]), "--projects", "pytorch", "--line", LINE)["import"]
    assert {row["outcome"] for row in again["patches"]} == {"there already"}
    place.invoke("save-patches", "--projects", "pytorch")
    place.invoke("save-patches", "--projects", "pytorch", "--refresh")
    assert place.line() == before
    assert git(applied, "rev-parse", "HEAD") == head


def test_another_checkout_makes_the_same_commits(applied: Path, place: Place) -> None:
    place.checkout("--line", LINE, "--until", "base-patches", work="other")
    names = ("refs/hipwright/upstream", "refs/hipwright/base")
    assert git(place.tree("other"), "rev-parse", *names) == git(applied, "rev-parse", *names)


def test_it_is_carried_to_the_same_sources_without_a_change(applied: Path, place: Place) -> None:
    head = git(applied, "rev-parse", "HEAD")
    commit = git(applied, "rev-parse", "refs/hipwright/upstream")
    done = place.invoke("rebase-patches", "--projects", "pytorch", "--onto", commit, "--line", "again")["rebase"]
    assert {(row["fate"], row["change"]) for row in done["patches"]} == {("carried", "unchanged")}
    assert len(done["patches"]) == PATCHES
    assert git(applied, "rev-parse", "HEAD") == head
