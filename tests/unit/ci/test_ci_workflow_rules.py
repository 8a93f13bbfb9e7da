"""Each rule finds what it is for, on its line, and nothing in what is right; the clone's own workflows are right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.workflow_file import parse_workflow
from build_tools.ci.workflow_rules.registry import RULES, judge
from build_tools.ci.workflow_rules.world import world_of
from build_tools.config.workflow_rules import AllowedRun

if TYPE_CHECKING:
    from build_tools.ci.workflow_rules.rule import World

CLONE = Path(__file__).parents[3]
PIN = "actions/upload-artifact@0123456789012345678901234567890123456789"

TOP = f"""\
name: Top
on:
  push:
  workflow_dispatch:
    inputs:
      ref: {{description: a ref, default: main}}
permissions: {{}}
concurrency:
  group: ${{{{ github.workflow }}}}
jobs:
  plan:
    name: Plan
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions: {{}}
    env:
      HIPWRIGHT_FOR: nightly
      HIPWRIGHT_PLATFORM: linux
      HIPWRIGHT_PYTORCH_REF: ${{{{ inputs.ref }}}}
    outputs:
      matrix_1: ${{{{ steps.matrix.outputs.matrix_1 }}}}
    steps:
      - id: matrix
        run: python3 noxw.py -s matrix
      - run: sudo apt-get install --yes thing
  build:
    name: Build ${{{{ matrix.name }}}}
    needs: plan
    permissions:
      contents: read
    strategy:
      matrix: ${{{{ fromJSON(needs.plan.outputs.matrix_1) }}}}
    uses: ./.github/workflows/part.yml
    with:
      python_version: ${{{{ matrix.python_version }}}}
      ref: ${{{{ matrix.pytorch_git_ref }}}}
  both:
    name: Two (${{{{ matrix.os }}}})
    runs-on: ${{{{ matrix.os }}}}
    timeout-minutes: 5
    permissions: {{}}
    strategy:
      matrix:
        os: [ubuntu-24.04, windows-2025]
    steps:
      - uses: {PIN} # v7.0.1
        with:
          name: logs-${{{{ matrix.os }}}}
          path: .work/logs
      - run: python3 noxw.py -s docker_run -- build_pytorch
        env:
          HIPWRIGHT_JOBS: "2"
  notify:
    name: Tell
    needs: [plan, build, both]
    if: ${{{{ always() && github.event_name != 'pull_request' }}}}
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      actions: read
    env:
      GITHUB_TOKEN: ${{{{ github.token }}}}
      HIPWRIGHT_RESULTS: ${{{{ toJSON(needs) }}}}
    steps:
      - run: python3 noxw.py -s notify
"""

PART = f"""\
name: Part
on:
  workflow_call:
    inputs:
      python_version: {{description: a Python, type: string, required: true}}
      ref: {{description: a ref, type: string, default: ""}}
    outputs:
      torch_version: {{description: its version, value: "${{{{ jobs.one.outputs.torch_version }}}}"}}
  workflow_dispatch:
    inputs:
      python_version: {{description: a Python, type: choice, options: ["3.12"], required: true}}
      ref: {{description: a ref, type: string, default: ""}}
permissions: {{}}
concurrency:
  group: part-${{{{ github.run_id }}}}-${{{{ inputs.python_version }}}}-${{{{ inputs.ref }}}}
jobs:
  one:
    name: One
    runs-on: ubuntu-24.04
    container: ubuntu@sha256:{"a" * 64}
    timeout-minutes: 5
    permissions: {{}}
    env:
      HIPWRIGHT_PYTHON: ${{{{ inputs.python_version }}}}
      HIPWRIGHT_PYTORCH_REF: ${{{{ inputs.ref }}}}
    outputs:
      torch_version: ${{{{ steps.go.outputs.torch_version }}}}
    steps:
      - id: names
        run: python3 noxw.py -s preflight
      - id: go
        run: python3 noxw.py -s pipeline -- --until publish
      - uses: {PIN} # v7.0.1
        with:
          name: ${{{{ steps.names.outputs.receipts_artifact }}}}
          path: .work
"""


@pytest.fixture(scope="module")
def world() -> World:
    allowed = AllowedRun(file="top.yml", run="sudo apt-get install --yes thing", reason="a thing")
    return replace(world_of(CLONE), allowed=(allowed,))


def findings(world: World, top: str = TOP, part: str = PART) -> list[tuple[str, str, int, str]]:
    files = {"top.yml": parse_workflow(top, "top.yml"), "part.yml": parse_workflow(part, "part.yml")}
    found = judge(replace(world, workflows=files))
    return [(one.file.rpartition("/")[2], one.rule, one.line, one.message) for one in found]


def test_the_workflows_of_the_clone_are_right() -> None:
    world = world_of(CLONE)
    assert {"ci.yml", "therock-nightly.yml"} <= set(world.workflows)
    assert judge(world) == ()


def test_what_is_right_has_no_findings(world: World) -> None:
    assert findings(world) == []


CASES = [
    ("one-command", "top", "run: python3 noxw.py -s matrix", "run: python3 noxw.py -s matrix && ls", "not one command"),
    ("one-command", "top", "run: python3 noxw.py -s matrix", "run: python3 noxw.py -s matrix > x", "not one command"),
    ("one-command", "top", "run: python3 noxw.py -s matrix", "run: nox -s matrix", "not one command"),
    ("one-command", "top", "run: python3 noxw.py -s matrix", "run: python3 noxw.py", "names no session"),
    ("one-command", "top", "run: python3 noxw.py -s notify", "run: |\n          python3 noxw.py -s notify\n          ls", "not one"),
    ("one-command", "top", "run: sudo apt-get install --yes thing", "run: python3 noxw.py -s lint", "nothing runs it"),
    ("known-command", "top", "-s matrix", "-s matrices_of", "no session matrices_of"),
    ("known-command", "top", "-s matrix", "-s matrix -- --fro x", "--fro"),
    ("known-command", "top", "HIPWRIGHT_FOR: nightly", "HIPWRIGHT_FOR: dayly", "'dayly'"),
    ("known-command", "top", "-- build_pytorch", "-- build_pitorch", "build_pitorch"),
    ("known-variables", "top", "HIPWRIGHT_RESULTS", "HIPWRIGHT_RESULT", "HIPWRIGHT_RESULT is no option"),
    ("known-variables", "part", "HIPWRIGHT_PYTHON:", "HIPWRIGHT_RESULTS:", "read by no command"),
    ("tells-of-all", "top", "needs: [plan, build, both]", "needs: [plan, build]", "does not need both"),
    ("tells-of-all", "top", "always() && ", "", "always()"),
    ("tells-of-all", "top", "      actions: read\n", "      contents: read\n", "cannot ask"),
    ("tells-of-all", "top", "GITHUB_TOKEN:", "TOKEN:", "cannot ask"),
    ("outputs-of-jobs", "top", "needs: plan\n", "needs: both\n", "does not need plan"),
    ("outputs-of-jobs", "top", "needs.plan.outputs.matrix_1", "needs.plan.outputs.matrix", "has no output matrix"),
    ("outputs-of-jobs", "top", "if: ${{ always() &&", "if: ${{ needs.build.outputs.torch && always() &&", "has no output torch"),
    ("outputs-of-jobs", "part", "jobs.one.outputs.torch_version", "jobs.one.outputs.version", "takes version of the job one"),
    ("outputs-of-steps", "top", "steps.matrix.outputs.matrix_1", "steps.matrix.outputs.matrices", "no output matrices"),
    ("outputs-of-steps", "part", "steps.go.outputs.torch_version", "steps.go.outputs.tourch_version", "no output tourch_version"),
    ("outputs-of-steps", "part", "steps.names.outputs", "steps.name.outputs", "no step before has the id name"),
    ("calls-fit", "top", "workflows/part.yml", "workflows/parts.yml", "can be called"),
    ("calls-fit", "top", "      ref: ${{ matrix", "      rev: ${{ matrix", "takes no rev"),
    ("calls-fit", "top", "      python_version: ${{ matrix.python_version }}\n", "", "requires python_version"),
    ("known-inputs", "top", "inputs.ref", "inputs.rev", "no input rev"),
    ("known-inputs", "top", "${{ inputs.ref }}", "main", "nothing reads the input ref"),
    ("same-inputs", "part", 'a ref, type: string, default: ""}\n    outputs', 'a rev, type: string, default: ""}\n    outputs', "description"),
    ("same-inputs", "part", 'default: ""}\npermissions', 'default: "x"}\npermissions', "another default"),
    ("same-inputs", "part", 'options: ["3.12"], required: true', 'options: ["3.12"]', "another required"),
    ("same-inputs", "part", '      ref: {description: a ref, type: string, default: ""}\npermissions', "permissions", "not taken from a person"),
    ("job-names", "top", "Build ${{ matrix.name }}", "Build ${{ matrix.platform }}", "'Build linux'"),
    ("job-names", "top", "name: Tell", "name: Plan", "2 jobs are called 'Plan'"),
    ("artifact-names", "top", "logs-${{ matrix.os }}", "logs", "artifact 'logs'"),
    ("artifact-names", "top", "logs-${{ matrix.os }}", "logs/${{ matrix.os }}", "cannot be called"),
    ("artifact-names", "top", "      ref: ${{ matrix.pytorch_git_ref }}\n", "", "hand on the artifact 'receipts_artifact"),
    ("artifact-names", "part", "HIPWRIGHT_PYTHON: ${{ inputs.python_version }}", 'HIPWRIGHT_PYTHON: "3.12"', "hand on the artifact"),
    ("own-groups", "part", "-${{ inputs.python_version }}-${{ inputs.ref }}\njobs", "-${{ inputs.ref }}\njobs", "rows of build call part.yml"),
    ("time-limits", "top", "    timeout-minutes: 5\n    permissions: {}\n    strategy", "    permissions: {}\n    strategy", "both"),
    ("least-rights", "top", "permissions: {}\nconcurrency", "concurrency", "does not begin with permissions"),
    ("least-rights", "top", "permissions: {}\nconcurrency", "permissions:\n  contents: read\nconcurrency", "does not begin"),
    ("least-rights", "top", "    permissions:\n      contents: read\n", "", "build says nothing"),
    ("least-rights", "top", "    permissions:\n      contents: read\n", "    permissions: write-all\n", "more than it can need"),
    ("least-rights", "top", "    uses: ./", "    secrets: inherit\n    uses: ./", "hands all secrets on"),
    ("concurrency", "top", "concurrency:\n  group: ${{ github.workflow }}\n", "", "no concurrency group"),
    ("concurrency", "part", "group: part-", "group: ${{ github.workflow }}-", "would stop the caller"),
    ("few-inputs", "top", "      ref: {description: a ref, default: main}\n",
     "".join(f"      i{n}: {{description: one}}\n" for n in range(26)), "26 inputs"),
    ("pinned", "top", f"{PIN} #", "actions/upload-artifact@v7 #", "not pinned"),
    ("pinned", "top", " # v7.0.1", "", "no comment with its version"),
    ("pinned", "part", f"ubuntu@sha256:{'a' * 64}", "ubuntu:24.04", "not named by its digest"),
    ("not-interpolated", "top", "-s matrix\n", "-s matrix -- --for ${{ inputs.ref }}\n", "could be one itself"),
    ("wiring-only", "top", "        run: python3 noxw.py -s matrix", "        shell: bash\n        run: python3 noxw.py -s matrix", "shell"),
    ("wiring-only", "top", "actions/upload-artifact@", "actions/github-script@", "is a script"),
    ("wiring-only", "top", "${{ inputs.ref }}", "${{ inputs.ref == 'a' && 'b' || inputs.ref == 'c' && 'd' }}", "5 operators"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{number}" for number, case in enumerate(CASES)])
def test_a_rule_finds_what_it_is_for(world: World, case: tuple[str, str, str, str, str]) -> None:
    rule, file, old, new, words = case
    text = {"top": TOP, "part": PART}[file]
    assert old in text
    found = findings(world, **{file: text.replace(old, new)})
    assert any(by == rule and words in message for _name, by, _line, message in found), found


def test_every_rule_has_a_case_and_says_why_and_how_to_mend_it() -> None:
    assert {rule.name for rule in RULES} == {case[0] for case in CASES}
    assert all(rule.demands.endswith(".") and rule.why and rule.mend for rule in RULES)


def test_findings_name_the_line(world: World) -> None:
    top = TOP.replace("-s notify", "-s tell")
    line = next(number for number, text in enumerate(top.splitlines(), 1) if "tell" in text)
    assert ("top.yml", "known-command", line, "there is no session tell") in findings(world, top)


def test_workflows_that_call_themselves_and_endless_matrices_are_judged_all_the_same(world: World) -> None:
    axes = ", ".join(f"a{number}: [1, 2, 3, 4, 5, 6, 7]" for number in range(3))
    text = f"""\
on: {{workflow_call: }}
jobs:
  again: {{name: "${{{{ matrix.x }}}}", strategy: {{matrix: {{x: [1, 2]}}}}, uses: ./.github/workflows/self.yml}}
  many: {{name: "${{{{ github.run_id }}}}", strategy: {{matrix: {{{axes}}}}}}}
  kept: {{steps: [{{uses: {PIN}, with: {{name: logs}}}}]}}
"""
    found = judge(replace(world, workflows={"self.yml": parse_workflow(text, "self.yml")}))
    assert [one.message for one in found if one.rule in {"job-names", "artifact-names"}] == [
        "257 jobs are called '<github.run_id>'"
    ]
