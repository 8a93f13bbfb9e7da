"""The patch series that the recipes carry: each patch has a reason, and a line is found by the refs that it was made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.config.project import load_project, project_names
from build_tools.patches.lines import find_line
from build_tools.patches.series import Patch, load_series
from build_tools.types import Platform, ProjectName

EXTERNAL_BUILDS = Path(__file__).resolve().parents[3] / "external-builds"
LINES = sorted(path.parent.relative_to(EXTERNAL_BUILDS).parts[::2] for path in EXTERNAL_BUILDS.glob("*/patches/*/series.toml"))
BEGUN = [("pytorch", "2.9")]
"""Lines that are there for changes to come."""

OWN = [(project, line) for project, line in LINES if not project.startswith("sample") and (project, line) not in BEGUN]


def patches_of(project: str, line: str) -> tuple[Patch, ...]:
    return load_series(EXTERNAL_BUILDS / project, line).patches


def test_pytorch_and_companions_have_series() -> None:
    assert {project for project, _ in OWN} == {"pytorch", "pytorch-audio", "pytorch-vision"}


@pytest.mark.parametrize(("project", "line"), OWN)
def test_every_patch_is_small_and_says_where_it_stands_upstream_and_when_it_goes(project: str, line: str) -> None:
    patches = patches_of(project, line)
    assert patches
    for patch in patches:
        assert patch.entry.upstream.startswith("https://github.com/pytorch/"), patch.name
        assert patch.entry.drop_when, patch.name
        assert len(patch.data) < 5000, patch.name


@pytest.mark.parametrize(("project", "line"), BEGUN)
def test_a_line_that_is_only_begun_has_a_rule_that_says_so(project: str, line: str) -> None:
    rules = [rule for rule in load_project(EXTERNAL_BUILDS, ProjectName(project)).lines if rule.line == line]
    assert not patches_of(project, line)
    assert rules
    assert all(rule.why and "no patch yet" in rule.why for rule in rules)


@pytest.mark.parametrize(("project", "line"), LINES)
def test_every_patch_tells_its_reader_why_before_what(project: str, line: str) -> None:
    for patch in patches_of(project, line):
        head, _, _ = patch.data.partition(b"\ndiff --git ")
        _, _, body = head.partition(b"\n\n")
        assert body.strip(), patch.name
        assert patch.entry.why[-1] not in ".!", patch.name


@pytest.mark.parametrize("project", project_names(EXTERNAL_BUILDS))
def test_every_line_that_a_rule_names_is_there_and_every_line_is_named(project: str) -> None:
    rules = load_project(EXTERNAL_BUILDS, ProjectName(project)).lines
    assert {rule.line for rule in rules if rule.line} == {line for name, line in LINES if name == project}


@pytest.mark.parametrize(
    ("project", "ref", "line"),
    [
        ("pytorch-audio", "release/2.6", "2.6"),
        ("pytorch-audio", "v2.6.0", "2.6"),
        ("pytorch-audio", "release/2.11", None),
        ("pytorch-vision", "release/0.21", "0.21"),
        ("pytorch-vision", "v0.21.0", "0.21"),
        ("pytorch-vision", "release/0.28", None),
    ],
)
def test_a_companions_ref_finds_the_line_of_its_release(project: str, ref: str, line: str | None) -> None:
    folder = EXTERNAL_BUILDS / project
    found, reason = find_line(load_project(EXTERNAL_BUILDS, ProjectName(project)), ref, folder=folder)
    assert found == line
    assert reason


def test_what_only_windows_needs_is_left_out_on_linux() -> None:
    series = load_series(EXTERNAL_BUILDS / "pytorch-audio", "2.6")
    assert series.select("base", ".", Platform.LINUX) == ()
    assert series.select("base", ".", Platform.WINDOWS) == series.patches
