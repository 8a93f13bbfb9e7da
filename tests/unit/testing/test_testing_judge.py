from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.testing.judge import ProcessEnd, how_it_ended, judge
from build_tools.testing.junit import TestReport, parse_report
from build_tools.testing.story import End, Story, read_story

if TYPE_CHECKING:
    from pathlib import Path

FINISHED = End(status=0, finished=2, loaded={}, foreign={})
WHOLE = Story(collected=2, last="t.py::test_b", end=FINISHED)
CUT = Story(collected=2, running="t.py::test_b", last="t.py::test_a")


def report(*outcomes: str) -> TestReport:
    inner = {"passed": "", "failed": "<failure/>", "error": "<error/>", "skipped": "<skipped/>"}
    cases = "".join(f"<testcase classname='t' name='n{number}'>{inner[name]}</testcase>" for number, name in enumerate(outcomes))
    counts = f"failures='{outcomes.count('failed')}' errors='{outcomes.count('error')}' skipped='{outcomes.count('skipped')}'"
    return parse_report(f"<testsuite tests='{len(outcomes)}' {counts}>{cases}</testsuite>".encode(), name="report.xml")


def ended(returncode: int | None) -> ProcessEnd:
    return ProcessEnd(returncode=returncode, limit=60)


def code_of(found: TestReport | str, story: Story, returncode: int | None) -> str:
    problem = HipwrightError(found, "as read") if isinstance(found, str) else found
    with pytest.raises(HipwrightError) as caught:
        judge(problem, story, ended(returncode))
    return caught.value.code.name


@pytest.mark.parametrize(
    ("found", "story", "returncode", "code"),
    [
        pytest.param("no-report", CUT, None, "tests-timeout", id="stopped"),
        pytest.param("no-report", CUT, -11, "tests-crashed", id="signal"),
        pytest.param("no-report", CUT, 0xC0000005, "tests-crashed", id="access-violation"),
        pytest.param("no-report", CUT, 0, "no-report", id="left-with-0"),
        pytest.param("no-report", WHOLE, 0, "no-report", id="removed"),
        pytest.param("truncated-report", WHOLE, 0, "truncated-report", id="cut"),
        pytest.param("truncated-report", CUT, -9, "tests-crashed", id="crashed-while-writing"),
        pytest.param("truncated-report", CUT, None, "tests-timeout", id="stopped-while-writing"),
        pytest.param("no-tests", WHOLE, 5, "no-tests", id="nothing-collected"),
        pytest.param(report("skipped", "skipped"), WHOLE, 0, "no-tests", id="all-skipped"),
        pytest.param(report("passed"), WHOLE, 0, "truncated-report", id="a-test-lacks-in-the-report"),
        pytest.param(
            report("passed", "passed"),
            Story(collected=2, end=End(status=0, finished=1, loaded={}, foreign={})),
            0,
            "truncated-report",
            id="a-test-did-not-end",
        ),
        pytest.param(
            report("passed", "passed"),
            Story(collected=2, end=End(status=3, finished=2, loaded={}, foreign={})),
            3,
            "truncated-report",
            id="pytest-failed-itself",
        ),
        pytest.param(report("passed", "passed"), CUT, -6, "tests-crashed", id="a-report-before-the-session-ended"),
    ],
)
def test_what_went_wrong_is_told_apart(found: TestReport | str, story: Story, returncode: int | None, code: str) -> None:
    assert code_of(found, story, returncode) == code


@pytest.mark.parametrize("returncode", [0, -15, 15, 1, None], ids=str)
@pytest.mark.parametrize("outcomes", [("passed", "passed"), ("passed", "failed"), ("error",)], ids="-".join)
def test_a_whole_report_counts_whatever_the_exit_status_says(outcomes: tuple[str, ...], returncode: int | None) -> None:
    judged, remarks = judge(report(*outcomes), WHOLE, ended(returncode))
    assert [case.outcome for case in judged.cases] == list(outcomes)
    assert bool(remarks) == (returncode != 0)


def test_statuses_in_words() -> None:
    assert how_it_ended(-11) == (True, "by signal SIGSEGV")
    assert how_it_ended(0xC0000135) == (True, "by a DLL that was not found (0xc0000135)")
    assert how_it_ended(15) == (False, "with status 15")


EVENTS = "".join(
    json.dumps(event) + "\n"
    for event in (
        {"event": "collected", "count": 2},
        {"event": "start", "test": "t.py::test_a[é]"},
        {"event": "finish", "test": "t.py::test_a[é]"},
        {"event": "start", "test": "t.py::test_b"},
    )
)


def test_a_story_says_when_it_stops(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    assert read_story(events).moment() == "before tests were collected"
    lines = EVENTS.splitlines(keepends=True)
    moments = []
    for count in range(1, len(lines) + 1):
        events.write_text("".join(lines[:count]), encoding="utf-8")
        moments.append(read_story(events).moment())
    assert moments == ["before the first test", "while t.py::test_a[é] ran", "after t.py::test_a[é]", "while t.py::test_b ran"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(min_value=0, max_value=len(EVENTS.encode())))
def test_a_story_cut_anywhere_is_read(tmp_path: Path, length: int) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(EVENTS.encode()[:length])
    story = read_story(events)
    assert story.end is None
    assert story.running in {None, "t.py::test_a[é]", "t.py::test_b"}
