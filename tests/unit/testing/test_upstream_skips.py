"""Skip files say exactly what is not run, where and why; what is wrong with them is told."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.project import load_project, project_names
from build_tools.config.skips import Place, SkipRow, knows_line, load_skips
from build_tools.config.suite import Suite, SuiteConfiguration, fits
from build_tools.errors import HipwrightError
from build_tools.testing.upstream.skips import applied, files_left_out, findings, pattern_of
from build_tools.types import ProjectName

SUITE = Suite(
    configurations={"default": SuiteConfiguration(files=("**/test_*.py",)), "inductor": SuiteConfiguration(files=("*",))}
)
PLACE = Place(platform="linux", targets=("gfx942",), line="2.13", configuration="default")
TODAY = date(2026, 6, 1)
TREE = ("test_a.py", "test_b.py", "sub/test_c.py")
TESTS = ("test_a.py::T::test_x", "test_a.py::T::test_xx", "test_a.py::T::test_p[a*b-[1]]", "sub/test_c.py::test_y[x::y]")
WHY = 'reason = "it fails"\nlink = "https://example.org/1"\n'


def rows(folder: Path, text: str, name: str = "all.toml") -> tuple[SkipRow, ...]:
    (folder / name).write_text(f"schema = 1\n{dedent(text)}", encoding="utf-8")
    return load_skips(folder, SUITE, knows=lambda line: line != "9.9")


def skipped(folder: Path, entry: str, place: Place = PLACE, today: date = TODAY) -> set[str]:
    return set(applied(rows(folder, f"[[skip]]\n{entry}\n{WHY}"), TESTS, place, today))


def refused(folder: Path, text: str) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        rows(folder, text)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    return caught.value


def test_an_id_skips_that_test_and_none_that_begins_like_it(tmp_path: Path) -> None:
    assert skipped(tmp_path, 'tests = ["test_a.py::T::test_x"]') == {"test_a.py::T::test_x"}


def test_ids_with_odd_parameters_are_exact(tmp_path: Path) -> None:
    assert skipped(tmp_path, 'tests = ["test_a.py::T::test_p[a*b-[1]]"]') == {"test_a.py::T::test_p[a*b-[1]]"}
    assert skipped(tmp_path, 'tests = ["sub/test_c.py::test_y[x::y]"]') == {"sub/test_c.py::test_y[x::y]"}


def test_a_pattern_says_that_it_is_one(tmp_path: Path) -> None:
    assert skipped(tmp_path, 'patterns = ["test_a.py::T::test_x*"]') == {"test_a.py::T::test_x", "test_a.py::T::test_xx"}
    assert skipped(tmp_path, 'patterns = ["*::test_p[a?b-[1]]"]') == {"test_a.py::T::test_p[a*b-[1]]"}


@given(st.text())
def test_a_pattern_without_wildcards_is_the_text_itself(text: str) -> None:
    plain = text.replace("*", "").replace("?", "")
    assert pattern_of(plain).fullmatch(plain)
    assert not pattern_of(plain).fullmatch(f"{plain}x")


@pytest.mark.parametrize(
    ("scope", "place", "holds"),
    [
        ('platforms = ["linux"]', {}, True),
        ('platforms = ["windows"]', {}, False),
        ('targets = ["gfx942"]', {}, True),
        ('targets = ["gfx94X-dcgpu"]', {}, True),
        ('targets = ["gfx1201"]', {}, False),
        ('targets = ["gfx1201"]', {"targets": ("gfx942", "gfx1201")}, True),
        ('targets = ["gfx942"]', {"targets": ("gfx942:xnack+",)}, True),
        ('targets = ["cpu-only"]', {}, False),
        ('targets = ["cpu-only"]', {"targets": ("cpu-only",)}, True),
        ('targets = ["gfx942"]', {"targets": ("cpu-only",)}, False),
        ('lines = ["2.13"]', {}, True),
        ('lines = ["2.1"]', {}, False),
        ('configurations = ["inductor"]', {}, False),
        ('configurations = ["inductor", "default"]', {}, True),
        ('lines = ["2.13"]\nplatforms = ["windows"]', {}, False),
    ],
)
def test_an_entry_holds_where_it_says(tmp_path: Path, scope: str, place: dict[str, tuple[str, ...]], holds: bool) -> None:  # noqa: FBT001
    where = Place(platform="linux", targets=place.get("targets", PLACE.targets), line="2.13", configuration="default")
    assert bool(skipped(tmp_path, f'tests = ["test_a.py::T::test_x"]\n{scope}', where)) is holds


def test_an_expired_entry_no_longer_holds_and_is_told(tmp_path: Path) -> None:
    entry = '[[skip]]\ntests = ["test_a.py::T::test_x"]\nexpires = 2026-06-01\n' + WHY
    found = rows(tmp_path, entry)
    assert applied(found, TESTS, PLACE, date(2026, 5, 31))
    assert not applied(found, TESTS, PLACE, TODAY)
    told = findings(found, TESTS, PLACE, TODAY, tree=TREE, loaded=TREE)
    assert [one.kind for one in told] == ["expired"]
    assert "2026-06-01" in told[0].message
    assert told[0].where.endswith("all.toml:5")


def test_a_file_is_left_out_as_a_whole(tmp_path: Path) -> None:
    found = rows(tmp_path, f'[[skip]]\nfiles = ["test_b.py"]\n{WHY}')
    assert list(files_left_out(found, PLACE, TODAY)) == ["test_b.py"]
    assert not findings(found, TESTS, PLACE, TODAY, tree=TREE, loaded=("test_a.py",))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('tests = ["test_a.py::T::test_z"]', "there is no test test_a.py::T::test_z; did you mean test_a.py::T::test_x"),
        ('tests = ["test_gone.py::T::test_z"]', "there is no test file test_gone.py"),
        ('files = ["test_gone.py"]', "there is no test file test_gone.py"),
        ('patterns = ["test_a.py::*zzz*"]', "there is no test that fits test_a.py::*zzz*"),
        ('patterns = ["gone/*::*"]', "there is no test file that fits gone/*::*"),
    ],
)
def test_what_matches_nothing_is_told_with_its_place(tmp_path: Path, entry: str, message: str) -> None:
    found = rows(tmp_path, f"[[skip]]\n{entry}\n{WHY}")
    told = findings(found, TESTS, PLACE, TODAY, tree=TREE, loaded=TREE)
    assert [one.kind for one in told] == ["no-match"]
    assert message in told[0].message
    assert told[0].where.endswith("all.toml:4")


def test_what_nobody_has_seen_is_not_judged(tmp_path: Path) -> None:
    entries = (
        'tests = ["test_b.py::test_1"]',
        'patterns = ["*::test_none"]',
        'tests = ["test_a.py::no"]\nplatforms = ["windows"]',
    )
    found = rows(tmp_path, "".join(f"[[skip]]\n{entry}\n{WHY}" for entry in entries))
    assert findings(found, TESTS, PLACE, TODAY, tree=TREE, loaded=("test_a.py", "sub/test_c.py")) == ()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (f'[[skip]]\ntest = ["test_a.py::x"]\n{WHY}', 3, "unknown field `test`"),
        ('[[skip]]\ntests = ["test_a.py::x"]\nreason = "because"\n', None, "missing required field `link`"),
        ('[[skip]]\ntests = ["test_a.py::x"]\nreason = ""\nlink = "https://example.org"\n', 4, "length"),
        ('[[skip]]\ntests = ["test_a.py::x"]\nreason = "because"\nlink = "later"\n', 5, "matching regex"),
        (f"[[skip]]\n{WHY}", 3, "names no tests"),
        (f'[[skip]]\ntests = ["test_x"]\n{WHY}', 3, "is no id of a test"),
        (f'[[skip]]\ntests = ["test_a.py::test_*"]\n{WHY}', 3, "has a wildcard"),
        (f'[[skip]]\npatterns = ["test_a.py::x"]\n{WHY}', 3, "has no wildcard"),
        (f'[[skip]]\npatterns = ["*::*"]\n{WHY}', 3, "would skip everything"),
        (f'[[skip]]\npatterns = ["*x*"]\n{WHY}', 3, "has no '::'"),
        (f'[[skip]]\nfiles = ["sub/*"]\n{WHY}', 3, "is no test file"),
        (f'[[skip]]\ntests = ["test_a.py::x"]\ntargets = ["gfx9999"]\n{WHY}', 4, "gfx9999"),
        (f'[[skip]]\ntests = ["test_a.py::x"]\nlines = ["9.9"]\n{WHY}', 4, "no version line '9.9'"),
        (f'[[skip]]\ntests = ["test_a.py::x"]\nconfigurations = ["indctor"]\n{WHY}', 4, "no configuration 'indctor'"),
        (f'[[skip]]\ntests = ["test_a.py::x", "test_a.py::x"]\n{WHY}', 4, "skipped twice"),
        (f'[[skip]]\ntests = ["test_a.py::x"]\n{WHY}[[skip]]\ntests = ["test_a.py::x"]\n{WHY}', 8, "skipped twice"),
        ("[[skip]\n", 2, "not TOML"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    error = refused(tmp_path, text)
    assert message in error.message
    assert error.where is not None
    assert line is None or error.where.line == line


def test_the_same_test_may_be_skipped_for_two_reasons_in_two_places(tmp_path: Path) -> None:
    entries = [f'[[skip]]\ntests = ["test_a.py::T::test_x"]\nplatforms = ["{system}"]\n{WHY}' for system in ("linux", "windows")]
    assert len(rows(tmp_path, "".join(entries))) == 2


def test_no_skip_file_is_an_error_and_an_empty_one_is_none(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        load_skips(tmp_path, SUITE)
    assert "there is no skip file" in caught.value.message
    assert rows(tmp_path, "") == ()


def test_the_skip_files_of_every_project_with_a_suite_are_sound() -> None:
    folder = Path(__file__).parents[3] / "external-builds"
    with_suite = [project for name in project_names(folder) if (project := load_project(folder, ProjectName(name))).suite]
    assert [project.name for project in with_suite] == ["pytorch"]
    for project in with_suite:
        assert project.suite is not None
        load_skips(folder / project.name / project.suite.skips, project.suite, knows=lambda line, p=project: knows_line(p, line))  # type: ignore[misc]


def test_a_version_line_is_known_by_a_rule_of_its_own() -> None:
    pytorch = load_project(Path(__file__).parents[3] / "external-builds", ProjectName("pytorch"))
    assert knows_line(pytorch, "2.6")
    assert knows_line(pytorch, "2.13")
    assert not knows_line(pytorch, "2.66")


@pytest.mark.parametrize(
    ("path", "pattern", "fit"),
    [
        ("test_a.py", "**/test_*.py", True),
        ("x/y/test_a.py", "**/test_*.py", True),
        ("x/test_a.py", "test_*.py", False),
        ("distributed/test_a.py", "distributed/**", True),
        ("xdistributed/test_a.py", "distributed/**", False),
        ("test_[a].py", "test_[a].py", True),
    ],
)
def test_patterns_of_files(path: str, pattern: str, fit: bool) -> None:  # noqa: FBT001
    assert fits(path, pattern) is fit
