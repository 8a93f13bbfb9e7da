"""Check wheels: read each once, let every rule judge it, and bind the report to the bytes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import humanize

from build_tools.checks.registry import SET_RULES, WHEEL_RULES
from build_tools.checks.rule import Problem, Rule, SetRule, Subject, make_subject
from build_tools.errors import HipwrightError
from build_tools.receipts.check import CheckReport, Finding, JudgedWheel, Unjudged
from build_tools.shown import shown
from build_tools.wheels.contents import read_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.checks.demands import Demands
    from build_tools.checks.expectation import Expectation
    from build_tools.config.wheel_demands import RuleSetting
    from build_tools.types import Severity
    from build_tools.wheels.probe import Probe

__all__ = ["check_wheels", "raise_for"]

_MOST: Final = 1000
"""Findings of one rule about one wheel that a report keeps: a person reads fewer, and a hostile wheel can make millions."""

_LONGEST: Final = 2000
_LONGEST_NAME: Final = 400
_RANK: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "note": 2}


_WHOLE: Final = 100


def _nobody(_what: str, _done: int, _total: int, _unit: str) -> None:
    return


def check_wheels(
    paths: Sequence[Path],
    *,
    expectations: Mapping[str, Expectation] | None,
    say: Callable[[str], None],
    progress: Callable[[str, int, int, str], object] = _nobody,
    demands: Mapping[str, Demands] | None = None,
    only: Collection[str] | None = None,
    project: str | None = None,
    jobs: int = 1,
) -> CheckReport:
    """Let every rule judge every wheel.

    Parameters
    ----------
    paths
        The wheels.
    expectations
        The plan by file name; without one the rules that compare with a plan do not run.
    demands
        What is demanded of each wheel, by file name; a wheel that is not there is of no project of ours.
    say
        Gets one line before each wheel is read.
    progress
        Gets how far the reading of a large wheel is, as :meth:`build_tools.console.events.Console.progress` takes it.
    only
        Names of the rules that judge, for who asks for some; all when None.
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
        message = f"there is no wheel of {project} to check" if project else "there is no wheel to check"
        raise HipwrightError("no-wheel", message, hint="name wheels, or folders that hold some: nox -s check_wheels -- PATH")
    wheel_rules = [rule for rule in WHEEL_RULES if only is None or rule.name in only]
    set_rules = [rule for rule in SET_RULES if only is None or rule.name in only]
    subjects: list[Subject] = []
    for path in sorted(paths, key=lambda path: (path.name, path)):
        if path.is_file():
            say(f"checking {shown(path.name)} ({humanize.naturalsize(path.stat().st_size, binary=True)})")
        plan = (expectations or {}).get(path.name)
        demanded = (demands or {}).get(path.name)
        stated = plan.source_commit if plan is not None else None
        reading = f"reading {shown(path.name)}"
        wheel = read_contents(
            path,
            jobs=jobs,
            ask=(stated.member,) if stated is not None else (),
            probes=_probes(wheel_rules, path.name, demanded),
            progress=functools.partial(_tell, progress, reading),
        )
        subjects.append(make_subject(wheel, plan, demanded))
    ran: set[str] = set()
    findings: list[Finding] = []
    unjudged: list[Unjudged] = []
    for subject in subjects:
        for rule in wheel_rules:
            if _is_off(rule, subject.demands):
                continue
            if (why := rule.cannot(subject)) is not None:
                unjudged.append(Unjudged(rule=rule.name, wheel=subject.wheel.filename, why=shown(why)))
                continue
            ran.add(rule.name)
            findings += _judge(rule, subject)
    of_wheel = {subject.wheel.filename: subject.demands for subject in subjects}
    for set_rule in set_rules:
        judged = [subject for subject in subjects if not _is_off(set_rule, subject.demands)]
        if not judged:
            continue
        ran.add(set_rule.name)
        left = [(subject.wheel.filename, why) for subject in judged if (why := set_rule.unable(subject, subjects)) is not None]
        unjudged += [Unjudged(rule=set_rule.name, wheel=filename, why=shown(why)) for filename, why in left]
        told = sorted(set_rule.judge(subjects, expectations), key=lambda pair: (pair[0], pair[1].message))
        findings += [
            _finding(set_rule, filename, problem, _setting(set_rule, of_wheel.get(filename)))
            for filename, problem in told
            if not _is_off(set_rule, of_wheel.get(filename))
        ]
    names = [*(rule.name for rule in wheel_rules), *(rule.name for rule in set_rules)]
    return CheckReport(
        project=project,
        wheels=tuple(JudgedWheel(filename=subject.wheel.filename, sha256=subject.wheel.sha256) for subject in subjects),
        rules=tuple(name for name in names if name in ran),
        findings=tuple(findings),
        off=_off(subjects),
        unjudged=tuple(unjudged),
    )


def _tell(progress: Callable[[str, int, int, str], object], reading: str, per_cent: int) -> None:
    progress(reading, per_cent, _WHOLE, "%")


def raise_for(report: CheckReport) -> None:
    """Do nothing when a report passed; otherwise say what broke which rule.

    Raises
    ------
    HipwrightError
        ``check-failed`` naming the first finding and the number of the others; ``no-wheel`` when nothing was checked.
    """
    if report.passed:
        return
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if not errors:
        raise HipwrightError("no-wheel", "the check judged nothing")
    first = errors[0]
    others = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    # All of them were shown as a table before.
    raise HipwrightError("check-failed", f"{_line(first)}{others}", hint=first.hint)


def _line(finding: Finding) -> str:
    wheel = shown(finding.wheel)
    place = f"{wheel}: {finding.member}" if finding.member else wheel
    return f"{place}: {finding.message} [{finding.rule}]"


def _probes(rules: Iterable[Rule], filename: str, demands: Demands | None) -> list[Probe]:
    """Make what looks at contents for the rules that are to judge a wheel, once where several share it."""
    makers = dict.fromkeys(rule.probe for rule in rules if rule.probe is not None and not _is_off(rule, demands))
    made = [maker(filename, demands) for maker in makers]
    return [probe for probe in made if probe is not None]


def _setting(rule: Rule | SetRule, demands: Demands | None) -> RuleSetting | None:
    return demands.check.rules.get(rule.name) if demands is not None else None


def _is_off(rule: Rule | SetRule, demands: Demands | None) -> bool:
    setting = _setting(rule, demands)
    return setting is not None and setting.severity == "off"


def _off(subjects: Sequence[Subject]) -> dict[str, str]:
    settings = [pair for subject in subjects if subject.demands for pair in subject.demands.check.rules.items()]
    return {name: setting.why for name, setting in settings if setting.severity == "off"}


def _judge(rule: Rule, subject: Subject) -> Iterator[Finding]:
    def order(problem: Problem) -> tuple[int, str, str]:
        return (_RANK[problem.severity or rule.severity], problem.member or "", problem.message)

    problems = sorted(rule.judge(subject), key=order)
    setting = _setting(rule, subject.demands)
    kept = problems[:_MOST]
    if left := len(problems) - len(kept):
        kept.append(Problem(message=f"the rule finds {left} more", severity=problems[_MOST].severity))
    yield from (_finding(rule, subject.wheel.filename, problem, setting) for problem in kept)


def _severity(rule: Rule | SetRule, problem: Problem, setting: RuleSetting | None) -> Severity:
    """Return how bad a problem is: as bad as the project says of its rule, but what the rule takes lightly stays light."""
    if setting is None or setting.severity == "off":
        return problem.severity or rule.severity
    if problem.severity is None:
        return setting.severity
    return max(problem.severity, setting.severity, key=_RANK.__getitem__)


def _finding(rule: Rule | SetRule, filename: str, problem: Problem, setting: RuleSetting | None) -> Finding:
    return Finding(
        rule=rule.name,
        severity=_severity(rule, problem, setting),
        wheel=filename,
        # Names and fields come out of the wheel as somebody else wrote them.
        message=_cut(shown(problem.message), _LONGEST),
        member=None if problem.member is None else _cut(shown(problem.member), _LONGEST_NAME),
        hint=None if problem.hint is None else shown(problem.hint),
    )


def _cut(text: str, most: int) -> str:
    """Leave the middle out of a text that nobody would read to its end."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"
