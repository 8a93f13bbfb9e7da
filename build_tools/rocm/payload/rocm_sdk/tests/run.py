"""Runs the suites and tells, apart, what passed, what failed and what could not be tested here."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import sys
import time
import unittest
from dataclasses import dataclass, field
from unittest import mock

from .._dist_info import description
from .._errors import SdkError
from .._packages import FAMILY_VARIABLE, set_id
from .utils import gpus, installed_families, ran_on

__all__ = ["run_suites"]

_BEFORE = re.compile(r"(?:error: |\w*Error: )?")
_SUITES = ("base", "core", "libraries", "devel", "profiler", "device")


@dataclass
class _Suite:
    """What came of one suite."""

    name: str
    passed: int = 0
    failed: list[dict[str, str]] = field(default_factory=list)
    untested: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def status(self) -> str:
        if self.failed:
            return "failed"
        return "passed" if self.passed else "untested"


class _Result(unittest.TestResult):
    """Counts tests and their parts; a test that is made of parts counts as its parts."""

    def __init__(self, suite: _Suite, what: str) -> None:
        super().__init__()
        self._suite = suite
        self._what = what
        self._parts = 0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._parts = 0

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self._suite.passed += 0 if self._parts else 1

    def addError(self, test: unittest.TestCase, err: object) -> None:
        super().addError(test, err)  # type: ignore[arg-type]
        self._fail(test, err)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        super().addFailure(test, err)  # type: ignore[arg-type]
        self._fail(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._parts += 1
        self._suite.untested.append({"test": f"{_name(test)}{self._what}", "reason": reason})

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        super().addSubTest(test, subtest, err)  # type: ignore[arg-type]
        self._parts += 1
        if err is None:
            self._suite.passed += 1
        else:
            self._fail(subtest, err)

    def _fail(self, test: unittest.TestCase, err: object) -> None:
        error = err[1] if isinstance(err, tuple) else err
        what = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        self._suite.failed.append({"test": f"{_name(test)}{self._what}", "reason": what})


def run_suites(*, as_json: bool) -> int:
    """Run all suites, print the result, and return the exit status: 0 when nothing failed and each package of need was tested.

    A suite in which nothing could be tested is told and does not count as passed; that of the set and that of the core package have to
    pass, since these packages are always there.
    """
    suites = [_run(name, talk=not as_json) for name in _SUITES]
    status = "passed"
    if any(suite.failed for suite in suites) or any(suite.status != "passed" for suite in suites[:2]):
        status = "failed"
    if as_json:
        print(json.dumps(_document(suites, status), indent=2, sort_keys=True))
    else:
        _tell(suites, status)
    return 0 if status == "passed" else 1


def _run(name: str, *, talk: bool) -> _Suite:
    suite = _Suite(name)
    if talk:
        print(f"testing {name} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    module = importlib.import_module(f"{__package__}.{name}_test")
    # Where several families are installed, each has development files of its own; for all else one is as good as another.
    several = installed_families() if not os.environ.get(FAMILY_VARIABLE) else ()
    for family in (several if name == "devel" else several[:1]) or (None,):
        with mock.patch.dict(os.environ, {} if family is None else {FAMILY_VARIABLE: family}):
            unittest.defaultTestLoader.loadTestsFromModule(module).run(
                _Result(suite, f" ({family})" if name == "devel" and several[1:] else "")
            )
    suite.seconds = round(time.monotonic() - start, 1)
    return suite


def _document(suites: list[_Suite], status: str) -> dict[str, object]:
    return {
        "schema": 1,
        "status": status,
        "version": description().version,
        "set_id": _set_id(),
        "python": platform.python_version(),
        "gpus": list(gpus()),
        "ran_on": sorted(ran_on),
        "suites": {
            suite.name: {
                "status": suite.status,
                "passed": suite.passed,
                "failed": suite.failed,
                "untested": suite.untested,
                "seconds": suite.seconds,
            }
            for suite in suites
        },
    }


def _set_id() -> str | None:
    try:
        return set_id()
    except SdkError:  # some suite has failed of it
        return None


def _tell(suites: list[_Suite], status: str) -> None:
    """Tell what came of the suites; a reason that many tests share is told once."""
    told: dict[str, str] = {}
    for suite in suites:
        for word, parts in (("FAILED  ", suite.failed), ("untested", suite.untested)):
            for cause, alike in _by_cause(parts).items():
                reason = told.get(cause, alike[0]["reason"])
                print(f"{word}  {suite.name}: {_some([part['test'] for part in alike])}: {reason}")
                told.setdefault(cause, f"for the reason told at {suite.name}")
    print()
    for suite in suites:
        print(
            f"{suite.name:10} {suite.status:9} {suite.passed:5} passed {len(suite.failed):4} failed {len(suite.untested):4} untested"
        )
    at_hand = ", ".join(gpus()) or "none"
    print(f"ROCm {description().version}: {status} (GPUs here: {at_hand})")


def _by_cause(parts: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return parts by their reasons without what a test puts before the sentence that a program or an error said."""
    found: dict[str, list[dict[str, str]]] = {}
    for part in parts:
        found.setdefault(_BEFORE.sub("", part["reason"], count=1), []).append(part)
    return found


def _some(tests: list[str]) -> str:
    return tests[0] if len(tests) == 1 else f"{tests[0]} and {len(tests) - 1} more"


def _name(test: unittest.TestCase) -> str:
    """Return a test's name as people read it, with the part that it is about."""
    if not hasattr(test, "test_case"):
        # What a class needs is asked for once, before its tests.
        return "all" if test.id().startswith("setUpClass") else test.id().rpartition(".")[2]
    return f"{test.test_case.id().rpartition('.')[2]} {test._subDescription()}"  # type: ignore[attr-defined]  # noqa: SLF001
