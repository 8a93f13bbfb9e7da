from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.load import load_toml, parse_toml
from build_tools.config.project import Project, load_project, project_names, target_variables
from build_tools.errors import HipwrightError
from build_tools.types import ProjectName

GOOD = """\
schema = 1
name = "thing"
summary = "A thing"
sdk = "none"

[origin]
kind = "git"
url = "https://example.invalid/thing.git"

[[lines]]
ref = "release/1.0"
line = "1.0"

[[lines]]
ref = "*"
why = "no patches needed"

[version]
file = "version.txt"

[build.environment]
USE_THING = "1"

[wheel]
distribution = "thing"
"""


def wrong(text: str) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        parse_toml(text, Path("project.toml"), Project)
    assert caught.value.code.name == "bad-data-file"
    return caught.value


def test_a_good_file_is_read() -> None:
    project = parse_toml(GOOD, Path("project.toml"), Project)
    assert project.lines[1].why == "no patches needed"
    assert project.build.environment == {"USE_THING": "1"}


@pytest.mark.parametrize(
    ("old", "new", "line", "word"),
    [
        ('summary = "A thing"', "", None, "summary"),
        ('summary = "A thing"', 'summary = "A thing"\ncolour = "red"', 4, "colour"),
        ('line = "1.0"', 'line = "1.0"\nlin = 2', 13, "lin"),
        ('why = "no patches needed"', "why = 3", 16, "int"),
        ('kind = "git"', 'kind = "svn"', 7, "svn"),
        ("schema = 1", "schema = 2", 1, "2"),
        ('USE_THING = "1"', "USE_THING = 1", 22, "int"),
        ('name = "thing"', 'name = "thing', 2, "TOML"),
    ],
    ids=["missing", "unknown", "unknown-in-list", "wrong-type-in-list", "wrong-kind", "wrong-schema", "wrong-type", "no-toml"],
)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, line: int | None, word: str) -> None:
    error = wrong(GOOD.replace(old, new))
    assert error.where is not None
    assert error.where.file == Path("project.toml")
    assert error.where.line == line
    assert word in error.message


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('[build]\ntarget-variable = "TWO WORDS"', "build.target-variable"),
        ('[build]\ntarget-variable = ""', "build.target-variable"),
        ('[build]\ntarget-variable = "HIPWRIGHT_THING"', "build.target-variable"),
        ('[[wheel.flags]]\nname = "thing"\nvalue = true', "wheel.flags"),
        ('[[wheel.flags]]\nname = "thing.a-b"\nvalue = true', "wheel.flags"),
        ('[[wheel.flags]]\nname = "thing.flag"\nvalue = 1.5', "wheel.flags"),
        ('[[wheel.flags]]\nname = "thing.flag"\nvalue = true\nplatforms = ["macos"]', "wheel.flags"),
    ],
)
def test_names_of_variables_and_flags_are_ones(table: str, key: str) -> None:
    error = wrong(f"{GOOD}\n{table}\n")
    assert error.where is not None
    assert str(error.where.key).startswith(key)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('[build]\ntarget-variable = "PATH"', "build.target-variable"),
        ('[build]\ntarget-variable = "USE_IT"\n[build.linux]\nUSE_IT = "1"', "build.target-variable"),
        ('[build]\ntarget-variable = "TOY_VERSION"\n[build.variables]\nversion = "TOY_VERSION"', "build.target-variable"),
        (
            '[[wheel.flags]]\nname = "a.b"\nvalue = 1\n[[wheel.flags]]\nname = "a.b"\nvalue = 2\nplatforms = ["linux"]',
            "wheel.flags.1.name",
        ),
    ],
)
def test_what_would_say_two_things_is_refused(tmp_path: Path, table: str, key: str) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "project.toml").write_text(f"{GOOD}\n{table}\n", encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_project(tmp_path, ProjectName("thing"))
    assert caught.value.where is not None
    assert caught.value.where.key == key


def test_the_target_variables_of_projects_are_found_and_what_is_broken_is_passed_by(tmp_path: Path) -> None:
    for name, text in {"a": '[build]\ntarget-variable = "A_ARCHES"\n', "b": "", "c": "build = 1\n", "d": "no TOML"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "project.toml").write_text(text, encoding="utf-8")
    assert target_variables(tmp_path, ("a", "b", "c", "d", "e")) == {"a": "A_ARCHES"}


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ('sdk = "none"', 'sdk = "cuda"', "it takes: none, rocm"),
        ("schema = 1", "schema = 2", "it takes: 1; a newer hipwright may read it: git pull"),
        ("[build.environment]", '[build]\ncompiles = "make"\n[build.environment]', "it takes: cmake, setuptools"),
        ("[wheel]\n", '[extension]\nhip-platforms = ["linux", "beos"]\n[wheel]\n', "it takes: linux, windows"),
    ],
)
def test_a_value_that_is_none_of_a_few_names_them(old: str, new: str, hint: str) -> None:
    assert old in GOOD
    assert wrong(GOOD.replace(old, new)).hint == hint


def test_a_mark_at_the_beginning_of_a_file_is_none_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "project.toml"
    path.write_text("\ufeff" + GOOD, encoding="utf-8")
    assert load_toml(path, Project).name == "thing"


def test_an_unknown_key_names_those_near_it() -> None:
    assert wrong(GOOD.replace('summary = "A thing"', 'summary = "A thing"\nsumary = "x"')).hint == "did you mean summary?"
    assert wrong(GOOD.replace("[build.environment]", "[build.enviroment]")).hint == "did you mean environment or requirement?"


@given(st.text(max_size=200))
def test_text_at_random_is_refused_with_a_code(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_toml(text, Path("project.toml"), Project)
    assert caught.value.code.name == "bad-data-file"


def test_a_missing_file_and_one_that_is_no_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"no file project\.toml"):
        load_toml(tmp_path / "project.toml", Project)
    (tmp_path / "project.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HipwrightError, match="cannot read"):
        load_toml(tmp_path / "project.toml", Project)


def test_projects_are_the_folders_that_hold_one(tmp_path: Path) -> None:
    for name in ("zeta", "thing", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "thing" / "project.toml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "zeta" / "project.toml").write_text(GOOD, encoding="utf-8")
    assert project_names(tmp_path) == ("thing", "zeta")
    assert load_project(tmp_path, project_names(tmp_path)[0]).name == "thing"
    with pytest.raises(HipwrightError, match="called 'thing', but its folder 'zeta'"):
        load_project(tmp_path, project_names(tmp_path)[1])


@pytest.mark.parametrize("name", ["Thing", "my_thing", "-thing", "thing.old", "thing copy", "thing\n", "d\u00e9"])
def test_a_folder_that_no_project_can_have_is_told(tmp_path: Path, name: str) -> None:
    for folder in ("thing", name):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "project.toml").write_text(GOOD.replace('"thing"', f'"{folder!s}"', 1), encoding="utf-8")
    assert project_names(tmp_path) == ("thing",)
    with pytest.raises(HipwrightError, match="is no name for a project") as caught:
        load_project(tmp_path, project_names(tmp_path)[0])
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.file == tmp_path / name / "project.toml"


PLACES = {
    "lines.0.line": ('line = "1.0"', "line = {!r}"),
    "version.file": ('file = "version.txt"', "file = {!r}"),
    "tests.folder": ("[wheel]", "[tests]\nfolder = {!r}\n\n[wheel]"),
    "rocm.embedded": ("[wheel]", "[rocm]\nembedded = {!r}\n\n[wheel]"),
    "hipify.script": ("[wheel]", "[hipify]\nscript = {!r}\n\n[wheel]"),
    "hipify.module": ("[wheel]", '[hipify]\nscript = "a.py"\nmodule = {!r}\n\n[wheel]'),
    "pins.0.file": ("[wheel]", '[[pins]]\nkind = "commit-file"\nfile = {!r}\n\n[wheel]'),
    "wheel.source-commit.member": ("[wheel]", "[wheel.source-commit]\nmember = {!r}\n\n[wheel]"),
    "origin.folder": ('kind = "git"\nurl = "https://example.invalid/thing.git"', 'kind = "embedded"\nfolder = {!r}'),
}


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("value", ["../x", "a/../../x", "..", "/etc", "", "C:x", "C:/x", "a\\b", "//server/x", "a\x01b", "./a"])
def test_a_path_that_leaves_its_folder_is_refused(tmp_path: Path, key: str, value: str) -> None:
    old, new = PLACES[key]
    (tmp_path / "thing").mkdir()
    file = tmp_path / "thing" / "project.toml"

    def load(value: str) -> Project:
        text = new.replace("{!r}", json.dumps(value))
        file.write_text(GOOD.replace(old, text, 1), encoding="utf-8")
        return load_project(tmp_path, ProjectName("thing"))

    load("some/place-1.0")
    with pytest.raises(HipwrightError) as caught:
        load(value)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.key) == (file, key)
    line = caught.value.where.line
    assert line is not None
    assert key.rpartition(".")[2] in file.read_text(encoding="utf-8").splitlines()[line - 1]


@pytest.mark.parametrize("value", ["", "a b", "-a", "a-", "../torch", "torch>=2", "t\u00f6rch"])
def test_a_distribution_has_a_name_that_an_index_takes(tmp_path: Path, value: str) -> None:
    (tmp_path / "thing").mkdir()
    text = GOOD.replace('distribution = "thing"', f"distribution = {json.dumps(value)}")
    (tmp_path / "thing" / "project.toml").write_text(text, encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_project(tmp_path, ProjectName("thing"))
    assert caught.value.where is not None
    assert (caught.value.code.name, caught.value.where.key, caught.value.where.line) == (
        "bad-data-file",
        "wheel.distribution",
        25,
    )


@pytest.mark.parametrize("table", ["build", "tests", "hipify"])
@pytest.mark.parametrize("minutes", [0, -1, 10081, 10**30])
def test_a_time_limit_is_at_most_a_week(table: str, minutes: int) -> None:
    script = 'script = "a.py"\n' if table == "hipify" else ""
    error = wrong(GOOD.replace("[wheel]", f"[{table}]\n{script}time-limit-minutes = {minutes}\n\n[wheel]"))
    assert error.where is not None
    assert error.where.key == f"{table}.time-limit-minutes"
    assert error.where.line is not None


RELATED = '[[pins]]\nkind = "related-commits"\nproject = "other"\nrow = "thing"\n'
PIN = '[[pins]]\nkind = "version-file"\nproject = "other"\nfile = "v.txt"\nbranch = "release/{major}.{minor}.x"\n'


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ('[refs]\nrelease = "release"', "refs.release", "{version}"),
        ('[refs]\nrelease = "{version}/{version}"', "refs.release", "once"),
        ('[refs]\nrelease = "release/{version}{x}"', "refs.release", "no other braces"),
        ('[refs]\nrelease = "release/{version}"\nrelease-tag = "v1.0"', "refs.release-tag", "{version}"),
        ('[refs]\nrelease-tag = "v{version}.0"', "refs.release-tag", "no 'release'"),
        (PIN.replace('"other"', '"thing"'), "pins.0.project", "its own pin"),
        (PIN.replace('"other"', '"../other"'), "pins.0.project", "no name of a project"),
        (PIN.replace("{minor}", "{patch}"), "pins.0.branch", "other fields"),
        ('[[pins]]\nkind = "commit-file"\nfile = "a.txt"\nwhen = "release"', "pins.0.when", "every ref"),
        ('[[pins]]\nkind = "commit-file"\nfile = "a.txt"\nplatforms = []', "pins.0.platforms", "length"),
        (RELATED + 'held-by = "https://me:secret@e.example/x.git"', "pins.0.held-by", "user or password"),
        (
            '[[pins]]\nkind = "commit-file"\nfile = "a.txt"\norigin = "https://token@e.example/x.git"',
            "pins.0.origin",
            "user or password",
        ),
        ('[wheel.source-commit]\nmember = "a.py"\nname = "git version"', "wheel.source-commit.name", "no name in Python"),
    ],
)
def test_refs_and_pins_that_cannot_mean_anything_are_refused(tmp_path: Path, more: str, key: str, words: str) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "project.toml").write_text(GOOD.replace("[wheel]", f"{more}\n\n[wheel]"), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_project(tmp_path, ProjectName("thing"))
    assert caught.value.code.name == "bad-data-file"
    assert words in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.key == key


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ('file = "v.py"\npattern = "(["', "no regular expression"),
        ('file = "v.py"\npattern = "version"', "0 groups"),
        ('file = "v.py"\npattern = "(a)(b)"', "2 groups"),
        ('fixed = "1.0"\npattern = "(a)"', "no file"),
    ],
)
def test_a_pattern_for_a_version_has_one_group_and_a_file(tmp_path: Path, version: str, words: str) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "project.toml").write_text(GOOD.replace('file = "version.txt"', version), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_project(tmp_path, ProjectName("thing"))
    assert words in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.key == "version.pattern"


def test_good_refs_and_pins_are_read(tmp_path: Path) -> None:
    refs = '[refs]\nrelease = "release/{version}"\nrelease-tag = "v{version}.0"\nnightly = ["main"]\n'
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "project.toml").write_text(GOOD.replace("[wheel]", f"{refs}{PIN}\n[wheel]"), encoding="utf-8")
    project = load_project(tmp_path, ProjectName("thing"))
    assert project.refs.nightly == ("main",)
    assert project.pins[0].project == "other"


@pytest.mark.parametrize("userinfo", ["me:secret-word@", "secret-word-token@", "me:secret/word@", "me:secret word@"])
def test_an_origin_with_a_password_is_refused_without_repeating_it(tmp_path: Path, userinfo: str) -> None:
    (tmp_path / "thing").mkdir()
    text = GOOD.replace("https://example.invalid", f"https://{userinfo}example.invalid")
    (tmp_path / "thing" / "project.toml").write_text(text, encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_project(tmp_path, ProjectName("thing"))
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.key == "origin.url"
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
    assert "--thing-origin" in caught.value.message
    (tmp_path / "thing" / "project.toml").write_text(GOOD.replace("https://", "ssh://git@"), encoding="utf-8")
    assert load_project(tmp_path, ProjectName("thing")).name == "thing"


@pytest.mark.parametrize(
    ("line", "key", "hint"),
    [
        ('[check]\nglibc = "banana"', "check.glibc", None),
        ('[check]\nglibc = "3.1"', "check.glibc", None),
        ('[check.rules]\nrecord = "off"', "check.rules.record", "it is a table of its own: [check.rules.record]"),
    ],
)
def test_what_a_check_cannot_go_by_is_refused_where_it_stands(tmp_path: Path, line: str, key: str, hint: str | None) -> None:
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "project.toml").write_text(GOOD.replace("[wheel]", f"{line}\n[wheel]"), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_project(tmp_path, ProjectName("thing"))
    assert caught.value.where is not None
    assert (caught.value.where.key, caught.value.hint) == (key, hint)
