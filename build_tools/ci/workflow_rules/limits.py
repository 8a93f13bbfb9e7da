"""Rules about what every workflow has to have, and what none may: limits, rights, pins, and no logic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.ci.expressions import expressions, operators
from build_tools.ci.workflow_file import LOCAL
from build_tools.ci.workflow_rules.rule import Problem, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.ci.workflow_file import Node, Workflow
    from build_tools.ci.workflow_rules.rule import World

__all__ = ["RULES"]

_MOST_INPUTS: Final = 25
"""Inputs of a workflow that is started by hand: GitHub's limit (2025)."""

_MOST_IN_VALUES: Final = 4
"""Operators of a value: as many as a default needs that goes by one choice."""

_MOST_IN_CONDITIONS: Final = 8
"""Operators of an ``if:``: who may use a machine is decided before any command runs there."""

_PIN: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+@[0-9a-f]{40}")
_VERSION: Final = re.compile(r"#\s*v\d+(?:\.\d+)*\b")
_DIGEST: Final = re.compile(r"\S+@sha256:[0-9a-f]{64}")
_SCRIPTS: Final = frozenset({"actions/github-script"})
_CALL: Final = "workflow_call"


def _time_limits(workflow: Workflow, _world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        if job.steps and not (job.node.said("timeout-minutes") or "").isdecimal():
            yield Problem(line=job.line, message=f"the job {job.identity} has no timeout-minutes")


def _rights(workflow: Workflow, _world: World) -> Iterator[Problem]:
    top = workflow.node.at("permissions")
    if top is None or top.text is not None or top.keys:
        yield Problem(line=1 if top is None else top.line, message="the workflow does not begin with permissions: {}")
    for job in workflow.jobs.values():
        own = job.node.at("permissions")
        if own is None:
            yield Problem(line=job.line, message=f"the job {job.identity} says nothing of its permissions")
        elif own.text:
            yield Problem(line=own.line, message=f"the job {job.identity} has {own.text}, which is more than it can need")
        if job.node.said("secrets") == "inherit":
            yield Problem(line=job.node.keys["secrets"].line, message=f"the job {job.identity} hands all secrets on")


def _concurrency(workflow: Workflow, _world: World) -> Iterator[Problem]:
    node = workflow.node.at("concurrency")
    group = workflow.node.said("concurrency") or workflow.node.said("concurrency", "group") or ""
    if node is None or not group:
        yield Problem(line=1, message="the workflow has no concurrency group")
    elif _CALL in workflow.triggers and any("github.workflow" in inner for inner in expressions(group)):
        message = "in a called workflow github.workflow is the caller's name: the group would stop the caller"
        yield Problem(line=node.line, message=message)


def _few_inputs(workflow: Workflow, _world: World) -> Iterator[Problem]:
    inputs = workflow.inputs("workflow_dispatch")
    if len(inputs) > _MOST_INPUTS:
        line = next(iter(inputs.values())).line
        yield Problem(line=line, message=f"there are {len(inputs)} inputs, and GitHub takes {_MOST_INPUTS} from a person")


def _pins(workflow: Workflow, _world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        for node in (job.node.at("uses"), *(step.uses for step in job.steps)):
            if node is None or (node.text or "").startswith(LOCAL):
                continue
            if not _PIN.fullmatch(node.text or ""):
                yield Problem(line=node.line, message=f"{node.text} is not pinned to a full commit")
            elif not _VERSION.search(workflow.lines[node.line - 1].partition(node.text or "")[2]):
                yield Problem(line=node.line, message=f"{node.text} has no comment with its version")
        images = [job.node.at("container"), job.node.at("container", "image")]
        images += [service.at("image") for service in job.node.below("services").values()]
        for image in images:
            if image is not None and image.text and not expressions(image.text) and not _DIGEST.fullmatch(image.text):
                yield Problem(line=image.line, message=f"the image {image.text} is not named by its digest")


def _not_interpolated(workflow: Workflow, _world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        for step in job.steps:
            if step.run is not None and expressions(step.run.text or ""):
                yield Problem(line=step.run.line, message="a value is put into the text of a command, and could be one itself")


def _wiring(workflow: Workflow, _world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        for step in job.steps:
            if step.uses is not None and any(step.uses_action(name) for name in _SCRIPTS):
                yield Problem(line=step.line, message=f"{(step.uses.text or '').partition('@')[0]} is a script in a workflow")
            shell = step.node.at("shell")
            if shell is not None:
                yield Problem(line=shell.line, message="a step chooses its shell, which commands of ours do not need")
    yield from _logic(workflow.node)


def _logic(node: Node, key: str = "") -> Iterator[Problem]:
    text, condition = node.text or "", key == "if"
    for inner in expressions(text) or ((text,) if condition else ()):
        count = len(operators(inner))
        if count > (_MOST_IN_CONDITIONS if condition else _MOST_IN_VALUES):
            yield Problem(line=node.line, message=f"an expression with {count} operators is logic: {inner}")
    for name, child in node.keys.items():
        yield from _logic(child, name)
    for item in node.items:
        yield from _logic(item)


RULES = (
    Rule(
        name="time-limits",
        demands="Every job with steps has `timeout-minutes`.",
        why="A job that hangs holds a machine for six hours.",
        mend="say how long it takes at the most",
        judge=_time_limits,
    ),
    Rule(
        name="least-rights",
        demands="A workflow begins with `permissions: {}`, and each job names what it needs; no job hands all secrets on.",
        why="What a step of others could do with the token is what the job was given.",
        mend="name the rights, each with a comment what for",
        judge=_rights,
    ),
    Rule(
        name="concurrency",
        demands="Every workflow has a concurrency group; that of one that is called does not go by the name of its caller.",
        why="Two runs would publish into one place at once, or a run would stop itself.",
        mend="concurrency: {group: …, cancel-in-progress: …}",
        judge=_concurrency,
    ),
    Rule(
        name="few-inputs",
        demands=f"A workflow that is started by hand has at most {_MOST_INPUTS} inputs.",
        why="GitHub refuses the whole file.",
        mend="leave out what has a good default",
        judge=_few_inputs,
    ),
    Rule(
        name="pinned",
        demands="Actions are pinned to full commits, with their version as a comment; images to digests.",
        why="A tag can be moved to other code.",
        mend="owner/name@<40 digits> # v1.2.3",
        judge=_pins,
    ),
    Rule(
        name="not-interpolated",
        demands="No expression stands in the text of a `run:`.",
        why="Whoever starts the workflow, or names a branch, could run commands.",
        mend="give it by env: as HIPWRIGHT_<OPTION>",
        judge=_not_interpolated,
    ),
    Rule(
        name="wiring-only",
        demands="No scripts, no shells chosen by steps, and no expressions with more operators than "
        f"{_MOST_IN_VALUES}, in conditions {_MOST_IN_CONDITIONS}.",
        why="Logic in a workflow runs nowhere else, and no test tries it.",
        mend="make it a command, or an option of one",
        judge=_wiring,
    ),
)
