"""Rules about what steps run: commands of ours that exist, one at a time, with options that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.ci.expressions import expressions
from build_tools.ci.workflow_rules.rule import Problem, Rule, words_of
from build_tools.options.command_line import fault_of_line, find_command, is_ours, parse_line
from build_tools.options.model import option_of_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from build_tools.ci.workflow_file import Job, Node, Step, Workflow
    from build_tools.ci.workflow_rules.rule import World
    from build_tools.options.command_line import Line

__all__ = ["RULES"]

_PREFIX = "HIPWRIGHT_"
_ASKS_WITH = "GITHUB_TOKEN"
_FRONT = ("python3", "noxw.py")


def _one_command(workflow: Workflow, world: World) -> Iterator[Problem]:
    for step in _running(workflow):
        text = ((step.run.text if step.run else None) or "").strip()
        allowed = any(row.file == workflow.name and row.run == text for row in world.allowed)
        words = words_of(step)
        if not allowed and (words is None or words[:2] != _FRONT):
            yield Problem(line=step.line, message=f"{_brief(text)} is not one command of ours")
        if words == _FRONT:
            yield Problem(line=step.line, message=f"{_brief(text)} names no session")
    for row in world.allowed:
        if row.file == workflow.name and not any(
            (step.run.text or "").strip() == row.run for step in _running(workflow) if step.run
        ):
            yield Problem(line=1, message=f"{_brief(row.run)} is allowed here, and nothing runs it")


def _known_command(workflow: Workflow, world: World) -> Iterator[Problem]:
    for job in workflow.jobs.values():
        for step in job.steps:
            words = words_of(step)
            if step.run is None or words is None or not is_ours(words):
                continue
            given = _literals(_variables(workflow, job, step), world)
            fault = fault_of_line(words, projects=world.projects, others=world.development, clone=world.clone, environment=given)
            fault = fault or _fault_inside(parse_line(words), world)
            if fault:
                yield Problem(line=step.run.line, message=fault)


def _fault_inside(line: Line, world: World) -> str | None:
    """Return what is wrong with the session that runs in a container; None where none does."""
    if line.names != ("docker_run",):
        return None
    inner = line.arguments[0] if line.arguments else ""
    known = find_command(inner, world.projects) is not None or inner in world.development
    return None if known else f"there is no session {inner or '(none is named)'} to run in the container"


def _known_variables(workflow: Workflow, world: World) -> Iterator[Problem]:
    everything = [step for job in workflow.jobs.values() for step in job.steps]
    yield from _unread(workflow.node.below("env"), everything, world)
    for job in workflow.jobs.values():
        yield from _unread(job.node.below("env"), job.steps, world)
        for step in job.steps:
            yield from _unread(step.node.below("env"), (step,), world)


def _tells_of_all(workflow: Workflow, world: World) -> Iterator[Problem]:
    telling = [job for job in workflow.jobs.values() if _runs(job, "notify", world)]
    for job in telling:
        after = {name for name, other in workflow.jobs.items() if job.identity in other.needs}
        missing = [name for name in workflow.jobs if name not in {*job.needs, job.identity, *after}]
        if missing:
            yield Problem(line=job.line, message=f"{job.identity} does not need {', '.join(missing)}, and so tells nothing of it")
        if "always()" not in (job.node.said("if") or ""):
            yield Problem(line=job.line, message=f"{job.identity} does not run after a failure: its if: has no always()")
        asking = any(_ASKS_WITH in {**job.node.below("env"), **step.node.below("env")} for step in job.steps)
        if not asking or job.node.said("permissions", "actions") is None:
            message = f"{job.identity} cannot ask how the run before ended: it has no {_ASKS_WITH} with actions: read"
            yield Problem(line=job.line, message=message)


def _unread(variables: Mapping[str, Node], steps: Iterable[Step], world: World) -> Iterator[Problem]:
    taken = [command for step in steps for command in world.commands(step)]
    for name, node in variables.items():
        if not name.startswith(_PREFIX):
            continue
        option, project = option_of_variable(name, world.projects)
        if option is None:
            yield Problem(line=node.line, message=f"{name} is no option of ours")
        elif not any(option.name in command.option_names for command in taken):
            of = "" if project is None else f" of {project}"
            yield Problem(line=node.line, message=f"{name} is read by no command{of} that runs here")


def _running(workflow: Workflow) -> Iterator[Step]:
    yield from (step for job in workflow.jobs.values() for step in job.steps if step.run is not None)


def _runs(job: Job, command: str, world: World) -> bool:
    return any(one.name == command for step in job.steps for one in world.commands(step))


def _variables(workflow: Workflow, job: Job, step: Step) -> dict[str, str]:
    nodes = {**workflow.node.below("env"), **job.node.below("env"), **step.node.below("env")}
    return {name: node.text or "" for name, node in nodes.items()}


def _literals(variables: Mapping[str, str], world: World) -> dict[str, str]:
    """Return the variables that are options and whose values stand in the file; names that are none have a rule of their own."""
    return {
        name: text
        for name, text in variables.items()
        if not expressions(text) and option_of_variable(name, world.projects)[0] is not None
    }


def _brief(text: str) -> str:
    first = text.splitlines()[0] if text else "(nothing)"
    return f"{first} …" if len(text.splitlines()) > 1 else first


RULES = (
    Rule(
        name="one-command",
        demands="Every `run:` is one nox or invoke command, by `python3 noxw.py`.",
        why="A step that is more than that is logic that nobody can run at a desk, nor test.",
        mend="make it a command of hipwright, or, for what prepares a machine, a row of build_tools/config/data/workflow_rules.toml with the reason",
        judge=_one_command,
    ),
    Rule(
        name="known-command",
        demands="The sessions and tasks that steps run exist, and take the options that they are given, on the line and by variables.",
        why="A workflow is tried late and far away: a misspelt option would be found there.",
        mend="see docs/reference/commands.md for what a command takes",
        judge=_known_command,
    ),
    Rule(
        name="known-variables",
        demands="Every `HIPWRIGHT_` variable is an option that a command reads where the variable is set.",
        why="A variable that nothing reads looks like a setting and is none.",
        mend="see docs/reference/options.md for the names; set it where the command runs that takes it",
        judge=_known_variables,
    ),
    Rule(
        name="tells-of-all",
        demands="A job that runs `notify` needs all other jobs, runs after failures too, and can ask GitHub about earlier runs.",
        why="Nobody is told of the failure of a job that was added later, nor that all is well again.",
        mend="needs: all other jobs, if: always(), permissions: actions: read, env: GITHUB_TOKEN: ${{ github.token }}",
        judge=_tells_of_all,
    ),
)
