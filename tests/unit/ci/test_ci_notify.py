"""What people would be told: of results, of a run, of the commands that repeat a job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.messages import failed_jobs, failure_message, recovery_message
from build_tools.ci.reproduce import commands_of
from build_tools.ci.results import JobResult, read_results, run_facts
from build_tools.ci.workflow_file import parse_workflow
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = {
    "GITHUB_WORKFLOW": "CI on Linux",
    "GITHUB_WORKFLOW_REF": "octo/hipwright/.github/workflows/ci_linux.yml@refs/heads/main",
    "GITHUB_REPOSITORY": "octo/hipwright",
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_REF_NAME": "main",
    "GITHUB_SHA": "0123456789abcdef0123",
    "GITHUB_EVENT_NAME": "schedule",
}

CALLER = """\
on:
  workflow_dispatch:
    inputs:
      ref: {default: nightly}
      gfx: {default: gfx942}
env:
  HIPWRIGHT_WORK_DIR: .work
jobs:
  plan:
    outputs: {parts: x}
    steps:
      - run: python3 noxw.py -s matrix
  build:
    strategy: {matrix: "${{ fromJSON(needs.plan.outputs.matrix_1) }}"}
    uses: ./.github/workflows/build.yml
    with:
      ref: ${{ inputs.ref }}
      url: ${{ needs.plan.outputs.url }}
      python_version: ${{ matrix.python_version }}
  image:
    env:
      HIPWRIGHT_NOTIFY_URLS: ${{ secrets.HIPWRIGHT_NOTIFY_URLS }}
      HIPWRIGHT_DRY_RUN: "false"
      HIPWRIGHT_EXPLAIN: "true"
      PYTORCH_ROCM_ARCH: ${{ inputs.gfx }}
      PLAIN: x
    steps:
      - uses: actions/checkout@0123456789012345678901234567890123456789 # v1.0.0
      - run: sudo apt-get update
      - run: python3 noxw.py -s docker_run -- build_pytorch
      - run: python3 noxw.py -s lint types
      - run: python3 noxw.py invoke show-config
      - run: "python3 'noxw.py"
  gone:
    uses: ./.github/workflows/none.yml
  extension:
    env:
      HIPWRIGHT_PROJECTS: ${{ inputs.project || 'pytorch' }}
      HIPWRIGHT_PROJECT_REF: main
    steps:
      - run: python3 noxw.py -s pipeline -- --until check
"""

CALLED = """\
on:
  workflow_call:
    inputs:
      ref: {default: main}
      jobs: {default: "3"}
jobs:
  one:
    env:
      HIPWRIGHT_PYTORCH_REF: ${{ inputs.ref }}
      HIPWRIGHT_PYTHON: ${{ inputs.python_version }}
      HIPWRIGHT_ROCM_FIND_LINKS: ${{ inputs.url }}
      HIPWRIGHT_JOBS: ${{ inputs.jobs }}
    steps:
      - run: python3 noxw.py -s build_pytorch -- --jobs 2
        env:
          HIPWRIGHT_FORCE: build
"""


def lines(job: str, **inputs: str) -> tuple[str, ...]:
    workflows = {"ci.yml": parse_workflow(CALLER, "ci.yml"), "build.yml": parse_workflow(CALLED, "build.yml")}
    results = {"plan": JobResult(result="success", outputs={"url": "https://rocm.example/x"})}
    return commands_of(
        job, workflows["ci.yml"], workflows=workflows, inputs=inputs, results=results, projects=["pytorch", "sample"]
    )


def test_a_job_is_repeated_by_its_own_commands_with_what_it_gave_them() -> None:
    assert lines("plan") == ("python3 noxw.py -s matrix -- --work-dir .work",)
    run, dev, task = lines("image", gfx="gfx942")
    assert (
        run == "HIPWRIGHT_EXPLAIN=true PYTORCH_ROCM_ARCH=gfx942 python3 noxw.py -s docker_run -- build_pytorch --work-dir .work"
    )
    assert dev.endswith("python3 noxw.py -s lint types")
    assert task.endswith("python3 noxw.py invoke show-config --work-dir .work --gfx gfx942")
    assert not any("NOTIFY" in line or " PLAIN=" in line or "apt-get" in line for line in (run, dev, task)), (run, dev, task)


def test_a_job_that_calls_a_workflow_is_repeated_by_the_commands_in_there() -> None:
    (line,) = lines("build", ref="release/2.9")
    assert line == (
        "python3 noxw.py -s build_pytorch -- --jobs 2 --pytorch-ref release/2.9 --python '<matrix.python_version>' "
        "--rocm-find-links https://rocm.example/x --force build"
    )
    # A run that starts by itself has no inputs, and a call without one has its default.
    assert "--pytorch-ref" not in lines("build")[0]
    assert "--jobs 2" in lines("build")[0]
    assert lines("gone") == ()
    assert lines("extension") == (
        "python3 noxw.py -s pipeline -- --until check --work-dir .work --projects pytorch --pytorch-ref main",
    )
    (unknown,) = lines("extension", project="nunchaku")
    assert (
        unknown == "HIPWRIGHT_PROJECT_REF=main python3 noxw.py -s pipeline -- --until check --work-dir .work --projects nunchaku"
    )
    assert lines("unknown") == ()


DEEP = f'{{"a": {"[" * 100_000}'
"""Deeper than any reader of JSON goes."""


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"a": {}}', '{"a": {"result": "good"}}', "\ud800", DEEP])
def test_results_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        read_results(text)
    assert caught.value.code.name == "bad-option-value"
    assert "toJSON(needs)" in str(caught.value.hint)


@pytest.mark.parametrize("job", ['{"result": "good"}', "7", '{"result": "success", "outputs": {"x": 1}}'])
def test_the_job_whose_result_is_none_is_named(job: str) -> None:
    with pytest.raises(HipwrightError, match=r"toJSON\(needs\) comes to: job b\\n: "):
        read_results(f'{{"well": {{"result": "success"}}, "b\\n": {job}}}')


def test_a_job_may_hand_nothing_on() -> None:
    found = read_results('{"a": {"result": "success", "outputs": null}, "b": {"result": "failure", "outputs": {"x": "1"}}}')
    assert [(name, one.result, one.outputs) for name, one in found.items()] == [
        ("a", "success", {}),
        ("b", "failure", {"x": "1"}),
    ]


def test_a_failure_names_the_jobs_the_run_and_how_to_repeat_them() -> None:
    text = json.dumps({name: {"result": how, "outputs": None if name == "off" else {}} for name, how in
                       {"late": "cancelled", "ok": "success", "bad": "failure", "off": "skipped"}.items()})  # fmt: skip
    results = read_results(text)
    assert failed_jobs(results) == ("bad", "late")
    message = failure_message(results, run_facts(MACHINE), {"bad": ["nox -s x -- --python '<matrix.p>'"]})
    assert (message.kind, message.title) == ("failure", "CI on Linux failed on main")
    assert "2 of 4 jobs" in message.body
    assert "https://github.com/octo/hipwright/actions/runs/77" in message.body
    assert "commit 0123456789ab, started by schedule, attempt 2" in message.body
    assert "bad failed\nrepeat it:\n  nox -s x" in message.body
    assert "late was cancelled, or ran past its time limit" in message.body
    assert message.body.endswith("its name and its log tell it.")


def test_a_run_of_many_failures_is_told_in_short() -> None:
    results = {f"job-{number}": JobResult(result="cancelled") for number in range(300)}
    message = failure_message(results, run_facts({}), {})
    assert message.title == "A run was cut short"
    assert len(message.body.splitlines()) < 30
    assert message.body.endswith("and 290 more")


def test_a_recovery_says_what_did_nothing() -> None:
    all_well = recovery_message({"a": JobResult(result="success")}, run_facts(MACHINE))
    assert (all_well.kind, all_well.title) == ("recovery", "CI on Linux is well again on main")
    assert all_well.body.startswith("All jobs ended well.\nhttps://")
    some = recovery_message({"a": JobResult(result="success"), "b": JobResult(result="skipped")}, run_facts({}))
    assert some.body.startswith("1 of 2 jobs")


def test_facts_hold_what_a_person_started_the_run_with(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"inputs": {"ref": "main", "full": True}}))
    facts = run_facts({**MACHINE, "GITHUB_EVENT_PATH": str(event), "GITHUB_SERVER_URL": "https://git.example/"})
    assert facts.inputs == {"ref": "main", "full": "true"}
    assert (facts.file, facts.url) == ("ci_linux.yml", "https://git.example/octo/hipwright/actions/runs/77")
    for text in ("[]", "{", '{"inputs": null}', DEEP):
        event.write_text(text)
        assert run_facts({"GITHUB_EVENT_PATH": str(event)}).inputs == {}
    assert run_facts({"GITHUB_EVENT_PATH": str(tmp_path / "none")}).url is None
    assert [run_facts({"GITHUB_RUN_ATTEMPT": text}).attempt for text in ("3", "x", "9" * 5000)] == [3, 1, 1]
