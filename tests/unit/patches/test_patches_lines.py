from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.config.project import Project
from build_tools.errors import HipwrightError
from build_tools.patches.lines import checked_line, faults_of_lines, find_line, lines_on_disk, refs_of_line, rules_of_line
from build_tools.patches.series import load_series, lock_patches
from tests.support.source_trees import PROJECT, write

if TYPE_CHECKING:
    from pathlib import Path

RULES = (
    {"ref": "release/*", "line": "a"},
    {"ref": "release/2.?", "line": "b"},
    {"ref": "release/2.6", "line": "c", "why": "w"},
    {"ref": "nightly", "why": "upstream has them"},
)


def project(*lines: dict[str, str]) -> Project:
    return msgspec.convert({**PROJECT, "lines": list(lines)}, Project)


def has(folder: Path, *lines: str) -> None:
    for line in lines:
        write(folder / "patches" / line, {"series.toml": "schema = 1\n"})


def test_an_exact_rule_counts_before_patterns_and_the_first_pattern_before_later_ones(tmp_path: Path) -> None:
    rules = project(*RULES)
    assert find_line(rules, "release/2.6", folder=tmp_path) == (
        "c",
        "release/2.6 is named by the rule 'release/2.6', patches/c: w",
    )
    assert find_line(rules, "release/2.7", folder=tmp_path)[0] == "a"
    assert find_line(rules, "nightly", folder=tmp_path)[0] is None


def test_a_line_that_is_asked_for_counts_before_all_rules(tmp_path: Path) -> None:
    has(tmp_path, "mine")
    for ref in ("release/2.6", "nightly", "unknown"):
        assert find_line(project(*RULES), ref, folder=tmp_path, asked="mine") == ("mine", "asked for by --line, patches/mine")
    locked = lock_patches(project(*RULES), "nightly", folder=tmp_path, asked="mine")
    assert (locked.line, locked.digest) == ("mine", load_series(tmp_path, "mine").digest)


@pytest.mark.parametrize("asked", ["2.7", "mines", "../mine", "mine/", "", ".", "patches"])
def test_a_line_that_is_asked_for_and_not_there_is_an_error_with_those_near_it(tmp_path: Path, asked: str) -> None:
    has(tmp_path, "mine", "2.6")
    with pytest.raises(HipwrightError, match=r"it has 2\.6, mine") as caught:
        find_line(project(*RULES), "nightly", folder=tmp_path, asked=asked)
    assert caught.value.code.name == "no-line"
    assert ("did you mean mine" in str(caught.value.hint)) == (asked in {"mines", "../mine", "mine/"})
    assert "invoke new-series --projects toy --line" in str(caught.value.hint)


def test_a_ref_without_a_line_lists_rules_lines_and_the_ways_out(tmp_path: Path) -> None:
    has(tmp_path, "1")
    with pytest.raises(HipwrightError, match=r"'release/1\.\*' → 1; lines on disk: 1") as caught:
        find_line(project({"ref": "release/1.*", "line": "1"}), "nightly", folder=tmp_path)
    assert caught.value.code.name == "no-line"
    assert str(caught.value.hint).count("invoke new-series --projects toy --for-ref nightly") == 2


def test_the_refs_of_a_line_are_those_that_find_it(tmp_path: Path) -> None:
    rules = project(*RULES)
    refs = ["nightly", "release/2.6", "release/2.7", "main", "release/3.10"]
    assert refs_of_line(rules, "a", refs) == ["release/2.7", "release/3.10"]
    assert refs_of_line(rules, "c", refs) == ["release/2.6"]
    assert refs_of_line(rules, "b", refs) == []
    assert rules_of_line(rules, "b") == ("release/2.?",)
    assert rules_of_line(rules, None) == ("nightly",)
    for ref in refs:
        held = [line for line in "abc" if ref in refs_of_line(rules, line, refs)]
        if held:
            assert held == [find_line(rules, ref, folder=tmp_path)[0]]


def test_folders_and_rules_that_miss_each_other_are_told(tmp_path: Path) -> None:
    assert faults_of_lines(project(), tmp_path) == faults_of_lines(project(), tmp_path / "nowhere")
    has(tmp_path, "a", "old")
    write(tmp_path / "patches", {"half/root/base/0001-x.patch": "", "0001-stray.patch": "", "b.DIFF": "", "README.md": ""})
    faults = faults_of_lines(project(*RULES), tmp_path)
    assert faults.unused == ("half", "old")
    assert faults.missing == ("b", "c")
    assert faults.stray == ("0001-stray.patch", "b.DIFF")
    assert lines_on_disk(tmp_path) == ("a", "old")


@pytest.mark.parametrize("name", ["2.9", "nightly", "v2.9.1", "2.9_rocm-7+x", "a", "console", "com0"])
def test_a_line_is_called_what_a_folder_can_be_called_everywhere(tmp_path: Path, name: str) -> None:
    assert checked_line(name, tmp_path) == name
    has(tmp_path, name)
    assert checked_line(name, tmp_path) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "C:x", "-a", ".a", "2.9.", "NUL", "con", "aux.x", "Lpt1.2", "a\n", "a b"]
)
def test_what_some_system_cannot_have_is_no_name_of_a_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(HipwrightError, match="is no name for a patch line") as caught:
        checked_line(name, tmp_path)
    assert caught.value.code.name == "bad-option-value"


def test_no_two_lines_differ_in_capital_and_small_letters_alone(tmp_path: Path) -> None:
    has(tmp_path, "Nightly")
    with pytest.raises(HipwrightError, match="one folder") as caught:
        checked_line("nightly", tmp_path)
    assert caught.value.code.name == "bad-option-value"
