"""``nox -s notify``: tell people that jobs of a run failed and how to repeat them, or that all is well again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.ci.deliver import deliver, receivers, refuse_unusable
from build_tools.ci.messages import failed_jobs, failure_message, recovery_message
from build_tools.ci.previous import Previous, previous_run
from build_tools.ci.results import run_facts
from build_tools.ci.this_run import repeating_lines, results_of
from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.github import open_github

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.ci.messages import Message
    from build_tools.ci.results import JobResult, RunFacts
    from build_tools.workplace import Workplace

__all__ = ["notify"]


def notify(workplace: Workplace) -> dict[str, Any]:
    """Tell who is to be told: on failure, and on the first run that is well after one that was not.

    Where no address is given nobody is told, which is no failure. Whether the run before failed says ``--previous``, else GitHub.

    Returns
    -------
    dict
        Under ``notify``: ``sent``, ``why``, ``failed`` (the jobs), ``previous``, and ``message`` with ``title`` and ``body`` where there is one.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for results that are none and an address that is none, without showing it; ``not-told``.
    """
    settings, console = workplace.settings, workplace.console
    results = results_of(workplace)
    told = receivers(settings.notify_urls) if settings.notify_urls else ()
    facts = run_facts(workplace.machine)
    failed = failed_jobs(results)
    before = _before(results, facts, workplace, asking=bool(told))
    message, why = _message(results, facts, before, workplace)
    sent = message is not None and bool(told) and not settings.dry_run
    if message is not None and not told:
        why = "nobody is told: --notify-urls names no address"
    elif message is not None and settings.dry_run:
        why = "a dry run tells nobody"
    if message is not None and sent:
        deliver(message, told)
        why = f"told {', '.join(str(one) for one in told if one.usable) or 'nobody'}"
    rows = [(name, job.result) for name, job in results.items()]
    console.table("Jobs of the run", ("job", "result"), rows, note="" if message is None else f"{message.title}\n{message.body}")
    console.say(why)
    # On a good day too, not only on the day when it is needed; and after the others were told.
    refuse_unusable(told)
    return {
        "notify": {
            "sent": sent,
            "why": why,
            "failed": list(failed),
            "previous": before.ended,
            "message": None if message is None else {"kind": message.kind, "title": message.title, "body": message.body},
        }
    }


def _before(results: Mapping[str, JobResult], facts: RunFacts, workplace: Workplace, *, asking: bool) -> Previous:
    """Return how the run before ended: as the option says, else as GitHub does when the answer decides anything."""
    said = workplace.settings.previous
    if said is not None:
        return Previous(ended="failure" if said == "failure" else "success")
    decides = not any(job.result == "failure" for job in results.values())
    if not (asking and decides and facts.file and facts.repository and facts.branch and facts.run_id.isdecimal()):
        return Previous(ended=None)
    try:
        network = workplace.base.network()
        return previous_run(open_github(facts.repository, machine=workplace.machine, network=network), facts)
    except HipwrightError as error:
        # The message would be a courtesy, and the run that it is about is well.
        workplace.console.warn(f"how the run before ended is not known: {error.message}")
        return Previous(ended=None)


def _message(
    results: Mapping[str, JobResult], facts: RunFacts, before: Previous, workplace: Workplace
) -> tuple[Message | None, str]:
    """Return what is to be told, None when nothing is, and why."""
    failed = failed_jobs(results)
    if failed:
        if before.superseded and not any(job.result == "failure" for job in results.values()):
            return None, "a newer run of the branch took the place of this one, which says nothing"
        commands = {name: repeating_lines(name, results, facts, workplace) for name in failed}
        return failure_message(results, facts, commands), f"{', '.join(failed)} did not end well"
    if all(job.result == "skipped" for job in results.values()):
        return None, "no job ran, so there is nothing to tell"
    if before.ended == "failure":
        return recovery_message(results, facts), "all is well again"
    known = "the run before was well too" if before.ended else "no earlier run is known to have failed"
    return None, f"all jobs ended well, and {known}: there is nothing to tell"
