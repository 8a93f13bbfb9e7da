from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.ci.workflow_file import parse_workflow, read_workflows
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
name: One
on:
  push:
    branches: [main]
  workflow_call:
    inputs:
      ref: {description: a ref, default: "", required: false}
    outputs:
      url: {value: "${{ jobs.build.outputs.url }}"}
permissions: {}
jobs:
  build:
    needs: [first, second]
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@0123456789012345678901234567890123456789 # v1.0.0
      - id: go
        env: &both
          A: ~
          B: "~"
        run: |
          python3 noxw.py -s lint
  called:
    needs: build
    uses: ./.github/workflows/two.yml
    with: *both
"""


def test_jobs_and_steps_know_where_they_are() -> None:
    workflow = parse_workflow(TEXT, "one.yml")
    assert (workflow.title, workflow.path, workflow.triggers) == ("One", ".github/workflows/one.yml", ("push", "workflow_call"))
    build, called = workflow.jobs["build"], workflow.jobs["called"]
    assert (build.line, build.needs, build.called) == (12, ("first", "second"), None)
    assert (called.needs, called.called) == (("build",), "two.yml")
    checkout, go = build.steps
    assert checkout.uses_action("actions/checkout")
    assert (go.line, go.identity, go.number) == (17, "go", 1)
    assert go.run is not None
    assert (go.run.line, go.run.text) == (21, "python3 noxw.py -s lint\n")
    assert list(workflow.inputs("workflow_call")) == ["ref"]
    assert workflow.inputs("workflow_dispatch") == {}
    assert workflow.outputs["url"].said("value") == "${{ jobs.build.outputs.url }}"
    assert "# v1.0.0" in workflow.lines[checkout.line - 1]


def test_nothing_is_an_empty_text_and_an_alias_what_it_stands_for() -> None:
    called = parse_workflow(TEXT, "one.yml").jobs["called"]
    assert {name: node.text for name, node in called.node.below("with").items()} == {"A": "", "B": "~"}


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 100)}]\n" for n in range(1, 9))
"""A few lines whose anchors stand for as many values as no machine has memory for."""


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("a: [", "not YAML", 1),
        ("- a", "holds a mapping", 1),
        ("", "holds a mapping", 1),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "c is there twice", 4),
        ("a: &x\n  b: *x\n", "holds itself", 2),
        ("a: 1\n---\nb: 2\n", "not YAML", 2),
        ("a: \x00", "not YAML", None),
        ("a: " + "[" * 3000, "nests deeper", None),
        (BOMB, "more than 100000 values", None),
    ],
)
def test_what_is_no_workflow_is_refused_with_its_line(text: str, words: str, line: int | None) -> None:
    with pytest.raises(HipwrightError, match=words) as caught:
        parse_workflow(text, "bad.yml")
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == (".github/workflows/bad.yml", line)


def test_a_clone_without_workflows_is_no_clean_one(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no workflow files"):
        read_workflows(tmp_path)
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "b.yaml").write_text("jobs: {}\n")
    (folder / "a.yml").write_text("jobs: {}\n")
    assert [workflow.name for workflow in read_workflows(tmp_path)] == ["a.yml", "b.yaml"]
