"""A rule is put into project.toml where it counts, and nothing else of the file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.load import parse_toml
from build_tools.config.project import Line, Project
from build_tools.errors import HipwrightError
from build_tools.patches.lines import rule_of
from build_tools.patches.rules import with_rule_for, with_rules

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
schema = 1
name = "toy"
summary = "a toy"
sdk = "none"

[origin]  # where it is
kind = "git"
url = "u"

[refs]
default = "main"
"""
RULES = """
# The release.
[[lines]]
ref = "release/2.6"
line = "2.6"

[[lines]]
ref = "release/2.*"
why = "old"

# All others.
[[lines]]
ref = "*"
why = "none"
"""
TAIL = """
# Beside the sources.
[version]
file = "version.txt"

[wheel]
distribution = "toy"
"""


def project(folder: Path, text: str) -> Path:
    path = folder / "project.toml"
    path.write_bytes(text.encode())
    return path


def rules(data: bytes, path: Path) -> list[tuple[str, str | None]]:
    return [(rule.ref, rule.line) for rule in parse_toml(data.decode(), path, Project).lines]


def found(data: bytes, path: Path, ref: str) -> str | None:
    rule = rule_of(parse_toml(data.decode(), path, Project), ref)
    assert rule is not None
    return rule.line


def test_a_rule_comes_behind_those_of_its_line_and_before_patterns_that_would_hide_it(tmp_path: Path) -> None:
    path = project(tmp_path, HEAD + RULES + TAIL)
    data = with_rules(path, [Line(ref="v2.6.*", line="2.6"), Line(ref="release/2.7*", line="2.7"), Line(ref="nightly", why="w")])
    assert rules(data, path) == [
        ("release/2.6", "2.6"),
        ("v2.6.*", "2.6"),
        ("release/2.7*", "2.7"),
        ("release/2.*", None),
        ("nightly", None),
        ("*", None),
    ]
    text = data.decode()
    assert text.startswith(HEAD)
    assert text.endswith(RULES[RULES.index("\n# All others") :] + TAIL)
    for block in ('\n[[lines]]\nref = "v2.6.*"\nline = "2.6"\n', '\n[[lines]]\nref = "nightly"\nwhy = "w"\n'):
        assert block in text
        text = text.replace(block, "", 1)
    assert text.replace('\n[[lines]]\nref = "release/2.7*"\nline = "2.7"\n', "") == HEAD + RULES + TAIL


def test_a_first_rule_comes_behind_the_refs(tmp_path: Path) -> None:
    path = project(tmp_path, HEAD + TAIL)
    assert with_rules(path, [Line(ref="main", line="1")]).decode() == f'{HEAD}\n[[lines]]\nref = "main"\nline = "1"\n{TAIL}'


def test_a_rule_that_is_there_is_not_said_twice_and_one_that_says_otherwise_stands(tmp_path: Path) -> None:
    path = project(tmp_path, HEAD + RULES + TAIL)
    assert with_rules(path, [Line(ref="release/2.6", line="2.6"), Line(ref="*", why="other words")]) == path.read_bytes()
    for rule in (Line(ref="release/2.6", line="2.7"), Line(ref="release/2.6"), Line(ref="*", line="2.6")):
        with pytest.raises(HipwrightError, match="has a rule for") as caught:
            with_rules(path, [rule])
        assert caught.value.code.name == "bad-option-value"


def test_a_ref_that_was_declared_to_need_none_gets_its_line_in_place(tmp_path: Path) -> None:
    declared = '\n[[lines]]\nref = "nightly"\nwhy = "it needs none"\n'
    path = project(tmp_path, HEAD + declared + RULES + TAIL)
    data = with_rules(path, [Line(ref="nightly", line="n")])
    assert data.decode() == HEAD + '\n[[lines]]\nref = "nightly"\nline = "n"\n' + RULES + TAIL


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    path = project(tmp_path, (HEAD + RULES + TAIL).replace("\n", "\r\n"))
    data = with_rules(path, [Line(ref="main", line="1", why='say "so"')])
    assert data.count(b"\n") == data.count(b"\r\n")
    assert ("main", "1") in rules(data, path)


def test_rules_in_one_value_and_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = project(tmp_path, 'lines = [{ ref = "*" }]\n' + HEAD + TAIL)
    with pytest.raises(HipwrightError, match="one value"):
        with_rules(path, [Line(ref="main", line="1")])
    for data in (b"\xff", b"schema = 1\n"):
        path.write_bytes(data)
        with pytest.raises(HipwrightError) as caught:
            with_rules(path, [Line(ref="main", line="1")])
        assert caught.value.code.name == "bad-data-file"


REFS = st.sampled_from(["main", "nightly", "release/2.6", "release/2.7", "release/2.*", "release/*", "v2.*", "[mn]*", "*"])


@given(st.lists(st.tuples(REFS, st.sampled_from(["a", "b", None])), unique_by=lambda one: one[0]))
def test_refs_find_what_their_own_rules_say(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[str, str | None]]
) -> None:
    path = project(tmp_path_factory.mktemp("rules"), HEAD + TAIL)
    data = with_rules(path, [Line(ref=ref, line=line) for ref, line in wanted])
    assert sorted(rules(data, path), key=str) == sorted(wanted, key=str)
    for ref, line in wanted:
        if not set("*[") & set(ref):
            assert found(data, path, ref) == line
    # A pattern that is told later and is narrower is not hidden by a wider one.
    order = [ref for ref, _ in rules(data, path)]
    if "*" in order and wanted[0][0] == "*":
        assert order[-1] == "*"


def test_a_ref_finds_another_line_where_its_rule_says_it_and_the_reason_of_before_goes(tmp_path: Path) -> None:
    text = f"""{HEAD}
# The branch that moves.
[[lines]]
ref = "nightly"
line = "2.6"
why = "it has none of them yet"

[[lines]]
ref = "*"
why = "needs none"
{TAIL}"""
    path = project(tmp_path, text)
    changed = with_rule_for(path, "nightly", "nightly", instead_of="2.6").decode()
    assert changed == text.replace('line = "2.6"\nwhy = "it has none of them yet"\n', 'line = "nightly"\n')
    assert with_rule_for(path, "nightly", "2.6", instead_of=None).decode() == text
    other = with_rule_for(path, "main", "main", instead_of="2.6").decode()
    assert other == with_rules(path, [Line(ref="main", line="main")]).decode()
    with pytest.raises(HipwrightError, match="has a rule for nightly already"):
        with_rule_for(path, "nightly", "3.0", instead_of="2.9")


def test_a_ref_that_needed_no_patches_may_get_some(tmp_path: Path) -> None:
    path = project(tmp_path, f'{HEAD}\n[[lines]]\nref = "main"\nwhy = "none needed"\n{TAIL}')
    changed = with_rule_for(path, "main", "3.0", instead_of="2.9").decode()
    assert changed == f'{HEAD}\n[[lines]]\nref = "main"\nline = "3.0"\n{TAIL}'
