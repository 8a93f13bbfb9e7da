from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.testing.junit import parse_report, read_report

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.1">
<properties><property name="gpu-target" value="gfx942" /><property name="gpu-target" value="gfx1201" /></properties>
<testcase classname="test_a" name="test_good" time="0.1" />
<testcase classname="test_a.TestB" name="test_bad[1]"><failure message="assert 1 == 2&#10;more">Traceback</failure></testcase>
<testcase classname="test_a" name="test_skip"><skipped type="pytest.skip" message="no GPU">x</skipped></testcase>
<testcase classname="" name="test_c"><error message="collection failure">ImportError: x</error></testcase>
</testsuite></testsuites>
"""


def code_of(data: bytes) -> str:
    with pytest.raises(HipwrightError) as caught:
        parse_report(data, name="report.xml")
    return caught.value.code.name


def test_reads_counts_names_reasons_and_properties() -> None:
    report = parse_report(WHOLE.encode(), name="report.xml")
    counts = report.counts
    assert (counts.passed, counts.failed, counts.errors, counts.skipped) == (1, 1, 1, 1)
    assert [(case.name, case.message) for case in report.of("failed", "error")] == [
        ("test_a.TestB::test_bad[1]", "assert 1 == 2"),
        ("test_c", "collection failure"),
    ]
    assert report.properties == {"gpu-target": ("gfx942", "gfx1201")}


@pytest.mark.parametrize("data", [None, b"", b" \n"], ids=["missing", "empty", "blank"])
def test_no_report(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "report.xml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(HipwrightError) as caught:
        read_report(path)
    assert caught.value.code.name == "no-report"
    assert str(path) in caught.value.message


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=len(WHOLE.strip()) - 1))
def test_a_report_cut_anywhere_is_truncated(length: int) -> None:
    assert code_of(WHOLE.encode()[:length]) == "truncated-report"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(WHOLE.replace('failures="1"', 'failures="0"'), id="says-fewer-failures-than-it-lists"),
        pytest.param(WHOLE.replace('tests="4"', 'tests="5"'), id="says-more-tests-than-it-lists"),
        pytest.param(WHOLE.replace('errors="1"', ""), id="lacks-a-count"),
        pytest.param(WHOLE.replace('tests="4"', 'tests="four"'), id="a-count-is-a-word"),
        pytest.param("<html></html>", id="another-document"),
        pytest.param("<testsuites></testsuites>", id="no-suite"),
        pytest.param('<!DOCTYPE x [<!ENTITY a "b">]><testsuites>&a;</testsuites>', id="entities"),
        pytest.param('<?xml version="1.0" encoding="klingon"?><testsuites/>', id="unknown-encoding"),
    ],
)
def test_a_report_at_odds_with_itself_is_no_report(data: str) -> None:
    assert code_of(data.encode()) == "truncated-report"


def test_zero_tests_is_an_error() -> None:
    assert code_of(b'<testsuites><testsuite tests="0" failures="0" errors="0" skipped="0"/></testsuites>') == "no-tests"


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_with_a_code(data: bytes) -> None:
    assert code_of(data) in {"truncated-report", "no-tests"}


@settings(deadline=None)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20), min_size=1, max_size=9
    )
)
def test_names_survive(names: list[str]) -> None:
    entries = "".join(f"<testcase classname={quoteattr('m')} name={quoteattr(name)}/>" for name in names)
    data = f'<testsuites><testsuite tests="{len(names)}" failures="0" errors="0" skipped="0">{entries}</testsuite></testsuites>'
    report = parse_report(data.encode(), name="report.xml")
    assert [case.name for case in report.cases] == [f"m::{name}" for name in names]
    assert report.counts.passed == len(names)
