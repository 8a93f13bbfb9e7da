"""A suite's result as one JUnit report, as CI systems read it, whatever number of processes and shards it came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, tostring

from build_tools.testing.upstream.shards import file_of

if TYPE_CHECKING:
    from build_tools.receipts.suite import SuiteResult, SuiteTest

__all__ = ["junit_report"]

_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document can hold, not even by its number."""

_KINDS: Final = {"failed": "failure", "skipped": "skipped", "skipped-by-us": "skipped"}


def junit_report(result: SuiteResult) -> bytes:
    """Return a result as a JUnit report: a suite for each test file, each test once, flaky ones with their attempts.

    Parameters
    ----------
    result
        The result; its order of tests is that of the report.
    """
    by_file: dict[str, dict[str, SuiteTest]] = {}
    for name, test in result.tests.items():
        by_file.setdefault(file_of(name), {})[name] = test
    for file in result.problems:
        by_file.setdefault(file, {})
    root = Element("testsuites", name=f"{result.project} {result.configuration}")
    for file, tests in by_file.items():
        kinds = [_KINDS.get(test.outcome, "error") for test in tests.values() if test.outcome != "passed"]
        problem = result.problems.get(file)
        counts = {
            "tests": len(tests) + (problem is not None),
            "failures": kinds.count("failure"),
            "errors": kinds.count("error") + (problem is not None),
            "skipped": kinds.count("skipped"),
        }
        seconds = sum(test.seconds for test in tests.values())
        attributes = {"name": _text(file), "time": f"{seconds:.3f}", **{key: str(value) for key, value in counts.items()}}
        suite = SubElement(root, "testsuite", attributes)
        for name, test in tests.items():
            _case(suite, name, test)
        if problem is not None:
            case = SubElement(suite, "testcase", classname=_text(_dotted(file)), name="the end of its process", time="0.000")
            SubElement(case, "error", message=_text(problem))
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode").encode() + b"\n"


def _case(suite: Element, name: str, test: SuiteTest) -> None:
    file, _, rest = name.partition("::")
    # Parameters may hold what parts the names before them.
    bare, bracket, parameters = rest.partition("[")
    *classes, last = bare.split("::")
    case = SubElement(
        suite,
        "testcase",
        classname=_text(".".join((_dotted(file), *classes))),
        name=_text(f"{last}{bracket}{parameters}" or file),
        time=f"{test.seconds:.3f}",
    )
    if test.attempts > 1:
        properties = SubElement(case, "properties")
        SubElement(properties, "property", name="attempts", value=str(test.attempts))
    if test.outcome != "passed":
        message = test.message if test.outcome in _KINDS else f"{test.outcome}: {test.message}"
        SubElement(case, _KINDS.get(test.outcome, "error"), message=_text(message))


def _dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def _text(text: str) -> str:
    return _ILLEGAL.sub(lambda found: f"#x{ord(found[0]):02X}", text)
