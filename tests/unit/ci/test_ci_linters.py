"""What linters print is read as findings, and a run that judged nothing is no clean one."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.linters import LINTERS, lint
from build_tools.ci.workflow_file import parse_workflow
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from tests.support.stand_in import stand_in

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.ci.linters import Linter

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems")

BAD = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo\n    foo: 1\n"
FILE = ".github/workflows/bad.yml"

# As the linters print it.
ACTIONLINT = [{"message": "unexpected key", "filepath": FILE, "line": 7, "column": 5, "kind": "syntax-check", "end_column": 8}]
ZIZMOR_ROW = {
    "ident": "artipacked",
    "desc": "credential persistence",
    "url": "https://docs.zizmor.example/#artipacked",
    "determinations": {"confidence": "Low"},
    "locations": [
        {"symbolic": {"key": {"Local": {"verbatim_path": FILE}}, "annotation": "this job", "kind": "Related"},
         "concrete": {"location": {"start_point": {"row": 2, "column": 2}}}},
        {"symbolic": {"key": {"Local": {"verbatim_path": FILE}}, "annotation": "does not set it", "kind": "Primary"},
         "concrete": {"location": {"start_point": {"row": 5, "column": 8}}}},
    ],
    "ignored": False,
}  # fmt: skip
SCHEMA = {
    "status": "fail",
    "errors": [
        {"filename": FILE, "path": "$.jobs.a", "message": "is not valid", "has_sub_errors": True,
         "best_deep_match": {"path": "$.jobs.a.steps[0].run", "message": "'foo' was unexpected"}},
        {"filename": FILE, "path": "$.jobs.b", "message": "is not valid"},
    ],
    "parse_errors": [{"filename": FILE, "message": "Failed to parse"}],
}  # fmt: skip


def linted(folder: Path, name: str, printed: str, status: int = 1) -> list[tuple[int, str, str]]:
    (linter,) = [one for one in LINTERS if one.name == name]
    stand_in(folder / "bin", name, f"import sys\nassert {FILE!r} in sys.argv\nprint({printed!r})\nsys.exit({status})")
    runner = Runner(environment={**base_environment(os.environ), "PATH": str(folder / "bin")})
    found = lint(linter, {"bad.yml": parse_workflow(BAD, "bad.yml")}, clone=folder, runner=runner)
    assert all((one.file, one.tool) == (FILE, name) for one in found)
    return [(one.line, one.rule, one.message) for one in found]


def test_findings_of_linters_have_file_line_and_rule(tmp_path: Path) -> None:
    assert linted(tmp_path, "actionlint", json.dumps(ACTIONLINT)) == [(7, "syntax-check", "unexpected key")]
    rows = [ZIZMOR_ROW, {**ZIZMOR_ROW, "ignored": True}]
    assert linted(tmp_path, "zizmor", json.dumps(rows), 13) == [(6, "artipacked", "credential persistence: does not set it")]
    assert linted(tmp_path, "check-jsonschema", json.dumps(SCHEMA)) == [
        (6, "schema", "$.jobs.a.steps[0].run: 'foo' was unexpected"),
        (2, "schema", "$.jobs.b: is not valid"),
        (1, "schema", "Failed to parse"),
    ]


@pytest.mark.parametrize(
    ("name", "printed"), [("actionlint", "[]"), ("zizmor", "[]"), ("check-jsonschema", '{"status": "ok", "errors": []}')]
)
def test_a_clean_run_has_none(tmp_path: Path, name: str, printed: str) -> None:
    assert linted(tmp_path, name, printed, 0) == []


@pytest.mark.parametrize(
    ("name", "printed", "status"),
    [
        ("actionlint", "", 0),
        ("actionlint", "[]", 3),
        ("actionlint", '[{"line": 1}]', 1),
        ("zizmor", "fatal", 3),
        ("zizmor", "", 0),
        ("check-jsonschema", '{"status": "fail"}', 1),
        ("check-jsonschema", "[]", 0),
    ],
)
def test_a_run_that_judged_nothing_is_an_error(tmp_path: Path, name: str, printed: str, status: int) -> None:
    with pytest.raises(HipwrightError, match=f"{name} did not judge") as caught:
        linted(tmp_path, name, printed, status)
    assert caught.value.code.name == "command-failed"


@pytest.mark.parametrize("linter", LINTERS, ids=lambda linter: linter.name)
def test_a_linter_that_is_not_there_is_named(tmp_path: Path, linter: Linter) -> None:
    runner = Runner(environment={"PATH": str(tmp_path)})
    with pytest.raises(HipwrightError, match=linter.name) as caught:
        lint(linter, {"bad.yml": parse_workflow(BAD, "bad.yml")}, clone=tmp_path, runner=runner)
    assert caught.value.code.name == "missing-tool"
