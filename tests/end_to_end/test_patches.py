"""Patches as a person makes them: commits in a source tree become the series on disk, by the commands that are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.commands import Desk, change_file, small_clone, tree_of
from tests.support.patching import GREETER, MODULES, WORDS, PatchDesk
from tests.support.source_trees import snapshot

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.end_to_end

ROOT_BASE = "root/base/0001-Round-the-grid-up.patch"
ROOT_HIPIFIED = "root/hipified/0001-Name-the-architecture-as-ROCm-s-compilers-spell-it.patch"
GREETER_BASE = f"{GREETER}/base/0001-Ask-the-device-for-its-wave-size.patch"
GREETER_HIPIFIED = f"{GREETER}/hipified/0001-Read-the-version-number-as-HIP-writes-it.patch"
SERIES = [ROOT_BASE, ROOT_HIPIFIED, GREETER_BASE, GREETER_HIPIFIED]
SOURCE_STAGES = ("checkout", "base-patches", "hipify", "hipified-patches")


@pytest.fixture
def person(tmp_path: Path, cache: Path) -> PatchDesk:
    """A person with a clone of their own and the sample checked out."""
    return PatchDesk(desk=Desk(clone=small_clone(tmp_path, "sample"), work=tmp_path / "work", cache=cache)).begin()


def test_the_commands_of_every_day(person: PatchDesk) -> None:
    desk = person.desk
    person.append(".", "README.md", "\nMine.\n", "Say whose it is\n\nNobody knew.")
    person.append(GREETER, "README.md", "\nMine.\n", "Say so in the greeter")
    files = snapshot(person.tree)

    saved = desk.invoke("save-patches", "--json").well()
    assert saved.document["ok"] is True
    new = {
        "root/hipified/0002-Say-whose-it-is.patch",
        f"{GREETER}/hipified/0002-Say-so-in-the-greeter.patch",
    }
    assert person.changed() == {"patches/1.0/series.toml": "M", **{f"patches/1.0/{name}": "??" for name in new}}
    assert set(person.names()) == {*SERIES, *new}
    assert [name for name in person.names() if name in SERIES] == SERIES
    (entry,) = (entry for entry in person.entries() if entry["file"].endswith("Say-whose-it-is.patch"))
    assert (entry["why"], entry["upstream"]) == ("Nobody knew.", "not sent")
    assert entry["owner"] == "A Person <some.one@example.com>"

    desk.invoke("check-patches").well()
    again = desk.nox("checkout_sample", "--json").well()
    assert {stage: again.states[stage] for stage in SOURCE_STAGES} == dict.fromkeys(SOURCE_STAGES, "skipped")
    assert person.is_clean()
    other = person.elsewhere("clean")
    assert snapshot(other.tree) == files
    assert other.heads() == person.heads(), "a clean checkout makes the very commits that the tree has"


def test_what_a_parent_records_of_a_persons_commits_is_left_out(person: PatchDesk) -> None:
    person.append(WORDS, "words.h", "// mine\n", "In a submodule")
    person.git(GREETER, "commit", "--quiet", "-a", "-m", "Take it along")
    (person.tree / "README.md").write_text("Mine.\n", encoding="utf-8")
    person.git(".", "commit", "--quiet", "-a", "-m", "Mine, and take it along")
    said = person.desk.invoke("save-patches").well()
    assert "Take it along" in said.talk
    assert [name for name in person.names() if name not in SERIES] == [
        "root/hipified/0002-Mine-and-take-it-along.patch",
        f"{WORDS}/hipified/0001-In-a-submodule.patch",
    ]
    assert b"Subproject" not in (person.place / "root/hipified/0002-Mine-and-take-it-along.patch").read_bytes()
    assert person.is_clean()
    assert person.elsewhere("clean").heads() == person.heads()


def test_a_saved_tree_moves_without_a_question(person: PatchDesk) -> None:
    person.append(".", "README.md", "\nMine.\n", "Mine")
    person.desk.invoke("save-patches").well()
    person.desk.nox("checkout_sample", "--until", "checkout").well()
    assert "Mine." not in (person.tree / "README.md").read_text(encoding="utf-8")
    person.desk.nox("checkout_sample").well()
    assert "Mine." in (person.tree / "README.md").read_text(encoding="utf-8")


def test_nothing_changed_is_nothing_written(person: PatchDesk) -> None:
    series, heads = tree_of(person.place), person.heads()
    person.desk.invoke("save-patches").well()
    person.desk.invoke("save-patches", "--refresh").well()
    assert tree_of(person.place) == series
    assert person.heads() == heads
    assert person.changed() == {}


def test_a_base_patch_is_made_in_a_tree_that_is_not_hipified(person: PatchDesk) -> None:
    desk = person.desk
    desk.nox("checkout_sample", "--until", "base-patches").well()
    person.append(".", "csrc/cuda/saxpy.cu", "// cudaMalloc is meant\n", "Say what is meant")
    person.append(GREETER, "cuda/greeter.h", "// cudaFree is meant\n", "Say what is meant here")
    person.append(WORDS, "words.h", "// mine\n", "Say so")
    desk.invoke("save-patches").well()
    assert person.names() == [
        ROOT_BASE,
        "root/base/0002-Say-what-is-meant.patch",
        ROOT_HIPIFIED,
        GREETER_BASE,
        f"{GREETER}/base/0002-Say-what-is-meant-here.patch",
        GREETER_HIPIFIED,
        f"{WORDS}/base/0001-Say-so.patch",
    ]
    desk.nox("checkout_sample").well()
    assert "// hipMalloc is meant" in (person.tree / "csrc" / "hip" / "saxpy.hip").read_text(encoding="utf-8")
    assert "// hipFree is meant" in (person.tree / GREETER / "hip" / "greeter.h").read_text(encoding="utf-8")
    series = tree_of(person.place)
    desk.invoke("save-patches").well()
    assert tree_of(person.place) == series


def test_a_patch_keeps_its_file_and_what_is_said_of_it(person: PatchDesk) -> None:
    desk = person.desk
    text = (person.place / "series.toml").read_text(encoding="utf-8")
    (person.place / "series.toml").write_text(text.replace("schema = 1\n", "schema = 1\n# kept\n"), encoding="utf-8")
    before = {name: (person.place / name).read_bytes() for name in SERIES}
    person.git(GREETER, "commit", "--quiet", "--amend", "-m", "Another subject\n\nAnd a body.")
    desk.invoke("save-patches").well()
    assert person.names() == SERIES
    assert b"Subject: Another subject\n" in (person.place / GREETER_HIPIFIED).read_bytes()
    assert {name: (person.place / name).read_bytes() for name in SERIES if name != GREETER_HIPIFIED} == {
        name: data for name, data in before.items() if name != GREETER_HIPIFIED
    }
    text = (person.place / "series.toml").read_text(encoding="utf-8")
    assert "# kept\n" in text
    assert person.entries()[-1]["why"].startswith("HIP 7.10 reads as 71000.0")


def test_patches_are_put_into_another_order_by_rebasing(person: PatchDesk) -> None:
    person.append(".", "README.md", "\nOne.\n", "One")
    person.append(".", "setup.py", "# two\n", "Two")
    person.desk.invoke("save-patches").well()
    one, two = "root/hipified/0002-One.patch", "root/hipified/0003-Two.patch"
    assert person.names()[1:4] == [ROOT_HIPIFIED, one, two]
    before = {name: (person.place / name).read_bytes() for name in person.names()}
    swap = {"GIT_SEQUENCE_EDITOR": "sed -i -e '1{h;d}' -e '2{G}'"}
    commits = person.git(".", "log", "--format=%s", "refs/hipwright/hipified..HEAD").splitlines()
    below = commits.index("One") + 1
    person.git(".", "rebase", "--quiet", "-i", f"HEAD~{below}", env=swap)
    person.desk.invoke("save-patches").well()
    assert person.names()[1:4] == [ROOT_HIPIFIED, two, one]
    assert {name: (person.place / name).read_bytes() for name in person.names()} == before
    heads = person.heads()
    assert person.made_again() == heads


def test_a_patch_whose_commit_is_gone_is_gone_and_said(person: PatchDesk) -> None:
    person.git(GREETER, "reset", "--quiet", "--hard", "HEAD~1")
    told = person.desk.invoke("save-patches", "--dry-run").well()
    assert GREETER_HIPIFIED in told.talk + told.out
    assert person.names() == SERIES
    said = person.desk.invoke("save-patches").well()
    assert GREETER_HIPIFIED in said.talk + said.out
    assert person.names() == [name for name in SERIES if name != GREETER_HIPIFIED]
    assert not (person.place / GREETER / "hipified").exists()
    heads = person.heads()
    assert person.made_again() == heads


def test_what_is_not_committed_is_asked_for(person: PatchDesk) -> None:
    series = tree_of(person.place)
    person.append(".", "README.md", "\nMine.\n", "Mine")
    for module, file in ((".", "setup.py"), (WORDS, "unknown.txt")):
        path = person.tree / module / file
        before = path.read_bytes() if path.exists() else None
        path.write_bytes((before or b"") + b"# more\n")
        error = person.desk.invoke("save-patches", "--json").failed("uncommitted")
        assert file in f"{error['message']} {error['excerpt']}"
        assert "git" in error["hint"]
        assert tree_of(person.place) == series
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
    person.desk.invoke("save-patches").well()
    assert [name for name in person.names() if name not in SERIES] == ["root/hipified/0002-Mine.patch"]


def test_what_no_patch_can_say_is_refused_with_the_way_out(person: PatchDesk) -> None:
    series = tree_of(person.place)
    start = person.git(".", "rev-parse", "HEAD")

    def refused(code: str, *says: str) -> None:
        error = person.desk.invoke("save-patches", "--json").failed(code)
        assert error["hint"]
        for word in says:
            assert word in f"{error['message']} {error['excerpt']} {error['hint']}", error
        assert tree_of(person.place) == series

    person.git(".", "commit", "--quiet", "--allow-empty", "-m", "Nothing at all")
    refused("bad-commit", "Nothing at all")
    person.git(".", "reset", "--quiet", "--hard", start)

    person.git(".", "checkout", "--quiet", "-b", "side", "HEAD~1")
    person.append(".", "README.md", "\nSide.\n", "Side")
    person.git(".", "checkout", "--quiet", "--detach", start)
    person.git(".", "merge", "--quiet", "--no-ff", "--no-edit", "side")
    refused("bad-commit", "merge")
    person.git(".", "reset", "--quiet", "--hard", start)

    person.append(".", "README.md", "\nMine.\n", "A body\n\ndiff --git a/README.md b/README.md\n")
    refused("bad-commit", "A body")
    person.git(".", "reset", "--quiet", "--hard", start)

    person.git(".", "reset", "--quiet", "--hard", "refs/hipwright/hipified~1")
    refused("marker-lost", "refs/hipwright/hipified")
    person.git(".", "reset", "--quiet", "--hard", start)
    person.desk.invoke("save-patches").well()
    assert tree_of(person.place) == series


def test_a_base_patch_that_is_changed_on_the_finished_tree_is_kept_by_the_line_that_the_error_names(person: PatchDesk) -> None:
    person.append(".", "csrc/cuda/saxpy.cu", "// cudaMalloc is meant\n", "fixup! Round the grid up")
    todo = {"GIT_SEQUENCE_EDITOR": "true", "GIT_EDITOR": "true"}
    person.git(".", "rebase", "--quiet", "--interactive", "--autosquash", "refs/hipwright/upstream", env=todo)
    error = person.desk.invoke("save-patches", "--json").failed("marker-lost")
    person.desk.paste(error["hint"].partition(": ")[2].partition("; ")[0]).well()
    person.desk.invoke("save-patches").well()
    assert person.names() == SERIES
    assert person.changed() == {f"patches/1.0/{ROOT_BASE}": "M"}
    person.desk.nox("checkout_sample").well()
    assert "// hipMalloc is meant" in (person.tree / "csrc" / "hip" / "saxpy.hip").read_text(encoding="utf-8")


def test_an_amended_commit_of_a_stage_is_named_with_the_way_out(person: PatchDesk) -> None:
    person.desk.nox("checkout_sample", "--until", "base-patches").well()
    assert "Hipwright-Phase" in person.git(".", "log", "-1", "--format=%B")
    (person.tree / "README.md").write_text("mine\n", encoding="utf-8")
    person.git(".", "commit", "--quiet", "-a", "--amend", "--no-edit")
    error = person.desk.invoke("save-patches", "--json").failed("bad-commit")
    assert "Record the submodules" in error["message"]
    assert "git" in error["hint"]
    assert person.changed() == {}


def test_a_ref_without_patches_gets_its_first(person: PatchDesk) -> None:
    desk = person.desk
    change_file(
        desk.clone / "external-builds" / "sample" / "project.toml",
        'ref = "nightly"\nline = "1.0"\nwhy = "nightly has taken none of the patches of the release yet"',
        'ref = "nightly"\nwhy = "a test"',
    )
    ran = desk.nox("checkout_sample", "--sample-ref", "nightly", "--relock").well()
    assert "no patches" in ran.talk + ran.out, "having none is said"
    desk.invoke("save-patches").well()
    person.append(".", "README.md", "\nMine.\n", "Mine")
    error = desk.invoke("save-patches", "--json").failed("no-line")
    task = error["hint"][error["hint"].index("new-series") :].split()
    desk.run("-m", "invoke", *[{"NAME": "next"}.get(word, word) for word in task]).well()
    desk.invoke("save-patches").well()
    there = PatchDesk(desk=desk, line="next")
    assert there.names() == ["root/hipified/0001-Mine.patch"]
    heads = there.git(".", "rev-parse", "HEAD")
    again = desk.nox("checkout_sample", "--json").well()
    assert {stage: again.states[stage] for stage in SOURCE_STAGES} == dict.fromkeys(SOURCE_STAGES, "skipped")
    assert there.git(".", "rev-parse", "HEAD") == heads
    desk.invoke("check-patches").well()


def test_an_edited_series_is_not_undone_by_saving(person: PatchDesk) -> None:
    path = person.place / GREETER_HIPIFIED
    path.write_bytes(path.read_bytes().replace(b"Subject: Read", b"Subject: Take"))
    series = tree_of(person.place)
    person.append(".", "README.md", "\nMine.\n", "Mine")
    error = person.desk.invoke("save-patches", "--json").failed("series-changed")
    assert GREETER_HIPIFIED in error["excerpt"]
    assert "apply-patches" in error["hint"]
    assert tree_of(person.place) == series


def test_an_unfinished_rebase_is_explained(person: PatchDesk) -> None:
    readme = (person.tree / "README.md").read_bytes()
    start = person.append(".", "README.md", "\nOne.\n", "One")
    person.git(".", "reset", "--quiet", "--hard", "HEAD~1")
    assert (person.tree / "README.md").read_bytes() == readme
    person.append(".", "README.md", "\nTwo.\n", "Two")
    with pytest.raises(AssertionError):
        person.git(".", "cherry-pick", start)
    for ran in (
        person.desk.invoke("save-patches", "--json"),
        person.desk.nox("checkout_sample", "--until", "base-patches", "--json"),
    ):
        assert ran.status != 0
        assert "cherry-pick --abort" in f"{ran.document['error']}"
    person.git(".", "cherry-pick", "--abort")
    person.desk.invoke("save-patches").well()
    assert "root/hipified/0002-Two.patch" in person.names()


def test_files_of_a_series_are_applied_as_they_are_edited_by_hand(person: PatchDesk) -> None:
    heads = person.heads()
    path = person.place / ROOT_HIPIFIED
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Subject: Name the architecture", b"Subject: Tell the architecture"))
    person.desk.invoke("apply-patches", "--dry-run").well()
    assert person.heads() == heads
    person.desk.invoke("apply-patches").well()
    assert "\nTell the architecture" in person.git(".", "log", "-2", "--format=%n%s")
    assert all((person.heads()[module] == heads[module]) == (module != ".") for module in MODULES)
    path.write_bytes(data)
    person.desk.invoke("apply-patches", "--until", "base-patches").well()
    assert not (person.tree / "csrc" / "hip").exists()
    person.desk.invoke("apply-patches").well()
    assert person.heads() == heads


def test_a_patch_that_does_not_apply_leaves_the_tree_and_can_be_tried_again(person: PatchDesk) -> None:
    path = person.place / ROOT_BASE
    data = path.read_bytes()
    path.write_bytes(data.replace(b"-    const int blocks = n / kThreads;", b"-    const int blocks = n / kLanes;  "))
    heads = person.heads()
    error = person.desk.invoke("apply-patches", "--three-way", "--json").failed("patch-conflict")
    said = f"{error}"
    assert ROOT_BASE in said
    assert "csrc/cuda/saxpy.cu" in said
    assert "n / kThreads" in said, "what the tree has there"
    assert person.heads() == heads
    assert person.is_clean()
    path.write_bytes(data)
    person.desk.invoke("apply-patches").well()
    assert person.heads() == heads
