"""``nox -s fetch_artifacts``: a run's artifacts found, fetched, proved and unpacked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import humanize

from build_tools.config.buckets import is_repository
from build_tools.config.workflows import workflow_table
from build_tools.errors import HipwrightError
from build_tools.options.model import Settings
from build_tools.rocm.artifacts.fetch import AT_ONCE, Request, fetch_archives, plan_archives, sentence
from build_tools.rocm.artifacts.github import open_github
from build_tools.rocm.artifacts.mark import FetchedFor
from build_tools.rocm.artifacts.runs import LookedAt, find_run, look_at, outputs_row
from build_tools.rocm.artifacts.select import meant_targets, parse_wanted
from build_tools.rocm.artifacts.transfer import Patience
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from build_tools.rocm.artifacts.github import WorkflowRun
    from build_tools.rocm.artifacts.select import Archive, Choice, Wanted
    from build_tools.rocm.artifacts.there import Fetched, Planned
    from build_tools.stores.place import RunPlace
    from build_tools.workplace import Workplace

__all__ = ["fetch_artifacts"]

_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}")
_COLUMNS: Final = ("target", "artifacts", "size", "fetched", "there already")
_PLAN_COLUMNS: Final = ("target", "artifact", "components", "size", "to fetch", "there already")


def fetch_artifacts(workplace: Workplace) -> dict[str, Any]:
    """Fetch the artifacts that the options mean, show what came of them, and return it as plain data.

    ``status`` is ``found`` when the run has all that is needed, ``not-found`` when no run has, and ``error`` when that could not be found out,
    or what was found could not be fetched; the last two are in the document of the failure.

    Raises
    ------
    HipwrightError
        ``run-not-found`` when no run of the commit or branch has what is needed, ``artifact-missing`` when the run that is named lacks
        some of it or it could not be fetched; ``bad-archive``, ``foreign-folder``, ``bad-option-value``; what the store and GitHub say.
    """
    try:
        return _found(workplace)
    except HipwrightError as error:
        error.document = {"status": "error", "results": [], **(error.document or {})}
        raise


def _found(workplace: Workplace) -> dict[str, Any]:
    settings = workplace.settings
    wanted = parse_wanted(group=settings.artifact_group, targets=settings.gfx, include=settings.include, exclude=settings.exclude)
    if settings.for_commit or settings.for_branch:
        looked, repository = _search(workplace, wanted)
        place, choice, row = looked.place, looked.choice, looked.row(repository)
    else:
        place, choice, row = _named(workplace, wanted)
    assert place is not None and choice is not None, "what was found was looked into"  # noqa: PT018, S101
    output = settings.output_dir or workplace.work_dir / "artifacts" / f"{place.run.run_id}-{place.run.platform}"
    document: dict[str, Any] = {
        "status": "found",
        "results": [row],
        "output_dir": str(output),
        "dry_run": settings.dry_run,
    }
    request = _request(workplace, place, choice, wanted, output=output)
    console = workplace.console
    if settings.dry_run:
        planned = plan_archives(request)
        document["artifacts"] = [_told_of_plan(one) for one in planned]
        console.say(sentence(planned, request, done="would fetch"))
        _show_plan(workplace, planned)
        return document
    fetched = fetch_archives(request, say=console.say, progress=lambda done, total: console.progress("artifacts", done, total))
    document["artifacts"] = [_told(one) for one in fetched]
    _show(workplace, fetched)
    return document


def _search(workplace: Workplace, wanted: Wanted) -> tuple[LookedAt, str]:
    """Return the run of the commit or branch that has what is needed, and whose repository it is of."""
    settings = workplace.settings
    if settings.for_commit and not _COMMIT.fullmatch(settings.for_commit):
        message = f"--for-commit takes a commit id, or its first 7 digits or more, not {settings.for_commit!r}"
        raise HipwrightError("bad-option-value", message)
    table = workflow_table()
    repository = settings.repository or table.repository
    if not is_repository(repository):
        raise HipwrightError("bad-option-value", f"{repository!r} is no repository: one is named as OWNER/NAME")

    def look(run: WorkflowRun) -> LookedAt:
        place = workplace.outputs(run.run_id, writing=False, repository=repository, fork=run.fork)
        return LookedAt(run=run, place=place, choice=look_at(place, wanted))

    github = open_github(repository, machine=workplace.machine, network=workplace.base.network())
    workplace.console.say(f"looking for a run of {settings.for_commit or settings.for_branch} of {repository}")
    looked = find_run(
        github,
        commit=settings.for_commit,
        branch=settings.for_branch,
        workflows=table.files(repository, settings.release_type or "ci"),
        look=look,
        say=workplace.console.say,
    )
    run = looked.run
    workplace.console.say(f"run {run.run_id} of {run.commit} has what is needed: {run.url}")
    if run.conclusion != "success":
        workplace.console.warn(f"run {run.run_id} ended as {run.conclusion}")
    return looked, repository


def _named(workplace: Workplace, wanted: Wanted) -> tuple[RunPlace, Choice, dict[str, Any]]:
    """Return the outputs of the run that the options name, and what of them is meant.

    Raises
    ------
    HipwrightError
        ``artifact-missing`` when it lacks some of it.
    """
    settings = workplace.settings
    # What CI says about a fork, it says of the run that is going on.
    fork = None if settings.run_id == workplace.machine.get("GITHUB_RUN_ID") else False
    place = workplace.outputs(settings.run_id, writing=False, fork=fork)
    choice = look_at(place, wanted)
    row = outputs_row(place, choice)
    if choice.missing:
        source = f"{redact(place.store.address)}/{place.run.prefix}"
        message = f"{source} lacks {choice.lack}"
        hint = "see whether --run-id, --platform and the store are right: --store, --bucket, or --repository for AMD's buckets"
        if settings.run_id == Settings().run_id and workplace.resolved.origin("run_id") == "default":
            message = f"no run is named, and {message}"
            hint = "name the run: --run-id ID, --for-commit SHA or --for-branch NAME; and the store: --store, --bucket or --repository"
        document: dict[str, object] = {"status": "not-found", "looked_at": [row]}
        raise HipwrightError("artifact-missing", message, hint=hint, document=document)
    return place, choice, row


def _request(workplace: Workplace, place: RunPlace, choice: Choice, wanted: Wanted, *, output: Path) -> Request:
    settings = workplace.settings
    return Request(
        archives=choice.archives,
        store=place.store,
        source=f"{redact(place.store.address)}/{place.run.prefix}",
        output=output,
        platform=workplace.platform,
        asked=FetchedFor(group=wanted.group, targets=meant_targets(wanted)),
        unpack=settings.extract,
        at_once=settings.jobs or AT_ONCE,
        jobs=workplace.jobs,
        patience=Patience(seconds=settings.timeout),
        wait=settings.wait,
    )


def _named_parts(archive: Archive) -> dict[str, Any]:
    name = archive.name
    return {
        "name": name.name,
        "component": name.component,
        "target": name.target,
        "archive": archive.filename,
        "size": archive.size,
    }


def _told_of_plan(planned: Planned) -> dict[str, Any]:
    state = "missing" if planned.there is None else planned.there.state
    return {**_named_parts(planned.archive), "state": state, "begun": planned.begun, "lost": list(planned.lost)}


def _told(fetched: Fetched) -> dict[str, Any]:
    return {
        **_named_parts(fetched.archive),
        "sha256": fetched.sha256,
        "state": fetched.state,
        "proved_by": fetched.proved,
        "resumed": fetched.resumed,
        "path": str(fetched.path),
    }


def _show_plan(workplace: Workplace, planned: Sequence[Planned]) -> None:
    """Show each artifact, its components in one row, with how many of them would be fetched."""
    by_name = defaultdict[tuple[str, str], list["Planned"]](list)
    for one in planned:
        by_name[one.archive.name.target, one.archive.name.name].append(one)
    rows = [
        (
            target,
            name,
            " ".join(one.archive.name.component for one in parts),
            _size(one.archive for one in parts),
            str(sum(one.there is None for one in parts)),
            str(sum(one.there is not None for one in parts)),
        )
        for (target, name), parts in sorted(by_name.items())
    ]
    begun = sum(one.begun for one in planned if one.there is None)
    notes = [f"{humanize.naturalsize(begun, binary=True)} of them are there from an earlier run"] if begun else []
    notes += [f"{one.archive.name.folder} is not whole: {', '.join(one.lost)} gone" for one in planned if one.lost]
    workplace.console.table("artifacts", _PLAN_COLUMNS, rows, "\n".join(notes))


def _show(workplace: Workplace, fetched: Sequence[Fetched]) -> None:
    """Show how much there is of each target, and how it was proved."""
    by_target = defaultdict[str, list["Fetched"]](list)
    for one in fetched:
        by_target[one.archive.name.target].append(one)
    rows = []
    for target, of_target in sorted(by_target.items()):
        states = Counter(one.state for one in of_target)
        size = _size(one.archive for one in of_target)
        rows.append((target, str(len(of_target)), size, str(states["fetched"]), str(states["there"])))
    unproved = sum(one.proved == "size" for one in fetched)
    resumed = sum(one.resumed for one in fetched)
    notes = [f"{unproved} have no stated SHA-256: their sizes are right"] if unproved else []
    notes += [f"{humanize.naturalsize(resumed, binary=True)} were there from an earlier run"] if resumed else []
    workplace.console.table("artifacts", _COLUMNS, rows, "; ".join(notes))


def _size(archives: Iterable[Archive]) -> str:
    return humanize.naturalsize(sum(archive.size for archive in archives), binary=True)
