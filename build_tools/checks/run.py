"""Check wheels: read each once, let every rule judge it, and bind the report to the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import humanize

from build_tools.checks.registry import SET_RULES, WHEEL_RULES
from build_tools.checks.rule import Problem, Rule, SetRule, Subject, make_subject
from build_tools.errors import HipwrightError
from build_tools.receipts.check import CheckReport, Finding, JudgedWheel
from build_tools.shown import shown
from build_tools.wheels.contents import read_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.checks.expectation import Expectation
    from build_tools.types import Severity

__all__ = ["check_wheels", "find_wheels", "raise_for"]

_MOST: Final = 20
_SHOWN: Final = 12
_RANK: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "note": 2}


def find_wheels(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the wheels that paths name: files as they are given, and the wheels in each folder, sorted.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when a path does not exist, a folder holds no wheel, or no path is given.
    """
    found: list[Path] = []
    for path in paths:
        wheels = sorted(path.glob("*.whl")) if path.is_dir() else [path]
        if not wheels or not all(wheel.is_file() for wheel in wheels):
            what = f"{path} holds no wheel" if path.is_dir() else f"there is no wheel {path}"
            raise HipwrightError("no-wheel", what, hint="name a wheel, or a folder that holds wheels")
        found += [wheel for wheel in wheels if wheel not in found]
    if not found:
        raise HipwrightError("no-wheel", "there is nothing to check", hint="nox -s check_wheels -- PATH")
    return tuple(found)


def check_wheels(
    paths: Sequence[Path],
    *,
    expectations: Mapping[str, Expectation] | None,
    say: Callable[[str], None],
    project: str | None = None,
    jobs: int = 1,
) -> CheckReport:
    """Let every rule judge every wheel.

    Parameters
    ----------
    paths
        The wheels.
    expectations
        The plan by file name; without one the rules that compare with a plan do not run, and the report does not name them.
    say
        Gets one line before each wheel is read.
    project
        The project that the wheels are of, for the report.
    jobs
        How many threads read one wheel.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when there is nothing to check, or a path is no file.
    """
    if not paths:
        raise HipwrightError("no-wheel", f"there is no wheel of {project} to check" if project else "there is no wheel to check")
    subjects: list[Subject] = []
    for path in sorted(paths, key=lambda path: (path.name, path)):
        if path.is_file():
            say(f"checking {shown(path.name)} ({humanize.naturalsize(path.stat().st_size, binary=True)})")
        plan = (expectations or {}).get(path.name)
        stated = plan.source_commit if plan is not None else None
        wheel = read_contents(path, jobs=jobs, ask=(stated.member,) if stated is not None else ())
        subjects.append(make_subject(wheel, plan))
    rules = [rule for rule in WHEEL_RULES if expectations is not None or not rule.planned]
    findings = [finding for subject in subjects for rule in rules for finding in _judge(rule, subject)]
    for set_rule in SET_RULES:
        told = sorted(set_rule.judge(subjects, expectations), key=lambda pair: (pair[0], pair[1].message))
        findings += [_finding(set_rule, filename, problem) for filename, problem in told]
    return CheckReport(
        project=project,
        wheels=tuple(JudgedWheel(filename=subject.wheel.filename, sha256=subject.wheel.sha256) for subject in subjects),
        rules=(*(rule.name for rule in rules), *(rule.name for rule in SET_RULES)),
        findings=tuple(findings),
    )


def raise_for(report: CheckReport) -> None:
    """Do nothing when a report passed; otherwise say what broke which rule.

    Raises
    ------
    HipwrightError
        ``check-failed`` naming the first findings; ``no-wheel`` when nothing was checked.
    """
    if report.passed:
        return
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if not errors:
        raise HipwrightError("no-wheel", "the check judged nothing")
    first = errors[0]
    others = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    excerpt = [_line(finding) for finding in errors[:_SHOWN]]
    if len(errors) > _SHOWN:
        excerpt.append(f"… and {len(errors) - _SHOWN} more")
    raise HipwrightError("check-failed", f"{_line(first)}{others}", hint=first.hint, excerpt="\n".join(excerpt))


def _line(finding: Finding) -> str:
    wheel = shown(finding.wheel)
    place = f"{wheel}: {finding.member}" if finding.member else wheel
    return f"{place}: {finding.message} [{finding.rule}]"


def _judge(rule: Rule, subject: Subject) -> Iterator[Finding]:
    def order(problem: Problem) -> tuple[int, str, str]:
        return (_RANK[problem.severity or rule.severity], problem.member or "", problem.message)

    problems = sorted(rule.judge(subject), key=order)
    yield from (_finding(rule, subject.wheel.filename, problem) for problem in _few(problems))


def _few(problems: Sequence[Problem]) -> Iterable[Problem]:
    """Cut a list that nobody would read to its end, worst first; the rest is counted."""
    if len(problems) <= _MOST:
        return problems
    left = len(problems) - _MOST
    return [*problems[:_MOST], Problem(message=f"the rule finds {left} more", severity=problems[_MOST].severity)]


def _finding(rule: Rule | SetRule, filename: str, problem: Problem) -> Finding:
    return Finding(
        rule=rule.name,
        severity=problem.severity or rule.severity,
        wheel=filename,
        # Names and fields come out of the wheel as somebody else wrote them.
        message=shown(problem.message),
        member=None if problem.member is None else shown(problem.member),
        hint=None if problem.hint is None else shown(problem.hint),
    )
