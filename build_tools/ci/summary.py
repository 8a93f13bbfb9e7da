"""``nox -s summary``: how a run went, in one place, and a failure when one of its jobs did not end well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.ci.messages import failed_jobs, failure_message
from build_tools.ci.results import run_facts
from build_tools.ci.this_run import repeating_lines, results_of
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from build_tools.ci.results import JobResult
    from build_tools.workplace import Workplace

__all__ = ["summary"]

_JSON: Final = ("{", "[")


def summary(workplace: Workplace) -> dict[str, Any]:
    """Show how each job of the run ended and what it handed on, and how to repeat those that did not end well.

    A branch can be protected by this one job: it ends as the run does. A job that was skipped had nothing to do, which is well.

    Returns
    -------
    dict
        Under ``run``: ``url``, ``jobs`` (each with ``result`` and ``outputs``), and ``failed``.

    Raises
    ------
    HipwrightError
        ``jobs-failed`` with the document when a job failed, was cancelled or ran past its time; ``bad-option-value``.
    """
    results, facts = results_of(workplace), run_facts(workplace.machine)
    failed = failed_jobs(results)
    commands = {name: repeating_lines(name, results, facts, workplace) for name in failed}
    note = failure_message(results, facts, commands).body if failed else ""
    rows = [
        (name, job.result, "\n".join(f"{key}: {value}" for key, value in _words(job).items())) for name, job in results.items()
    ]
    workplace.console.table("Jobs of the run", ("job", "result", "handed on"), rows, note=note)
    document = {
        "url": facts.url,
        "jobs": {name: {"result": job.result, "outputs": _words(job)} for name, job in results.items()},
        "failed": list(failed),
    }
    if failed:
        message = f"of {len(results)} jobs these did not end well: {', '.join(failed)}"
        raise HipwrightError("jobs-failed", message, document={"run": document})
    return {"run": document}


def _words(job: JobResult) -> dict[str, str]:
    """Return what a job handed on for people to read: no matrices, which are for other jobs."""
    return {name: value for name, value in job.outputs.items() if value and not value.startswith(_JSON)}
