"""What people are told of a run: that jobs failed, with how to repeat them, or that all is well again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.ci.results import JobResult, RunFacts

__all__ = ["Message", "failed_jobs", "failure_message", "recovery_message"]

_MOST: Final = 10
"""Jobs, and commands of a job, that a message tells: chats cut long ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message: its sort, one line, and the rest as plain text."""

    kind: Literal["failure", "recovery"]
    title: str
    body: str


def failed_jobs(results: Mapping[str, JobResult]) -> tuple[str, ...]:
    """Return the jobs that did not end well, failed ones first."""
    return tuple(name for how in ("failure", "cancelled") for name, job in results.items() if job.result == how)


def failure_message(results: Mapping[str, JobResult], facts: RunFacts, commands: Mapping[str, Sequence[str]]) -> Message:
    """Return what is told of a run with jobs that did not end well.

    Parameters
    ----------
    results
        How the jobs ended.
    facts
        What is known of the run.
    commands
        The command lines that repeat each job.
    """
    failed = failed_jobs(results)
    lines = [f"{len(failed)} of {len(results)} jobs did not end well.", *_place(facts)]
    for name in failed[:_MOST]:
        how = "failed" if results[name].result == "failure" else "was cancelled, or ran past its time limit"
        lines += ["", f"{name} {how}"]
        shown = commands.get(name, ())[:_MOST]
        lines += ["repeat it:", *(f"  {line}" for line in shown)] if shown else []
    if len(failed) > _MOST:
        lines += ["", f"and {len(failed) - _MOST} more"]
    if any("<" in line for name in failed[:_MOST] for line in commands.get(name, ())):
        lines += ["", "What stands in < > is of the job alone: its name and its log tell it."]
    how = "failed" if any(results[name].result == "failure" for name in failed) else "was cut short"
    return Message(kind="failure", title=f"{_name(facts)} {how}{_branch(facts)}", body="\n".join(lines))


def recovery_message(results: Mapping[str, JobResult], facts: RunFacts) -> Message:
    """Return what is told of a run that is well, after one that was not."""
    well = sum(job.result == "success" for job in results.values())
    lines = [
        f"{well} of {len(results)} jobs ended well, the others had nothing to do."
        if well < len(results)
        else "All jobs ended well."
    ]
    return Message(
        kind="recovery", title=f"{_name(facts)} is well again{_branch(facts)}", body="\n".join([*lines, *_place(facts)])
    )


def _name(facts: RunFacts) -> str:
    return facts.workflow or facts.file or "A run"


def _branch(facts: RunFacts) -> str:
    return f" on {facts.branch}" if facts.branch else ""


def _place(facts: RunFacts) -> list[str]:
    known = [
        f"commit {facts.commit[:12]}" if facts.commit else "",
        f"started by {facts.event}" if facts.event else "",
        f"attempt {facts.attempt}" if facts.attempt > 1 else "",
    ]
    return [line for line in (facts.url or "", ", ".join(filter(None, known))) if line]
