"""Rules about what flows: outputs that are consumed are produced, inputs that are given are declared, both ways of starting take the same."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from build_tools.ci.expressions import expressions, references
from build_tools.ci.workflow_rules.rule import Problem, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.ci.workflow_file import Job, Node, Workflow
    from build_tools.ci.workflow_rules.rule import World

__all__ = ["RULES", "referred"]

_CALL, _DISPATCH = "workflow_call", "workflow_dispatch"
_SAME = ("description", "default", "required")


def referred(node: Node, key: str = "") -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield what the expressions in a node refer to, with the line; an ``if:`` is an expression without brackets too."""
    text = node.text or ""
    for inner in expressions(text) or ((text,) if key == "if" else ()):
        yield from ((node.line, path) for path in references(inner))
    for name, child in node.keys.items():
        yield from referred(child, name)
    for item in node.items:
        yield from referred(item)


def _outputs_of_jobs(workflow: Workflow, world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        for line, path in referred(job.node):
            match path:
                case ("needs", other, *_) if other not in job.needs or other not in workflow.jobs:
                    yield Problem(line=line, message=f"{job.identity} does not need {other}, and so knows nothing of it")
                case ("needs", other, "outputs", name) if name not in _handed_on(workflow.jobs[other], world):
                    yield Problem(line=line, message=f"the job {other} has no output {name}")
                case _:
                    pass
    for output, node in workflow.outputs.items():
        for line, path in referred(node):
            match path:
                case ("jobs", other, "outputs", name) if other not in workflow.jobs or name not in _handed_on(
                    workflow.jobs[other], world
                ):
                    yield Problem(line=line, message=f"the output {output} takes {name} of the job {other}, which has none")
                case _:
                    pass


def _outputs_of_steps(workflow: Workflow, world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        before: dict[str, tuple[str, ...] | None] = {}
        for step in job.steps:
            yield from _unmade(step.node, before)
            if step.identity:
                before[step.identity] = world.outputs(step)
        for part in ("outputs", "environment"):
            node = job.node.at(part)
            if node is not None:
                yield from _unmade(node, before)


def _unmade(node: Node, before: dict[str, tuple[str, ...] | None]) -> Iterator[Problem]:
    for line, path in referred(node):
        match path:
            case ("steps", step, *_) if step not in before:
                yield Problem(line=line, message=f"no step before has the id {step}")
            case ("steps", step, "outputs", name):
                made = before[step]
                if made is not None and not any(fnmatch.fnmatchcase(name, one) for one in made):
                    yield Problem(line=line, message=f"the step {step} runs a command that has no output {name}")
            case _:
                pass


def _calls_fit(workflow: Workflow, world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        uses = job.node.at("uses")
        if job.called is None or uses is None:
            continue
        called = world.workflows.get(job.called)
        if called is None or _CALL not in called.triggers:
            yield Problem(line=uses.line, message=f"{job.called} is no workflow that can be called")
            continue
        for given, declared in (("with", called.inputs(_CALL)), ("secrets", called.node.below("on", _CALL, "secrets"))):
            here = job.node.below(given)
            for name, node in here.items():
                if name not in declared:
                    yield Problem(line=node.line, message=f"{job.called} takes no {name}")
            for name, node in declared.items():
                if node.said("required") == "true" and name not in here:
                    yield Problem(line=job.line, message=f"{job.called} requires {name}")


def _known_inputs(workflow: Workflow, _world: World) -> Iterator[Problem]:
    declared = {*workflow.inputs(_CALL), *workflow.inputs(_DISPATCH)}
    used = set()
    everywhere = (found for name, node in workflow.node.keys.items() if name != "on" for found in referred(node))
    for line, path in everywhere:
        match path:
            case ("inputs", name, *_):
                used.add(name)
                if name not in declared:
                    yield Problem(line=line, message=f"there is no input {name}")
            case _:
                pass
    for trigger in (_CALL, _DISPATCH):
        for name, node in workflow.inputs(trigger).items():
            if name not in used:
                yield Problem(line=node.line, message=f"nothing reads the input {name}")


def _same_inputs(workflow: Workflow, _world: World) -> Iterator[Problem]:
    if not {_CALL, _DISPATCH} <= set(workflow.triggers):
        return
    call, dispatch = workflow.inputs(_CALL), workflow.inputs(_DISPATCH)
    for name in {**call, **dispatch}:
        one, other = call.get(name), dispatch.get(name)
        if one is None or other is None:
            there = one or other
            missing = "a call" if one is None else "a person who starts it"
            yield Problem(line=there.line if there else 1, message=f"the input {name} is not taken from {missing}")
            continue
        for key in _SAME:
            if (one.said(key) or _default(key)) != (other.said(key) or _default(key)):
                yield Problem(line=other.line, message=f"the input {name} has another {key} than in {_CALL}")


def _default(key: str) -> str:
    return "false" if key == "required" else ""


def _handed_on(job: Job, world: World) -> set[str]:
    if job.called is None:
        return set(job.node.below("outputs"))
    called = world.workflows.get(job.called)
    return set() if called is None else set(called.outputs)


RULES = (
    Rule(
        name="outputs-of-jobs",
        demands="What is taken from another job is an output of it, and the job is needed.",
        why="GitHub gives an empty text for what is not there, and the next command goes by its default.",
        mend="name the output in the other job's outputs:, and the job in needs:",
        judge=_outputs_of_jobs,
    ),
    Rule(
        name="outputs-of-steps",
        demands="What is taken from a step is handed on by the command that the step runs, and the step comes before.",
        why="GitHub gives an empty text for what is not there, and the next command goes by its default.",
        mend="`_OF_COMMANDS` in build_tools/ci/outputs.py says what each command hands on",
        judge=_outputs_of_steps,
    ),
    Rule(
        name="calls-fit",
        demands="A called workflow is one of this repository, takes what it is given, and is given what it requires.",
        why="GitHub refuses the whole run when it starts, with few words.",
        mend="see inputs: and secrets: of the called workflow",
        judge=_calls_fit,
    ),
    Rule(
        name="known-inputs",
        demands="Every input that is used is declared, and every one that is declared is used.",
        why="An input that nothing reads looks like a setting and is none; one that is not declared is always empty.",
        mend="declare it under workflow_call and workflow_dispatch, or take it away",
        judge=_known_inputs,
    ),
    Rule(
        name="same-inputs",
        demands="A workflow that is called and started by hand takes the same inputs either way: descriptions, defaults, whether required.",
        why="What worked by hand does something else when it is called.",
        mend="copy the inputs; only types may differ, where a person chooses from a list",
        judge=_same_inputs,
    ),
)
