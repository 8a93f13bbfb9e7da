"""``retain`` for the outputs of runs: of one, or of all that a store has."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import humanize

from build_tools import files
from build_tools.config.channels import load_channels
from build_tools.config.retention import load_retention
from build_tools.errors import HipwrightError
from build_tools.publish.retain_runs import delete_run, find_runs, judge_run
from build_tools.publish.run_references import read_references
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.publish.retain_runs import JudgedRun
    from build_tools.workplace import Workplace

__all__ = ["is_of_runs", "retain_runs"]


def is_of_runs(workplace: Workplace) -> bool:
    """Return whether the options name runs rather than a channel.

    Raises
    ------
    HipwrightError
        ``option-conflict`` when they name a channel as well, or one run and all runs.
    """
    resolved = workplace.resolved
    named = [
        option for option, given in (("--run-id", _names_run(workplace)), ("--all-runs", workplace.settings.all_runs)) if given
    ]
    if named and resolved.origin("channel").startswith("command line"):
        named.append("--channel")
    if len(named) > 1:
        message = f"{' and '.join(named)} each say of what the retention is"
        raise HipwrightError("option-conflict", message, hint="name a channel, one run, or all runs")
    if named and workplace.settings.artifact_group is not None:
        message = "--artifact-group names a part of a run, and the outputs of a run go as a whole"
        raise HipwrightError("option-conflict", message, hint="leave --artifact-group out")
    return bool(named)


def retain_runs(workplace: Workplace) -> dict[str, Any]:
    """Say which outputs of runs are kept no longer, and with ``--apply`` delete them.

    Returns
    -------
    dict
        Under ``retain``: each run, whether it goes and why, or why it stays.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when the policy is broken, ``bad-index`` when what a channel refers to cannot be read, ``nothing-published``
        when there are no outputs of a run, ``bad-receipt`` for the lock, ``store-unusable``, ``no-credentials``.
    """
    settings, console = workplace.settings, workplace.console
    table, channels = load_retention(), load_channels().channel
    if settings.all_runs:
        store, within = workplace.open_store(writing=settings.apply), None
    else:
        place = workplace.outputs(settings.run_id, writing=settings.apply)
        store, within = place.store, place.run
    lock = [] if settings.lock is None else [(str(settings.lock), read_record(settings.lock, Lock))]
    found = find_runs(store, within=within, outside=[channel.prefix for channel in channels])
    if not found:
        what = "outputs of any run" if within is None else f"outputs of the run {within.run_id} for {within.platform.value}"
        message = f"there are no {what} in {store.address}"
        raise HipwrightError("nothing-published", message, hint="name the store of the runs: --store DIR|s3://bucket/prefix")
    references = read_references(store, channels, lock)
    now = files.utc_now()
    judged = [judge_run(one, store=store, table=table, references=references, now=now) for one in found]
    if settings.apply:
        judged = [one if not one.goes else _gone(one, delete_run(one, store=store, progress=console.progress)) for one in judged]
    return {"retain": _tell(judged, workplace)}


def _names_run(workplace: Workplace) -> bool:
    return workplace.resolved.origin("run_id") != "default"


def _gone(judged: JudgedRun, went: bool) -> JudgedRun:  # noqa: FBT001 - the answer of one call
    return judged if went else dataclasses.replace(judged, goes=False, why="somebody wrote to it just now")


def _tell(judged: Sequence[JudgedRun], workplace: Workplace) -> dict[str, Any]:
    apply = workplace.settings.apply
    word = "deleted" if apply else "delete"
    rows = [
        (
            word if one.goes else "not judged" if one.is_unclear else "stays",
            str(one.found.run.prefix),
            one.release_type or "",
            one.newest or "",
            one.why,
            humanize.naturalsize(one.found.size, binary=True),
        )
        for one in judged
    ]
    note = ""
    if not apply:
        going = any(one.goes for one in judged)
        note = "nothing was changed: say --apply to do it" if going else "no run is old enough to go"
    workplace.console.table("Retention of runs", ("what", "run", "release type", "newest", "why", "size"), rows, note=note)
    return {
        "applied": apply,
        "runs": [
            {
                "run": one.found.run.prefix,
                "goes": one.goes,
                "judged": not one.is_unclear,
                "why": one.why,
                "release_type": one.release_type,
                "newest": one.newest,
                "objects": len(one.found.objects),
                "size": one.found.size,
            }
            for one in judged
        ],
    }
