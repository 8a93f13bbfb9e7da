"""A tree of a person's own instead of one that is checked out: looked at, built as it stands, and never written to."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import Desk, small_clone
from tests.support.source_trees import git

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.end_to_end

FILE = "hipwright_sample_companion/__init__.py"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Desk:
    folder = tmp_path_factory.mktemp("own")
    made = Desk(clone=small_clone(folder, "sample", "sample-companion"), work=folder / "work", cache=cache)
    # The companion is built with the sample's wheel, and promoted where that is.
    made.nox("pipeline", "--projects", "sample").well()
    return made


@pytest.fixture
def own(desk: Desk, tmp_path: Path) -> Path:
    """A clone of the companion's repository, as a person makes one."""
    ran = desk.nox("lock", "--projects", "sample-companion", "--json").well()
    (origin,) = desk.cache.glob("embedded/*/sample-companion.git")
    tree = tmp_path / "a tree of mine"
    git(tmp_path, "clone", "--quiet", "--branch", "main", origin.as_uri(), tree)
    assert ran.document["lock"]["projects"]["sample-companion"]["sources"]["commit"] == git(tree, "rev-parse", "HEAD")
    return tree


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


def test_a_clone_of_what_upstream_has_goes_through_the_whole_chain(desk: Desk, own: Path) -> None:
    before = everything(own)
    kept = (desk.work / "lock.json").read_bytes()
    ran = desk.nox("pipeline", "--projects", "sample-companion", "--sample-companion-dir", own, "--json").well()
    assert ran.states["promote"] == "run"
    assert ran.receipt("lock")["result"]["value"]["sources"]["reason"] == "a tree of your own"
    assert f"found: its version: {own / 'version.txt'}" in ran.talk
    with zipfile.ZipFile(ran.wheel) as archive:
        assert git(own, "rev-parse", "HEAD") in archive.read("hipwright_sample_companion/version.py").decode()
    assert everything(own) == before
    assert (desk.work / "lock.json").read_bytes() == kept
    assert not (desk.work / "src" / "sample-companion").exists()


def test_edits_and_commits_of_a_person_mark_the_wheel(desk: Desk, own: Path) -> None:
    upstream = git(own, "rev-parse", "HEAD")
    git(own, "commit", "--quiet", "--allow-empty", "-m", "a commit of mine")
    with (own / FILE).open("a", encoding="utf-8") as stream:
        stream.write("# an edit of mine\n")
    (own / "new.txt").write_text("new\n", encoding="utf-8")
    before = everything(own)
    ran = desk.nox("pipeline", "--projects", "sample-companion", "--sample-companion-dir", own, "--json")
    ran.failed("promotion-refused")
    for line in (f"  edited {FILE}\n", "  added new.txt\n", " a commit of mine\n"):
        assert line in ran.talk
    built = desk.nox("build_sample_companion", "--sample-companion-dir", own, "--json").well()
    assert built.states["build"] == "skipped"
    assert "+local" in built.wheel.name
    with zipfile.ZipFile(built.wheel) as archive:
        assert archive.read(FILE).decode().endswith("# an edit of mine\n")
        assert upstream in archive.read("hipwright_sample_companion/version.py").decode()
    assert everything(own) == before


def test_a_tree_that_was_hipified_and_patched_by_hand_is_built_without_doing_it_again(desk: Desk, tmp_path: Path) -> None:
    desk.nox("checkout_sample").well()
    own = tmp_path / "sample"
    shutil.copytree(desk.work / "src" / "sample", own, symlinks=True)
    before = everything(own)
    ran = desk.nox("check_sample", "--sample-dir", own, "--json").well()
    assert [ran.states[stage] for stage in ("base-patches", "hipify", "hipified-patches")] == ["skipped"] * 3
    assert ".local" in ran.wheel.name
    assert everything(own) == before


def test_checking_it_out_looks_at_it_and_does_nothing_else(desk: Desk, own: Path) -> None:
    before = everything(own)
    ran = desk.nox("checkout_sample_companion", "--sample-companion-dir", own, "--json").well()
    assert "found: a repository of its own" in ran.talk
    assert everything(own) == before
    (own / "version.txt").unlink()
    error = desk.nox("checkout_sample_companion", "--sample-companion-dir", own, "--json").failed("bad-source-tree")
    assert f"missing: its version: version.txt in {own}" in error["excerpt"]
    assert f"found: what builds it: {own / 'pyproject.toml'}" in error["excerpt"]


def test_a_dry_run_looks_at_it_and_writes_nothing(desk: Desk, own: Path) -> None:
    other = desk.with_work("dry")
    other.nox("build_sample").well()
    ran = other.nox("build_sample_companion", "--sample-companion-dir", own, "--dry-run", "--json").well()
    assert ran.document["would-run"][0]["stage"] == "checkout"
    assert not (other.work / "own").exists()


def test_a_folder_that_is_no_repository_is_refused_with_the_way_to_make_it_one(desk: Desk, own: Path) -> None:
    shutil.rmtree(own / ".git")
    error = desk.nox("build_sample_companion", "--sample-companion-dir", own, "--json").failed("bad-source-tree")
    assert f"missing: a repository of its own: {own / '.git'}" in error["excerpt"]
    for command in error["hint"].removeprefix("make it one: ").split(", then "):
        subprocess.run(command, shell=True, check=True, cwd=own, capture_output=True, env=desk.environment | IDENTITY)  # noqa: S602 - as it is pasted
    desk.nox("build_sample_companion", "--sample-companion-dir", own).well()


def test_what_it_takes_to_develop_in_it_is_no_edit_of_a_person_s(desk: Desk, own: Path, tmp_path: Path) -> None:
    tree = tmp_path / "one of several work trees"
    git(own, "worktree", "add", "--quiet", "--detach", tree)
    (tree / ".gitignore").unlink(missing_ok=True)
    (tree / "new.txt").write_text("new\n", encoding="utf-8")
    mine = git(tree, "status", "--porcelain")
    ran = desk.nox("build_sample_companion", "--sample-companion-dir", tree, "--develop", "--json").well()
    (developed,) = ran.document["develop"]
    assert developed["tree"] == str(tree)
    assert any(path.name.endswith(".egg-info") for path in tree.rglob("*.egg-info"))
    assert git(tree, "status", "--porcelain") == mine
    # It is told what was made there, and where git is told to leave it out.
    assert f"made in your tree, and ignored there by {own / '.git' / 'info' / 'exclude'}: " in ran.talk
    later = desk.nox("checkout_sample_companion", "--sample-companion-dir", tree, "--json").well()
    assert "  added new.txt\n" in later.talk
    assert ".egg-info" not in later.talk


def test_an_unfinished_merge_in_a_build_file_is_told_before_anything_long_begins(desk: Desk, own: Path) -> None:
    text = (own / "pyproject.toml").read_text(encoding="utf-8")
    (own / "pyproject.toml").write_text(f"{text}<<<<<<< HEAD\n=======\n>>>>>>> theirs\n", encoding="utf-8")
    before = sorted((desk.work / "envs").iterdir())
    ran = desk.nox("build_sample_companion", "--sample-companion-dir", own, "--json")
    error = ran.failed("bad-source-tree")
    assert error["where"] == f"{own / 'pyproject.toml'}:{len(text.splitlines()) + 1}"
    assert "provision" not in ran.states
    assert sorted((desk.work / "envs").iterdir()) == before


IDENTITY = {f"GIT_{who}_{what}": "me@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--sample-companion-ref", "main"], "--sample-companion-ref"),
        (["--sample-companion-origin", "https://example.com/x.git"], "--sample-companion-origin"),
        (["--discard-local"], "--discard-local"),
        (["--force", "hipify"], "--force hipify"),
        (["--force", "checkout"], "--force checkout"),
    ],
)
def test_options_that_say_otherwise_are_refused(desk: Desk, own: Path, words: list[str], named: str) -> None:
    ran = desk.nox("build_sample_companion", "--sample-companion-dir", own, *words, "--json")
    error = ran.failed("option-conflict")
    assert named in error["message"]
    assert "--sample-companion-dir" in error["message"]
