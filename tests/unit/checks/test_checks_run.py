from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.checks.demands import Demands
from build_tools.checks.expectation import Expectation
from build_tools.checks.explain import all_rules
from build_tools.checks.registry import FORMAT, WHEEL_RULES
from build_tools.checks.run import check_wheels, raise_for
from build_tools.config.wheel_demands import Check, RuleSetting
from build_tools.digest import of_file
from build_tools.errors import HipwrightError
from build_tools.receipts.check import CheckReport
from build_tools.receipts.record import from_json, to_json
from build_tools.types import Platform
from build_tools.wheels import contents
from build_tools.wheels.find import find_wheels
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PLAN = Expectation(distribution="demo", version="1.0", python_tag="cp311", platform=Platform.LINUX)


def _check(paths: Sequence[Path], expectations: dict[str, Expectation] | None = None) -> CheckReport:
    return check_wheels(paths, expectations=expectations, say=lambda _line: None, project="demo")


def test_a_report_is_bound_to_bytes_and_names_its_rules(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    report = _check([wheel], {wheel.name: _PLAN})
    assert report.passed
    assert [(judged.filename, judged.sha256) for judged in report.wheels] == [(wheel.name, of_file(wheel))]
    order = [rule.name for rule in all_rules()]
    assert list(report.rules) == [name for name in order if name in report.rules]
    assert set(order) - set(report.rules) == {entry.rule for entry in report.unjudged}
    assert from_json(to_json(report), CheckReport, name="report") == report
    raise_for(report)


def test_without_a_plan_the_rules_about_plans_do_not_run(tmp_path: Path) -> None:
    report = _check([WheelMaker().write(tmp_path)])
    planned = {rule.name for rule in WHEEL_RULES if rule.planned}
    assert {"expected", "pins", "source-commit"} <= planned
    assert not planned & set(report.rules)
    assert {entry.rule for entry in report.unjudged if entry.why == "nobody planned the wheel"} == planned


def test_some_rules_alone_can_be_asked_for(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/x.so": b"", "demo/__pycache__/x.py": b""}, extra=[("demo/new.py", b"")]).write(tmp_path)
    report = check_wheels([wheel], expectations=None, only=FORMAT, say=lambda _line: None)
    assert set(report.rules) == FORMAT
    assert {finding.rule for finding in report.findings} == {"record"}
    assert {rule.name for rule in all_rules()} > FORMAT


def _demanding(**settings: RuleSetting) -> Demands:
    rules = {name.replace("_", "-"): setting for name, setting in settings.items()}
    return Demands(platform=Platform.LINUX, check=Check(rules=rules))


def _findings_with(wheel: Path, demands: Demands) -> CheckReport:
    return check_wheels([wheel], expectations=None, demands={wheel.name: demands}, say=lambda _line: None)


def test_a_project_sets_how_bad_a_rule_is(tmp_path: Path) -> None:
    wheel = WheelMaker(extra=[("demo/new.py", b"")]).write(tmp_path)
    assert not _findings_with(wheel, _demanding()).passed
    lighter = _findings_with(wheel, _demanding(record=RuleSetting(severity="warning", why="known")))
    assert [(finding.rule, finding.severity) for finding in lighter.findings] == [("record", "warning")]
    assert lighter.passed


def test_what_a_rule_takes_lightly_stays_light(tmp_path: Path) -> None:
    wheel = WheelMaker(edit_record=lambda rows: rows[:-1]).write(tmp_path)
    report = _findings_with(wheel, _demanding(record=RuleSetting(severity="error", why="strict")))
    assert [finding.severity for finding in report.findings] == ["warning"]


def test_a_rule_that_is_off_does_not_run_and_is_named_with_its_reason(tmp_path: Path) -> None:
    wheel = WheelMaker(extra=[("demo/new.py", b"")]).write(tmp_path)
    settings = {name: RuleSetting(severity="off", why=f"{name} is wrong here") for name in ("record", "wheel_set")}
    report = _findings_with(wheel, _demanding(**settings))
    assert report.findings == ()
    assert not {"record", "wheel-set"} & set(report.rules)
    assert report.off == {"record": "record is wrong here", "wheel-set": "wheel_set is wrong here"}
    assert from_json(to_json(report), CheckReport, name="report") == report


def test_nothing_to_check_is_no_pass(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        _check([])
    assert caught.value.code.name == "no-wheel"
    with pytest.raises(HipwrightError, match=r"gone\.whl") as caught:
        _check([tmp_path / "gone.whl"])
    assert caught.value.code.name == "no-wheel"
    with pytest.raises(HipwrightError) as caught:
        raise_for(CheckReport(project="demo", wheels=(), rules=("record",), findings=()))
    assert caught.value.code.name == "no-wheel"


def test_a_planned_wheel_that_is_missing_fails(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    report = _check([wheel], {wheel.name: _PLAN, "other-1.0-py3-none-any.whl": _PLAN})
    assert [(finding.rule, finding.wheel) for finding in report.findings] == [("wheel-set", "other-1.0-py3-none-any.whl")]
    assert not report.passed


def test_a_wheel_that_nobody_planned_fails(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    stray = WheelMaker(version="0.9").write(tmp_path)
    report = _check([wheel, stray], {wheel.name: _PLAN})
    assert [(finding.rule, finding.wheel) for finding in report.findings] == [("wheel-set", stray.name)]


def test_two_files_of_one_name_fail(tmp_path: Path) -> None:
    wheels = [WheelMaker().write(tmp_path / folder) for folder in ("one", "two")]
    report = _check(wheels)
    assert [(finding.rule, finding.message[:7]) for finding in report.findings] == [("wheel-set", "2 files")]


def test_findings_come_in_one_order_whatever_the_order_of_the_paths(tmp_path: Path) -> None:
    files = {f"demo/{number}.py": b"" for number in range(9)}
    wheels = [
        WheelMaker(version=version, files=files, edit_record=lambda rows: rows[-1:]).write(tmp_path) for version in ("1.0", "1.1")
    ]
    report = _check(wheels)
    assert _check(wheels[::-1]) == report
    members = [finding.member for finding in report.findings if finding.wheel == wheels[0].name]
    assert members == sorted(members, key=str)
    assert len(members) == 11


def test_the_worst_is_told_first(tmp_path: Path) -> None:
    def no_hash_or_no_size(rows: list[str]) -> list[str]:
        return [
            line.rpartition(",")[0] + "," if number % 2 else line.partition(",")[0] + ",,1"
            for number, line in enumerate(rows[:-1])
        ]

    files = {f"demo/{number:02}.py": b"x" for number in range(60)}
    wheel = WheelMaker(files=files, edit_record=lambda rows: [*no_hash_or_no_size(rows), rows[-1]]).write(tmp_path)
    findings = _check([wheel]).findings
    severities = [finding.severity for finding in findings]
    assert severities == ["error"] * severities.count("error") + ["warning"] * severities.count("warning")
    assert min(severities.count("error"), severities.count("warning")) > 20


def test_errors_are_raised_with_the_first_finding_and_the_number_of_others(tmp_path: Path) -> None:
    files = {f"demo/{number:02}.py": b"x" for number in range(15)}
    wheel = WheelMaker(files=files, edit_record=lambda rows: rows[-1:]).write(tmp_path)
    with pytest.raises(HipwrightError) as caught:
        raise_for(_check([wheel]))
    error = caught.value
    assert error.code.name == "check-failed"
    assert error.message == f"{wheel.name}: demo-1.0.dist-info/METADATA: RECORD does not list it [record], and 16 more"
    assert error.hint is not None
    assert error.excerpt is None


def test_a_single_error_is_raised_alone(tmp_path: Path) -> None:
    wheel = WheelMaker(extra=[("demo/new.py", b"")]).write(tmp_path)
    with pytest.raises(HipwrightError) as caught:
        raise_for(_check([wheel]))
    assert caught.value.message == f"{wheel.name}: demo/new.py: RECORD does not list it [record]"


def test_warnings_alone_pass(tmp_path: Path) -> None:
    report = _check([WheelMaker(name="Demo").write(tmp_path)])
    assert [finding.severity for finding in report.findings] == ["warning"]
    raise_for(report)


def test_each_wheel_is_announced(tmp_path: Path) -> None:
    lines: list[str] = []
    wheels = [WheelMaker(version=version).write(tmp_path) for version in ("1.0", "1.1")]
    check_wheels(wheels, expectations=None, say=lines.append)
    assert [line.partition(" (")[0] for line in lines] == [f"checking {wheel.name}" for wheel in wheels]


def test_wheels_are_found_in_folders_and_by_name(tmp_path: Path) -> None:
    wheels = [WheelMaker(version=version).write(tmp_path) for version in ("1.1", "1.0")]
    (tmp_path / "notes.txt").touch()
    assert find_wheels([tmp_path]) == tuple(sorted(wheels))
    assert find_wheels([wheels[0], tmp_path]) == (wheels[0], wheels[1])


def test_a_search_that_finds_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    wheel = WheelMaker().write(tmp_path)
    for paths in ([], [tmp_path / "empty"], [wheel, tmp_path / "empty"], [wheel, tmp_path / "gone.whl"], [tmp_path / "gone"]):
        with pytest.raises(HipwrightError) as caught:
            find_wheels(paths)
        assert caught.value.code.name == "no-wheel"


def test_what_a_wheel_says_cannot_move_the_terminal(tmp_path: Path) -> None:
    names = ["d\u00e9mo/\x1b[2J.py", "d\u00e9mo/\u202egnp.py", "d\u00e9mo/two\nlines.py"]
    wheel = WheelMaker(files={"demo.py": b""}, extra=[(name, b"") for name in names]).write(tmp_path)
    report = _check([wheel])
    told = "".join(f"{finding.message}{finding.member}{finding.hint}" for finding in report.findings)
    assert told.isprintable()
    assert {"d\u00e9mo/\\x1b[2J.py", "d\u00e9mo/\\u202egnp.py", "d\u00e9mo/two\\nlines.py"} <= {
        finding.member for finding in report.findings
    }


@pytest.mark.parametrize("field", ["metadata", "wheel"])
def test_fields_of_a_wheel_are_told_in_printable_text(tmp_path: Path, field: str) -> None:
    metadata = "Metadata-Version: 2.4\nName: demo\nVersion: 1\x1b[2J\n"
    fields = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: \x1b[2J\u202e\n"
    maker = WheelMaker(metadata=metadata) if field == "metadata" else WheelMaker(wheel=fields)
    report = _check([maker.write(tmp_path)])
    assert not report.passed
    assert all(finding.message.isprintable() for finding in report.findings)


def test_how_far_the_reading_of_a_large_wheel_is_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_WORTH", 0)
    wheel = WheelMaker(files={f"demo/{number}.py": b"" for number in range(200)}).write(tmp_path)
    told: list[tuple[str, int, int, str]] = []
    check_wheels([wheel], expectations=None, say=lambda _line: None, progress=lambda *step: told.append(step))
    assert told[-1] == (f"reading {wheel.name}", 100, 100, "%")
    assert len(told) == 100
