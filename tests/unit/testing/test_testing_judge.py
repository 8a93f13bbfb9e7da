from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.testing.judge import Phase, ProcessEnd, how_it_ended, judge
from build_tools.testing.junit import Outcome, TestReport, parse_report
from build_tools.testing.story import End, Result, Story, StoryReader, read_story

if TYPE_CHECKING:
    from pathlib import Path

IDS = ("t.py::test_a", "t.py::test_b")
CUT = Story(collected=IDS, running="t.py::test_b", last="t.py::test_a")


def told(*outcomes: Outcome, status: int = 0, finished: int | None = None, silent_of: str = "") -> Story:
    """Return the story of a session that ended, in which tests of these outcomes ran."""
    end = End(status=status, finished=len(outcomes) if finished is None else finished, loaded={}, foreign={})
    results = {test: Result(test=test, outcome=outcome) for test, outcome in zip(IDS, outcomes, strict=False)}
    results.pop(silent_of, None)
    return Story(collected=IDS, results=results, last=IDS[-1], end=end)


WHOLE = told("passed", "passed")


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
        pytest.param(report("skipped", "skipped"), told("skipped", "skipped"), 0, "no-tests", id="all-skipped"),
        pytest.param(report("passed"), WHOLE, 0, "truncated-report", id="a-test-lacks-in-the-report"),
        pytest.param(
            report("passed", "passed"), told("passed", "passed", finished=1), 0, "truncated-report", id="a-test-did-not-end"
        ),
        pytest.param(
            report("passed", "passed"),
            told("passed", "passed", silent_of=IDS[1]),
            0,
            "truncated-report",
            id="a-test-has-no-result",
        ),
        pytest.param(
            report("passed", "passed"), told("passed", "passed", status=3), 3, "truncated-report", id="pytest-failed-itself"
        ),
        pytest.param(
            report("passed", "passed"), told("passed", "failed"), 1, "truncated-report", id="the-report-hides-a-failure"
        ),
        pytest.param(report("passed", "failed"), WHOLE, 1, "truncated-report", id="the-events-hide-a-failure"),
        pytest.param(report("passed", "passed"), CUT, -6, "tests-crashed", id="a-report-before-the-session-ended"),
    ],
)
def test_what_went_wrong_is_told_apart(found: TestReport | str, story: Story, returncode: int | None, code: str) -> None:
    assert code_of(found, story, returncode) == code


@pytest.mark.parametrize("returncode", [0, -15, 15, 1, None], ids=str)
@pytest.mark.parametrize("outcomes", [("passed", "passed"), ("passed", "failed"), ("error",)], ids="-".join)
def test_a_whole_report_counts_whatever_the_exit_status_says(outcomes: tuple[Outcome, ...], returncode: int | None) -> None:
    judged, remarks = judge(report(*outcomes), told(*outcomes), ended(returncode))
    assert [case.outcome for case in judged.cases] == list(outcomes)
    assert bool(remarks) == (returncode != 0)


@pytest.mark.parametrize(
    ("phase", "story", "code", "words"),
    [
        ("collection", Story(), "tests-hung", "not collected after 60 s"),
        ("test", CUT, "tests-hung", "while t.py::test_b ran"),
        ("whole", CUT, "tests-timeout", "while t.py::test_b ran"),
        ("whole", Story(), "tests-timeout", "before tests were collected"),
    ],
)
def test_each_phase_has_its_limit(phase: Phase, story: Story, code: str, words: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        judge(HipwrightError("no-report", "as read"), story, ProcessEnd(returncode=None, limit=60, phase=phase))
    assert caught.value.code.name == code
    assert words in caught.value.message


def test_all_tests_may_be_skipped_where_that_is_said() -> None:
    judged, _ = judge(report("skipped", "skipped"), told("skipped", "skipped"), ended(0), may_skip_all=True)
    assert judged.counts.skipped == 2


def test_statuses_in_words() -> None:
    assert how_it_ended(-11) == (True, "by signal SIGSEGV")
    assert how_it_ended(0xC0000135) == (True, "by a DLL that was not found (0xc0000135)")
    assert how_it_ended(15) == (False, "with status 15")


EVENTS = "".join(
    json.dumps(event) + "\n"
    for event in (
        {"event": "collected", "tests": ["t.py::test_a[é]", "t.py::test_b"]},
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


def test_a_look_reads_only_what_has_come_since_the_last(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    reader = StoryReader(events)
    assert reader.read().latest is None
    lines = [
        {"event": "begin", "at": 1.0},
        {"event": "collected", "at": 2.0, "tests": ["a", "b"]},
        {"event": "start", "at": 3.0, "test": "a"},
        {"event": "result", "at": 4.0, "test": "a", "outcome": "passed"},
        {"event": "finish", "at": 5.0, "test": "a"},
        {"event": "start", "at": 6.0, "test": "b"},
    ]
    whole = "".join(json.dumps(line) + "\n" for line in lines).encode()
    # Cut anywhere, also inside a line, the story at the end is that of one look.
    for cut in range(0, len(whole), 7):
        events.write_bytes(whole[:cut])
        reader = StoryReader(events)
        first = reader.read()
        # What was read is not looked at again: it may be anything by then.
        seen = whole[:cut].rfind(b"\n") + 1
        events.write_bytes(b"#" * seen + whole[seen:])
        assert reader.read().moment() == "while b ran", first
    events.write_bytes(whole)
    assert reader.read().moment() == read_story(events).moment()
