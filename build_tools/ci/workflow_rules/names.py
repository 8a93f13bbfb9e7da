"""Rules about names: jobs and artifacts are told apart over the whole matrix, through all workflows that are called."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from build_tools.ci.expressions import expressions, fill, references
from build_tools.ci.outputs import ARTIFACT_AXES
from build_tools.ci.workflow_rules.rule import Problem, Rule
from build_tools.options.model import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.ci.workflow_file import Job, Node, Step, Workflow
    from build_tools.ci.workflow_rules.rule import World

__all__ = ["RULES"]

_UPLOAD: Final = "actions/upload-artifact"
_FORBIDDEN: Final = re.compile(r'[":<>|*?\r\n\\/]')
"""What the name of an artifact may not have."""

_MOST_ROWS: Final = 257
"""Rows of a matrix that are looked at: GitHub takes one fewer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Instance:
    """A job as it runs: the line of the job in the workflow that is judged, and what its expressions come to.

    ``outer`` is that line; ``callers`` are the workflows whose calls lead there.
    """

    workflow: Workflow
    job: Job
    outer: int
    inputs: Mapping[str, str]
    row: Mapping[str, str] = field(default_factory=dict)
    callers: tuple[str, ...] = ()

    def look(self, path: tuple[str, ...]) -> str | None:
        """Return what is referred to."""
        match path:
            case ("inputs", name):
                return self.inputs.get(name)
            case ("matrix", name):
                return self.row.get(name)
            case _:
                return None


def _job_names(workflow: Workflow, world: World) -> Iterator[Problem]:
    for purpose in world.purposes:
        found: dict[str, set[int]] = {}
        twice: Counter[str] = Counter()
        for job in workflow.jobs.values():
            for row in _rows(job, workflow, world, purpose):
                one = _Instance(workflow=workflow, job=job, outer=job.line, inputs={}, row=row)
                name = fill(job.node.said("name") or job.identity, one.look)
                # GitHub adds the values of a matrix to a name without expressions.
                if row and not expressions(job.node.said("name") or ""):
                    name = f"{name} ({', '.join(row.values())})"
                twice[name] += 1
                found.setdefault(name, set()).add(job.line)
        wrong = [(name, count) for name, count in twice.items() if count > 1]
        for name, count in wrong:
            yield Problem(line=max(found[name]), message=f"{count} jobs are called {name!r}")
        if wrong:
            return


def _artifact_names(workflow: Workflow, world: World) -> Iterator[Problem]:
    for purpose in world.purposes:
        found: dict[str, list[tuple[str, int]]] = {}
        for one in _instances(workflow, world, purpose):
            for step in one.job.steps:
                if not step.uses_action(_UPLOAD):
                    continue
                line = step.line if not one.callers else one.outer
                name = _artifact(step, one, world)
                if not name or _FORBIDDEN.search(re.sub(r"<[^<>]*>", "", name)):
                    yield Problem(line=line, message=f"an artifact cannot be called {name!r}")
                found.setdefault(name, []).append((f"{one.workflow.name}:{step.number}:{one.job.identity}", line))
        wrong = [(name, places) for name, places in found.items() if len(places) > 1]
        for name, places in wrong:
            yield Problem(line=places[-1][1], message=f"{len(places)} jobs or steps hand on the artifact {name!r}")
        if wrong:
            return


def _own_groups(workflow: Workflow, world: World) -> Iterator[Problem]:
    for purpose in world.purposes:
        problems = [
            Problem(line=job.line, message=f"{count} rows of {job.identity} call {job.called} in the concurrency group {group!r}")
            for job in workflow.jobs.values()
            for group, count in _groups(job, workflow, world, purpose).items()
            if count > 1
        ]
        yield from problems
        if problems:
            return


def _groups(job: Job, workflow: Workflow, world: World, purpose: str) -> Counter[str]:
    """Return the concurrency groups that a called workflow has for the rows of a job, with how many rows have each."""
    called = world.workflows.get(job.called or "")
    group = None if called is None else called.node.said("concurrency", "group")
    found: Counter[str] = Counter()
    if called is None or group is None:
        return found
    for row in _rows(job, workflow, world, purpose):
        outer = _Instance(workflow=workflow, job=job, outer=job.line, inputs=_defaults(workflow), row=row)
        given = {name: fill(node.text or "", outer.look) for name, node in job.node.below("with").items()}
        inner = replace(outer, workflow=called, inputs={**_defaults(called), **given}, row={})
        found[fill(group, inner.look)] += 1
    return found


def _artifact(step: Step, one: _Instance, world: World) -> str:
    """Return the name that a step gives its artifact; one that a command made is told by what the command makes it of."""
    steps = {other.identity: other for other in one.job.steps if other.identity}

    def look(path: tuple[str, ...]) -> str | None:
        match path:
            case ("steps", identity, "outputs", output) if identity in steps and output in ARTIFACT_AXES:
                nodes = {**one.workflow.node.below("env"), **one.job.node.below("env"), **steps[identity].node.below("env")}
                return "-".join((output, *_axes(ARTIFACT_AXES[output], nodes, one, world)))
            case _:
                return one.look(path)

    name = step.node.said("with", "name")
    return fill("artifact" if name is None else name, look)


def _axes(options: Sequence[str], nodes: Mapping[str, Node], one: _Instance, world: World) -> Iterator[str]:
    for name in options:
        projects = world.projects if OPTIONS[name].per_project else ("",)
        texts = [
            nodes[variable].text or "" for project in projects if (variable := OPTIONS[name].environment_of(project)) in nodes
        ]
        yield "+".join(_FORBIDDEN.sub("-", fill(text, one.look)) for text in texts)


def _instances(workflow: Workflow, world: World, purpose: str) -> Iterator[_Instance]:
    """Yield every job of a run of a workflow, those of called ones too."""
    inputs = _defaults(workflow)
    todo = [_Instance(workflow=workflow, job=job, outer=job.line, inputs=inputs) for job in workflow.jobs.values()]
    while todo:
        plain = todo.pop(0)
        for row in _rows(plain.job, plain.workflow, world, purpose):
            one = replace(plain, row=row)
            yield one
            called = world.workflows.get(one.job.called or "")
            callers = (*one.callers, one.workflow.name)
            # GitHub refuses a workflow that calls itself, by whatever way.
            if called is not None and called.name not in callers:
                given = {name: fill(node.text or "", one.look) for name, node in one.job.node.below("with").items()}
                inner = {**_defaults(called), **given}
                todo += [
                    _Instance(workflow=called, job=job, outer=one.outer, inputs=inner, callers=callers)
                    for job in called.jobs.values()
                ]


def _defaults(workflow: Workflow) -> dict[str, str]:
    inputs = {**workflow.inputs("workflow_dispatch"), **workflow.inputs("workflow_call")}
    return {name: node.said("default") or "" for name, node in inputs.items()}


def _rows(job: Job, workflow: Workflow, world: World, purpose: str) -> Sequence[Mapping[str, str]]:
    """Return the rows of a job's matrix; one that is empty for a job without."""
    matrix = job.node.at("strategy", "matrix")
    if matrix is None:
        return ({},)
    if matrix.text is not None:
        return _computed(matrix.text, workflow, world, purpose) or ({},)
    axes = {name: _values(node) for name, node in matrix.keys.items() if name not in {"include", "exclude"}}
    products = itertools.islice(itertools.product(*axes.values()), _MOST_ROWS) if axes else ()
    rows = [dict(zip(axes, values, strict=True)) for values in products]
    include = matrix.at("include")
    rows += [{name: node.text or "" for name, node in item.keys.items()} for item in (include.items if include else ())]
    return rows or ({},)


def _computed(text: str, workflow: Workflow, world: World, purpose: str) -> Sequence[Mapping[str, str]]:
    """Return the rows of a matrix that another job computes, by what that job is told."""
    for inner in expressions(text):
        for path in references(inner):
            maker = workflow.jobs.get(path[1])
            said = maker.node.said("env", "HIPWRIGHT_PLATFORM") if maker is not None else None
            return world.rows(purpose, path[-1], said or "")
    return ()


def _values(node: Node) -> list[str]:
    if node.text is not None:
        return [f"<{node.text}>"]
    return [item.text if item.text is not None else str(number) for number, item in enumerate(node.items)]


RULES: tuple[Rule, ...] = (
    Rule(
        name="job-names",
        demands="No two jobs of a run of a workflow have the same name, over the whole matrix.",
        why="Nobody can tell which one failed, and a required check means one of them.",
        mend="put what tells the rows apart into the name: matrix.name",
        judge=_job_names,
    ),
    Rule(
        name="artifact-names",
        demands="No two steps of a run hand on an artifact of the same name, over the whole matrix and all called workflows.",
        why="The second upload fails, or later jobs take the wrong wheels.",
        mend="take the name from `preflight`, or put matrix.id into it",
        judge=_artifact_names,
    ),
    Rule(
        name="own-groups",
        demands="Rows of a matrix that call a workflow with a concurrency group have each a group of their own.",
        why="Of jobs that wait for one group GitHub keeps one and cancels the others.",
        mend="put the inputs that differ into the group of the called workflow",
        judge=_own_groups,
    ),
)
