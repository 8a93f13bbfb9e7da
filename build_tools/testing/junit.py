"""Read a JUnit report strictly: a report that is cut short, empty or at odds with itself is an error, never a pass.

The format is the one that pytest writes (``--junitxml``, family ``xunit2``): ``testsuites``, ``testsuite`` with the attributes
``tests``, ``failures``, ``errors`` and ``skipped``, and one ``testcase`` for each test.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import open_regular
from build_tools.receipts.verdict import TestCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from build_tools.types import Sha256

__all__ = ["Outcome", "TestCase", "TestReport", "parse_report", "read_report"]

Outcome = Literal["passed", "failed", "error", "skipped", "not-run"]
"""``not-run`` is what needs a GPU where there is none: a report has it as skipped, the events tell it apart."""

_OUTCOMES: Final[Mapping[str, Outcome]] = {"failure": "failed", "error": "error", "skipped": "skipped"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TestCase:
    """One test: its name as the report has it, how it ended, and the first line of the reason."""

    __test__ = False

    name: str
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TestReport:
    """A whole report: counts, tests in their order, what tests recorded about the run, and the digest of the report's bytes."""

    __test__ = False

    counts: TestCounts
    cases: tuple[TestCase, ...]
    properties: Mapping[str, tuple[str, ...]]
    sha256: Sha256

    def of(self, *outcomes: Outcome) -> tuple[TestCase, ...]:
        """Return the tests that ended in one of these ways."""
        return tuple(case for case in self.cases if case.outcome in outcomes)


def read_report(path: Path) -> TestReport:
    """Read a report from a file.

    Raises
    ------
    HipwrightError
        ``no-report`` when there is no such file or it is empty, else as :func:`parse_report`.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read()
    except OSError as error:
        raise HipwrightError("no-report", f"there is no test report at {path}", where=Where(file=path)) from error
    if not data.strip():
        raise HipwrightError("no-report", f"the test report {path} is empty", where=Where(file=path))
    return parse_report(data, name=path)


def parse_report(data: bytes, *, name: Path | str) -> TestReport:
    """Read a report from its bytes.

    Parameters
    ----------
    data
        The XML.
    name
        What to call it in errors.

    Raises
    ------
    HipwrightError
        ``truncated-report`` when it is no whole XML, no JUnit report, or its counts are not those of its tests;
        ``no-tests`` when it speaks of no test.
    """
    where = Where(file=name)
    try:
        root = fromstring(data)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        message = f"the test report {name} is cut short or no XML: {error}"
        raise HipwrightError("truncated-report", message, where=where) from error
    suites = [root] if root.tag == "testsuite" else list(root.iterfind("testsuite")) if root.tag == "testsuites" else []
    if not suites:
        raise HipwrightError("truncated-report", f"{name} is no JUnit report: its root is <{root.tag}>", where=where)
    cases = tuple(_case(element) for suite in suites for element in suite.iterfind("testcase"))
    found = Counter(case.outcome for case in cases)
    stated = {key: sum(_number(suite, key, where) for suite in suites) for key in ("tests", "failures", "errors", "skipped")}
    # A test that fails and then fails again on the way out has two entries and counts once.
    same = (stated["failures"], stated["errors"], stated["skipped"]) == (found["failed"], found["error"], found["skipped"])
    if not same or len(cases) < stated["tests"]:
        listed = f"{len(cases)} tests, {found['failed']} failures, {found['error']} errors, {found['skipped']} skipped"
        says = f"{stated['tests']} tests, {stated['failures']} failures, {stated['errors']} errors, {stated['skipped']} skipped"
        raise HipwrightError("truncated-report", f"{name} says {says}, but lists {listed}", where=where)
    if not cases:
        raise HipwrightError("no-tests", f"the test report {name} speaks of no test", where=where)
    counts = TestCounts(passed=found["passed"], failed=found["failed"], errors=found["error"], skipped=found["skipped"])
    return TestReport(counts=counts, cases=cases, properties=_properties(suites), sha256=digest.of_bytes(data))


def _case(element: Element) -> TestCase:
    name = "::".join(part for part in (element.get("classname"), element.get("name")) if part)
    for child in element:
        outcome = _OUTCOMES.get(child.tag)
        if outcome is not None:
            message = child.get("message") or child.text or ""
            return TestCase(name=name, outcome=outcome, message=next(iter(message.strip().splitlines()), ""))
    return TestCase(name=name, outcome="passed")


def _number(suite: Element, key: str, where: Where) -> int:
    text = suite.get(key, "0" if key == "skipped" else "")
    if not text.isascii() or not text.isdigit():
        raise HipwrightError("truncated-report", f"a test report's attribute {key} is {text!r}, which is no number", where=where)
    return int(text)


def _properties(suites: Iterable[Element]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for suite in suites:
        for entry in suite.iterfind("properties/property"):
            name = entry.get("name", "")
            found[name] = (*found.get(name, ()), entry.get("value", ""))
    return found
