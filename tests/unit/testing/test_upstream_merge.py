"""Results of shards become one, are compared with the last one, and are told to people and to CI systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.receipts.suite import MeasuredTimes, SkipFinding, SuiteCode, SuiteOutcome, SuiteResult, SuiteTest
from build_tools.testing.junit import parse_report
from build_tools.testing.upstream.compare import compare
from build_tools.testing.upstream.junit import junit_report
from build_tools.testing.upstream.merge import merge, refuse_partial
from build_tools.testing.upstream.summary import change_lines, count_rows, failure_rows, headline, markdown, reproduce_lines
from build_tools.testing.upstream.times import costs_from, read_times, with_measured, write_times
from tests.support.environment_under_test import WHEEL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLAN = digest.of_bytes(b"plan")


def shard(number: int, of: int = 3, *, planned: int = 3, **ends: SuiteOutcome) -> SuiteResult:
    tests = {
        f"test_{name[0]}.py::T::test_{name}": SuiteTest(outcome=how, seconds=1.5, message="why") for name, how in ends.items()
    }
    return SuiteResult(
        project="toy",
        line="1.0",
        configuration="default",
        plan=PLAN,
        num_shards=of,
        shards=(number,),
        planned=planned,
        wheels=(WHEEL,),
        target="cpu-only",
        platform="linux",
        python_version="3.11.7",
        code=SuiteCode(tests_commit="a" * 40, tests_digest=PLAN, wheel_commit="a" * 40, same=True),
        started=f"2026-06-01T00:00:0{number}Z",
        seconds=2.0,
        tests=tests,
        imported=True,
    )


def whole(**ends: SuiteOutcome) -> SuiteResult:
    return shard(1, 1, planned=len(ends), **ends)


def changed(result: SuiteResult, **values: object) -> SuiteResult:
    return msgspec.structs.replace(result, **values)


def test_all_shards_are_one_result_in_any_order() -> None:
    parts = [shard(3, c="failed"), shard(1, a="passed"), shard(2, b="skipped-by-us")]
    merged = merge(parts)
    refuse_partial(merged)
    assert merged.shards == (1, 2, 3)
    assert [test.outcome for test in merged.tests.values()] == ["passed", "skipped-by-us", "failed"]
    assert (merged.started, merged.seconds, merged.counts.skipped) == ("2026-06-01T00:00:01Z", 6.0, 1)
    assert merge([merged]) == merged


def test_a_shard_that_never_reported_is_an_error_that_names_it() -> None:
    with pytest.raises(HipwrightError) as caught:
        refuse_partial(merge([shard(1, a="passed"), shard(3, c="passed")]))
    assert caught.value.code.name == "shard-missing"
    assert "shard 2 of 3 has not reported: 2 of 3 tests" in caught.value.message
    assert "--shard 2 --num-shards 3" in (caught.value.hint or "")


def test_no_result_at_all_is_an_error() -> None:
    with pytest.raises(HipwrightError) as caught:
        merge([])
    assert caught.value.code.name == "no-report"


def test_shards_that_lack_tests_of_the_plan_are_an_error() -> None:
    with pytest.raises(HipwrightError) as caught:
        refuse_partial(merge([shard(1, a="passed"), shard(2, b="passed"), shard(3)]))
    assert caught.value.code.name == "truncated-report"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (lambda: shard(1, b="passed"), "two results of shard 1"),
        (lambda: shard(2, a="passed"), "two shards speak of one test, test_a.py::T::test_a"),
        (lambda: changed(shard(2, b="passed"), plan=digest.of_bytes(b"other")), "cut from different plans"),
        (lambda: changed(shard(2, b="passed"), project="other"), "differ in project"),
        (lambda: changed(shard(2, b="passed"), wheels=()), "differ in wheels"),
        (lambda: shard(2, 4, b="passed"), "differ in num shards"),
    ],
)
def test_results_that_do_not_belong_together_are_refused(other: Callable[[], SuiteResult], told: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        merge([shard(1, a="passed"), other()])
    assert caught.value.code.name == "shards-differ"
    assert told in caught.value.message


def test_one_shard_on_a_gpu_makes_it_one_of_that_gpu_and_two_kinds_are_refused() -> None:
    first, second = shard(1, 2, a="passed"), shard(2, 2, b="passed")
    on_gpu = changed(first, target="gfx942")
    assert merge([on_gpu, second]).target == "gfx942"
    with pytest.raises(HipwrightError):
        merge([on_gpu, changed(second, target="gfx1201")])


def test_what_changed_is_told() -> None:
    before = whole(a="passed", b="failed", c="passed", d="skipped", e="passed")
    after = whole(a="crashed", b="passed", c="skipped-by-us", d="passed", f="failed", g="passed")
    found = compare(before, after)
    short = {key: [name.rsplit("_", 1)[1] for name in getattr(found, key)] for key in ("failing", "passing", "skipped", "gone")}
    assert short == {"failing": ["a", "f"], "passing": ["b", "d"], "skipped": ["c"], "gone": ["e"]}
    assert not compare(before, before)
    assert not compare(before, changed(shard(1, a="passed"), narrowed=None)).gone
    assert not compare(before, changed(whole(a="passed"), narrowed="-k a")).gone


def test_a_verdict_passes_only_with_a_test_of_the_wheel_and_without_a_problem() -> None:
    assert whole(a="passed", b="skipped").passed
    assert not whole(a="skipped").passed
    assert not changed(whole(a="passed"), problems={"test_a.py": "it crashed"}).passed
    assert not changed(whole(a="passed"), imported=False).passed
    bad: tuple[SuiteOutcome, ...] = ("failed", "error", "crashed", "timed-out", "not-run")
    for how in bad:
        assert not whole(a="passed", b=how).passed


@given(st.text(), st.sampled_from(["passed", "failed", "error", "crashed", "skipped", "skipped-by-us"]), st.text())
def test_any_name_and_message_make_a_report_that_reads_strictly(name: str, outcome: SuiteOutcome, message: str) -> None:
    test = SuiteTest(outcome=outcome, message=message)
    result = changed(whole(), tests={f"test_a.py::T::test[{name}]": test})
    report = parse_report(junit_report(result), name="report.xml")
    assert len(report.cases) == 1
    assert report.counts == result.counts


def test_the_report_has_each_test_once_with_attempts_and_problems() -> None:
    flaky = SuiteTest(outcome="passed", attempts=3)
    result = changed(whole(a="passed", b="timed-out"), problems={"test_c.py": "it crashed"})
    result = changed(result, tests={**result.tests, "sub/test_d.py::test_flaky[a::b]": flaky})
    data = junit_report(result)
    report = parse_report(data, name="report.xml")
    assert [case.outcome for case in report.cases] == ["passed", "error", "passed", "error"]
    assert report.cases[1].message == "timed-out: why"
    assert report.cases[2].name == "sub.test_d::test_flaky[a::b]"
    assert b'name="attempts" value="3"' in data


def test_the_page_for_people_has_counts_failures_and_lines_to_paste() -> None:
    result = changed(
        whole(a="passed", b="failed", b2="error", c="skipped-by-us"),
        findings=(SkipFinding(kind="expired", where="all.toml:3", message="has expired | long ago"),),
    )
    lines = reproduce_lines(result, lambda file, names: f"nox -s test_toy_full -- {file} -k '{names}'")
    assert lines == ["nox -s test_toy_full -- test_b.py -k 'test_b or test_b2'"]
    page = markdown(result, compare(whole(a="passed", b="passed"), result), lines)
    assert headline(result) == "toy default on cpu-only: 1 passed, 2 failed, 1 skipped"
    assert "| test_b.py | 0 | 2 | 0 | 0 | 0 | 3.0 |" in page
    assert "| all | 1 | 2 | 0 | 1 | 0 | 6.0 |" in page
    assert "**Newly failing: 2**" in page
    assert "has expired \\| long ago" in page
    assert f"```sh\n{lines[0]}\n```" in page
    assert count_rows(result)[0][0] == "test_b.py"


def test_a_page_of_a_shard_or_of_another_version_is_no_verdict() -> None:
    result = changed(shard(2, b="passed"), narrowed="-k b")
    result = changed(result, code=msgspec.structs.replace(result.code, same=False, wheel_commit=None))
    page = markdown(result, None, [])
    assert "The tests are of another version" in page
    assert "This is shard 2 of 3, and no verdict on the suite." in page
    assert "Narrowed to `-k b`: no verdict on the suite." in page


def test_a_suite_of_which_all_fails_stays_readable() -> None:
    failed: dict[str, SuiteOutcome] = {f"x{number}": "failed" for number in range(300)}
    result = whole(**failed)
    assert len(failure_rows(result)) == 101
    assert change_lines(compare(result, result))[-2] == "Nothing changed."


def test_measured_times_are_kept_by_configuration_and_the_newest_count(tmp_path: Path) -> None:
    path = tmp_path / "times.json"
    times = read_times(path, "toy")
    times = with_measured(times, changed(whole(a="passed", b="skipped", c="crashed"), file_seconds={"test_a.py": 6.0}))
    write_times(path, times)
    assert read_times(path, "toy") == times
    costs = costs_from(times, "default")
    assert costs.tests == {"test_a.py::T::test_a": 1.5}
    assert costs.files == {"test_a.py": 6.0}
    assert costs_from(times, "inductor").tests == costs.tests, "another configuration's times are better than none"
    newer = with_measured(
        times, changed(whole(a="passed"), tests={"test_a.py::T::test_a": SuiteTest(outcome="failed", seconds=9.0)})
    )
    assert costs_from(newer, "default").tests == {"test_a.py::T::test_a": 9.0}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"schema": 1, "project": "other"}', '{"schema": 1, "project": "toy", "tests": {"d": {"a": -1}}}']
)
def test_times_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "times.json").write_text(text, encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        read_times(tmp_path / "times.json", "toy")
    assert caught.value.code.name == "bad-data-file"


def test_a_times_file_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    assert read_times(tmp_path / "times.json", "toy") == MeasuredTimes(project="toy")
    with pytest.raises(HipwrightError):
        read_times(tmp_path / "times.json", "toy", needed=True)
