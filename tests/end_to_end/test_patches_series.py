"""Looking after series without a source tree's help: begin one, look at one, take patches out, prove that they hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.config.project import load_project
from build_tools.patches.lines import find_line
from build_tools.types import ProjectName
from tests.support.commands import Desk, change_file, small_clone, tree_of
from tests.support.patching import GREETER, PatchDesk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.end_to_end

ROOT_BASE = "root/base/0001-Round-the-grid-up.patch"
GREETER_HIPIFIED = f"{GREETER}/hipified/0001-Read-the-version-number-as-HIP-writes-it.patch"


@pytest.fixture
def desk(tmp_path: Path, cache: Path) -> Desk:
    """A desk of one's own, with the sample and PyTorch."""
    return Desk(clone=small_clone(tmp_path, "sample", "pytorch"), work=tmp_path / "work", cache=cache)


def line_of(desk: Desk, project: str, ref: str) -> str | None:
    folder = desk.clone / "external-builds" / project
    return find_line(load_project(desk.clone / "external-builds", ProjectName(project)), ref, folder=folder)[0]


def states(desk: Desk, project: str = "sample", line: str = "1.0") -> dict[str, str]:
    document = desk.invoke("list-patches", "--projects", project, "--json").well().document
    patches: list[dict[str, Any]] = document["projects"][project]["lines"][line]["patches"]
    return {patch["file"]: patch["state"] for patch in patches}


def test_a_line_is_begun_with_the_patches_of_another(desk: Desk) -> None:
    desk.invoke("new-series", "--projects", "sample", "--line", "next", "--copy-of", "1.0", "--dry-run").well()
    folder = desk.clone / "external-builds" / "sample" / "patches"
    assert not (folder / "next").exists()
    desk.invoke("new-series", "--projects", "sample", "--line", "next", "--copy-of", "1.0", "--for-ref", "next/*").well()
    assert line_of(desk, "sample", "next/1") == "next"
    assert {name: row[2] for name, row in tree_of(folder / "next").items()} == {
        name: row[2] for name, row in tree_of(folder / "1.0").items()
    }
    before = tree_of(folder)
    error = desk.invoke("new-series", "--projects", "sample", "--line", "next", "--json")
    assert error.status != 0
    assert tree_of(folder) == before
    desk.nox("checkout_sample", "--line", "next").well()
    locked = json.loads((desk.work / "lock.json").read_text(encoding="utf-8"))["projects"]["sample"]["patches"]
    assert locked["line"] == "next"
    assert "--line" in locked["reason"]


def test_refs_are_declared_to_need_no_patches_before_the_rule_for_all_else(desk: Desk) -> None:
    file = desk.clone / "external-builds" / "pytorch" / "project.toml"
    before = file.read_text(encoding="utf-8")
    desk.invoke("new-series", "--projects", "pytorch", "--for-ref", "feature/*", "upstream's own work").well()
    project = load_project(desk.clone / "external-builds", ProjectName("pytorch"))
    (rule,) = (rule for rule in project.lines if rule.ref == "feature/*")
    assert (rule.line, rule.why) == (None, "upstream's own work")
    assert line_of(desk, "pytorch", "feature/x") is None
    after = file.read_text(encoding="utf-8")
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    desk.invoke("new-series", "--projects", "pytorch", "--line", "2.7", "--for-ref", "release/2.7", "--copy-of", "2.6").well()
    assert line_of(desk, "pytorch", "release/2.7") == "2.7"
    assert line_of(desk, "pytorch", "release/2.6") == "2.6"
    assert line_of(desk, "pytorch", "release/2.8") is None


def test_the_table_says_what_became_of_each_patch(desk: Desk) -> None:
    assert set(states(desk).values()) == {"not-applied"}
    desk.nox("checkout_sample").well()
    assert set(states(desk).values()) == {"applied"}
    series = desk.clone / "external-builds" / "sample" / "patches" / "1.0" / "series.toml"
    change_file(
        series,
        'why = "HIP 7.10 reads as 71000.0, because the digits are CUDA\'s"',
        'platforms = ["windows"]\nwhy = "a test"\ndrop-when = { version = "1.0" }',
    )
    assert states(desk)[GREETER_HIPIFIED] != "applied"
    ran = desk.nox("checkout_sample").well()
    assert GREETER_HIPIFIED in ran.talk, "a patch that is left out is said"
    assert states(desk)[GREETER_HIPIFIED] == "other-platform"
    table = desk.invoke("list-patches").well()
    for word in (
        ROOT_BASE.rsplit("/", 1)[1].removesuffix(".patch"),
        "hipwright maintainers",
        "none: the sample has no upstream",
        "pytorch, line 2.6",
    ):
        assert word in table.out + table.talk


def test_folders_and_files_that_nothing_names_are_reported(desk: Desk) -> None:
    desk.invoke("new-series", "--projects", "sample", "--line", "idle").well()
    said = desk.invoke("list-patches", "--projects", "sample").well()
    assert "idle" in said.out + said.talk
    place = desk.clone / "external-builds" / "sample" / "patches" / "1.0"
    assert "unused-line" in desk.invoke("check-patches", "--projects", "sample", "--lint-only").well().out
    (place / "root" / "base" / "0007-Stray.patch").write_bytes((place / ROOT_BASE).read_bytes())
    ran = desk.invoke("check-patches", "--projects", "sample", "--lint-only", "--json")
    assert "0007-Stray.patch" in f"{ran.failed('patch-findings')}"
    assert "patches/idle" in ran.out


def test_help_names_the_plain_arguments_and_shows_an_option_of_all_projects_once(desk: Desk) -> None:
    assert "[NAME ...]" in desk.invoke("drop-patch", "--help").well().out
    ran = desk.invoke("check-patches", "-h").well()
    assert "--<project>-origin URL" in ran.out
    assert "--sample-origin" not in ran.out


def test_a_patch_is_dropped_by_the_end_of_its_name(desk: Desk) -> None:
    place = desk.clone / "external-builds" / "sample" / "patches" / "1.0"
    before = tree_of(place)
    name = "0001-Read-the-version-number-as-HIP-writes-it"
    desk.invoke("drop-patch", name, "--projects", "sample", "--dry-run").well()
    assert tree_of(place) == before
    error = desk.invoke("drop-patch", f"{name}x", "--projects", "sample", "--json")
    assert error.status == 2
    assert name in error.document["error"]["hint"]
    desk.nox("checkout_sample").well()
    said = desk.invoke("drop-patch", name, "--projects", "sample").well()
    assert "nox -s checkout_sample" in said.talk
    assert not (place / GREETER / "hipified").exists()
    assert GREETER_HIPIFIED not in (place / "series.toml").read_text(encoding="utf-8")
    desk.nox("checkout_sample").well()
    tree = PatchDesk(desk=desk)
    assert tree.git(GREETER, "rev-parse", "HEAD") == tree.git(GREETER, "rev-parse", "refs/hipwright/hipified")
    assert set(states(desk)) == set(before) & set(states(desk))


def test_series_hold_for_every_ref_of_their_line(desk: Desk) -> None:
    desk.nox("checkout_sample").well()
    ran = desk.invoke("check-patches", "--projects", "sample", "--json").well()
    assert "release/1.0" in ran.out
    assert "nightly" in ran.out, "both refs that find the line are tried"
    assert sorted(path.name for path in desk.work.iterdir() if "check" in path.name) == []

    place = desk.clone / "external-builds" / "sample" / "patches" / "1.0"
    data = (place / ROOT_BASE).read_bytes()
    for broken, word in (
        (data.replace(b"-    const int blocks = n / kThreads;", b"-    const int blocks = n / kLanes;  "), "csrc/cuda/saxpy.cu"),
        (data.replace(b"@@ -16,7 +16,7 @@", b"@@ -16,7 +16,8 @@"), '"line": 12'),
        (data.rstrip(b"\n"), "newline"),
    ):
        (place / ROOT_BASE).write_bytes(broken)
        ran = desk.invoke("check-patches", "--projects", "sample", "--json")
        assert ran.status == 6, ran.talk
        error = ran.failed("patch-findings")
        assert ROOT_BASE in ran.out + ran.talk
        assert word in f"{error}" + ran.out, word
    (place / ROOT_BASE).write_bytes(data)
    desk.invoke("check-patches", "--projects", "sample").well()


def test_a_change_is_told_from_other_line_numbers(desk: Desk) -> None:
    tree = PatchDesk(desk=desk).begin()
    place = tree.place
    data = (place / ROOT_BASE).read_bytes()
    (place / ROOT_BASE).write_bytes(data.replace(b"n + kThreads - 1", b"n + kThreads - 1 + 0"))
    ran = desk.invoke("check-patches", "--projects", "sample", "--lint-only", "--against", "HEAD", "--json")
    assert "real" in ran.out
    assert ROOT_BASE in ran.out
    (place / ROOT_BASE).write_bytes(data)
    ran = desk.invoke("check-patches", "--projects", "sample", "--lint-only", "--against", "HEAD", "--json").well()
    assert '"real"' not in ran.out
