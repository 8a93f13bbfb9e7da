"""A person's edits in a source tree: a build takes them along and says so, nothing drops them, and they are never promoted."""

from __future__ import annotations

import re
import subprocess
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import add_project, change_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk, Ran

pytestmark = pytest.mark.end_to_end

FUNCTIONS = "hipwright_sample/functions.py"
GREETER = "third_party/greeter/README.md"
EDITS = {FUNCTIONS: "# an edit of mine\n", GREETER: "mine too\n"}


@dataclass(frozen=True, kw_only=True)
class Edited:
    """A tree with an edit in the root and one in the submodule, and the run of the whole chain that met them."""

    desk: Desk
    before: Ran
    ran: Ran

    @property
    def tree(self) -> Path:
        return self.desk.work / "src" / "sample"

    def edits(self) -> bool:
        """Whether both edits are there."""
        return all((self.tree / file).read_text(encoding="utf-8").endswith(mark) for file, mark in EDITS.items())


@pytest.fixture(scope="module")
def edited(desk: Desk) -> Edited:
    before = desk.nox("checkout_sample", "--json").well()
    tree = desk.work / "src" / "sample"
    for file, mark in EDITS.items():
        with (tree / file).open("a", encoding="utf-8") as stream:
            stream.write(mark)
    return Edited(desk=desk, before=before, ran=desk.nox("pipeline", "--json"))


def test_a_build_takes_edits_along_and_prints_them(edited: Edited) -> None:
    assert f"warning: {edited.tree} has changes of yours" in edited.ran.talk
    assert f"  edited {FUNCTIONS}\n" in edited.ran.talk
    assert f"  edited third_party/greeter: {GREETER.removeprefix('third_party/greeter/')}\n" in edited.ran.talk
    ran = edited.desk.nox("build_sample", "--json").well()
    assert ran.states["build"] == "skipped"
    value = ran.receipt("build")["result"]["value"]
    version = re.fullmatch(r"1\.0\.0\+rocm7\.10\.0\.local([0-9a-f]{8})", value["version"])
    assert version is not None
    assert value["local"].startswith(version[1])
    assert value["upstream"] == edited.before.receipt("lock")["result"]["value"]["sources"]["commit"]
    with zipfile.ZipFile(ran.wheel) as archive:
        assert archive.read(FUNCTIONS).decode().endswith(EDITS[FUNCTIONS])
        assert value["upstream"] in archive.read("hipwright_sample/version.py").decode()


def test_promotion_refuses_what_was_built_of_edits(edited: Edited) -> None:
    error = edited.ran.failed("promotion-refused")
    assert "was built from sources with local changes" in f"{error['message']} {error['excerpt']}"
    assert "nox -s promote" in error["reproduce"]
    assert not (edited.desk.work / "store" / "channels" / "rehearsal" / "dist").exists()


def test_moving_the_tree_is_refused_and_loses_nothing(edited: Edited) -> None:
    ran = edited.desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock", "--json")
    error = ran.failed("unsaved-work")
    assert f"edited {FUNCTIONS}" in error["excerpt"]
    assert f"edited third_party/greeter: {GREETER.removeprefix('third_party/greeter/')}" in error["excerpt"]
    assert edited.edits()
    back = edited.desk.nox("checkout_sample", "--sample-ref", "release/1.0", "--relock", "--json").well()
    commits = [run.receipt("lock")["result"]["value"]["sources"]["commit"] for run in (edited.before, back)]
    assert commits[0] == commits[1]
    assert edited.edits()


def test_another_edit_is_another_version(edited: Edited) -> None:
    first = edited.desk.nox("build_sample", "--json").well()
    file = edited.tree / "README.md"
    kept = file.read_text(encoding="utf-8")
    file.write_text(f"{kept}mine\n", encoding="utf-8")
    second = edited.desk.nox("build_sample", "--json", "--explain").well()
    file.write_text(kept, encoding="utf-8")
    assert "build sample: runs: changed: local changes (" in second.talk
    assert second.wheel.name != first.wheel.name
    third = edited.desk.nox("build_sample", "--json").well()
    assert third.states["build"] == "skipped"
    assert third.wheel == first.wheel
    assert edited.edits()


def test_a_commit_that_a_tag_or_the_origin_holds_is_still_a_change(edited: Edited) -> None:
    desk = edited.desk.with_work("tagged")
    desk.nox("checkout_sample").well()
    tree = desk.work / "src" / "sample"
    for step in (
        ("commit", "--quiet", "--allow-empty", "-m", "mine"),
        ("tag", "mine"),
        ("update-ref", "refs/remotes/origin/x", "HEAD"),
    ):
        subprocess.run(["git", "-c", "user.name=me", "-c", "user.email=me@example.invalid", *step], cwd=tree, check=True)
    ran = desk.nox("build_sample", "--json").well()
    assert ran.receipt("build")["result"]["value"]["local"] is not None
    assert ".local" in ran.wheel.name
    assert "mine" in ran.talk


def test_a_lock_that_the_tree_could_not_follow_is_as_it_was(edited: Edited) -> None:
    lock = edited.desk.work / "lock.json"
    before = lock.read_bytes()
    edited.desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock", "--json").failed("unsaved-work")
    assert lock.read_bytes() == before
    edited.desk.nox("build_sample", "--json").well()


def test_discarding_drops_what_a_later_stage_meets_and_nothing_where_none_has_to_move(edited: Edited) -> None:
    desk = edited.desk.with_work("discards")
    desk.nox("checkout_sample").well()
    tree = desk.work / "src" / "sample"
    text = (tree / FUNCTIONS).read_text(encoding="utf-8")
    (tree / FUNCTIONS).write_text(f"{text}mine\n", encoding="utf-8")
    ran = desk.nox("checkout_sample", "--discard-local").well()
    assert "nothing had to move, so nothing was discarded" in ran.talk
    assert (tree / FUNCTIONS).read_text(encoding="utf-8") != text
    ran = desk.nox("checkout_sample", "--until", "base-patches", "--discard-local").well()
    assert f"discarding edited {FUNCTIONS}" in ran.talk
    assert "nothing had to move" not in ran.talk
    assert len(list((tree / ".git" / "hipwright" / "discarded").iterdir())) == 1
    desk.nox("checkout_sample").well()
    assert (tree / FUNCTIONS).read_text(encoding="utf-8") == text


def test_ending_early_takes_the_tree_to_that_phase_and_later_forward_again(edited: Edited) -> None:
    desk = edited.desk.with_work("phases")
    desk.nox("checkout_sample").well()
    tree = desk.work / "src" / "sample"
    finished = head(tree)
    desk.nox("checkout_sample", "--until", "base-patches").well()
    assert not (tree / "hip").exists()
    assert head(tree) != finished
    (tree / "README.md").write_text("mine\n", encoding="utf-8")
    desk.nox("checkout_sample", "--until", "base-patches").well()
    assert (tree / "README.md").read_text(encoding="utf-8") == "mine\n"
    desk.nox("checkout_sample", "--json").failed("unsaved-work")
    subprocess.run(["git", "checkout", "--quiet", "README.md"], cwd=tree, check=True)
    desk.nox("checkout_sample").well()
    assert head(tree) == finished


def head(tree: Path) -> str:
    ran = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def test_an_edited_build_that_cannot_say_so_in_its_version_is_published_apart(desk: Desk) -> None:
    desk = desk.with_work("apart")
    folder = add_project(desk.clone, "mute-project")
    change_file(folder / "project.toml", '[build.variables]\nversion = "TINY_VERSION"\n', "")
    pristine = desk.nox("upload_mute_project", "--json").well()
    with (desk.work / "src" / "mute-project" / "tiny_project" / "__init__.py").open("a", encoding="utf-8") as stream:
        stream.write("# mine\n")
    edited = desk.nox("upload_mute_project", "--json").well()
    urls = [ran.document["indexes"][0]["index-url"] for ran in (pristine, edited)]
    assert "/generic/" in urls[0]
    assert "/generic-local" in urls[1]
    assert pristine.wheel.name == edited.wheel.name
    assert pristine.wheel != edited.wheel


def test_limits_and_demands_of_a_recipe_do_not_build_again(desk: Desk) -> None:
    desk = desk.with_work("limits")
    folder = add_project(desk.clone, "demanding-project")
    desk.nox("build_demanding_project").well()
    demand = 'required-members = ["tiny_project/__init__.py"'
    change_file(folder / "project.toml", demand, f'{demand}, "tiny_project/*.py"')
    change_file(folder / "project.toml", "time-limit-minutes = 5", "time-limit-minutes = 6")
    ran = desk.nox("check_demanding_project", "--json").well()
    assert (ran.states["build"], ran.states["check"]) == ("skipped", "run")
