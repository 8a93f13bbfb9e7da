"""The run in progress, as the options, the runner and this clone tell it: how its jobs ended, and how to repeat one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.ci.reproduce import commands_of
from build_tools.ci.results import read_results
from build_tools.ci.workflow_file import FOLDER, read_workflows
from build_tools.config.project import project_names
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.ci.results import JobResult, RunFacts
    from build_tools.workplace import Workplace

__all__ = ["repeating_lines", "results_of"]


def results_of(workplace: Workplace) -> dict[str, JobResult]:
    """Return how the jobs of the run ended, as ``--results`` says.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` where it says nothing, or what is none.
    """
    return read_results(_text(workplace))


def _text(workplace: Workplace) -> str:
    text = workplace.settings.results
    if text is None:
        hint = "a workflow says HIPWRIGHT_RESULTS: ${{ toJSON(needs) }}; at a desk, --results @FILE"
        raise HipwrightError("bad-option-value", "--results is needed: how the jobs of the run ended", hint=hint)
    if not text.startswith("@"):
        return text
    path = workplace.typed_in / text[1:]
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HipwrightError("bad-option-value", f"--results names {path}, which cannot be read: {error}") from error


def repeating_lines(job: str, results: Mapping[str, JobResult], facts: RunFacts, workplace: Workplace) -> Sequence[str]:
    """Return the lines that repeat a job; none where this clone does not have the workflow that it is of."""
    if not facts.file or not (workplace.clone / FOLDER / facts.file).is_file():
        return ()
    try:
        workflows = {workflow.name: workflow for workflow in read_workflows(workplace.clone)}
    except HipwrightError as error:
        workplace.console.warn(f"how to repeat {job} is not told: {error.message}")
        return ()
    projects = project_names(workplace.external_builds)
    return commands_of(job, workflows[facts.file], workflows=workflows, inputs=facts.inputs, results=results, projects=projects)
