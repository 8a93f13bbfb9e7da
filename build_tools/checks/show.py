"""Show a report of the checks: as a table for people, as annotations where a renderer has them."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.counted import counted
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.console.events import Console
    from build_tools.receipts.check import CheckReport, Finding

__all__ = ["show_report"]

_COLUMNS: Final = ("severity", "rule", "member", "what")
_SHOWN: Final = 4
_MOST: Final = 20


def show_report(report: CheckReport, console: Console) -> None:
    """Tell what the rules found, which of them were off, and which could not judge, with the reasons."""
    count = len(report.wheels)
    title = f"{counted(count, 'wheel')} judged by {len(report.rules)} rules"
    note = "\n".join((*_off(report), *_unjudged(report)))
    cut = [row for group in _by_rule(report).values() for row in _few(group)]
    for found in cut:
        text = f"{found.wheel}: {found.member}: {found.message}" if found.member else f"{found.wheel}: {found.message}"
        console.annotate(found.severity, found.rule, text)
    # A name of a wheel is long: it stands once above what was found of it.
    rows: dict[str, list[tuple[str, ...]]] = collections.defaultdict(list)
    for found in cut:
        rows[found.wheel].append((found.severity, found.rule, found.member or "", found.message))
    if not rows:
        console.say(f"{title}: nothing found")
        for line in note.splitlines():
            console.say(line)
        return
    console.say(title)
    last = list(rows)[-1]
    for wheel, found_there in rows.items():
        console.table(shown(wheel), _COLUMNS, found_there, note=note if wheel == last else "")


def _by_rule(report: CheckReport) -> dict[tuple[str, str], list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = collections.defaultdict(list)
    for found in report.findings:
        groups[found.wheel, found.rule].append(found)
    return groups


def _few(findings: list[Finding]) -> list[Finding]:
    """Cut a list that nobody would read to its end; it is sorted, the worst first, and the report itself has the rest."""
    if len(findings) <= _MOST:
        return findings
    rest = f"the rule finds {len(findings) - _MOST} more; --json has them"
    return [*findings[:_MOST], msgspec.structs.replace(findings[_MOST], message=rest, member=None, hint=None)]


def _off(report: CheckReport) -> Iterator[str]:
    for name, why in sorted(report.off.items()):
        yield f"off: {name} ({why})"


def _unjudged(report: CheckReport) -> Iterator[str]:
    """Tell of each rule and reason once, with the wheels where they are not all."""
    wheels: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for entry in report.unjudged:
        wheels[entry.rule, entry.why].append(shown(entry.wheel))
    for (rule, why), names in wheels.items():
        some = f"{', '.join(names[:_SHOWN])}{' and others' if len(names) > _SHOWN else ''}"
        yield f"not judged: {rule}{f' of {some}' if len(names) < len(report.wheels) else ''} ({why})"
