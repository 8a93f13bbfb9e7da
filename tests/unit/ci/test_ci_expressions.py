from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.ci.expressions import expressions, fill, operators, references, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

KNOWN: dict[tuple[str, ...], str] = {
    ("inputs", "ref"): "main",
    ("inputs", "empty"): "",
    ("inputs", "off"): "false",
    ("matrix", "id"): "linux-py312",
}


def look(path: tuple[str, ...]) -> str | None:
    return KNOWN.get(path)


def test_expressions_end_where_their_brackets_do() -> None:
    assert expressions("a ${{ x.y }} b ${{ z.w || '}}' }} ${{") == ("x.y", "z.w || '}}'")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("needs.build.outputs.x == 'github.ref'", [("needs", "build", "outputs", "x")]),
        ("matrix['id'] && steps.a-b.outputs.c_d", [("matrix", "id"), ("steps", "a-b", "outputs", "c_d")]),
        ("toJSON(needs)", []),
        ("contains(github.event.pull_request.labels.*.name, 'x')", [("github", "event", "pull_request", "labels", "*", "name")]),
        ("'it''s needs.x.y'", []),
        ("1.5 > 2", []),
    ],
)
def test_references_are_told_from_texts_and_functions(expression: str, found: list[tuple[str, ...]]) -> None:
    assert list(references(expression)) == found


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'it''s'", "it's"),
        ("inputs.ref", "main"),
        ("inputs.empty || 'nightly'", "nightly"),
        ("inputs.off || 'on'", "on"),
        ("inputs.ref || 'a || b'", "main"),
        ("inputs.empty || 'a || b'", "a || b"),
        ("github.sha || 'x'", None),
        ("always() || 'x'", None),
        ("inputs.ref == 'main'", None),
        ("inputs.empty || inputs.off", "false"),
        ("true", "true"),
        ("12", "12"),
    ],
)
def test_what_an_expression_comes_to_is_told_where_it_is_known(expression: str, value: str | None) -> None:
    assert value_of(expression, look) == value


def test_what_is_not_known_stays_and_is_marked() -> None:
    assert fill("w-${{ matrix.id }}-${{ github.run_id }}-${{ inputs.empty || 'x' }}", look) == "w-linux-py312-<github.run_id>-x"


def test_operators_in_texts_are_none() -> None:
    assert operators("always() && a.b != '||' || !c.d") == ("&&", "!=", "||", "!")


@given(st.text(), st.sampled_from([expressions, references, operators, lambda text: [value_of(text, look), fill(text, look)]]))
def test_any_text_is_read(text: str, read: Callable[[str], object]) -> None:
    read(text)


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_a_text_without_expressions_stays_as_it_is(text: str) -> None:
    assert fill(text, look) == text
