"""The commands of a workflow's job, with what the job gives them, for somebody who repeats them at a desk."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from build_tools.ci.expressions import fill
from build_tools.errors import HipwrightError
from build_tools.options.command_line import find_command, is_ours, parse_line
from build_tools.options.model import OPTIONS, THE_ONE, option_of_variable
from build_tools.options.option import flags_of
from build_tools.options.render import spelled
from build_tools.process import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.ci.results import JobResult
    from build_tools.ci.workflow_file import Job, Node, Step, Workflow
    from build_tools.options.option import Option

__all__ = ["commands_of"]

_DEEPEST: Final = 10
"""Calls of workflows within each other that GitHub takes."""

_PROJECTS: Final = OPTIONS["projects"].environment

_PASSES_ON: Final = "docker_run"
"""The command whose session, in a container, reads options that it does not take itself."""


def commands_of(
    job: str,
    workflow: Workflow,
    *,
    workflows: Mapping[str, Workflow],
    inputs: Mapping[str, str],
    results: Mapping[str, JobResult],
    projects: Sequence[str],
) -> tuple[str, ...]:
    """Return the command lines of a job, each with its options as far as the workflow and the run say them.

    What only the job knew, such as the row of a matrix, stands in angle brackets.

    Parameters
    ----------
    job
        The job's id.
    workflow
        The workflow that it is in.
    workflows
        All workflows of the clone by their file names: a job may call one.
    inputs
        The inputs that the run was started with.
    results
        How the other jobs ended, with what they handed on.
    projects
        All project names.
    """
    found = workflow.jobs.get(job)
    if found is None:
        return ()
    run = _Run(workflows=workflows, inputs=inputs, results=results, projects=projects)
    return tuple(dict.fromkeys(_lines(found, workflow, run)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """What is known where a job runs; ``depth`` counts the calls that led there."""

    workflows: Mapping[str, Workflow]
    inputs: Mapping[str, str]
    results: Mapping[str, JobResult]
    projects: Sequence[str]
    depth: int = 0


def _lines(job: Job, workflow: Workflow, run: _Run) -> list[str]:
    lookup = _lookup(workflow, run)
    if job.called is None:
        return [line for step in job.steps if (line := _line(step, job, workflow, lookup, run.projects))]
    called = run.workflows.get(job.called)
    if called is None or run.depth >= _DEEPEST:
        return []
    given = {name: fill(node.text or "", lookup) for name, node in job.node.below("with").items()}
    inside = replace(run, inputs=given, results={}, depth=run.depth + 1)
    return [line for inner in called.jobs.values() for line in _lines(inner, called, inside)]


def _lookup(workflow: Workflow, run: _Run) -> Callable[[tuple[str, ...]], str | None]:
    def look(path: tuple[str, ...]) -> str | None:
        match path:
            case ("inputs", name):
                if name in run.inputs:
                    return run.inputs[name]
                if run.depth == 0:
                    # Who starts a run gives all inputs, defaults included; what starts by itself has none.
                    return ""
                declared = [workflow.inputs(trigger).get(name) for trigger in ("workflow_call", "workflow_dispatch")]
                return next((node.said("default") or "" for node in declared if node is not None), None)
            case ("needs", job, "outputs", name):
                return run.results[job].outputs.get(name) if job in run.results else None
            case _:
                return None

    return look


def _line(
    step: Step, job: Job, workflow: Workflow, lookup: Callable[[tuple[str, ...]], str | None], projects: Sequence[str]
) -> str | None:
    try:
        words = shlex.split((step.run.text if step.run else None) or "")
        names = parse_line(words).names if is_ours(words) else ()
    except (ValueError, HipwrightError):
        return None
    if not names:
        return None
    invoke = words[2:3] == ["invoke"]
    command = find_command(names[0], projects, invoke=invoke) if len(names) == 1 else None
    given = _given({**workflow.node.below("env"), **job.node.below("env"), **step.node.below("env")}, lookup, projects)
    options: list[str] = []
    variables: list[str] = []
    for name, (option, project, value) in given.items():
        takes = command is not None and option.name in command.option_names
        if command is not None and not takes and command.name != _PASSES_ON:
            continue
        spelling = _as_words(option, project, value) if takes else None
        if spelling is None:
            variables.append(f"{name}={shlex.quote(value)}")
        elif spelling and not any(word.partition("=")[0] == spelling[0] for word in words):
            options += spelling
    divider = [] if invoke or "--" in words or not options else ["--"]
    return " ".join([*variables, printable([*words, *divider, *options])])


def _given(
    variables: Mapping[str, Node], lookup: Callable[[tuple[str, ...]], str | None], projects: Sequence[str]
) -> dict[str, tuple[Option, str | None, str]]:
    """Return the variables that are options, with the project that each is about, and that have a value; no secrets."""
    found = {}
    for name, node in variables.items():
        text = node.text or ""
        option, project = option_of_variable(name, projects)
        if option is not None and not option.secret and "secrets." not in text and (value := fill(text, lookup)):
            found[name] = (option, project, value)
    one = found[_PROJECTS][2] if _PROJECTS in found else None
    if one in projects:
        found = {
            name: (option, one if project == THE_ONE else project, value) for name, (option, project, value) in found.items()
        }
    return found


def _as_words(option: Option, project: str | None, value: str) -> list[str] | None:
    """Return an option with its value as on a command line; nothing for a switch that is off, None where it has no such form."""
    if project == THE_ONE:
        return None
    flag = next(iter(flags_of(option, [project or ""])))
    if option.kind == "flag":
        return [flag] if value.lower() in {"1", "true", "yes", "on"} else []
    if option.kind == "flag-or-text":
        return None
    return spelled(flag, value)
